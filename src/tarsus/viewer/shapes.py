"""Shapes of a robot for rendering: those of its file, or else links from joint to joint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.poses import poses
from tarsus.dynamics.robot import Robot
from tarsus.errors import UnmetCondition
from tarsus.files import is_file
from tarsus.model.files import root_tag
from tarsus.model.mechanism import WORLD, Candidate, Mechanism
from tarsus.model.poses import Pose
from tarsus.model.robot_toml import find_model_file
from tarsus.viewer import solids
from tarsus.viewer.drawn_shape import Color, DrawnShape, merge_shapes
from tarsus.viewer.mjcf_shapes import mjcf_shapes
from tarsus.viewer.model_shapes import model_shapes
from tarsus.viewer.solids import Mesh

Array = NDArray[np.float64]
METAL: Color = (0.42, 0.45, 0.50)
TRUNK: Color = (0.93, 0.68, 0.24)
FOOT: Color = (0.16, 0.17, 0.19)
LINK_RADIUS = 0.045  # of the robot's size
MIN_LINK_LENGTH = 1e-3  # m; shorter links are not drawn


def drawn_shapes(robot: Robot) -> list[DrawnShape]:
    """Create the robot's shapes, merged by body and color.

    The model of a URDF or SDF file contains its visual shapes. For an MJCF file that still exists,
    the geoms that MuJoCo compiles are drawn. Other robots are drawn as `links`.

    Raises
    ------
    UnmetCondition
        If the robot has nothing to draw.
    """
    path = find_model_file(Path(robot.origin.file))
    shapes = model_shapes(robot)
    if not shapes and robot.origin.file and is_file(path) and root_tag(path) == "mujoco":
        shapes = mjcf_shapes(robot, path)
    shapes = merge_shapes(shapes or links(robot))
    if not shapes:
        raise UnmetCondition(
            f"{robot.name!r} has nothing to draw: it has no shapes, links or masses.", robot.name
        )
    return shapes


def links(robot: Mechanism) -> list[DrawnShape]:
    """Create links as capsules, trunks as boxes of the same inertia, and contacts as spheres."""
    # size of the robot
    positions, _ = poses(robot, robot.neutral())
    size = float(np.ptp(positions[0, :-1], axis=0).max()) if len(robot.bodies) > 1 else 0.3
    shapes: list[DrawnShape] = []
    for k, body in enumerate(robot.bodies):
        joints = [other.position for other in robot.bodies if other.parent == k]
        candidates = [c for c in robot.candidates if c.body == k]
        # trunk, with several limbs: hull of its contact points, or a box with its inertia
        ends = [*joints, *(c.position for c in candidates if not joints)]
        hull = _hull(np.array([p for c in candidates if c.radius == 0 for p in _outline(c)]))
        trunk = len(joints) > 1 or body.parent == WORLD
        shapes += [DrawnShape(k, mesh, TRUNK if trunk else FOOT) for mesh in hull]
        if trunk and hull:
            continue
        if trunk and body.inertia.mass > 0:
            shapes.append(DrawnShape(k, _equivalent_box(robot, k), TRUNK))
        # limb: to the next joint, or to its contact points
        elif ends:
            middle = np.mean(ends, axis=0)
            length = float(np.linalg.norm(middle))
            radii = [LINK_RADIUS * size, 0.14 * length]
            radii += [0.9 * c.radius for c in candidates if c.radius > 0]
            radius = max(0.15 * LINK_RADIUS * size, min(radii))
            for end in ends if joints else [middle]:
                if np.linalg.norm(end) > MIN_LINK_LENGTH:
                    mesh = solids.capsule_between(np.zeros(3), end, radius)
                    shapes.append(DrawnShape(k, mesh, METAL))
        # contact spheres
        for candidate in candidates:
            if candidate.radius > 0:
                sphere = solids.sphere(1.0)
                vertices = candidate.radius * sphere.vertices + _outline(candidate)
                moved = Mesh(vertices, sphere.faces)
                shapes.append(DrawnShape(k, moved, FOOT))
    return shapes


def _equivalent_box(robot: Mechanism, number: int) -> Mesh:
    """Compute the homogeneous box with the body's mass and inertia."""
    inertia = robot.bodies[number].inertia
    moments, axes = np.linalg.eigh(inertia.about_com)
    if np.linalg.det(axes) < 0:
        axes = axes * [1, 1, -1]
    squares = 6 / inertia.mass * (moments.sum() - 2 * moments)
    half = np.maximum(np.sqrt(np.maximum(squares, 0.0)) / 2, 5e-3)
    return solids.box(half).at(Pose(inertia.com, axes))


def _outline(candidate: Candidate) -> Array:
    """Compute points (n, 3) of a contact candidate: its position, or points of its outline."""
    if candidate.outline is None:
        return candidate.position[None]
    return solids.sphere(1.0).vertices @ candidate.outline.spread + candidate.position


def _hull(points: Array) -> list[Mesh]:
    """Compute the convex hull of points (n, 3), expanded by 2 mm so that it is never flat."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 3:
        return []
    spread = np.concatenate([points + shift for shift in 2e-3 * np.vstack([np.eye(3), -np.eye(3)])])
    try:
        hull = ConvexHull(spread)
    except QhullError:
        return []
    # orient the triangles outward, which SciPy does not do
    faces = hull.simplices
    a, b, c = (spread[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    return [solids.separate_faces(Mesh(spread, np.where(inward[:, None], faces[:, ::-1], faces)))]
