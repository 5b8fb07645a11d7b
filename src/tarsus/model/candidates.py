"""Contact candidates from collision shapes: the points of a shape that can touch ground first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import Candidate
from tarsus.model.outline import Outline, ellipsoid, rim
from tarsus.model.poses import Pose

Array = NDArray[np.float64]
ShapeKind = Literal["sphere", "capsule", "box", "cylinder", "ellipsoid", "revolved", "mesh"]
MESH_POINTS = 8
UP = np.array([0.0, 0.0, 1.0])
CORNERS = np.array(list(product((1.0, -1.0), repeat=3)))  # of a box, in half edges
STRAIGHT: Mapping[ShapeKind, tuple[tuple[int, int], ...]] = {  # of a shape's points, between which
    "capsule": ((0, 1),),
    "box": tuple((i, i + k) for k in (4, 2, 1) for i in range(8) if not i & k),
}
FLAT = 1e-3  # m: vertices of a mesh not higher than this above its lowest carry it


@dataclass(frozen=True, eq=False)
class Shape:
    """A collision shape in a frame `pose` of its link.

    size (m): sphere (radius,); capsule and cylinder (radius, half length) along z; box half edges
    (3,); ellipsoid half axes (3,); revolved about z: where its rims are along z, and the radius of
    each, in turns. vertices: (n, 3) of a mesh, of its hull where its points are asked for.
    friction: factor on the law's. bits, priority, paired: of `Capsule`. on_ground: in place of
    friction on the ground.
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
    on_ground: float | None = None

    def at(self, outer: Pose) -> Shape:
        """The same shape seen from the frame in which `outer` is given."""
        return replace(self, pose=outer @ self.pose)


def points(shape: Shape, up: Array = UP) -> tuple[Array, float]:
    """Centers (n, 3) in the link's frame and radius of the spheres that stand for a shape, m; of a
    rim its middle, of one at an end three times, of an ellipsoid its own.

    up (3,): where up is in the link's frame with all joints at zero
    """
    local, radius = _local_points(shape, shape.pose.rotation.T @ up)
    return shape.pose.point(local), radius


def candidates(
    shapes: Iterable[tuple[str, int, Shape]], ups: Mapping[int, Array] | None = None
) -> tuple[Candidate, ...]:
    """Candidates of (link name, body, shape), named after shape or link; several end in _0, _1, ...

    A shape's name that stands on several links is not used.
    ups: where up (3,) is in each body's frame with all joints at zero; else along its z axis
    """
    return tuple(candidate for candidate, _ in _of_shapes(list(shapes), ups or {}))


def edges(
    shapes: Iterable[tuple[str, int, Shape]], ups: Mapping[int, Array] | None = None
) -> tuple[tuple[str, str], ...]:
    """Names of every two `candidates` of a shape between which its surface is straight: ends of a
    capsule, rims of a cylinder, corners at an edge of a box.
    """
    shapes = list(shapes)
    own: list[list[str]] = [[] for _ in shapes]
    for candidate, number in _of_shapes(shapes, ups or {}):
        own[number].append(candidate.name)
    return tuple(
        (names[a], names[b])
        for names, (_, _, shape) in zip(own, shapes, strict=True)
        for a, b in _straight(shape.kind, len(names))
    )


def _straight(kind: ShapeKind, count: int) -> tuple[tuple[int, int], ...]:
    """Return which of a shape's points are joined by straight lines.

    Of a cylinder these are the first points of both rims; a rim of radius 0 has one point.
    """
    return ((0, count // 2),) if kind == "cylinder" else STRAIGHT.get(kind, ())


def _of_shapes(
    shapes: list[tuple[str, int, Shape]], ups: Mapping[int, Array]
) -> list[tuple[Candidate, int]]:
    """Candidates, and the number of the shape that each belongs to."""
    # names that stand on one link alone
    links_of: dict[str, set[str]] = {}
    for link, _, shape in shapes:
        links_of.setdefault(shape.name, set()).add(link)
    # the points of each name
    groups: dict[str, list[tuple[int, tuple[int, Array, float, float, Outline | None]]]] = {}
    for number, (link, body, shape) in enumerate(shapes):
        label = shape.name if shape.name and len(links_of[shape.name]) == 1 else link
        centers, radius = points(shape, ups.get(body, UP))
        friction = shape.friction if shape.on_ground is None else shape.on_ground
        groups.setdefault(label, []).extend(
            (number, (body, center, radius, friction, outline))
            for center, outline in zip(centers, _outlines(shape, len(centers)), strict=True)
        )
    used: set[str] = {label for label, group in groups.items() if len(group) == 1}
    return [
        (Candidate(name, *numbers), number)
        for label, group in groups.items()
        for name, (number, numbers) in zip(numbered(label, len(group), used), group, strict=True)
    ]


def spread(vertices: Array, count: int = MESH_POINTS, first: Sequence[int] = ()) -> Array:
    """At most `count` of vertices (n, 3): the first given by number, else the outermost, then the
    farthest from those taken.
    """
    if len(vertices) <= count:
        return vertices
    outermost = int(np.argmax(np.linalg.norm(vertices - vertices.mean(0), axis=1)))
    taken = list(first) or [outermost]
    away = vertices[:, None] - vertices[taken]
    distance = np.linalg.norm(away, axis=2).min(1)
    while len(taken) < count:
        taken.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(vertices - vertices[taken[-1]], axis=1))
    return vertices[taken]


def supporting(vertices: Array, up: Array) -> list[int]:
    """The numbers of at most four of vertices (n, 3) that a body stands on, up (3,) being up: the
    lowest, those farthest apart, and on either side of the line between them the farthest from it.
    """
    height = vertices @ up
    low = np.flatnonzero(height <= height.min() + FLAT)
    across = vertices[low] - np.outer(height[low], up)
    apart = np.linalg.norm(across[:, None] - across, axis=2)
    a, b = np.unravel_index(int(np.argmax(apart)), apart.shape)
    aside = np.cross(up, across[b] - across[a]) @ (across - across[a]).T
    corners = [int(low[k]) for k in (a, b, int(np.argmax(aside)), int(np.argmin(aside)))]
    return list(dict.fromkeys(corners))


def hull(vertices: Array) -> Array:
    """The vertices (n, 3) that stand on the convex hull; all different ones if they are flat."""
    from scipy.spatial import ConvexHull, QhullError

    distinct = np.unique(vertices, axis=0)
    try:
        return distinct[np.sort(ConvexHull(distinct).vertices)]
    except (QhullError, ValueError):
        return distinct


def numbered(label: str, count: int, used: set[str]) -> list[str]:
    """`count` names that are not in `used`, which learns them."""
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


def _outlines(shape: Shape, count: int) -> list[Outline | None]:
    """Of each of a shape's centers, in the link's axes."""
    if shape.kind == "ellipsoid":
        return [ellipsoid(shape.size).rotated(shape.pose.rotation)]
    if shape.kind not in ("cylinder", "revolved"):
        return [None] * count
    return [
        rim(radius, third).rotated(shape.pose.rotation) if radius else None
        for _, radius, third in _rims(shape)
    ]


def _rims(shape: Shape) -> list[tuple[float, float, int]]:
    """Where each point of a rim has its middle along z, m, its radius, m, and how many thirds of a
    turn it is from the farthest: at the ends there are three, on which a body stands; where the
    radius is 0 there is one.
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
        return np.array([[0.0, 0.0, z] for z, _, _ in _rims(shape)]), 0.0
    if shape.kind == "ellipsoid":
        return np.zeros((1, 3)), 0.0
    return spread(shape.vertices, first=supporting(shape.vertices, up)), 0.0
