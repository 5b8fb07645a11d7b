"""Meshes of balls, rings, bodies of revolution and round tips, recognized by their convex hulls.

Most wheels in robot files are meshes, and a wheel of a few vertices does not roll. Many feet are
meshes with a round tip, which would need a dozen vertices to stand in every posture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tarsus.model.candidates import Shape, candidate_points, hull_vertices
from tarsus.model.poses import Pose

Array = NDArray[np.float64]
MAX_FLAT = 0.04  # depth of a flat of a round mesh over its radius: a circle with 12 corners
MAX_BALL_FLAT = 0.06  # the same for a ball: 12 corners around, 8 from pole to pole
MIN_VERTICES = 24  # of the hull of a round mesh
TOLERANCE = 0.005  # over the radius: vertices off a ball, rims off the profile, radii of a cylinder
SAME_VERTEX = 1e-6  # over the size: vertices of one rim differ by less
MAX_INNER_RIMS = 3  # between those at the ends
LONGITUDES = 2 * np.pi * np.arange(48) / 48  # rad
LATITUDES = np.deg2rad(np.arange(-75, 76, 15))
BALL_DIRECTIONS = 200  # in which the extent of a ball is compared
TIP_DIRECTIONS = 800  # in which the extents of a tip and of its ball are compared
TIP_ANGLE = np.deg2rad(75)  # from down, or from a ring's equator: directions that must agree
MAX_TIP_ERROR = 0.1  # over the radius: by which they may differ there
MAX_TIP_BULGE = 0.2  # over the radius: by which the ball or ring may stick out elsewhere
MIN_TIP_RADIUS = 0.005  # m: smaller balls and tubes are rounded corners


def round_shapes(
    shapes: Sequence[tuple[str, int, Shape]], ups: Mapping[int, Array]
) -> list[tuple[str, int, Shape]]:
    """Replace meshes by the round shapes that they approximate.

    A mesh becomes a sphere, a torus, a cylinder, a body of revolution, or its hull. A hull with a
    round tip becomes a sphere and the vertices outside it. Other shapes stay as they are.

    Parameters
    ----------
    shapes
        Link name, body number and shape.
    ups
        Direction of up, shape (3,), in each body's frame with all joints at zero.

    Returns
    -------
    list
        Link name, body number and shape, in the same order.
    """
    revolved = [(link, body, recognize_round_shape(shape)) for link, body, shape in shapes]
    by_body: dict[int, list[Shape]] = {}
    for _, body, shape in revolved:
        by_body.setdefault(body, []).append(shape)
    return [
        (link, body, own)
        for link, body, shape in revolved
        for own in _with_round_tip(shape, ups[body], by_body[body])
    ]


def _with_round_tip(shape: Shape, up: Array, body: Sequence[Shape]) -> tuple[Shape, ...]:
    """Separate the ball at the lower end of a hull from the rest, if there is one.

    Within TIP_ANGLE of down the extent of the ball differs from that of the hull by at most
    MAX_TIP_ERROR, and by less than that of the vertices that would touch instead. Elsewhere the
    ball sticks out of the shapes of the body by at most MAX_TIP_BULGE.
    """
    if shape.kind != "mesh" or len(shape.vertices) < MIN_VERTICES:
        return (shape,)
    vertices = shape.pose.point(shape.vertices)
    directions = _sphere_directions(TIP_DIRECTIONS)
    near = directions @ up <= -np.cos(TIP_ANGLE)
    extent = (vertices @ directions[near].T).max(0)
    # the extent of a ball is c d + r
    columns = np.c_[directions, np.ones(len(directions))]
    solution = np.linalg.lstsq(columns[near], extent, rcond=None)[0]
    center, radius = solution[:3], float(solution[3])
    if radius < MIN_TIP_RADIUS:
        return (shape,)
    ball_extent = columns @ solution
    error = np.abs(ball_extent[near] - extent).max()
    few, _ = candidate_points(shape, up)
    missing = (extent - (few @ directions[near].T).max(0)).max()
    bulge = np.max(ball_extent - np.max([_extent(own, directions) for own in body], axis=0))
    if error > min(MAX_TIP_ERROR * radius, missing) or bulge > MAX_TIP_BULGE * radius:
        return (shape,)
    none = np.zeros((0, 3))
    ball = replace(shape, kind="sphere", size=(radius,), pose=Pose(center), vertices=none)
    beyond = np.linalg.norm(vertices - center, axis=1) > (1 + MAX_TIP_ERROR) * radius
    rest = shape.vertices[beyond]
    return (ball, replace(shape, vertices=rest)) if len(rest) else (ball,)


def _extent(shape: Shape, directions: Array) -> Array:
    """Compute the extent of a shape along directions, shape (n, 3), in m; rims count as points."""
    if shape.kind == "mesh":
        return (shape.pose.point(shape.vertices) @ directions.T).max(0)
    centers, radius = candidate_points(shape)
    return (centers @ directions.T).max(0) + radius


def recognize_round_shape(shape: Shape) -> Shape:
    """Recognize the sphere, torus, cylinder or body of revolution that a mesh approximates.

    Another mesh is returned with the vertices of its hull only, and another shape as it is.
    """
    if shape.kind != "mesh":
        return shape
    vertices = hull_vertices(shape.vertices)
    plain, shape = replace(shape, vertices=np.zeros((0, 3))), replace(shape, vertices=vertices)
    extents = np.linalg.svd(vertices - vertices.mean(0), compute_uv=False)
    if len(vertices) < MIN_VERTICES or extents[-1] <= SAME_VERTEX * extents[0]:  # few, or flat
        return shape
    ball = _find_ball(vertices)
    if ball is not None:
        center, radius = ball
        pose = shape.pose @ Pose(center)
        return replace(plain, kind="sphere", size=(radius,), pose=pose)
    axis = _find_axis(vertices)
    if axis is None:
        return shape
    # a ring
    profile = _profile((vertices - axis.position) @ axis.rotation)
    rims = _select_rims(profile)
    ring = _find_ring(profile, rims)
    if ring is not None:
        z, *size = ring
        pose = shape.pose @ axis @ Pose(np.array([0.0, 0.0, z]))
        return replace(plain, kind="torus", size=tuple(size), pose=pose)
    # rims along the axis; the shape's origin is halfway between the ends
    middle = (rims[0, 0] + rims[-1, 0]) / 2
    rims[:, 0] -= middle
    pose = shape.pose @ axis @ Pose(np.array([0.0, 0.0, middle]))
    largest = rims[:, 1].max()
    if len(rims) == 2 and np.ptp(rims[:, 1]) <= TOLERANCE * largest:
        return replace(plain, kind="cylinder", size=(float(largest), float(rims[1, 0])), pose=pose)
    return replace(plain, kind="revolved", size=tuple(rims.ravel().tolist()), pose=pose)


def _find_ball(vertices: Array) -> tuple[Array, float] | None:
    """Find the center and radius, in m, of the ball that a hull approximates, or None."""
    center, radius = _fit_circle(vertices)
    # all vertices are on the ball, and no flat is deep
    distances = np.linalg.norm(vertices - center, axis=1)
    if np.abs(distances - radius).max() > TOLERANCE * radius:
        return None
    extent = ((vertices - center) @ _sphere_directions(BALL_DIRECTIONS).T).max(0)
    return (center, radius) if extent.min() >= (1 - MAX_BALL_FLAT) * radius else None


def _sphere_directions(count: int) -> Array:
    """Spread directions, shape (count, 3), evenly over a sphere, on a Fibonacci lattice."""
    height = 1 - (2 * np.arange(count) + 1) / count
    turn = np.pi * (1 + np.sqrt(5)) * np.arange(count)
    out = np.sqrt(1 - height**2)
    return np.c_[out * np.cos(turn), out * np.sin(turn), height]


def _fit_circle(points: Array) -> tuple[Array, float]:
    """Fit a circle (n, 2) or sphere (n, 3) to points: center and radius, in m.

    Linear least squares in |v|^2 = 2 v c + (r^2 - |c|^2).
    """
    origin = points.mean(0)
    v = points - origin
    solution = np.linalg.lstsq(np.c_[2 * v, np.ones(len(v))], (v**2).sum(1), rcond=None)[0]
    center = solution[:-1]
    return origin + center, float(np.sqrt(max(solution[-1] + center @ center, 0.0)))


def _find_axis(vertices: Array) -> Pose | None:
    """Find a frame with the axis of revolution of a hull as its z axis, or None."""
    best, smallest = None, MAX_FLAT
    circle = np.c_[np.cos(LONGITUDES), np.sin(LONGITUDES)]
    for rotation in _frames(vertices):
        # extent of the hull in directions around the axis
        v = vertices @ rotation
        equator = (v[:, :2] @ circle.T).max(0)
        center, radius = 2 * equator @ circle / len(circle), equator.mean()
        if np.ptp(equator - circle @ center) > smallest * radius:
            continue
        # the same at other latitudes
        v[:, :2] -= center
        uneven = max(
            np.ptp((np.cos(up) * v[:, :2] @ circle.T + np.sin(up) * v[:, 2:]).max(0))
            for up in LATITUDES
        )
        if uneven < smallest * radius:
            # the axis passes through the center of the largest rim
            distances = np.linalg.norm(v[:, :2], axis=1)
            rim = v[distances > (1 - MAX_FLAT) * distances.max(), :2]
            middle = center + _fit_circle(rim)[0]
            best = Pose(rotation @ np.array([*middle, 0.0]), rotation)
            smallest = uneven / radius
    return best


def _frames(vertices: Array) -> Iterator[Array]:
    """Yield rotations whose z axis may be the axis of a hull.

    These are the axes of the mesh's frame, and its principal axes of inertia.
    """
    from scipy.spatial import ConvexHull

    # second moments of the tetrahedra between the hull's triangles and a point inside
    corners = (vertices - vertices.mean(0))[ConvexHull(vertices).simplices]
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
    """Compute the convex profile of vertices about z: rows (z, radius) by rising z."""
    from scipy.spatial import ConvexHull

    half = np.c_[v[:, 2], np.linalg.norm(v[:, :2], axis=1)]
    resolution = SAME_VERTEX * np.abs(half).max()
    half = half[np.unique(np.round(half / resolution), axis=0, return_index=True)[1]]
    half[half[:, 1] < resolution, 1] = 0.0
    on_axis = half[:, 1] == 0.0
    whole = np.concatenate([half, half[~on_axis] * [1, -1]])
    profile = whole[ConvexHull(whole).vertices]
    profile = profile[profile[:, 1] >= 0]
    return profile[np.argsort(profile[:, 0])]


def _find_ring(profile: Array, rims: Array) -> tuple[float, float, float] | None:
    """Find the torus that a profile approximates: its position along z, its radius and its tube's.

    Within TIP_ANGLE of the equator its extent differs from that of the profile by at most MAX_FLAT,
    and by less than that of the rims; elsewhere it sticks out by at most MAX_TIP_BULGE. None if no
    torus fits.
    """
    latitudes = np.deg2rad(np.arange(-90, 91, 5))
    directions = np.c_[np.sin(latitudes), np.cos(latitudes)]
    near = np.abs(latitudes) <= TIP_ANGLE
    extent = (profile @ directions.T).max(0)
    columns = np.c_[directions, np.ones(len(directions))]
    solution = np.linalg.lstsq(columns[near], extent[near], rcond=None)[0]
    z, radius, tube = (float(value) for value in solution)
    if min(radius, tube) < MIN_TIP_RADIUS:
        return None
    sticks_out, largest = columns @ solution - extent, profile[:, 1].max()
    missing = (extent - (rims @ directions.T).max(0))[near].max()
    if np.abs(sticks_out[near]).max() > min(MAX_FLAT * largest, missing):
        return None
    return (z, radius, tube) if sticks_out.max() <= MAX_TIP_BULGE * largest else None


def _select_rims(profile: Array) -> Array:
    """Select the main rows of a profile, shape (n, 2), by the Douglas-Peucker algorithm.

    These are its ends, the largest row, and then the rows farthest from the lines between them.
    """
    largest = profile[:, 1].max()
    chosen = {0, len(profile) - 1, int(np.argmax(profile[:, 1]))}
    while len(chosen) < MAX_INNER_RIMS + 2:
        distances = np.zeros(len(profile))
        for a, b in pairwise(sorted(chosen)):
            line = profile[b] - profile[a]
            normal = np.array([-line[1], line[0]]) / max(np.linalg.norm(line), 1e-12)
            distances[a + 1 : b] = np.abs((profile[a + 1 : b] - profile[a]) @ normal)
        if distances.max() <= TOLERANCE * largest:
            break
        chosen.add(int(np.argmax(distances)))
    return profile[sorted(chosen)]
