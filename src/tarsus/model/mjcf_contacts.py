"""Friction and softness of a compiled MuJoCo model's geoms, in the words of our laws.

MuJoCo mixes the numbers of two geoms that touch; the ground is not in a robot's file, so that a
robot's geoms have their own here, and the terrain scales friction. One set of numbers is the law's:
that of the geoms of highest priority, of these the largest friction. The others' friction is a
factor on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import several
from tarsus.model.parts import Report
from tarsus.model.solids import MEANT

PLANE, HFIELD = 0, 1  # mjtGeom
FRICTIONLESS = 1  # condim
SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's defaults
IMPEDANCE = (1e-4, 0.9999)
BOUNDS = {  # as MuJoCo keeps them
    "d_min": IMPEDANCE,
    "d_max": IMPEDANCE,
    "width": (1e-9, np.inf),
    "midpoint": IMPEDANCE,
    "power": (1.0, np.inf),
}
SOFTNESS = ("timeconst", "dampratio", "d_min", "d_max", "width", "midpoint", "power")
SOME = 5  # names that a sentence shows


def colliding(model: Any) -> list[int]:
    """Geoms that can collide: by their bits or in an explicit pair."""
    paired = {*np.array(model.pair_geom1).tolist(), *np.array(model.pair_geom2).tolist()}
    bits = np.array(model.geom_contype) | np.array(model.geom_conaffinity)
    return sorted(paired.union(np.flatnonzero(bits).tolist()))


def bits(model: Any) -> list[tuple[int, int]]:
    """contype and conaffinity of every geom, with a bit of its own, above MuJoCo's, for each
    explicit pair: two geoms meet where the first number of one shares a bit with the other's
    second.
    """
    types, affinities = (
        [own & (MEANT - 1) for own in np.array(a).tolist()]
        for a in (model.geom_contype, model.geom_conaffinity)
    )
    both = zip(
        np.array(model.pair_geom1).tolist(), np.array(model.pair_geom2).tolist(), strict=True
    )
    for k, (one, other) in enumerate(both):
        types[one] |= MEANT << k
        affinities[other] |= MEANT << k
    return list(zip(types, affinities, strict=True))


def of_contacts(model: Any) -> list[dict[str, Any]]:
    """Of every geom bits and friction relative to the law's, and that of its explicit pairs with
    the ground and with geoms that move, by the names of `Shape`.
    """
    law = _law_s(model, frictions(model))
    own, below, among = _geom_frictions(model), ground_pairs(model), _moving_pairs(model)

    def relative(value: float | None, default: float | None) -> float | None:
        return default if value is None else value / law if law else 1.0

    return [
        {
            "bits": meets,
            "priority": int(model.geom_priority[geom]),
            "friction": relative(own.get(geom), 1.0),
            "on_ground": relative(below.get(geom), None),
            "paired": {k: relative(v, None) for k, v in among.get(geom, {}).items()},
        }
        for geom, meets in enumerate(bits(model))
    ]


def material(model: Any) -> dict[str, float]:
    """Numbers for the contact law by the names of its parameters, those that are not MuJoCo's
    defaults: mu; and those of the law `soft_convex`.
    """
    own = frictions(model)
    if not own:
        return {}
    found: dict[str, float] = {}
    if any(value != 1.0 for value in own.values()):
        found["mu"] = _law_s(model, own)
    geom = first_of(model, own)
    ref, imp = np.array(model.geom_solref[geom]), np.array(model.geom_solimp[geom])
    soft = dict(zip(SOFTNESS, (*ref, *imp), strict=True))
    usual = dict(zip(SOFTNESS, (*SOLREF, *SOLIMP), strict=True))
    for name in SOFTNESS if (ref > 0).all() else SOFTNESS[2:]:
        if not np.isclose(soft[name], usual[name], rtol=1e-6):
            low, high = BOUNDS.get(name, (0.0, np.inf))
            found[name] = float(np.clip(soft[name], low, high))
    if model.opt.impratio != 1:
        found["impratio"] = float(model.opt.impratio)
    return found


def report_contacts(model: Any, report: Report) -> None:
    """Say what of the geoms' contact parameters is left out, or acts under one law alone."""
    own = frictions(model)
    if not own:
        return
    geoms = np.array(sorted(own))
    given = material(model)
    # softness
    soft = [name for name in given if name != "mu"]
    if soft:
        report.note(f"Softness of contacts acts under the law 'soft_convex': {', '.join(soft)}.")
    first = first_of(model, own)
    softness = np.hstack([model.geom_solref[geoms], model.geom_solimp[geoms]])
    alike = np.all(softness == softness[list(geoms).index(first)], axis=1)
    _leave(model, report, "the softness of geoms that is not that of the first", geoms[~alike])
    hard = np.any(np.array(model.geom_solref)[geoms] <= 0, axis=1)
    _leave(model, report, "solref of the form (-stiffness, -damping)", geoms[hard])
    # what no law has
    wide = (np.array(model.geom_margin)[geoms] != 0) | (np.array(model.geom_gap)[geoms] != 0)
    _leave(model, report, "margin and gap of contacts", geoms[wide])
    _report_pairs(model, report)
    # what the file keeps off its own ground
    spared = [geom for geom in sorted(own) if _spared(model, geom)]
    if spared:
        names = [model.geom(geom).name or f"geom {geom}" for geom in spared]
        report.warn(
            "these geoms touch the ground, although the file excludes them from contact with its"
            f" world by <exclude>, contype or conaffinity: {several(names, SOME)}.",
            "ground-exclusion-ignored",
            names[0],
        )


def _spared(model: Any, geom: int) -> bool:
    """Whether a geom that moves meets nothing of what the file fixes to the world.

    A file without anything fixed spares what it excludes from the world itself.
    """
    body, meets = int(model.geom_bodyid[geom]), bits(model)
    hosts = {f: int(model.geom_bodyid[f]) for f in colliding(model)}
    fixed = {f: host for f, host in hosts.items() if model.body_weldid[host] == 0}
    excluded = {
        host for host in {0, *fixed.values()} if (host << 16) + body in model.exclude_signature
    }
    if not fixed:
        return 0 in excluded
    types, affinities = meets[geom]
    return not any(
        (types & meets[f][1] or affinities & meets[f][0]) and host not in excluded
        for f, host in fixed.items()
    )


def _report_pairs(model: Any, report: Report) -> None:
    """What of the numbers of explicit pairs is taken, and what is not."""
    if not model.npair:
        return
    moving = [_moving(model, k) for k in range(model.npair)]
    names: dict[int, list[str]] = {count: [] for count in range(3)}
    for k, geoms in enumerate(moving):
        names[len(geoms)].append(model.pair(k).name or f"pair {k}")
    if names[1]:
        report.note(f"Friction on the ground is that of explicit pairs: {several(names[1], SOME)}.")
    if names[2]:
        report.note(
            "Friction of geoms that move on each other is that of their explicit pairs:"
            f" {several(names[2], SOME)}."
        )
    if taken := names[1] + names[2]:
        report.leave(
            "Of explicit pairs all numbers but the sliding friction are left out:"
            f" {several(taken, SOME)}."
        )
    if names[0]:
        report.leave(
            "The numbers of explicit contact pairs are left out, where neither geom moves:"
            f" {several(names[0], SOME)}."
        )


def frictions(model: Any) -> dict[int, float]:
    """The sliding friction on the ground of every geom of a body that moves: its own, or that of
    its explicit pair with what is fixed.
    """
    return _geom_frictions(model) | ground_pairs(model)


def ground_pairs(model: Any) -> dict[int, float]:
    """The sliding friction of geoms that move in explicit pairs with what is fixed; of several such
    pairs of one geom the first's.
    """
    found: dict[int, float] = {}
    for k in range(model.npair):
        if len(geoms := _moving(model, k)) == 1:
            found.setdefault(geoms[0], _pair_friction(model, k))
    return found


def _moving_pairs(model: Any) -> dict[int, dict[int, float]]:
    """The sliding friction of geoms that move in explicit pairs with others that do, by geom and
    number of the pair.
    """
    found: dict[int, dict[int, float]] = {}
    for k in range(model.npair):
        if len(geoms := _moving(model, k)) == 2:
            for geom in geoms:
                found.setdefault(geom, {})[k] = _pair_friction(model, k)
    return found


def _pair_friction(model: Any, pair: int) -> float:
    slippery = model.pair_dim[pair] == FRICTIONLESS
    return 0.0 if slippery else float(model.pair_friction[pair, 0])


def _moving(model: Any, pair: int) -> list[int]:
    """The geoms of an explicit pair that are not fixed to the world."""
    ends = int(model.pair_geom1[pair]), int(model.pair_geom2[pair])
    return [geom for geom in ends if model.body_weldid[model.geom_bodyid[geom]] != 0]


def _geom_frictions(model: Any) -> dict[int, float]:
    """The sliding friction of every geom of a body that moves; 0 of one without, whose priority
    makes its condim count.
    """
    found: dict[int, float] = {}
    for geom in colliding(model):
        fixed = model.body_weldid[model.geom_bodyid[geom]] == 0
        if fixed or model.geom_type[geom] in (PLANE, HFIELD):
            continue
        slippery = model.geom_condim[geom] == FRICTIONLESS and model.geom_priority[geom] > 0
        found[geom] = 0.0 if slippery else float(model.geom_friction[geom, 0])
    return found


def _law_s(model: Any, own: dict[int, float]) -> float:
    """The friction that is the law's; of geoms without any, the largest of the others."""
    return (own[first_of(model, own)] or max(own.values())) if own else 1.0


def first_of(model: Any, own: dict[int, float]) -> int:
    """The geom whose numbers are the law's: of the highest priority the one of most friction."""
    return max(own, key=lambda geom: (int(model.geom_priority[geom]), own[geom], -geom))


def _leave(model: Any, report: Report, what: str, geoms: NDArray[Any]) -> None:
    if len(geoms):
        names = [model.geom(int(geom)).name or f"geom {geom}" for geom in geoms]
        report.leave(f"Left out: {what}, of {several(names, SOME)}.")
