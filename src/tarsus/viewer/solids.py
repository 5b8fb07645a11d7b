"""Triangle meshes of simple solids, with the normals that they are shaded by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.model.poses import Pose

Array = NDArray[np.float64]
AROUND = 32  # sides of what is round
RINGS = 8  # of a quarter of a sphere


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles: vertices (n, 3), m, faces (m, 3), their corners anticlockwise from outside.

    Edges of vertices that faces share are drawn round, those of doubled vertices sharp.
    """

    vertices: Array
    faces: NDArray[np.int64]

    def at(self, pose: Pose) -> Mesh:
        """The same mesh seen from the frame in which `pose` is given."""
        return Mesh(pose.point(self.vertices), self.faces)

    def scaled(self, size: ArrayLike) -> Mesh:
        """Stretched by one number, or three along the axes; turned inside out by none."""
        factors = np.broadcast_to(np.asarray(size, float), 3)
        faces = self.faces[:, ::-1] if np.prod(factors) < 0 else self.faces
        return Mesh(self.vertices * factors, faces)

    @property
    def normals(self) -> Array:
        """Unit normals (n, 3) at the vertices: the means of their faces', by area."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        across = np.cross(b - a, c - a)
        found = np.zeros_like(self.vertices)
        for k in range(3):
            np.add.at(found, self.faces[:, k], across)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-300)


def joined(meshes: list[Mesh]) -> Mesh:
    """One mesh of several."""
    firsts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + first for mesh, first in zip(meshes, firsts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def sharp(mesh: Mesh) -> Mesh:
    """The same mesh, every face with vertices of its own."""
    return Mesh(mesh.vertices[mesh.faces.ravel()], np.arange(mesh.faces.size).reshape(-1, 3))


def box(half: ArrayLike) -> Mesh:
    """A box with half edges (3,)."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [triangle for a, b, c, d in sides for triangle in ((a, b, c), (a, c, d))]
    return sharp(Mesh(corners * np.asarray(half, float), np.array(faces)))


def sphere(radius: float) -> Mesh:
    """A sphere around the origin."""
    return capsule(radius, 0.0)


def capsule(radius: float, half: float) -> Mesh:
    """A capsule along z, `half` from its middle to the center of an end."""
    angles = np.linspace(0, np.pi / 2, RINGS + 1)
    lower = [(radius * np.sin(a), -half - radius * np.cos(a)) for a in angles]
    upper = [(radius * np.cos(a), half + radius * np.sin(a)) for a in angles]
    return _turned([lower + (upper if half else upper[1:])])


def cylinder(radius: float, half: float) -> Mesh:
    """A cylinder along z with half its length."""
    low, high = (radius, -half), (radius, half)
    return _turned([[(0.0, -half), low], [low, high], [high, (0.0, half)]])


def cone(radius: float, height: float) -> Mesh:
    """A cone that opens upwards from its tip at the origin, without a lid, seen from both sides."""
    outside = _turned([[(0.0, 0.0), (radius, height)]])
    return joined([outside, Mesh(outside.vertices, outside.faces[:, ::-1])])


def arrow(radius: float, length: float, head: float) -> Mesh:
    """An arrow along z from the origin; its head, `head` long, is 2.5 times as thick."""
    neck, wide = length - head, 2.5 * radius
    parts = [[(0.0, 0.0), (radius, 0.0)], [(radius, 0.0), (radius, neck)]]
    return _turned([*parts, [(radius, neck), (wide, neck)], [(wide, neck), (0.0, length)]])


def between(a: ArrayLike, b: ArrayLike, radius: float) -> Mesh:
    """A capsule from one point (3,) to another."""
    start, end = np.asarray(a, float), np.asarray(b, float)
    length = float(np.linalg.norm(end - start))
    pose = Pose((start + end) / 2, along(end - start))
    return capsule(radius, length / 2).at(pose)


def along(direction: ArrayLike) -> Array:
    """A rotation (3, 3) that takes z into a direction (3,); none for a direction of zero."""
    z = np.asarray(direction, float)
    length = np.linalg.norm(z)
    if length == 0:
        return np.eye(3)
    z = z / length
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _turned(profiles: list[list[tuple[float, float]]]) -> Mesh:
    """Surfaces of revolution about z of profiles (radius, height), from below to above outside."""
    angles = 2 * np.pi * np.arange(AROUND) / AROUND
    meshes = []
    for profile in profiles:
        r, z = np.array(profile, float).T
        rings = np.stack(
            [np.outer(r, np.cos(angles)), np.outer(r, np.sin(angles)), np.outer(z, 0 * angles + 1)],
            axis=-1,
        )
        first = AROUND * np.arange(len(r) - 1)[:, None]
        here = np.arange(AROUND)
        after = (here + 1) % AROUND
        a, b = first + here, first + after
        quads = np.stack([a, b, b + AROUND, a, b + AROUND, a + AROUND], axis=-1).reshape(-1, 3)
        vertices = rings.reshape(-1, 3)
        corners = vertices[quads]
        area = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        meshes.append(Mesh(vertices, quads[area > 1e-15 * max(area.max(), 1e-300)]))
    return joined(meshes)
