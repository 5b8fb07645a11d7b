"""Contact candidates of collision shapes: the points that can touch the ground first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import Candidate
from tarsus.model.outline import Outline, ellipsoid, rim
from tarsus.model.poses import Pose

Array = NDArray[np.float64]
ShapeKind = Literal[
    "sphere", "capsule", "box", "cylinder", "ellipsoid", "torus", "revolved", "mesh"
]
MAX_MESH_POINTS = 8
UP = np.array([0.0, 0.0, 1.0])
CORNERS = np.array(list(product((1.0, -1.0), repeat=3)))  # of a box, in half edges
EDGES: Mapping[ShapeKind, tuple[tuple[int, int], ...]] = {  # pairs of points on straight lines
    "capsule": ((0, 1),),
    "box": tuple((i, i + k) for k in (4, 2, 1) for i in range(8) if not i & k),
}
SUPPORT_TOLERANCE = 1e-3  # m: vertices this much above the lowest one support a mesh too
MAX_SOLE_CORNERS = 12  # a polygon of more corners is round (`round_meshes`)
MIN_BASE_AREA = 0.5  # over that of the mesh seen from above
MAX_LOST_AREA = 0.01  # over that of the polygon that a body stands on


@dataclass(frozen=True, eq=False)
class Shape:
    """Collision shape of a link.

    Attributes
    ----------
    kind
        Kind of shape.
    size
        In m. Sphere: radius; capsule and cylinder: radius and half length along z; box: half
        edges; ellipsoid: half axes; torus about z: radius of the ring, and of its tube; revolved
        about z: position along z and radius of each rim.
    pose
        Frame of the shape in its link.
    name
        Name of the shape, or "".
    vertices
        Vertices of a mesh, shape (n, 3), in m.
    friction
        Factor on the law's friction coefficients.
    bits, priority, paired
        The same as in `Capsule`.
    ground_friction
        Friction factor on the ground, instead of `friction`.
    torsional_friction, rolling_friction
        The same as in `Candidate`.
    """

    kind: ShapeKind
    size: tuple[float, ...] = ()
    pose: Pose = field(default_factory=Pose)
    name: str = ""
    vertices: Array = field(default_factory=lambda: np.zeros((0, 3)))
    friction: float = 1.0
    bits: tuple[int, int] = (1, 1)
    priority: int = 0
    paired: Mapping[int, float] = field(default_factory=dict)
    ground_friction: float | None = None
    torsional_friction: float = 0.0
    rolling_friction: float = 0.0

    def at(self, outer: Pose) -> Shape:
        """Transform the shape to the parent's frame of `outer`."""
        return replace(self, pose=outer @ self.pose)


def candidate_points(shape: Shape, up: Array = UP) -> tuple[Array, float]:
    """Compute the centers and the radius of the candidates of a shape.

    Parameters
    ----------
    shape
        The shape.
    up
        Direction of up, shape (3,), in the link's frame with all joints at zero.

    Returns
    -------
    centers
        Shape (n, 3), in the link's frame, in m. A rim has its center, a torus and a rim at an end
        of the shape have it three times; an ellipsoid has its center.
    radius
        In m.
    """
    local, radius = _local_points(shape, shape.pose.rotation.T @ up)
    return shape.pose.point(local), radius


def create_candidates(
    shapes: Iterable[tuple[str, int, Shape]], ups: Mapping[int, Array] | None = None
) -> tuple[Candidate, ...]:
    """Create the contact candidates of shapes.

    A candidate is named after its shape, or after its link if the name is on several links; the
    names of several candidates end in _0, _1, ...

    Parameters
    ----------
    shapes
        Link name, body number and shape.
    ups
        Direction of up, shape (3,), in each body's frame with all joints at zero; by default z.
    """
    return tuple(candidate for candidate, _ in _create_from_shapes(list(shapes), ups or {}))


def find_edges(
    shapes: Iterable[tuple[str, int, Shape]], ups: Mapping[int, Array] | None = None
) -> tuple[tuple[str, str], ...]:
    """Find the names of every two candidates with a straight line of the surface between them.

    These are the ends of a capsule, the rims of a cylinder and the corners at an edge of a box. The
    parameters are those of `create_candidates`.
    """
    shapes = list(shapes)
    names_of: list[list[str]] = [[] for _ in shapes]
    for candidate, number in _create_from_shapes(shapes, ups or {}):
        names_of[number].append(candidate.name)
    return tuple(
        (names[a], names[b])
        for names, (_, _, shape) in zip(names_of, shapes, strict=True)
        for a, b in _find_straight_lines(shape.kind, len(names))
    )


def _find_straight_lines(kind: ShapeKind, count: int) -> tuple[tuple[int, int], ...]:
    """Find the pairs of a shape's points that are joined by straight lines.

    For a cylinder these are the first points of both rims; a rim of radius 0 has one point.
    """
    return ((0, count // 2),) if kind == "cylinder" else EDGES.get(kind, ())


def _create_from_shapes(
    shapes: list[tuple[str, int, Shape]], ups: Mapping[int, Array]
) -> list[tuple[Candidate, int]]:
    """Create the candidates, each with the index of its shape."""
    links_of: dict[str, set[str]] = {}
    for link, _, shape in shapes:
        links_of.setdefault(shape.name, set()).add(link)
    # points by label
    groups: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, (link, body, shape) in enumerate(shapes):
        label = shape.name if shape.name and len(links_of[shape.name]) == 1 else link
        centers, radius = candidate_points(shape, ups.get(body, UP))
        friction = shape.friction if shape.ground_friction is None else shape.ground_friction
        same = {
            "body": body,
            "radius": radius,
            "friction": friction,
            "torsional_friction": shape.torsional_friction,
            "rolling_friction": shape.rolling_friction,
        }
        groups.setdefault(label, []).extend(
            (number, same | {"position": center, "outline": outline})
            for center, outline in zip(centers, _create_outlines(shape, len(centers)), strict=True)
        )
    used: set[str] = {label for label, group in groups.items() if len(group) == 1}
    return [
        (Candidate(name, **values), number)
        for label, group in groups.items()
        for name, (number, values) in zip(
            reserve_names(label, len(group), used), group, strict=True
        )
    ]


def farthest_points(
    vertices: Array, count: int = MAX_MESH_POINTS, first: Sequence[int] = ()
) -> Array:
    """Select at most `count` vertices, by farthest point sampling.

    Parameters
    ----------
    vertices
        Shape (n, 3).
    count
        Number of vertices.
    first
        Numbers of the first vertices; by default that of the outermost vertex.
    """
    if len(vertices) <= count:
        return vertices
    outermost = int(np.argmax(np.linalg.norm(vertices - vertices.mean(0), axis=1)))
    chosen = list(first) or [outermost]
    offsets = vertices[:, None] - vertices[chosen]
    distances = np.linalg.norm(offsets, axis=2).min(1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(distances)))
        distances = np.minimum(distances, np.linalg.norm(vertices - vertices[chosen[-1]], axis=1))
    return vertices[chosen]


def support_vertices(vertices: Array, up: Array) -> list[int]:
    """Find the numbers of the vertices that a body stands on.

    These are the corners of the polygon of the lowest vertices, in the order of `main_corners`. If
    the polygon is not a base, at least half as large as the mesh seen from above, there are at most
    four.

    Parameters
    ----------
    vertices
        Shape (n, 3).
    up
        Direction of up, shape (3,).
    """
    height = vertices @ up
    low = np.flatnonzero(height <= height.min() + SUPPORT_TOLERANCE)
    level = vertices @ np.linalg.svd(up[None])[2][1:].T
    corners = low[main_corners(level[low])]
    is_base = hull_area(level[low]) >= MIN_BASE_AREA * hull_area(level)
    return (corners if is_base else corners[:4]).tolist()


def hull_area(points: Array) -> float:
    """Compute the area of the convex hull of points (n, 2) in a plane; 0 if it has none."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(ConvexHull(points).volume)
    except (QhullError, ValueError):
        return 0.0


def main_corners(points: Array, count: int = MAX_SOLE_CORNERS) -> list[int]:
    """Find the numbers of the main corners of the convex hull of points in a plane.

    Corners are removed one by one, always the one whose removal loses the least area, until `count`
    are left and the next one would bring the lost area to more than MAX_LOST_AREA. The last
    four are first, in their order around the hull, followed by the others from the last
    removed to the first.

    Parameters
    ----------
    points
        Shape (n, 2). If they are on a line, the result has its ends.
    count
        Largest number of corners.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        shape = ConvexHull(points)
    except (QhullError, ValueError):
        along = points @ np.linalg.svd(points - points.mean(0))[2][0]
        return list(dict.fromkeys([int(np.argmin(along)), int(np.argmax(along))]))
    ring, removed, kept, lost = shape.vertices.tolist(), list[int](), 0, 0.0
    while len(ring) > 4:
        corners = points[ring]
        before, after = (
            np.roll(corners, 1, axis=0) - corners,
            np.roll(corners, -1, axis=0) - corners,
        )
        areas = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]) / 2
        least = int(np.argmin(areas))
        lost += areas[least]
        if len(ring) > count or lost <= MAX_LOST_AREA * shape.volume:
            kept = len(removed) + 1
        removed.append(ring.pop(least))
    return ring + removed[kept:][::-1]


def hull_vertices(vertices: Array) -> Array:
    """Find the vertices on the convex hull, or all distinct vertices if they are coplanar."""
    from scipy.spatial import ConvexHull, QhullError

    distinct = np.unique(vertices, axis=0)
    try:
        return distinct[np.sort(ConvexHull(distinct).vertices)]
    except (QhullError, ValueError):
        return distinct


def reserve_names(label: str, count: int, used: set[str]) -> list[str]:
    """Create `count` names that are not in `used`, and add them to it."""
    if count == 1:
        return [label]
    names: list[str] = []
    number = 0
    while len(names) < count:
        name = f"{label}_{number}"
        number += 1
        if name not in used:
            used.add(name)
            names.append(name)
    return names


def _create_outlines(shape: Shape, count: int) -> list[Outline | None]:
    """Create the outline of each candidate of a shape, in the link's axes."""
    if shape.kind == "ellipsoid":
        return [ellipsoid(shape.size).rotate(shape.pose.rotation)]
    if shape.kind == "torus":
        return [rim(shape.size[0], third).rotate(shape.pose.rotation) for third in range(count)]
    if shape.kind not in ("cylinder", "revolved"):
        return [None] * count
    return [
        rim(radius, third).rotate(shape.pose.rotation) if radius else None
        for _, radius, third in _create_rims(shape)
    ]


def _create_rims(shape: Shape) -> list[tuple[float, float, int]]:
    """Create the candidates of the rims of a shape.

    These are the position of the rim along z and its radius, in m, and the number of thirds of a
    turn from the farthest point. A rim at an end has three candidates, on which a body stands; one
    of radius 0 has a single candidate.
    """
    if shape.kind == "cylinder":
        radius, half = shape.size
        rims = [(half, radius), (-half, radius)]
    else:
        rims = list(zip(shape.size[::2], shape.size[1::2], strict=True))
    ends = (0, len(rims) - 1)
    return [
        (z, radius, third)
        for k, (z, radius) in enumerate(rims)
        for third in range(3 if k in ends and radius else 1)
    ]


def _local_points(shape: Shape, up: Array) -> tuple[Array, float]:
    if shape.kind == "sphere":
        return np.zeros((1, 3)), shape.size[0]
    if shape.kind == "capsule":
        radius, half = shape.size
        return np.array([[0.0, 0.0, half], [0.0, 0.0, -half]]), radius
    if shape.kind == "box":
        return CORNERS * shape.size, 0.0
    if shape.kind in ("cylinder", "revolved"):
        return np.array([[0.0, 0.0, z] for z, _, _ in _create_rims(shape)]), 0.0
    if shape.kind == "ellipsoid":
        return np.zeros((1, 3)), 0.0
    if shape.kind == "torus":
        return np.zeros((3, 3)), shape.size[1]
    standing = support_vertices(shape.vertices, up)
    count = max(MAX_MESH_POINTS, len(standing) + MAX_MESH_POINTS // 2)
    return farthest_points(shape.vertices, count, standing), 0.0
