"""Triangle meshes of simple solids, with normals for shading."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.model.poses import Pose

Array = NDArray[np.float64]
CIRCLE_SIDES = 32
RINGS = 8  # in a quarter of a circle


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangle mesh.

    Edges whose vertices are shared by faces are shaded smooth; edges with duplicate vertices are
    shaded sharp.

    Attributes
    ----------
    vertices
        Vertices, shape (n, 3), in m.
    faces
        Vertex indices of the triangles, shape (m, 3), counterclockwise seen from outside.
    """

    vertices: Array
    faces: NDArray[np.int64]

    def at(self, pose: Pose) -> Mesh:
        """Transform the mesh to the frame in which `pose` is given."""
        return Mesh(pose.point(self.vertices), self.faces)

    def scale(self, size: ArrayLike) -> Mesh:
        """Scale the mesh by one factor, or by three along the axes.

        Faces keep their outward orientation for negative factors.
        """
        factors = np.broadcast_to(np.asarray(size, float), 3)
        faces = self.faces[:, ::-1] if np.prod(factors) < 0 else self.faces
        return Mesh(self.vertices * factors, faces)

    @property
    def normals(self) -> Array:
        """Unit normals (n, 3) of the vertices: averages of their faces' normals by area."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        area_normals = np.cross(b - a, c - a)
        normals = np.zeros_like(self.vertices)
        for k in range(3):
            np.add.at(normals, self.faces[:, k], area_normals)
        return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)


def merge_meshes(meshes: list[Mesh]) -> Mesh:
    """Merge all triangles to one mesh."""
    firsts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + first for mesh, first in zip(meshes, firsts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def separate_faces(mesh: Mesh) -> Mesh:
    """Separate the vertices of every face, so that all edges look sharp."""
    return Mesh(mesh.vertices[mesh.faces.ravel()], np.arange(mesh.faces.size).reshape(-1, 3))


def box(half: ArrayLike) -> Mesh:
    """Create a box with half-lengths (3,), in m."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [triangle for a, b, c, d in sides for triangle in ((a, b, c), (a, c, d))]
    return separate_faces(Mesh(corners * np.asarray(half, float), np.array(faces)))


def sphere(radius: float) -> Mesh:
    """Create a sphere around the origin."""
    return capsule(radius, 0.0)


def capsule(radius: float, half: float) -> Mesh:
    """Create a capsule along z; `half` is the distance from its center to that of an end cap."""
    angles = np.linspace(0, np.pi / 2, RINGS + 1)
    lower = [(radius * np.sin(a), -half - radius * np.cos(a)) for a in angles]
    upper = [(radius * np.cos(a), half + radius * np.sin(a)) for a in angles]
    return _revolve([lower + (upper if half else upper[1:])])


def cylinder(radius: float, half: float) -> Mesh:
    """Create a cylinder along z with half-length `half`."""
    low, high = (radius, -half), (radius, half)
    return _revolve([[(0.0, -half), low], [low, high], [high, (0.0, half)]])


def cone(radius: float, height: float) -> Mesh:
    """Create an open, two-sided cone along z with its tip at the origin."""
    outside = _revolve([[(0.0, 0.0), (radius, height)]])
    return merge_meshes([outside, Mesh(outside.vertices, outside.faces[:, ::-1])])


def arrow(radius: float, length: float, head: float) -> Mesh:
    """Create an arrow along z from the origin, with a head of length `head`.

    The head is 2.5 times as thick as the shaft.
    """
    neck, wide = length - head, 2.5 * radius
    parts = [[(0.0, 0.0), (radius, 0.0)], [(radius, 0.0), (radius, neck)]]
    return _revolve([*parts, [(radius, neck), (wide, neck)], [(wide, neck), (0.0, length)]])


def capsule_between(a: ArrayLike, b: ArrayLike, radius: float) -> Mesh:
    """Create a capsule from one point (3,) to another."""
    start, end = np.asarray(a, float), np.asarray(b, float)
    length = float(np.linalg.norm(end - start))
    pose = Pose((start + end) / 2, rotation_to(end - start))
    return capsule(radius, length / 2).at(pose)


def rotation_to(direction: ArrayLike) -> Array:
    """Compute a rotation (3, 3) that maps z to a direction (3,); identity for a zero vector."""
    z = np.asarray(direction, float)
    length = np.linalg.norm(z)
    if length == 0:
        return np.eye(3)
    z = z / length
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _revolve(profiles: list[list[tuple[float, float]]]) -> Mesh:
    """Create surfaces of revolution about z of profiles (radius, height), ordered by height."""
    angles = 2 * np.pi * np.arange(CIRCLE_SIDES) / CIRCLE_SIDES
    meshes = []
    for profile in profiles:
        r, z = np.array(profile, float).T
        rings = np.stack(
            [np.outer(r, np.cos(angles)), np.outer(r, np.sin(angles)), np.outer(z, 0 * angles + 1)],
            axis=-1,
        )
        n = CIRCLE_SIDES
        first, side = n * np.arange(len(r) - 1)[:, None], np.arange(n)
        a, b = first + side, first + (side + 1) % n
        quads = np.stack([a, b, b + n, a, b + n, a + n], axis=-1).reshape(-1, 3)
        vertices = rings.reshape(-1, 3)
        corners = vertices[quads]
        area = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        meshes.append(Mesh(vertices, quads[area > 1e-15 * max(area.max(), 1e-300)]))
    return merge_meshes(meshes)
