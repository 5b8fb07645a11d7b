"""Pictures by casting rays: meshes, a checkered plane, shadows; neither display nor GPU.

Rays are cast into each shape in its own frame, so that nothing is rebuilt as the robot moves.
Pixels on edges are drawn again from four rays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.installation import missing_package
from tarsus.viewer.drawn import DrawnShape

Array = NDArray[Any]
SKY, HAZE = np.array([0.93, 0.95, 0.98]), np.array([0.97, 0.975, 0.98])
LIGHT = np.array([0.45, -0.55, 0.9]) / np.linalg.norm([0.45, -0.55, 0.9])
LIGHT_AXES = np.stack([np.cross([0, 0, 1], LIGHT) / np.hypot(*LIGHT[:2]), np.zeros(3), LIGHT])
LIGHT_AXES[1] = np.cross(LIGHT, LIGHT_AXES[0])
CHECKERS = np.array([[0.84, 0.85, 0.86], [0.90, 0.905, 0.91]])
TILE = 0.5  # m
VIEW = 0.62  # m: how high pictures are, one meter away
PIXELS = 8  # tiles of fewer begin to fade
FAR = 14.0  # of the camera's distance: there the plane is lost in haze
DARK = 0.72  # share of the light that a shadow leaves
FAINT = 0.3  # opacity of what is seen through
EDGE = 0.045  # difference of color from a neighbor that makes an edge
OFF = 2e-3  # m: a shadow does not begin at the surface itself


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole: eye (3,) and what it looks at (3,), m; width and height in pixels.

    view: the height of the picture one meter away, m
    """

    eye: Array
    target: Array
    width: int
    height: int
    view: float = VIEW

    @cached_property
    def axes(self) -> Array:
        """Rows right, up and ahead."""
        ahead = self.target - self.eye
        ahead = ahead / np.linalg.norm(ahead)
        right = np.cross(ahead, [0.0, 0.0, 1.0])
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(right, ahead), ahead])

    def rays(self, pixels: Array) -> Array:
        """Unit directions (n, 3) through pixels (n, 2): column and row, centers at halves."""
        scale = self.view / self.height
        x = (pixels[:, 0] - self.width / 2) * scale
        y = (self.height / 2 - pixels[:, 1]) * scale
        found = np.column_stack([x, y, np.ones(len(x))]) @ self.axes
        return found / np.linalg.norm(found, axis=1, keepdims=True)


class Solid:
    """A shape that rays can hit; normals (n, 3) of its vertices by default its mesh's own."""

    def __init__(self, shape: DrawnShape, normals: Array | None = None) -> None:
        try:
            from embreex.mesh_construction import TriangleMesh
            from embreex.rtcore_scene import EmbreeScene
        except ImportError:
            raise missing_package("embreex", "drawing pictures", "view") from None
        mesh, self.body = shape.mesh, shape.body
        self.color = np.asarray(shape.color)
        normals = mesh.normals if normals is None else normals
        self._faces, self._normals = mesh.faces, normals.astype(np.float32)
        self._scene = EmbreeScene()
        TriangleMesh(self._scene, np.ascontiguousarray(mesh.vertices[mesh.faces], np.float32))
        low, high = mesh.vertices.min(0), mesh.vertices.max(0)
        self.middle, self.radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2

    def hit(self, origins: Array, rays: Array) -> tuple[Array, Array, Array]:
        """Which rays hit (n,), how far away (n,), m, and normals (n, 3), all in its own frame."""
        start, along = (np.ascontiguousarray(a, np.float32) for a in (origins, rays))
        found = self._scene.run(start, along, output=True)
        hit = found["primID"] >= 0
        u, v = found["u"][hit, None], found["v"][hit, None]
        a, b, c = (self._normals[self._faces[found["primID"][hit], k]] for k in range(3))
        normals = (1 - u - v) * a + u * b + v * c
        return hit, found["tfar"], normals

    def shades(self, origins: Array, ray: Array) -> Array:
        """Which points (n, 3) it keeps from the light, that lies along `ray` (3,)."""
        rays = np.tile(np.asarray(ray, np.float32), (len(origins), 1))
        return self._scene.run(np.ascontiguousarray(origins, np.float32), rays) >= 0


@dataclass(frozen=True, eq=False)
class Placed:
    """A solid at its place: position (3,), m, rotation (3, 3); opaque, or seen through."""

    solid: Solid
    position: Array
    rotation: Array
    opaque: bool = True

    @property
    def middle(self) -> Array:
        """Of a ball around it (3,), m."""
        return self.rotation @ self.solid.middle + self.position

    def before(self, eye: Array, rays: Array) -> NDArray[np.int64]:
        """The numbers of the rays (n, 3) from one eye (3,) that pass a ball around it ahead."""
        away, radius = self.middle - eye, self.solid.radius
        ahead = rays @ away
        return np.flatnonzero((away @ away - ahead * ahead <= radius**2) & (ahead > -radius))


@dataclass(frozen=True, eq=False)
class Pictured:
    """What is in the picture: solids at their places, and a level plane at this height, m."""

    solids: Sequence[Placed]
    level: float | None = 0.0


def picture(seen: Pictured, camera: Camera) -> NDArray[np.uint8]:
    """The picture (height, width, 3)."""
    # one ray for each pixel
    rows, columns = np.mgrid[0 : camera.height, 0 : camera.width]
    centers = np.column_stack([columns.ravel() + 0.5, rows.ravel() + 0.5])
    colors = _colors(seen, camera, centers).reshape(camera.height, camera.width, 3)
    # four for those that differ from a neighbor
    edge = np.zeros(colors.shape[:2], bool)
    for axis in (0, 1):
        apart = np.abs(np.diff(colors, axis=axis)).max(-1) > EDGE
        first, last = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
        first[axis], last[axis] = (0, 1), (1, 0)
        edge |= np.pad(apart, first) | np.pad(apart, last)
    at = centers[edge.ravel()]
    if len(at):
        shifts = np.array([[-0.375, -0.125], [0.125, -0.375], [0.375, 0.125], [-0.125, 0.375]])
        colors[edge] = np.mean([_colors(seen, camera, at + shift) for shift in shifts], axis=0)
    return np.round(255 * np.clip(colors, 0, 1)).astype(np.uint8)


def _colors(seen: Pictured, camera: Camera, pixels: Array) -> Array:
    """The colors (n, 3), 0 to 1, of pixels (n, 2)."""
    # the background and the plane
    rays = camera.rays(pixels)
    away = float(np.linalg.norm(camera.target - camera.eye))
    share = np.clip(3 * rays[:, 2:], 0, 1)
    colors = share * SKY + (1 - share) * HAZE
    depth = np.full(len(rays), np.inf)
    if seen.level is not None:
        _plane(seen, camera, rays, away, colors, depth)
    # what is opaque, then what is seen through
    normals = np.tile([0.0, 0.0, 1.0], (len(rays), 1))
    own, touched = colors.copy(), np.zeros(len(rays), bool)
    for placed in (p for p in seen.solids if p.opaque):
        at, t, n = _hits(placed, camera.eye, rays, depth)
        depth[at], normals[at], own[at], touched[at] = t, n, placed.solid.color, True
    colors[touched] = _shaded(own[touched], normals[touched], rays[touched])
    _shadows(seen, camera, rays, normals, depth, colors)
    for placed in (p for p in seen.solids if not p.opaque):
        at, _, n = _hits(placed, camera.eye, rays, depth)
        through = _shaded(np.tile(placed.solid.color, (len(at), 1)), n, rays[at])
        colors[at] = (1 - FAINT) * colors[at] + FAINT * through
    return colors


def _hits(placed: Placed, eye: Array, rays: Array, depth: Array) -> tuple[Array, Array, Array]:
    """Numbers, depths and normals of the rays that hit a solid nearer than `depth`."""
    near = placed.before(eye, rays)
    if not len(near):
        return near, np.zeros(0), np.zeros((0, 3))
    turn = placed.rotation
    origin = (eye - placed.position) @ turn
    hit, far, normals = placed.solid.hit(np.tile(origin, (len(near), 1)), rays[near] @ turn)
    nearer = far[hit] < depth[near[hit]]
    normals = normals[nearer] @ turn.T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    return near[hit][nearer], far[hit][nearer], normals


def _plane(
    seen: Pictured, camera: Camera, rays: Array, away: float, colors: Array, depth: Array
) -> None:
    """Draw the plane into colors and depth."""
    assert seen.level is not None
    down = rays[:, 2] < -1e-6
    t = (seen.level - camera.eye[2]) / rays[down, 2]
    places = camera.eye + t[:, None] * rays[down]
    tile = np.floor(places[:, :2] / TILE).astype(int).sum(1) % 2
    # tiles of a few pixels would flicker: they fade into their mean
    pixel = np.abs(t) * camera.view / camera.height / -rays[down, 2]
    plain = np.clip(PIXELS * pixel / TILE - 1, 0, 1)[:, None]
    color = (1 - plain) * CHECKERS[tile] + plain * CHECKERS.mean(0)
    haze = np.clip((t / away - 1.5) / FAR, 0, 1)[:, None] ** 0.5
    colors[down] = (1 - haze) * color + haze * HAZE
    depth[down] = np.where(t > 0, t, np.inf)


def _shaded(color: Array, normals: Array, rays: Array) -> Array:
    """Colors (n, 3) lit from above, from the light and from the camera."""
    facing = normals * -np.sign(np.einsum("ij,ij->i", normals, rays))[:, None]
    sun = np.clip(facing @ LIGHT, 0, 1)
    head = np.clip(-np.einsum("ij,ij->i", facing, rays), 0, 1)
    bright = 0.34 + 0.12 * facing[:, 2] + 0.48 * sun + 0.22 * head
    half = LIGHT - rays
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    gloss = 0.18 * np.clip(np.einsum("ij,ij->i", facing, half), 0, 1) ** 40
    return np.clip(color * bright[:, None] + gloss[:, None], 0, 1)


def _shadows(
    seen: Pictured, camera: Camera, rays: Array, normals: Array, depth: Array, colors: Array
) -> None:
    """Darken what the light does not reach."""
    casting = [placed for placed in seen.solids if placed.opaque]
    if not casting:
        return
    # points off the surface, on the camera's side, as they are seen along the light
    lit = np.flatnonzero(np.isfinite(depth))
    sides = -np.sign(np.einsum("ij,ij->i", normals[lit], rays[lit]))[:, None]
    points = camera.eye + depth[lit, None] * rays[lit] + OFF * sides * normals[lit]
    flat = points @ LIGHT_AXES.T
    discs = [(LIGHT_AXES @ placed.middle, placed.solid.radius) for placed in casting]
    # those near any solid, then those near each one that are not dark yet
    low = np.min([middle - radius for middle, radius in discs], axis=0)
    high = np.max([middle + radius for middle, radius in discs], axis=0)
    some = np.flatnonzero(((flat >= low) & (flat <= high))[:, :2].all(1) & (flat[:, 2] <= high[2]))
    points, flat, dark = points[some], flat[some], np.zeros(len(some), bool)
    for placed, (middle, radius) in zip(casting, discs, strict=True):
        aside = ((flat[:, :2] - middle[:2]) ** 2).sum(1)
        near = np.flatnonzero((aside <= radius**2) & (flat[:, 2] <= middle[2] + radius) & ~dark)
        if len(near):
            inside = (points[near] - placed.position) @ placed.rotation
            dark[near] = placed.solid.shades(inside, LIGHT @ placed.rotation)
    colors[lit[some[dark]]] *= DARK
