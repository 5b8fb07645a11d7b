"""Compute balance from a log: zero moment point, capture point and support margin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CONTACT_DISTANCE = 1e-3  # m; contacts closer to the ground can carry the robot
DIMENSIONS = {"zero_moment_point": ("xyz",), "capture_point": ("xy",), "support_margin": ()}
"""Dimensions of each variable in a log, after time and world."""
CHUNK_SIZE = 4096  # instants


def balance(
    center: Array, velocity: Array, point: Array, force: Array, gap: Array, gravity: float
) -> dict[str, Array]:
    """Compute zero moment point, capture point and support margin of every instant and world.

    The zero moment point is the mean of the contact points, weighted by their vertical forces: on a
    plane, the point about which the contact forces have no horizontal moment. The capture point is
    where a linear inverted pendulum that starts at the center of mass, above the zero moment point,
    comes to rest. The support margin is the distance in m of the zero moment point from the edge of
    the convex hull of the contacts near the ground, seen from above. Outside the hull it is
    negative: the distance from the line through the edge that is farthest away. All are NaN without
    an upward force.

    Parameters
    ----------
    center, velocity
        Position and velocity of the center of mass, shape (..., 3), in m and m/s.
    point, force
        Contact points and forces, shape (..., n, 3), in world axes, in m and N.
    gap
        Gap of each contact, shape (..., n), in m.
    gravity
        Gravity acceleration downwards, in m/s^2.

    Returns
    -------
    dict
        "zero_moment_point" (..., 3), "capture_point" (..., 2) and "support_margin" (...).

    References
    ----------
    Pratt 2006 (capture point).
    """
    # zero moment point and capture point
    with np.errstate(invalid="ignore", divide="ignore"):
        up = np.maximum(force[..., 2], 0.0)
        total = up.sum(-1)
        pressure = (up[..., None] * point).sum(-2) / np.where(total > 0, total, np.nan)[..., None]
        height = np.maximum(center[..., 2] - pressure[..., 2], 0.0)
        pace = np.sqrt(height / gravity) if gravity > 0 else np.full(height.shape, np.nan)
        capture = center[..., :2] + velocity[..., :2] * pace[..., None]
    # support margin
    target, contacts = pressure[..., :2].reshape(-1, 2), gap.shape[-1]
    flat = point[..., :2].reshape(len(target), contacts, 2)
    gaps = gap.reshape(len(target), contacts)
    parts = [slice(k, k + CHUNK_SIZE) for k in range(0, len(flat), CHUNK_SIZE)]
    margins = [
        support_margin(flat[part], gaps[part] <= CONTACT_DISTANCE, target[part]) for part in parts
    ]
    return {
        "zero_moment_point": pressure,
        "capture_point": capture,
        "support_margin": np.concatenate([np.zeros(0), *margins]).reshape(center.shape[:-1]),
    }


def support_margin(points: Array, carries: NDArray[np.bool_], target: Array) -> Array:
    """Compute the distance of each target from the edge of the convex hull of its carrying points.

    Positive inside; NaN without points or target.

    Parameters
    ----------
    points
        Points, shape (m, n, 2), in m.
    carries
        Which of them carry load, shape (m, n).
    target
        Targets, shape (m, 2), in m.

    Returns
    -------
    array
        Distances, shape (m,), in m.
    """
    # sort carrying points first, because few carry at once
    count = int(carries.sum(1).max(initial=0))
    order = np.argsort(~carries, axis=1, kind="stable")[:, :count]
    points = np.take_along_axis(points, order[..., None], 1)
    carries = np.take_along_axis(carries, order, 1)
    # a line through two points is an edge if no point is beyond it
    first, second = np.triu_indices(points.shape[1], 1)
    along = points[:, second] - points[:, first]
    length = np.linalg.norm(along, axis=-1)
    usable = carries[:, first] & carries[:, second] & (length > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        normal = np.stack([along[..., 1], -along[..., 0]], -1) / length[..., None]
    nearest = np.full(len(points), np.inf)
    for k in np.flatnonzero(usable.any(0)):
        side = ((points - points[:, first[k], None]) * normal[:, k, None]).sum(-1)
        beyond = np.where(carries, side, -np.inf).max(-1), np.where(carries, -side, -np.inf).max(-1)
        inside = ((points[:, first[k]] - target) * normal[:, k]).sum(-1)
        tolerance = 1e-12 + 1e-9 * length[:, k]
        for sign, over in zip((1.0, -1.0), beyond, strict=True):
            edge = usable[:, k] & (over <= tolerance)
            nearest = np.where(edge, np.minimum(nearest, sign * inside), nearest)
    # a single point, or none
    alone = carries.sum(1) == 1
    only = points[np.arange(len(points)), carries.argmax(1)] if points.shape[1] else target
    nearest = np.where(alone, -np.linalg.norm(only - target, axis=-1), nearest)
    return np.where(np.isfinite(nearest) & np.isfinite(target[:, 0]), nearest, np.nan)
