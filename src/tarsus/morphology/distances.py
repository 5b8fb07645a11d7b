"""Distances of two solids in many postures, in NumPy; overlap is negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model.solids import Capsule, Cuboid, Pair

Array = NDArray[np.float64]
Poses = tuple[Array, Array]
REGULARIZATION = 1e-12  # m^2; prevents division by zero for a segment of length zero
ROUND_OFF = 1e-9  # m
BISECTIONS = 40  # of a segment, to find its point closest to a box
MIN_CROSS_PRODUCT = 1e-6  # of two edges; shorter ones count as parallel


def solid_distance(pair: Pair, poses: Poses) -> Array:
    """Compute the distance of two solids in many postures.

    Parameters
    ----------
    pair
        Two solids.
    poses
        Origins (n, bodies, 3) in m and rotations (n, bodies, 3, 3) of all bodies.

    Returns
    -------
    Array
        Distances (n,), in m; a lower bound for two boxes that do not touch.
    """
    first, second = pair.first, pair.second
    if isinstance(first, Cuboid):
        assert isinstance(second, Cuboid)
        return _boxes(first, second, poses)
    if isinstance(second, Cuboid):
        return _capsule_box_distance(first, second, poses)
    ends = (*_segment(first, poses), *_segment(second, poses))
    return segment_distances(*ends) - first.radius - second.radius


def distance_lower_bound(pair: Pair, middles: tuple[Array, Array]) -> Array:
    """Compute a cheap lower bound of `solid_distance`: the distance of the bounding spheres.

    `solid_distance` of two boxes is measured along a face normal or an edge product. One face
    normal of the first box is within 55 degrees of the line between the centers.

    Parameters
    ----------
    pair
        Two solids.
    middles
        Centers of both, each (n, 3), in m.

    Returns
    -------
    Array
        Lower bounds (n,), in m.
    """
    away = np.linalg.norm(middles[0] - middles[1], axis=1)
    if isinstance(pair.first, Cuboid):
        away = away / np.sqrt(3)
    return away - pair.first.reach - pair.second.reach - ROUND_OFF


def solid_center(solid: Capsule | Cuboid, poses: Poses) -> Array:
    """Compute the center (n, 3) of a solid, in m."""
    r, R = (part[:, solid.body] for part in poses)
    return r + R @ solid.middle


def segment_distances(m1: Array, d1: Array, m2: Array, d2: Array) -> Array:
    """Compute the distances (n,) of segments from m - d to m + d, (n, 3) each, in m.

    `collision/closest_point/segments.py` derives them.
    """
    offset = m1 - m2
    a, e, b, c, f = (
        np.sum(x * y, axis=1) for x, y in ((d1, d1), (d2, d2), (d1, d2), (d1, offset), (d2, offset))
    )
    eps = REGULARIZATION
    a, e = a + eps, e + eps
    s = np.clip((b * f - c * e) / np.maximum(a * e - b * b, eps * a * e + eps**2), -1, 1)
    t = np.clip((b * s + f) / e, -1, 1)
    s = np.clip((b * t - c) / a, -1, 1)
    return np.linalg.norm(offset + s[:, None] * d1 - t[:, None] * d2, axis=1)


def _segment(capsule: Capsule, poses: Poses) -> tuple[Array, Array]:
    r, R = (part[:, capsule.body] for part in poses)
    return r + R @ capsule.middle, R @ capsule.half


def _box(box: Cuboid, poses: Poses) -> tuple[Array, Array]:
    """Compute the center (n, 3) and rotation (n, 3, 3) of a box."""
    r, R = (part[:, box.body] for part in poses)
    return r + R @ box.middle, R @ box.rotation


def _capsule_box_distance(capsule: Capsule, box: Cuboid, poses: Poses) -> Array:
    """Compute the distance of a capsule and a box, by bisecting the slope of the distance."""
    (m, d), (middle, R) = _segment(capsule, poses), _box(box, poses)
    p, d = (np.einsum("nji,nj->ni", R, x) for x in (m - middle, d))
    low, high = -np.ones(len(p)), np.ones(len(p))
    for _ in range(BISECTIONS):
        t = (low + high) / 2
        x = p + t[:, None] * d
        rising = np.sum(d * (x - np.clip(x, -box.half, box.half)), axis=1) > 0
        low, high = np.where(rising, low, t), np.where(rising, t, high)
    x = p + ((low + high) / 2)[:, None] * d
    outside = np.linalg.norm(np.maximum(np.abs(x) - box.half, 0), axis=1)
    return np.where(outside > 0, outside, (np.abs(x) - box.half).max(1)) - capsule.radius


def _boxes(first: Cuboid, second: Cuboid, poses: Poses) -> Array:
    """Compute the largest gap along face normals and edge products (separating axes)."""
    (m1, R1), (m2, R2) = _box(first, poses), _box(second, poses)
    products = np.cross(R1[:, :, :, None], R2[:, :, None, :], axis=1).reshape(len(R1), 3, 9)
    axes = np.concatenate([R1, R2, products], axis=2)
    length = np.linalg.norm(axes, axis=1)
    axes = axes / np.maximum(length, MIN_CROSS_PRODUCT)[:, None]
    reach = sum(
        np.einsum("nka,k->na", np.abs(np.einsum("nik,nia->nka", R, axes)), box.half)
        for R, box in ((R1, first), (R2, second))
    )
    gaps = np.abs(np.einsum("ni,nia->na", m1 - m2, axes)) - reach
    return np.where(length > MIN_CROSS_PRODUCT, gaps, -np.inf).max(1)
