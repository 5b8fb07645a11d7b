"""Find the feet of a robot from its shape."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.support_points import lowest_point
from tarsus.model.candidates import SUPPORT_TOLERANCE, main_corners
from tarsus.model.mechanism import WORLD, Candidate, Mechanism
from tarsus.morphology.drawn import nearest_drawn

Array = NDArray[np.float64]

MAX_CANDIDATES = 40  # that one compiled step can evaluate
MIN_PER_FOOT = 4  # candidates, if the sole has as many
SOLE_THICKNESS = 0.01  # m; higher candidates of a foot are not part of its sole
MAX_SOLE_SLOPE = 0.2  # nor are those to which a foot must tilt farther, about its lowest candidate
MAX_SOLE_TILT = 0.4  # rad, from the horizontal, of a flat sole as the file draws it
MIN_SOLE_AREA = 0.5  # of the foot's area seen from above
COPLANAR = 0.02  # rad, between the normals of faces of one sole
MAX_FOOT_HEIGHT = 0.3  # of the robot's height; links that end higher are arms
CACHE_SIZE = 64  # robots


@lru_cache(maxsize=CACHE_SIZE)
def find_feet(robot: Mechanism) -> tuple[Candidate, ...]:
    """Find the lowest contact candidates of the last link of each leg.

    They are the lowest in the pose in which the file draws the robot, moved into the joint limits;
    for a robot with closed loops, in the keyframe "stand". The result is cached per robot.

    Parameters
    ----------
    robot
        Robot with `candidates`.

    Returns
    -------
    tuple of Candidate
        In the order of the robot.
    """
    if not robot.candidates:
        return ()
    points = _lowest_points(robot)
    lowest = points[:, 2].copy()
    contacts = [k for touching in candidates_of_robot(robot).values() for k in touching]
    ground = lowest[contacts].min(initial=np.inf)
    height = np.ptp(lowest[contacts]) if contacts else 0.0
    chosen: list[int] = []
    tilted, rods = find_tilted_soles(robot), _find_rods(robot, lowest)
    for body, touching in sorted(candidates_of_last_bodies(robot).items()):
        bottom = min(lowest[touching])
        if body in rods or bottom > ground + MAX_FOOT_HEIGHT * height:
            continue
        if body in tilted:
            points[touching] = points[touching] @ _rotation_to_down(tilted[body]).T
        chosen += _select_sole(points, touching)
    return tuple(robot.candidates[k] for k in sorted(chosen)[:MAX_CANDIDATES])


def _find_rods(robot: Mechanism, lowest: Array) -> set[int]:
    """Find the last bodies of chains that loop joints tie to a limb with a lower last body.

    Such rods are parts of linkages, not feet.

    Parameters
    ----------
    robot
        Robot with `candidates`.
    lowest
        Height of the lowest point of each candidate, shape (n,), in m.
    """
    # the limb of each body by its first body after the base; loops join limbs
    paths = [tree.support_path(robot, i) for i in range(len(robot.bodies))]
    limbs = [next((k for k in path[::-1] if k not in robot.base_chain), -1) for path in paths]
    for loop in robot.loops:
        joined = {limbs[end] for end in (loop.parent, loop.child) if end != WORLD} - {-1}
        limbs = [min(joined) if limb in joined else limb for limb in limbs]
    tied = {end for loop in robot.loops for end in (loop.parent, loop.child)}
    bottoms = {
        body: float(lowest[touching].min())
        for body, touching in candidates_of_last_bodies(robot).items()
        if body in tied
    }
    return {
        body
        for body, bottom in bottoms.items()
        if any(
            limbs[other] == limbs[body] and low < bottom - SUPPORT_TOLERANCE
            for other, low in bottoms.items()
        )
    }


@lru_cache(maxsize=CACHE_SIZE)
def find_tilted_soles(robot: Mechanism) -> dict[int, Array]:
    """Find the feet whose flat soles the file draws tilted, with their normals in world axes.

    A sole is the face of the foot's convex hull below the middle of the foot, on which it would
    rest, if it is large. Soles that are level, or steeper than `MAX_SOLE_TILT`, are not listed.

    Returns
    -------
    dict
        Unit normal (3,) out of the sole, as the file draws it, by body.
    """
    from scipy.spatial import ConvexHull, QhullError

    points, soles = _lowest_points(robot), dict[int, Array]()
    for body, touching in candidates_of_last_bodies(robot).items():
        foot = points[touching]
        try:
            hull = ConvexHull(foot)
        except (QhullError, ValueError):
            continue  # fewer than four points, or coplanar ones
        normals, offsets = hull.equations[:, :3], hull.equations[:, 3]
        corners = foot[hull.simplices]
        doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        areas = np.linalg.norm(doubled, axis=1) / 2
        # the face that a plumb line from the middle of the foot meets
        below = np.flatnonzero(normals[:, 2] < -COPLANAR)
        heights = -(normals[below, :2] @ foot.mean(0)[:2] + offsets[below]) / normals[below, 2]
        sole = normals[below[np.argmax(heights)]]
        area = areas[normals @ sole > np.cos(COPLANAR)].sum()
        from_above = (areas * -normals[:, 2])[below].sum()
        steepness = np.arccos(np.clip(-sole[2], -1, 1))
        if area > MIN_SOLE_AREA * from_above and COPLANAR < steepness < MAX_SOLE_TILT:
            soles[body] = sole
    return soles


def _lowest_points(robot: Mechanism) -> Array:
    """Compute the lowest point (n, 3) of each candidate, in m, as the file draws the robot."""
    q = nearest_drawn(robot)
    kin = kinematics(robot, SX(robot.keyframes.get("stand", q) if robot.loops else q))
    return np.array([np.array(DM(lowest_point(kin, c))).ravel() for c in robot.candidates])


def _rotation_to_down(normal: Array) -> Array:
    """Compute the smallest rotation (3, 3) that turns a unit vector downwards."""
    axis = np.cross(normal, [0.0, 0.0, -1.0])
    cross = np.cross(axis, np.eye(3)).T
    return np.eye(3) + cross + cross @ cross / (1 - normal[2])


def _select_sole(points: Array, touching: list[int]) -> list[int]:
    """Select the candidates of a body that make up its sole.

    These are the main corners of the polygon of its lowest candidates; if there are fewer than
    MIN_PER_FOOT, the next higher ones follow.

    Parameters
    ----------
    points
        Lowest point of each candidate of the robot, shape (n, 3), in m.
    touching
        Indices of the candidates of the body.
    """
    ordered = sorted(touching, key=lambda k: points[k, 2])
    offsets = points[ordered] - points[ordered[0]]
    across = np.linalg.norm(offsets[:, :2], axis=1)
    higher = np.minimum(SOLE_THICKNESS, MAX_SOLE_SLOPE * across)
    sole = [k for k, z, limit in zip(ordered, offsets[:, 2], higher, strict=True) if z <= limit]
    low = [k for k in sole if points[k, 2] <= points[sole[0], 2] + SUPPORT_TOLERANCE]
    corners = [low[k] for k in main_corners(points[low, :2])]
    rest = [k for k in sole if k not in corners]
    return corners + rest[: max(MIN_PER_FOOT - len(corners), 0)]


def find_soles(robot: Mechanism) -> dict[int, list[Candidate]]:
    """Group the feet by body."""
    by_body: dict[int, list[Candidate]] = {}
    for foot in find_feet(robot):
        by_body.setdefault(foot.body, []).append(foot)
    return by_body


def candidates_of_last_bodies(mechanism: Mechanism) -> dict[int, list[int]]:
    """Find the indices of contact candidates on the last bodies of chains, by body."""
    parents = {body.parent for body in mechanism.bodies}
    by_body = candidates_of_robot(mechanism)
    return {i: indices for i, indices in by_body.items() if i not in parents}


def candidates_of_robot(mechanism: Mechanism) -> dict[int, list[int]]:
    """Find the indices of the robot's contact candidates, by body; objects are excluded."""
    by_body: dict[int, list[int]] = {}
    objects = tree.object_bodies(mechanism)
    for k, candidate in enumerate(mechanism.candidates):
        if candidate.body not in objects:
            by_body.setdefault(candidate.body, []).append(k)
    return by_body
