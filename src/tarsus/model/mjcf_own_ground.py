"""What of the numbers of an MJCF file's own ground MuJoCo would mix with the robot's: the terrain
here is another, and where it makes a difference that is told.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import several
from tarsus.model.mjcf_contacts import (
    BOUNDS,
    FRICTIONLESS,
    SOFTNESS,
    SOME,
    colliding,
    first_of,
    frictions,
    ground_pairs,
)
from tarsus.model.parts import Report

LEAST = 1e-15  # mjMINVAL


def report_ground(model: Any, report: Report) -> None:
    """Say where MuJoCo would have other numbers for the robot's contacts on the file's own ground
    than the robot's, which act here.
    """
    own = frictions(model)
    if not own:
        return
    first = first_of(model, own)
    if first in ground_pairs(model):
        return
    fixed = [g for g in colliding(model) if model.body_weldid[model.geom_bodyid[g]] == 0]
    _report_friction(model, report, (first, own[first]), fixed)
    _report_softness(model, report, first, fixed)


def _report_friction(model: Any, report: Report, mine: tuple[int, float], fixed: list[int]) -> None:
    """The friction; where neither says anything both have the law's."""
    (first, here), ground = mine, dict[float, list[str]]()
    for geom in fixed:
        mixed = _mixed(model, first, geom)
        if (here != 1 or _says_friction(model, geom)) and mixed != here:
            ground.setdefault(mixed, []).append(_name(model, geom))
    for mixed, names in ground.items():
        report.warn(
            f"the friction of the file's own ground is ignored: MuJoCo would use {mixed:g} on"
            f" {several(names, SOME)}, Tarsus uses the robot's {here:g}; pass --friction {mixed:g}"
            " to match it.",
            "ground-friction-ignored",
            names[0],
        )


def _report_softness(model: Any, report: Report, first: int, fixed: list[int]) -> None:
    """The softness, which one law alone has."""
    here, ground = _softness(model, first, first), dict[str, list[str]]()
    for geom in fixed:
        mixed = _softness(model, first, geom)
        other = {n: v for n, v in mixed.items() if not np.isclose(v, here.get(n, v), rtol=1e-6)}
        if len(mixed) < len(here):
            text = "would have solref of the form (-stiffness, -damping), which no law has."
            ground.setdefault(text, []).append(_name(model, geom))
        if other:
            told = ", ".join(f"{name} {v:g}, not {here[name]:g}" for name, v in other.items())
            given = " ".join(f"{name}={value:g}" for name, value in other.items())
            text = f"would have {told}; under the law 'soft_convex' --set {given} gives it."
            ground.setdefault(text, []).append(_name(model, geom))
    for text, names in ground.items():
        report.leave(
            "Left out: the softness of the file's own ground, with which on"
            f" {several(names, SOME)} MuJoCo {text}"
        )


def _softness(model: Any, a: int, b: int) -> dict[str, float]:
    """solref and solimp of two geoms on each other by the names of the law's parameters, as MuJoCo
    mixes them: those of the higher priority, else in the ratio of solmix; without solref where one
    has it as (-stiffness, -damping).
    """
    share = _share(model, a, b)
    ref, imp = (
        share * np.array(numbers[a]) + (1 - share) * np.array(numbers[b])
        for numbers in (model.geom_solref, model.geom_solimp)
    )
    counts = [geom for geom, part in ((a, share), (b, 1 - share)) if part]
    positive = all((np.array(model.geom_solref[geom]) > 0).all() for geom in counts)
    names = SOFTNESS if positive else SOFTNESS[2:]
    values: NDArray[np.float64] = np.hstack([ref, imp])[-len(names) :]
    return {
        name: float(np.clip(value, *BOUNDS.get(name, (0.0, np.inf))))
        for name, value in zip(names, values, strict=True)
    }


def _share(model: Any, a: int, b: int) -> float:
    """How much of the first geom's softness there is in theirs."""
    if model.geom_priority[a] != model.geom_priority[b]:
        return float(model.geom_priority[a] > model.geom_priority[b])
    one, other = float(model.geom_solmix[a]), float(model.geom_solmix[b])
    if one < LEAST and other < LEAST:
        return 0.5
    return 0.0 if one < LEAST else 1.0 if other < LEAST else one / (one + other)


def _name(model: Any, geom: int) -> str:
    return model.geom(geom).name or f"geom {geom}"


def _says_friction(model: Any, geom: int) -> bool:
    """Whether a geom has other numbers for sliding friction than one of which nothing is said."""
    return bool(
        model.geom_friction[geom, 0] != 1
        or model.geom_priority[geom]
        or model.geom_condim[geom] == FRICTIONLESS
    )


def _mixed(model: Any, a: int, b: int) -> float:
    """The sliding friction of two geoms on each other, as MuJoCo mixes it: that of the higher
    priority, else the larger.
    """
    priority = model.geom_priority
    count = [a, b] if priority[a] == priority[b] else [max(a, b, key=lambda geom: priority[geom])]
    slippery = max(model.geom_condim[geom] for geom in count) == FRICTIONLESS
    return 0.0 if slippery else float(max(model.geom_friction[geom, 0] for geom in count))
