"""Ray caster for images of meshes on a checkered plane, with shadows; needs no display or GPU.

Rays are cast into each shape in its own frame, so that nothing is rebuilt as the robot moves.
Pixels on edges are rendered again with four rays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.installation import missing_package_error
from tarsus.viewer.drawn_shape import DrawnShape

Array = NDArray[Any]
SKY, HAZE = np.array([0.93, 0.95, 0.98], np.float32), np.array([0.97, 0.975, 0.98], np.float32)
LIGHT = np.array([0.45, -0.55, 0.9]) / np.linalg.norm([0.45, -0.55, 0.9])
LIGHT_AXES = np.stack([np.cross([0, 0, 1], LIGHT) / np.hypot(*LIGHT[:2]), np.zeros(3), LIGHT])
LIGHT_AXES[1] = np.cross(LIGHT, LIGHT_AXES[0])
CHECKERS = np.array([[0.84, 0.85, 0.86], [0.90, 0.905, 0.91]], np.float32)
TILE_SIZE = 0.5  # m
VIEW = 0.62  # m, height of the view at a distance of one meter
FADE_PIXELS = 8  # size of a tile below which it fades
HAZE_DISTANCE = 14.0  # distance at which the plane disappears, in camera distances
SHADOW_LIGHT = 0.72  # share of the light in a shadow
OVERLAY_OPACITY = 0.3  # of transparent robots
EDGE_CONTRAST = 0.045  # color difference between neighboring pixels that counts as an edge
NEAR = 1e-3  # m: a closer sphere may fill the image
CUBE = np.array(list(product((-1.0, 1.0), repeat=3)))  # corners around a sphere of radius 1
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

    @property
    def pixels_per_meter(self) -> float:
        """Compute the pixels per meter at a distance of one meter."""
        return self.height / self.view

    def all_pixels(self) -> Pixels:
        """Create the pixels of the whole image, row by row, through their centers."""
        rays = _turn(_rays_of_image(self.width, self.height, self.view), self.axes)
        return Pixels(self, rays)

    def pixels_at(self, positions: Array) -> Pixels:
        """Create pixels at positions (n, 2), given as column and row.

        The center of the first pixel is (0.5, 0.5).
        """
        rays = _local_rays(positions, self.width, self.height, self.view)
        return Pixels(self, _turn(rays, self.axes), positions)


@dataclass(frozen=True, eq=False)
class Pixels:
    """Pixels of an image, with a ray through each.

    Attributes
    ----------
    camera
        Camera that takes the image.
    rays
        Unit directions, shape (n, 3), world frame.
    positions
        Column and row of each ray, shape (n, 2); None for the whole image, row by row.
    """

    camera: Camera
    rays: Array
    positions: Array | None = None

    def near(self, center: Array, radius: float) -> NDArray[np.int64]:
        """Find the rays that may hit a sphere, as indices.

        Parameters
        ----------
        center, radius
            Center of the sphere (3,) and its radius, in m.
        """
        camera = self.camera
        corners = camera.axes @ (center - camera.eye) + radius * CUBE
        if corners[:, 2].max() <= 0:
            return np.zeros(0, np.int64)
        size = np.array([camera.width, camera.height])
        low, high = np.zeros(2), size.astype(float)
        if corners[:, 2].min() > NEAR:
            offsets = corners[:, :2] / corners[:, 2:] * camera.pixels_per_meter * (1, -1)
            low, high = size / 2 + offsets.min(0), size / 2 + offsets.max(0)
        if self.positions is not None:
            inside = (self.positions >= low) & (self.positions <= high)
            return np.flatnonzero(inside[:, 0] & inside[:, 1])
        first = np.clip(np.floor(low), 0, size).astype(int)
        last = np.clip(np.ceil(high), first, size).astype(int)
        rows, columns = (np.arange(first[k], last[k]) for k in (1, 0))
        return (rows[:, None] * camera.width + columns).ravel()


@lru_cache(maxsize=2)
def _rays_of_image(width: int, height: int, view: float) -> Array:
    """Compute the rays (n, 3) through all pixels of an image, in the camera's axes."""
    rows, columns = np.mgrid[0:height, 0:width]
    centers = np.column_stack([columns.ravel() + 0.5, rows.ravel() + 0.5])
    return _local_rays(centers, width, height, view)


def _local_rays(positions: Array, width: int, height: int, view: float) -> Array:
    """Compute unit directions (n, 3) through positions (n, 2), in the camera's axes."""
    scale = view / height
    x, y = (positions[:, 0] - width / 2) * scale, (height / 2 - positions[:, 1]) * scale
    directions = np.column_stack([x, y, np.ones(len(x))])
    return (directions / np.sqrt(x * x + y * y + 1)[:, None]).astype(np.float32)


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


@dataclass(frozen=True, eq=False)
class RenderScene:
    """Solids to render, and the height of a level plane in m; None for no plane."""

    solids: Sequence[PlacedSolid]
    level: float | None = 0.0


def render_image(scene: RenderScene, camera: Camera) -> NDArray[np.uint8]:
    """Render the image (height, width, 3) of a scene."""
    # one ray for each pixel
    colors = _colors(scene, camera.all_pixels()).reshape(camera.height, camera.width, 3)
    # four rays for each pixel that differs from a neighbor
    edge = np.zeros(colors.shape[:2], bool)
    for channel in np.moveaxis(colors, -1, 0):
        beside = np.abs(np.diff(channel, axis=1)) > EDGE_CONTRAST
        below = np.abs(np.diff(channel, axis=0)) > EDGE_CONTRAST
        edge[:, 1:] |= beside
        edge[:, :-1] |= beside
        edge[1:] |= below
        edge[:-1] |= below
    centers = np.argwhere(edge)[:, ::-1] + 0.5
    if len(centers):
        shifts = np.array([[-0.375, -0.125], [0.125, -0.375], [0.375, 0.125], [-0.125, 0.375]])
        rays = camera.pixels_at((centers + shifts[:, None]).reshape(-1, 2))
        colors[edge] = _colors(scene, rays).reshape(len(shifts), -1, 3).mean(0)
    return np.round(255 * np.clip(colors, 0, 1)).astype(np.uint8)


def _colors(scene: RenderScene, pixels: Pixels) -> Array:
    """Compute the colors (n, 3), 0 to 1, of pixels."""
    # background and plane
    rays = pixels.rays
    share = np.clip(3 * rays[:, 2:], 0, 1)
    colors = HAZE + share * (SKY - HAZE)
    depth = np.full(len(rays), np.inf, np.float32)
    if scene.level is not None:
        _draw_plane(scene.level, pixels, colors, depth)
    # opaque solids, then transparent ones
    normals = np.zeros_like(rays)
    normals[:, 2] = 1
    covered = np.zeros(len(rays), bool)
    for placed in (p for p in scene.solids if p.opaque):
        k, t, n = _find_hits(placed, pixels, depth)
        depth[k], normals[k], colors[k], covered[k] = t, n, placed.solid.color, True
    colors[covered] = _shade(colors[covered], normals[covered], rays[covered])
    _draw_shadows(scene, pixels, normals, depth, colors)
    for placed in (p for p in scene.solids if not p.opaque):
        k, _, n = _find_hits(placed, pixels, depth)
        overlay = _shade(np.tile(placed.solid.color, (len(k), 1)), n, rays[k])
        colors[k] = (1 - OVERLAY_OPACITY) * colors[k] + OVERLAY_OPACITY * overlay
    return colors


def _find_hits(placed: PlacedSolid, pixels: Pixels, depth: Array) -> tuple[Array, Array, Array]:
    """Find indices, depths and normals of the rays that hit a solid closer than `depth`."""
    may_hit = pixels.near(placed.middle, placed.solid.radius)
    if not len(may_hit):
        return may_hit, np.zeros(0, np.float32), np.zeros((0, 3), np.float32)
    origin = ((pixels.camera.eye - placed.position) @ placed.rotation).astype(np.float32)
    hit, distance, normals = placed.solid.hit(
        np.tile(origin, (len(may_hit), 1)), _turn(pixels.rays[may_hit], placed.rotation)
    )
    closer = distance[hit] < depth[may_hit[hit]]
    normals = _turn(normals[closer], placed.rotation.T)
    lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))
    normals /= np.maximum(lengths, 1e-12)[:, None]
    return may_hit[hit][closer], distance[hit][closer], normals


def _turn(vectors: Array, rotation: Array) -> Array:
    """Compute `vectors @ rotation`, shape (n, 3), on one thread: frames run side by side."""
    return np.einsum("ij,jk->ik", vectors, rotation.astype(np.float32))


def _draw_plane(level: float, pixels: Pixels, colors: Array, depth: Array) -> None:
    """Draw the plane at a level, in m, into `colors` and `depth`."""
    camera = pixels.camera
    down = np.flatnonzero(pixels.rays[:, 2] < -1e-6)
    rays = pixels.rays[down]
    t = np.float32(level - camera.eye[2]) / rays[:, 2]
    x, y = (np.float32(camera.eye[k]) + t * rays[:, k] for k in (0, 1))
    odd = (np.floor(x / TILE_SIZE) + np.floor(y / TILE_SIZE)) % 2
    # tiles of a few pixels would flicker, so they fade to their mean color
    pixel = np.abs(t) / camera.pixels_per_meter / -rays[:, 2]
    fade = np.clip(np.float32(FADE_PIXELS / TILE_SIZE) * pixel - 1, 0, 1)
    distance = float(np.linalg.norm(camera.target - camera.eye))
    haze = np.sqrt(np.clip((t / distance - 1.5) / HAZE_DISTANCE, 0, 1))
    second = fade * 0.5 + (1 - fade) * odd  # share of the second color
    color = CHECKERS[0] + second[:, None] * (CHECKERS[1] - CHECKERS[0])
    colors[down] = color + haze[:, None] * (HAZE - color)
    depth[down] = np.where(t > 0, t, np.inf)


def _shade(color: Array, normals: Array, rays: Array) -> Array:
    """Compute colors (n, 3) lit from above, from the light and from the camera."""
    light = LIGHT.astype(np.float32)
    facing = normals * -np.sign(np.einsum("ij,ij->i", normals, rays))[:, None]
    sun = np.clip(np.einsum("ij,j->i", facing, light), 0, 1)
    head = np.clip(-np.einsum("ij,ij->i", facing, rays), 0, 1)
    bright = 0.34 + 0.12 * facing[:, 2] + 0.48 * sun + 0.22 * head
    half = light - rays
    half /= np.sqrt(np.einsum("ij,ij->i", half, half))[:, None]
    gloss = 0.18 * np.clip(np.einsum("ij,ij->i", facing, half), 0, 1) ** 40
    return np.clip(color * bright[:, None] + gloss[:, None], 0, 1)


def _draw_shadows(
    scene: RenderScene, pixels: Pixels, normals: Array, depth: Array, colors: Array
) -> None:
    """Darken the points that the light does not reach."""
    casters = [placed for placed in scene.solids if placed.opaque]
    if not casters:
        return
    discs = [(LIGHT_AXES @ placed.middle, placed.solid.radius) for placed in casters]
    low = np.min([middle - radius for middle, radius in discs], axis=0)
    high = np.max([middle + radius for middle, radius in discs], axis=0)
    # points below any solid, in the axes of the light
    eye = pixels.camera.eye
    visible = np.flatnonzero(np.isfinite(depth))
    rays, t = pixels.rays[visible], depth[visible]
    inside = np.ones(len(visible), bool)
    directions = _turn(rays, LIGHT_AXES.T)
    for k, start in enumerate(LIGHT_AXES @ eye):
        along = np.float32(start) + t * directions[:, k]
        inside &= along <= np.float32(high[k] + SHADOW_OFFSET)
        if k < 2:
            inside &= along >= np.float32(low[k] - SHADOW_OFFSET)
    below = visible[inside]
    # the points, shifted toward the camera
    rays, outward = pixels.rays[below], normals[below]
    sides = -np.sign(np.einsum("ij,ij->i", outward, rays))[:, None]
    points = eye.astype(np.float32) + depth[below, None] * rays
    points += np.float32(SHADOW_OFFSET) * sides * outward
    projected, shaded = _turn(points, LIGHT_AXES.T).T, np.zeros(len(below), bool)
    # points below each solid that are not yet in shadow
    for placed, (middle, radius) in zip(casters, discs, strict=True):
        squared = (projected[0] - middle[0]) ** 2 + (projected[1] - middle[1]) ** 2
        candidates = np.flatnonzero(
            (squared <= radius**2) & (projected[2] <= middle[2] + radius) & ~shaded
        )
        if len(candidates):
            offsets = points[candidates] - placed.position.astype(np.float32)
            local = _turn(offsets, placed.rotation)
            shaded[candidates] = placed.solid.shades(local, LIGHT @ placed.rotation)
    colors[below[shaded]] *= SHADOW_LIGHT
