"""How far apart two solids are in many postures, in numbers: overlap is negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model.solids import Capsule, Cuboid, Pair

Array = NDArray[np.float64]
Poses = tuple[Array, Array]
ROUND = 1e-12  # m^2: keeps a ball's segment from dividing by zero
SAFE = 1e-9  # m: more than what round-off adds
HALVINGS = 40  # of a segment, on the way to its point nearest to a box
PARALLEL = 1e-6  # edges whose product is shorter have no normal of their own


def solid_distance(pair: Pair, poses: Poses) -> Array:
    """(n,), m, of two solids on bodies with origins (n, bodies, 3) and rotations (n, bodies, 3, 3);
    of two boxes that do not touch, at least so much.
    """
    first, second = pair.first, pair.second
    if isinstance(first, Cuboid):
        assert isinstance(second, Cuboid)
        return _boxes(first, second, poses)
    if isinstance(second, Cuboid):
        return _on_box(first, second, poses)
    ends = (*_segment(first, poses), *_segment(second, poses))
    return segment_distances(*ends) - first.radius - second.radius


def distance_lower_bound(pair: Pair, middles: tuple[Array, Array]) -> Array:
    """A bound (n,), m, from below of what `apart` finds, quickly: how far apart balls around the
    solids are, with middles (n, 3) each.

    Of two boxes: along a normal of the first's faces, of which one lies near enough to the way
    between the middles.
    """
    away = np.linalg.norm(middles[0] - middles[1], axis=1)
    if isinstance(pair.first, Cuboid):
        away = away / np.sqrt(3)
    return away - pair.first.reach - pair.second.reach - SAFE


def solid_center(solid: Capsule | Cuboid, poses: Poses) -> Array:
    """(n, 3), of a solid."""
    r, R = (part[:, solid.body] for part in poses)
    return r + R @ solid.middle


def segment_distances(m1: Array, d1: Array, m2: Array, d2: Array) -> Array:
    """Return the distances of segments from m - d to m + d, (n, 3) each, m.

    `collision/closest_point/segments.py` derives them.
    """
    apart = m1 - m2
    a, e, b, c, f = (
        np.sum(x * y, axis=1) for x, y in ((d1, d1), (d2, d2), (d1, d2), (d1, apart), (d2, apart))
    )
    a, e = a + ROUND, e + ROUND
    s = np.clip((b * f - c * e) / np.maximum(a * e - b * b, ROUND * a * e + ROUND**2), -1, 1)
    t = np.clip((b * s + f) / e, -1, 1)
    s = np.clip((b * t - c) / a, -1, 1)
    return np.linalg.norm(apart + s[:, None] * d1 - t[:, None] * d2, axis=1)


def _segment(capsule: Capsule, poses: Poses) -> tuple[Array, Array]:
    r, R = (part[:, capsule.body] for part in poses)
    return r + R @ capsule.middle, R @ capsule.half


def _box(box: Cuboid, poses: Poses) -> tuple[Array, Array]:
    """Its middle (n, 3) and rotation (n, 3, 3)."""
    r, R = (part[:, box.body] for part in poses)
    return r + R @ box.middle, R @ box.rotation


def _on_box(capsule: Capsule, box: Cuboid, poses: Poses) -> Array:
    """The squared distance along a segment is convex: its slope is halved in."""
    (m, d), (middle, R) = _segment(capsule, poses), _box(box, poses)
    p, d = (np.einsum("nji,nj->ni", R, x) for x in (m - middle, d))
    low, high = -np.ones(len(p)), np.ones(len(p))
    for _ in range(HALVINGS):
        t = (low + high) / 2
        x = p + t[:, None] * d
        rising = np.sum(d * (x - np.clip(x, -box.half, box.half)), axis=1) > 0
        low, high = np.where(rising, low, t), np.where(rising, t, high)
    x = p + ((low + high) / 2)[:, None] * d
    outside = np.linalg.norm(np.maximum(np.abs(x) - box.half, 0), axis=1)
    return np.where(outside > 0, outside, (np.abs(x) - box.half).max(1)) - capsule.radius


def _boxes(first: Cuboid, second: Cuboid, poses: Poses) -> Array:
    """The most along the normals of faces and the products of edges."""
    (m1, R1), (m2, R2) = _box(first, poses), _box(second, poses)
    products = np.cross(R1[:, :, :, None], R2[:, :, None, :], axis=1).reshape(len(R1), 3, 9)
    axes = np.concatenate([R1, R2, products], axis=2)
    length = np.linalg.norm(axes, axis=1)
    axes = axes / np.maximum(length, PARALLEL)[:, None]
    reach = sum(
        np.einsum("nka,k->na", np.abs(np.einsum("nik,nia->nka", R, axes)), box.half)
        for R, box in ((R1, first), (R2, second))
    )
    gaps = np.abs(np.einsum("ni,nia->na", m1 - m2, axes)) - reach
    return np.where(length > PARALLEL, gaps, -np.inf).max(1)
