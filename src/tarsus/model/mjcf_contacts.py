"""Friction and softness of a compiled MuJoCo model's geoms, as numbers of Tarsus's contact laws.

MuJoCo mixes the numbers of two geoms that touch. In Tarsus the ground is not part of a robot's
file, so a robot's geoms keep their own numbers and the terrain scales friction. The contact law
has one set of numbers, those of the reference geom: of all geoms with the highest priority, the one
with the largest friction. The other geoms' friction is a factor on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import join_names
from tarsus.model.parts import MAX_LISTED, Report
from tarsus.model.solids import FIRST_PAIR_BIT

PLANE, HFIELD = 0, 1  # mjtGeom
FRICTIONLESS, TORSIONAL, ROLLING = 1, 4, 6  # condim
SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's defaults
SOFTNESS = ("timeconst", "dampratio", "d_min", "d_max", "width", "midpoint", "power")
IMPEDANCE_RANGE = (1e-4, 0.9999)
SOFTNESS_RANGES = {  # to which MuJoCo clips these numbers
    "d_min": IMPEDANCE_RANGE,
    "d_max": IMPEDANCE_RANGE,
    "width": (1e-9, np.inf),
    "midpoint": IMPEDANCE_RANGE,
    "power": (1.0, np.inf),
}
MIN_SOLMIX = 1e-15  # mjMINVAL


def find_colliding_geoms(model: Any) -> list[int]:
    """Find the geoms that can collide, by their bits or in an explicit pair."""
    paired = {*np.array(model.pair_geom1).tolist(), *np.array(model.pair_geom2).tolist()}
    bits = np.array(model.geom_contype) | np.array(model.geom_conaffinity)
    return sorted(paired.union(np.flatnonzero(bits).tolist()))


def geom_name(model: Any, geom: int) -> str:
    """Name a geom; "geom 3" if it has no name."""
    return model.geom(int(geom)).name or f"geom {geom}"


def collision_bits(model: Any) -> list[tuple[int, int]]:
    """Read contype and conaffinity of every geom.

    Two geoms meet if the first number of one shares a bit with the second of the other. Each
    explicit pair has a bit of its own, above those of MuJoCo.
    """
    types, affinities = (
        [bits & (FIRST_PAIR_BIT - 1) for bits in np.array(field).tolist()]
        for field in (model.geom_contype, model.geom_conaffinity)
    )
    pairs = zip(
        np.array(model.pair_geom1).tolist(), np.array(model.pair_geom2).tolist(), strict=True
    )
    for k, (first, second) in enumerate(pairs):
        types[first] |= FIRST_PAIR_BIT << k
        affinities[second] |= FIRST_PAIR_BIT << k
    return list(zip(types, affinities, strict=True))


def read_contact_fields(model: Any) -> list[dict[str, Any]]:
    """Read the contact numbers of every geom, by the names of the fields of `Shape`.

    These are its bits, its priority, and its friction as a factor on the law's: its own, that of
    explicit pairs with the ground, and that of explicit pairs with geoms that move. Torsional and
    rolling friction on the ground are lengths.
    """
    law = _choose_law_friction(model, read_frictions(model))
    geom_frictions, on_ground, among_moving = (
        _read_geom_frictions(model),
        find_ground_pairs(model),
        _read_moving_pairs(model),
    )

    def friction_factor(value: float | None, default: float | None) -> float | None:
        return default if value is None else value / law if law else 1.0

    return [
        {
            "bits": bits,
            "priority": int(model.geom_priority[geom]),
            "friction": friction_factor(geom_frictions.get(geom), 1.0),
            "ground_friction": friction_factor(on_ground.get(geom), None),
            **_read_moment_friction(model, geom),
            "paired": {k: friction_factor(v, None) for k, v in among_moving.get(geom, {}).items()},
        }
        for geom, bits in enumerate(collision_bits(model))
    ]


def _read_moment_friction(model: Any, geom: int) -> dict[str, float]:
    """Read torsional and rolling friction on the ground, in m, of a geom or of its explicit pair.

    The larger of a pair's two coefficients of rolling friction counts.
    """
    condim, friction = int(model.geom_condim[geom]), np.array(model.geom_friction[geom])[1:]
    for k in range(model.npair):
        if _find_moving_geoms(model, k) == [geom]:
            condim, values = int(model.pair_dim[k]), np.array(model.pair_friction[k])
            friction = values[2], values[3:].max()
            break
    return {
        "torsional_friction": float(friction[0]) if condim >= TORSIONAL else 0.0,
        "rolling_friction": float(friction[1]) if condim == ROLLING else 0.0,
    }


def read_material(model: Any) -> dict[str, float]:
    """Read the numbers for the contact law that are not MuJoCo's defaults.

    The keys are names of the law's parameters: `mu`, and those of the law `soft_convex`.
    """
    friction = read_frictions(model)
    if not friction:
        return {}
    numbers: dict[str, float] = {}
    if any(value != 1.0 for value in friction.values()):
        numbers["mu"] = _choose_law_friction(model, friction)
    geom = choose_reference_geom(model, friction)
    ref, imp = np.array(model.geom_solref[geom]), np.array(model.geom_solimp[geom])
    given = dict(zip(SOFTNESS, (*ref, *imp), strict=True))
    default = dict(zip(SOFTNESS, (*SOLREF, *SOLIMP), strict=True))
    for name in SOFTNESS if (ref > 0).all() else SOFTNESS[2:]:
        if not np.isclose(given[name], default[name], rtol=1e-6):
            lower, upper = SOFTNESS_RANGES.get(name, (0.0, np.inf))
            numbers[name] = float(np.clip(given[name], lower, upper))
    if model.opt.impratio != 1:
        numbers["impratio"] = float(model.opt.impratio)
    return numbers


def report_contacts(model: Any, report: Report) -> None:
    """Add notes on plugins, contact softness and the friction of explicit pairs."""
    if np.any(np.array(model.geom_plugin) >= 0):
        report.note("Geoms with a plugin collide as their meshes.")
    soft = [name for name in read_material(model) if name != "mu"]
    if soft:
        report.note(
            f"Contact softness has an effect only under the law 'soft_convex': {', '.join(soft)}."
        )
    with_ground, moving = (list_pairs(model, count) for count in (1, 2))
    if with_ground:
        report.note(
            f"Explicit pairs set the friction on the ground: {join_names(with_ground, MAX_LISTED)}."
        )
    if moving:
        report.note(
            "Explicit pairs set the friction between moving geoms:"
            f" {join_names(moving, MAX_LISTED)}."
        )


def find_differing_softness(model: Any) -> list[str]:
    """Find geoms whose softness is not that of the reference geom, by name."""
    friction = read_frictions(model)
    if not friction:
        return []
    geoms = np.array(sorted(friction))
    softness = np.hstack([model.geom_solref[geoms], model.geom_solimp[geoms]])
    reference = softness[list(geoms).index(choose_reference_geom(model, friction))]
    return [geom_name(model, g) for g in geoms[np.any(softness != reference, axis=1)]]


def find_direct_softness(model: Any) -> list[str]:
    """Find geoms with solref of the form (-stiffness, -damping), by name."""
    refs = np.array(model.geom_solref)
    return [geom_name(model, g) for g in sorted(read_frictions(model)) if np.any(refs[g] <= 0)]


def find_geoms_with_margin(model: Any) -> list[str]:
    """Find geoms with a contact margin or gap, by name."""
    wide = (np.array(model.geom_margin) != 0) | (np.array(model.geom_gap) != 0)
    return [geom_name(model, g) for g in sorted(read_frictions(model)) if wide[g]]


def list_pairs(model: Any, moving: int) -> list[str]:
    """Find explicit pairs in which `moving` geoms (0, 1, 2) move, by name.

    A model without a geom that moves has no contact numbers, so no names.
    """
    return [
        model.pair(k).name or f"pair {k}"
        for k in range(model.npair if read_frictions(model) else 0)
        if len(_find_moving_geoms(model, k)) == moving
    ]


def find_excluded_from_ground(model: Any) -> list[str]:
    """Find moving geoms that the file excludes from contact with fixed geoms, by name.

    In a file without anything fixed, these are the geoms that it excludes from the world itself.
    """
    bits, hosts = collision_bits(model), model.geom_bodyid
    fixed = [g for g in find_colliding_geoms(model) if model.body_weldid[hosts[g]] == 0]
    names = []
    for geom in sorted(read_frictions(model)):
        body = int(hosts[geom])
        excluded = {
            host
            for host in {0, *(int(hosts[f]) for f in fixed)}
            if (host << 16) + body in model.exclude_signature
        }
        types, affinities = bits[geom]
        touches_fixed = any(
            (types & bits[f][1] or affinities & bits[f][0]) and int(hosts[f]) not in excluded
            for f in fixed
        )
        if not touches_fixed if fixed else 0 in excluded:
            names.append(geom_name(model, geom))
    return names


def read_frictions(model: Any) -> dict[int, float]:
    """Compute the sliding friction on the ground of every geom of a body that moves.

    It is the geom's own, or that of its explicit pair with a fixed geom.
    """
    return _read_geom_frictions(model) | find_ground_pairs(model)


def find_ground_pairs(model: Any) -> dict[int, float]:
    """Read the sliding friction of moving geoms in their first explicit pair with a fixed one."""
    result: dict[int, float] = {}
    for k in range(model.npair):
        if len(geoms := _find_moving_geoms(model, k)) == 1:
            result.setdefault(geoms[0], _pair_friction(model, k))
    return result


def choose_reference_geom(model: Any, friction: dict[int, float]) -> int:
    """Find the geom that gives the law its numbers: highest priority, then most friction."""
    return max(friction, key=lambda geom: (int(model.geom_priority[geom]), friction[geom], -geom))


def report_ground(model: Any, report: Report) -> None:
    """Report what the file's own ground would change: Tarsus uses the robot's numbers."""
    friction = read_frictions(model)
    if not friction:
        return
    reference = choose_reference_geom(model, friction)
    if reference in find_ground_pairs(model):
        return
    fixed = [g for g in find_colliding_geoms(model) if model.body_weldid[model.geom_bodyid[g]] == 0]
    _report_ground_friction(model, report, reference, friction[reference], fixed)
    _report_ground_softness(model, report, reference, fixed)


def _read_moving_pairs(model: Any) -> dict[int, dict[int, float]]:
    """Read the sliding friction of explicit pairs of moving geoms, by geom and by pair."""
    result: dict[int, dict[int, float]] = {}
    for k in range(model.npair):
        if len(geoms := _find_moving_geoms(model, k)) == 2:
            for geom in geoms:
                result.setdefault(geom, {})[k] = _pair_friction(model, k)
    return result


def _pair_friction(model: Any, pair: int) -> float:
    frictionless = model.pair_dim[pair] == FRICTIONLESS
    return 0.0 if frictionless else float(model.pair_friction[pair, 0])


def _find_moving_geoms(model: Any, pair: int) -> list[int]:
    """Find the geoms of an explicit pair that are not fixed to the world."""
    ends = int(model.pair_geom1[pair]), int(model.pair_geom2[pair])
    return [geom for geom in ends if model.body_weldid[model.geom_bodyid[geom]] != 0]


def _read_geom_frictions(model: Any) -> dict[int, float]:
    """Read the sliding friction of every geom of a body that moves.

    It is 0 for a frictionless geom (condim 1) whose priority makes its condim count.
    """
    result: dict[int, float] = {}
    for geom in find_colliding_geoms(model):
        fixed = model.body_weldid[model.geom_bodyid[geom]] == 0
        if fixed or model.geom_type[geom] in (PLANE, HFIELD):
            continue
        frictionless = model.geom_condim[geom] == FRICTIONLESS and model.geom_priority[geom] > 0
        result[geom] = 0.0 if frictionless else float(model.geom_friction[geom, 0])
    return result


def _choose_law_friction(model: Any, frictions: dict[int, float]) -> float:
    """Choose the reference geom's friction; the largest of all if it has none."""
    return (
        (frictions[choose_reference_geom(model, frictions)] or max(frictions.values()))
        if frictions
        else 1.0
    )


def _report_ground_friction(
    model: Any, report: Report, reference: int, friction: float, fixed: list[int]
) -> None:
    """Warn of fixed geoms on which MuJoCo would use another friction coefficient.

    Where neither geom gives friction, both have the law's.
    """
    geoms_by_friction: dict[float, list[str]] = {}
    for geom in fixed:
        mixed = _select_mixed_friction(model, reference, geom)
        if (friction != 1 or _gives_friction(model, geom)) and mixed != friction:
            geoms_by_friction.setdefault(mixed, []).append(geom_name(model, geom))
    for mixed, names in geoms_by_friction.items():
        report.warn(
            f"the friction of the file's own ground is ignored: MuJoCo would use {mixed:g} on"
            f" {join_names(names, MAX_LISTED)}, Tarsus uses the robot's {friction:g}; pass"
            f" --friction {mixed:g} to match it.",
            "ground-friction-ignored",
            names[0],
        )


def _report_ground_softness(model: Any, report: Report, reference: int, fixed: list[int]) -> None:
    """Report fixed geoms on which MuJoCo's contacts would have another softness."""
    reference_softness, geoms_by_effect = (
        _mix_softness(model, reference, reference),
        dict[str, list[str]](),
    )
    for geom in fixed:
        mixed = _mix_softness(model, reference, geom)
        other = {
            n: v
            for n, v in mixed.items()
            if not np.isclose(v, reference_softness.get(n, v), rtol=1e-6)
        }
        if len(mixed) < len(reference_softness):
            effect = "would use solref of the form (-stiffness, -damping), which no law has."
            geoms_by_effect.setdefault(effect, []).append(geom_name(model, geom))
        if other:
            values = ", ".join(
                f"{name} {v:g}, not {reference_softness[name]:g}" for name, v in other.items()
            )
            options = " ".join(f"{name}={value:g}" for name, value in other.items())
            effect = f"would use {values}; pass --law soft_convex --set {options} to match it."
            geoms_by_effect.setdefault(effect, []).append(geom_name(model, geom))
    for effect, names in geoms_by_effect.items():
        report.ignore(
            "The softness of the file's own ground is ignored: on"
            f" {join_names(names, MAX_LISTED)} MuJoCo {effect}"
        )


def _mix_softness(model: Any, a: int, b: int) -> dict[str, float]:
    """Compute solref and solimp of the contact of two geoms, by the law's parameter names.

    MuJoCo takes those of the higher priority, or else mixes them in the ratio of solmix. The result
    is without solref if one geom has it as (-stiffness, -damping).
    """
    weight = _mixing_weight(model, a, b)
    ref, imp = (
        weight * np.array(numbers[a]) + (1 - weight) * np.array(numbers[b])
        for numbers in (model.geom_solref, model.geom_solimp)
    )
    mixed = [geom for geom, share in ((a, weight), (b, 1 - weight)) if share]
    positive = all((np.array(model.geom_solref[geom]) > 0).all() for geom in mixed)
    names = SOFTNESS if positive else SOFTNESS[2:]
    values: NDArray[np.float64] = np.hstack([ref, imp])[-len(names) :]
    return {
        name: float(np.clip(value, *SOFTNESS_RANGES.get(name, (0.0, np.inf))))
        for name, value in zip(names, values, strict=True)
    }


def _mixing_weight(model: Any, a: int, b: int) -> float:
    """Compute the weight, 0 to 1, of the first geom's softness in a contact of two geoms."""
    if model.geom_priority[a] != model.geom_priority[b]:
        return float(model.geom_priority[a] > model.geom_priority[b])
    first, second = float(model.geom_solmix[a]), float(model.geom_solmix[b])
    if first < MIN_SOLMIX and second < MIN_SOLMIX:
        return 0.5
    return 0.0 if first < MIN_SOLMIX else 1.0 if second < MIN_SOLMIX else first / (first + second)


def _gives_friction(model: Any, geom: int) -> bool:
    """Return whether a geom's sliding friction differs from MuJoCo's default."""
    return bool(
        model.geom_friction[geom, 0] != 1
        or model.geom_priority[geom]
        or model.geom_condim[geom] == FRICTIONLESS
    )


def _select_mixed_friction(model: Any, a: int, b: int) -> float:
    """Select the sliding friction of two geoms: the higher priority's, or else the larger."""
    priority = model.geom_priority
    count = [a, b] if priority[a] == priority[b] else [max(a, b, key=lambda geom: priority[geom])]
    frictionless = max(model.geom_condim[geom] for geom in count) == FRICTIONLESS
    return 0.0 if frictionless else float(max(model.geom_friction[geom, 0] for geom in count))
