"""Find solids of a robot without self-collision that pass through each other in a motion."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.poses import poses
from tarsus.model.mechanism import Mechanism
from tarsus.model.self_collision import create_pairs, is_between_trees
from tarsus.model.solids import Pair
from tarsus.morphology.distances import distance_lower_bound, solid_center, solid_distance

Array = NDArray[np.float64]
MIN_DEPTH = 5e-3  # m; shapes approximate a body's surface to a few millimeters
MAX_POSTURES = 256  # of a motion, that are checked


def find_interpenetrations(
    mechanism: Mechanism, start: Array, q: Array
) -> list[tuple[Pair, float]]:
    """Find pairs of solids that interpenetrate during a motion.

    Parameters
    ----------
    mechanism
        Mechanism whose file lets the pairs touch.
    start
        Coordinates (m, nq) in which a reported pair does not overlap.
    q
        Coordinates (n, nq) of the motion.

    Returns
    -------
    list of (Pair, float)
        Pairs and their largest depth in m, the deepest first; only those deeper than `MIN_DEPTH`.
    """
    known = [pair for pair in create_pairs(mechanism) if not is_between_trees(mechanism, pair)]
    if not known:
        return []
    some = q[np.linspace(0, len(q) - 1, min(len(q), MAX_POSTURES)).astype(int)]
    at_start, in_motion = poses(mechanism, start), poses(mechanism, some)
    center = cache(lambda solid: solid_center(solid, in_motion))
    result = []
    for pair in known:
        may_overlap = (
            distance_lower_bound(pair, (center(pair.first), center(pair.second))) < -MIN_DEPTH
        )
        if may_overlap.any():
            deepest = -solid_distance(
                pair, (in_motion[0][may_overlap], in_motion[1][may_overlap])
            ).min()
            if deepest > MIN_DEPTH and solid_distance(pair, at_start).min() > 0:
                result.append((pair, float(deepest)))
    return sorted(result, key=lambda row: -row[1])
