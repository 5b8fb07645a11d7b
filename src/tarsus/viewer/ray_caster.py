"""Ray caster for images of meshes on a checkered plane, with shadows; needs no display or GPU.

Rays are cast into each shape in its own frame, so that nothing is rebuilt as the robot moves.
Pixels on edges are rendered again with four rays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.installation import missing_package_error
from tarsus.viewer.drawn_shape import DrawnShape

Array = NDArray[Any]
SKY, HAZE = np.array([0.93, 0.95, 0.98]), np.array([0.97, 0.975, 0.98])
LIGHT = np.array([0.45, -0.55, 0.9]) / np.linalg.norm([0.45, -0.55, 0.9])
LIGHT_AXES = np.stack([np.cross([0, 0, 1], LIGHT) / np.hypot(*LIGHT[:2]), np.zeros(3), LIGHT])
LIGHT_AXES[1] = np.cross(LIGHT, LIGHT_AXES[0])
CHECKERS = np.array([[0.84, 0.85, 0.86], [0.90, 0.905, 0.91]])
TILE_SIZE = 0.5  # m
VIEW = 0.62  # m, height of the view at a distance of one meter
FADE_PIXELS = 8  # size of a tile below which it fades
HAZE_DISTANCE = 14.0  # distance at which the plane disappears, in camera distances
SHADOW_LIGHT = 0.72  # share of the light in a shadow
OVERLAY_OPACITY = 0.3  # of transparent robots
EDGE_CONTRAST = 0.045  # color difference between neighboring pixels that counts as an edge
SHADOW_OFFSET = 2e-3  # m, between a surface and the start of a shadow ray


@dataclass(frozen=True, eq=False)
class Camera:
    """Pinhole camera.

    Attributes
    ----------
    eye, target
        Position of the camera and the point it looks at, (3,), in m.
    width, height
        Size of the image in pixels.
    view
        Height of the view at a distance of one meter, in m.
    """

    eye: Array
    target: Array
    width: int
    height: int
    view: float = VIEW

    @cached_property
    def axes(self) -> Array:
        """Axes (3, 3) of the camera: rows right, up and forward."""
        forward = self.target - self.eye
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    def rays(self, pixels: Array) -> Array:
        """Compute unit directions (n, 3) through pixels (n, 2), given as column and row.

        The center of the first pixel is (0.5, 0.5).
        """
        scale = self.view / self.height
        x = (pixels[:, 0] - self.width / 2) * scale
        y = (self.height / 2 - pixels[:, 1]) * scale
        directions = np.column_stack([x, y, np.ones(len(x))]) @ self.axes
        return directions / np.linalg.norm(directions, axis=1, keepdims=True)


class Solid:
    """Shape that rays can hit.

    Parameters
    ----------
    shape
        Shape with its mesh and color.
    normals
        Normals of the vertices, shape (n, 3); None for those of the mesh.
    """

    def __init__(self, shape: DrawnShape, normals: Array | None = None) -> None:
        try:
            from embreex.mesh_construction import TriangleMesh
            from embreex.rtcore_scene import EmbreeScene
        except ImportError:
            raise missing_package_error("embreex", "rendering images", "view") from None
        mesh, self.body = shape.mesh, shape.body
        self.color = np.asarray(shape.color)
        normals = mesh.normals if normals is None else normals
        self._faces, self._normals = mesh.faces, normals.astype(np.float32)
        self._scene = EmbreeScene()
        TriangleMesh(self._scene, np.ascontiguousarray(mesh.vertices[mesh.faces], np.float32))
        low, high = mesh.vertices.min(0), mesh.vertices.max(0)
        self.middle, self.radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2

    def hit(self, origins: Array, rays: Array) -> tuple[Array, Array, Array]:
        """Intersect rays with the shape, in the shape's frame.

        Parameters
        ----------
        origins, rays
            Origins and directions of the rays, shape (n, 3).

        Returns
        -------
        hit : array
            Whether each ray hits, shape (n,).
        distance : array
            Distance to the hit in m, shape (n,).
        normals : array
            Normals at the hits, shape (hits, 3).
        """
        starts, directions = (np.ascontiguousarray(a, np.float32) for a in (origins, rays))
        result = self._scene.run(starts, directions, output=True)
        hit = result["primID"] >= 0
        u, v = result["u"][hit, None], result["v"][hit, None]
        a, b, c = (self._normals[self._faces[result["primID"][hit], k]] for k in range(3))
        normals = (1 - u - v) * a + u * b + v * c
        return hit, result["tfar"], normals

    def shades(self, origins: Array, ray: Array) -> Array:
        """Find the points (n, 3) that the shape shades from a light in the direction `ray` (3,)."""
        rays = np.tile(np.asarray(ray, np.float32), (len(origins), 1))
        return self._scene.run(np.ascontiguousarray(origins, np.float32), rays) >= 0


@dataclass(frozen=True, eq=False)
class PlacedSolid:
    """Solid with its pose: position (3,) in m and rotation (3, 3); opaque or transparent."""

    solid: Solid
    position: Array
    rotation: Array
    opaque: bool = True

    @property
    def middle(self) -> Array:
        """Center of the bounding sphere (3,), in m."""
        return self.rotation @ self.solid.middle + self.position

    def rays_near(self, eye: Array, rays: Array) -> NDArray[np.int64]:
        """Find the rays (n, 3) from `eye` (3,) that hit the bounding sphere, as indices."""
        offset, radius = self.middle - eye, self.solid.radius
        depth = rays @ offset
        return np.flatnonzero((offset @ offset - depth * depth <= radius**2) & (depth > -radius))


@dataclass(frozen=True, eq=False)
class RenderScene:
    """Solids to render, and the height of a level plane in m; None for no plane."""

    solids: Sequence[PlacedSolid]
    level: float | None = 0.0


def render_image(scene: RenderScene, camera: Camera) -> NDArray[np.uint8]:
    """Render the image (height, width, 3) of a scene."""
    # one ray for each pixel
    rows, columns = np.mgrid[0 : camera.height, 0 : camera.width]
    centers = np.column_stack([columns.ravel() + 0.5, rows.ravel() + 0.5])
    colors = _colors(scene, camera, centers).reshape(camera.height, camera.width, 3)
    # four rays for each pixel that differs from a neighbor
    edge = np.zeros(colors.shape[:2], bool)
    for axis in (0, 1):
        contrast = np.abs(np.diff(colors, axis=axis)).max(-1) > EDGE_CONTRAST
        first, last = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
        first[axis], last[axis] = (0, 1), (1, 0)
        edge |= np.pad(contrast, first) | np.pad(contrast, last)
    pixels = centers[edge.ravel()]
    if len(pixels):
        shifts = np.array([[-0.375, -0.125], [0.125, -0.375], [0.375, 0.125], [-0.125, 0.375]])
        colors[edge] = np.mean([_colors(scene, camera, pixels + s) for s in shifts], axis=0)
    return np.round(255 * np.clip(colors, 0, 1)).astype(np.uint8)


def _colors(scene: RenderScene, camera: Camera, pixels: Array) -> Array:
    """Compute the colors (n, 3), 0 to 1, of pixels (n, 2)."""
    # background and plane
    rays = camera.rays(pixels)
    distance = float(np.linalg.norm(camera.target - camera.eye))
    share = np.clip(3 * rays[:, 2:], 0, 1)
    colors = share * SKY + (1 - share) * HAZE
    depth = np.full(len(rays), np.inf)
    if scene.level is not None:
        _draw_plane(scene, camera, rays, distance, colors, depth)
    # opaque solids, then transparent ones
    normals = np.tile([0.0, 0.0, 1.0], (len(rays), 1))
    base_colors, covered = colors.copy(), np.zeros(len(rays), bool)
    for placed in (p for p in scene.solids if p.opaque):
        k, t, n = _find_hits(placed, camera.eye, rays, depth)
        depth[k], normals[k], base_colors[k], covered[k] = t, n, placed.solid.color, True
    colors[covered] = _shade(base_colors[covered], normals[covered], rays[covered])
    _draw_shadows(scene, camera, rays, normals, depth, colors)
    for placed in (p for p in scene.solids if not p.opaque):
        k, _, n = _find_hits(placed, camera.eye, rays, depth)
        overlay = _shade(np.tile(placed.solid.color, (len(k), 1)), n, rays[k])
        colors[k] = (1 - OVERLAY_OPACITY) * colors[k] + OVERLAY_OPACITY * overlay
    return colors


def _find_hits(
    placed: PlacedSolid, eye: Array, rays: Array, depth: Array
) -> tuple[Array, Array, Array]:
    """Find indices, depths and normals of the rays that hit a solid closer than `depth`."""
    may_hit = placed.rays_near(eye, rays)
    if not len(may_hit):
        return may_hit, np.zeros(0), np.zeros((0, 3))
    rotation = placed.rotation
    origin = (eye - placed.position) @ rotation
    hit, distance, normals = placed.solid.hit(
        np.tile(origin, (len(may_hit), 1)), rays[may_hit] @ rotation
    )
    closer = distance[hit] < depth[may_hit[hit]]
    normals = normals[closer] @ rotation.T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    return may_hit[hit][closer], distance[hit][closer], normals


def _draw_plane(
    scene: RenderScene, camera: Camera, rays: Array, distance: float, colors: Array, depth: Array
) -> None:
    """Draw the plane into `colors` and `depth`."""
    assert scene.level is not None
    down = rays[:, 2] < -1e-6
    t = (scene.level - camera.eye[2]) / rays[down, 2]
    points = camera.eye + t[:, None] * rays[down]
    tile = np.floor(points[:, :2] / TILE_SIZE).astype(int).sum(1) % 2
    # tiles of a few pixels would flicker, so they fade to their mean color
    pixel = np.abs(t) * camera.view / camera.height / -rays[down, 2]
    fade = np.clip(FADE_PIXELS * pixel / TILE_SIZE - 1, 0, 1)[:, None]
    color = (1 - fade) * CHECKERS[tile] + fade * CHECKERS.mean(0)
    haze = np.clip((t / distance - 1.5) / HAZE_DISTANCE, 0, 1)[:, None] ** 0.5
    colors[down] = (1 - haze) * color + haze * HAZE
    depth[down] = np.where(t > 0, t, np.inf)


def _shade(color: Array, normals: Array, rays: Array) -> Array:
    """Compute colors (n, 3) lit from above, from the light and from the camera."""
    facing = normals * -np.sign(np.einsum("ij,ij->i", normals, rays))[:, None]
    sun = np.clip(facing @ LIGHT, 0, 1)
    head = np.clip(-np.einsum("ij,ij->i", facing, rays), 0, 1)
    bright = 0.34 + 0.12 * facing[:, 2] + 0.48 * sun + 0.22 * head
    half = LIGHT - rays
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    gloss = 0.18 * np.clip(np.einsum("ij,ij->i", facing, half), 0, 1) ** 40
    return np.clip(color * bright[:, None] + gloss[:, None], 0, 1)


def _draw_shadows(
    scene: RenderScene, camera: Camera, rays: Array, normals: Array, depth: Array, colors: Array
) -> None:
    """Darken the points that the light does not reach."""
    casters = [placed for placed in scene.solids if placed.opaque]
    if not casters:
        return
    # surface points, shifted toward the camera, in the axes of the light
    visible = np.flatnonzero(np.isfinite(depth))
    sides = -np.sign(np.einsum("ij,ij->i", normals[visible], rays[visible]))[:, None]
    points = camera.eye + depth[visible, None] * rays[visible]
    points = points + SHADOW_OFFSET * sides * normals[visible]
    projected = points @ LIGHT_AXES.T
    discs = [(LIGHT_AXES @ placed.middle, placed.solid.radius) for placed in casters]
    # points below any solid, then points below each solid that are not yet in shadow
    low = np.min([middle - radius for middle, radius in discs], axis=0)
    high = np.max([middle + radius for middle, radius in discs], axis=0)
    inside = ((projected >= low) & (projected <= high))[:, :2].all(1)
    below = np.flatnonzero(inside & (projected[:, 2] <= high[2]))
    points, projected, shaded = points[below], projected[below], np.zeros(len(below), bool)
    for placed, (middle, radius) in zip(casters, discs, strict=True):
        squared = ((projected[:, :2] - middle[:2]) ** 2).sum(1)
        candidates = np.flatnonzero(
            (squared <= radius**2) & (projected[:, 2] <= middle[2] + radius) & ~shaded
        )
        if len(candidates):
            local = (points[candidates] - placed.position) @ placed.rotation
            shaded[candidates] = placed.solid.shades(local, LIGHT @ placed.rotation)
    colors[visible[below[shaded]]] *= SHADOW_LIGHT
