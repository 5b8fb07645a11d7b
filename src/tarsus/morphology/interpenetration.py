"""Which solids of a robot that does not collide with itself went through each other in a motion."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.poses import poses
from tarsus.model.mechanism import Mechanism
from tarsus.model.self_collision import between, pairs
from tarsus.model.solids import Pair
from tarsus.morphology.distances import distance_lower_bound, solid_center, solid_distance

Array = NDArray[np.float64]
THROUGH = 5e-3  # m: shapes stand for a body's surface to a few millimeters
POSTURES = 256  # of a motion that are looked at


def find_interpenetrations(
    mechanism: Mechanism, start: Array, q: Array
) -> list[tuple[Pair, float]]:
    """Pairs that the file lets touch, apart at the coordinates `start` (m, nq), and deeper than
    `THROUGH` in each other somewhere in a motion q (n, nq), with how deep, m; the deepest first.
    """
    known = [pair for pair in pairs(mechanism) if not between(mechanism, pair)]
    if not known:
        return []
    some = q[np.linspace(0, len(q) - 1, min(len(q), POSTURES)).astype(int)]
    began, placed = poses(mechanism, start), poses(mechanism, some)
    where = cache(lambda solid: solid_center(solid, placed))
    found = []
    for pair in known:
        near = distance_lower_bound(pair, (where(pair.first), where(pair.second))) < -THROUGH
        if near.any():
            deepest = -solid_distance(pair, (placed[0][near], placed[1][near])).min()
            if deepest > THROUGH and solid_distance(pair, began).min() > 0:
                found.append((pair, float(deepest)))
    return sorted(found, key=lambda one: -one[1])
