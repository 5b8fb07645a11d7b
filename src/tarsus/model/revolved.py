"""Meshes that are drawn round: balls, cylinders, other bodies of revolution, known by their hulls.

Wheels of files are meshes more often than not, and a wheel of a few vertices does not roll.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tarsus.model.candidates import Shape, hull
from tarsus.model.poses import Pose

Array = NDArray[np.float64]
ROUND = 0.04  # of the radius: flats of a mesh are not deeper, as those of a circle of 12 corners
BALL = 0.06  # the same of a ball, of 12 corners around and 8 from pole to pole
FEWEST = 24  # vertices of a hull: with fewer it is not round
EVEN = 0.005  # of the radius: vertices on a ball, rims on the profile, ends of a cylinder alike
SAME = 1e-6  # of the size: vertices of one rim differ by less
INNER = 3  # rims between those at the ends
AROUND = 2 * np.pi * np.arange(48) / 48  # rad
LATITUDES = np.deg2rad(np.arange(-75, 76, 15))
ALL_OVER = 200  # directions in which a ball is looked at


def rounded(shape: Shape) -> Shape:
    """A mesh that is drawn round as the sphere, cylinder or body of revolution that is meant, any
    other with the vertices of its hull; other shapes as they are.
    """
    if shape.kind != "mesh":
        return shape
    outside = hull(shape.vertices)
    plain, shape = replace(shape, vertices=np.zeros((0, 3))), replace(shape, vertices=outside)
    extents = np.linalg.svd(outside - outside.mean(0), compute_uv=False)
    if len(outside) < FEWEST or extents[-1] <= SAME * extents[0]:  # too few, or flat
        return shape
    ball = _ball(outside)
    if ball is not None:
        center, radius = ball
        pose = shape.pose @ Pose(center)
        return replace(plain, kind="sphere", size=(radius,), pose=pose)
    axis = _axis(outside)
    if axis is None:
        return shape
    # rims along the axis, the middle of the ends being the shape's
    rims = _rims(_profile((outside - axis.position) @ axis.rotation))
    middle = (rims[0, 0] + rims[-1, 0]) / 2
    rims[:, 0] -= middle
    pose = shape.pose @ axis @ Pose(np.array([0.0, 0.0, middle]))
    largest = rims[:, 1].max()
    if len(rims) == 2 and np.ptp(rims[:, 1]) <= EVEN * largest:
        return replace(plain, kind="cylinder", size=(float(largest), float(rims[1, 0])), pose=pose)
    return replace(plain, kind="revolved", size=tuple(rims.ravel().tolist()), pose=pose)


def _ball(outside: Array) -> tuple[Array, float] | None:
    """Center (3,) and radius, m, of the ball that vertices (n, 3) of a hull are drawn for."""
    center, radius = _through(outside)
    # all on it, and nowhere a flat below it
    away = np.linalg.norm(outside - center, axis=1)
    if np.abs(away - radius).max() > EVEN * radius:
        return None
    height = 1 - (2 * np.arange(ALL_OVER) + 1) / ALL_OVER
    turn = np.pi * (1 + np.sqrt(5)) * np.arange(ALL_OVER)
    out = np.sqrt(1 - height**2)
    over = np.c_[out * np.cos(turn), out * np.sin(turn), height]
    reach = ((outside - center) @ over.T).max(0)
    return (center, radius) if reach.min() >= (1 - BALL) * radius else None


def _through(points: Array) -> tuple[Array, float]:
    """Center and radius, m, of the circle (n, 2) or sphere (n, 3) nearest to points, by the squares
    of their distances: |v|^2 = 2 v c + (r^2 - |c|^2).
    """
    origin = points.mean(0)
    v = points - origin
    found = np.linalg.lstsq(np.c_[2 * v, np.ones(len(v))], (v**2).sum(1), rcond=None)[0]
    center = found[:-1]
    return origin + center, float(np.sqrt(max(found[-1] + center @ center, 0.0)))


def _axis(outside: Array) -> Pose | None:
    """The frame about whose z axis vertices (n, 3) of a hull are drawn, if there is one."""
    best, least = None, ROUND
    circle = np.c_[np.cos(AROUND), np.sin(AROUND)]
    for rotation in _frames(outside):
        # how far the hull reaches in directions around the axis
        v = outside @ rotation
        equator = (v[:, :2] @ circle.T).max(0)
        center, radius = 2 * equator @ circle / len(circle), equator.mean()
        if np.ptp(equator - circle @ center) > least * radius:
            continue
        # and at other latitudes
        v[:, :2] -= center
        uneven = max(
            np.ptp((np.cos(up) * v[:, :2] @ circle.T + np.sin(up) * v[:, 2:]).max(0))
            for up in LATITUDES
        )
        if uneven < least * radius:
            # its middle by the corners of the largest rim
            away = np.linalg.norm(v[:, :2], axis=1)
            middle = center + _through(v[away > (1 - ROUND) * away.max(), :2])[0]
            best = Pose(rotation @ np.array([*middle, 0.0]), rotation)
            least = uneven / radius
    return best


def _frames(outside: Array) -> Iterator[Array]:
    """Rotations (3, 3) whose z axis may be that of a hull: along the mesh's own axes, and along its
    principal ones.
    """
    from scipy.spatial import ConvexHull

    # second moments of the tetrahedra between the hull's triangles and a point within
    corners = (outside - outside.mean(0))[ConvexHull(outside).simplices]
    volumes, sums = np.abs(np.linalg.det(corners)) / 6, corners.sum(1)
    middle = volumes @ sums / (4 * volumes.sum())
    squares = np.einsum("tki,tkj->tij", corners, corners) + np.einsum("ti,tj->tij", sums, sums)
    moments = np.einsum("t,tij->ij", volumes, squares) / 20
    moments -= volumes.sum() * np.outer(middle, middle)
    for axes in (np.eye(3), np.linalg.eigh(moments)[1]):
        for k in range(3):
            frame = np.roll(axes, 2 - k, axis=1)
            yield frame * np.array([1.0, np.linalg.det(frame), 1.0])


def _profile(v: Array) -> Array:
    """Rows (z, radius) of the convex profile of vertices (n, 3) about z, z rising."""
    from scipy.spatial import ConvexHull

    half = np.c_[v[:, 2], np.linalg.norm(v[:, :2], axis=1)]
    grain = SAME * np.abs(half).max()
    half = half[np.unique(np.round(half / grain), axis=0, return_index=True)[1]]
    half[half[:, 1] < grain, 1] = 0.0
    on_axis = half[:, 1] == 0.0
    whole = np.concatenate([half, half[~on_axis] * [1, -1]])
    found = whole[ConvexHull(whole).vertices]
    found = found[found[:, 1] >= 0]
    return found[np.argsort(found[:, 0])]


def _rims(profile: Array) -> Array:
    """The rows of a profile (n, 2) that stand for it: its ends, the largest, and of the others
    those farthest from the lines between these.
    """
    largest = profile[:, 1].max()
    taken = {0, len(profile) - 1, int(np.argmax(profile[:, 1]))}
    while len(taken) < INNER + 2:
        order = sorted(taken)
        off = np.zeros(len(profile))
        for a, b in pairwise(order):
            along = profile[b] - profile[a]
            across = np.array([-along[1], along[0]]) / max(np.linalg.norm(along), 1e-12)
            off[a + 1 : b] = np.abs((profile[a + 1 : b] - profile[a]) @ across)
        if off.max() <= EVEN * largest:
            break
        taken.add(int(np.argmax(off)))
    return profile[sorted(taken)]
