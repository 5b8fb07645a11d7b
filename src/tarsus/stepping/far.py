"""How far two solids are apart at least, at a fraction of what finding where they touch costs.

Convex bodies are apart by what parts them along any direction, and by what parts the balls around
them. Which it is, a normal of a box's faces or the balls, is chosen once for each pair: what parts
it most as the robot starts. Where nothing does, the most of all counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import casadi as ca
import numpy as np
from casadi import DM, SX

from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.model.solids import Pair
from tarsus.stepping.boxes import Block
from tarsus.stepping.pairs import Segment, between, length
from tarsus.stepping.shapes import Shape, shapes_of

PARTED = 0.02  # m: what parts a pair by more as the robot starts is all that is asked of it


def at_least(kin: Kinematics, pairs: list[Pair]) -> list[SX]:
    """Of each pair a distance, m, that its solids have at least; touching ones 0 or less."""
    start = kinematics(kin.mechanism, SX(DM(_start(kin.mechanism))))
    now, then = shapes_of(kin, pairs), shapes_of(start, pairs)
    found = []
    for pair in pairs:
        own, away = ways(pair, now), [float(DM(way)) for way in ways(pair, then)]
        best = int(np.argmax(away))
        found.append(own[best] if away[best] > PARTED else reduce(ca.fmax, own))
    return found


def ways(pair: Pair, shapes: Mapping[str, Shape]) -> list[SX]:
    """What parts two solids, m: the balls around them, of boxes the normals of their faces, of two
    capsules their own distance.
    """
    one, other = (shapes[solid.name] for solid in (pair.first, pair.second))
    between_both = one.middle - other.middle
    found = [length(between_both) - (pair.first.reach + pair.second.reach)]
    if isinstance(one, Segment) and isinstance(other, Segment):
        apart, _ = between(one, other)
        return [*found, length(apart) - (pair.first.radius + pair.second.radius)]
    for box in (one, other):
        if isinstance(box, Block):
            for k in range(3):
                normal = box.rotation[:, k]
                reach = _along(one, normal) + _along(other, normal) + pair.first.radius
                found.append(ca.fabs(ca.dot(normal, between_both)) - reach)
    return found


def _along(shape: Shape, normal: SX) -> SX:
    """How far a solid reaches from its middle along a direction (3,), m, not rounded."""
    if isinstance(shape, Segment):
        return SX(0) if shape.half is None else ca.fabs(ca.dot(normal, shape.half))
    return ca.dot(ca.fabs(ca.mtimes(shape.rotation.T, normal)), shape.half)


def _start(mechanism: Mechanism) -> np.ndarray:
    """Coordinates (nq,) near those of the start, cut joints at zero."""
    q = mechanism.keyframes.get("stand")
    return mechanism.neutral() if q is None or len(q) != mechanism.nq else np.asarray(q)
