"""What a robot looks like: the visual shapes of its file, else its collision shapes, else links
from joint to joint.
"""

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
from tarsus.viewer import solids
from tarsus.viewer.drawn import Color, DrawnShape, merged
from tarsus.viewer.mjcf_shapes import mjcf_shapes
from tarsus.viewer.model_shapes import model_shapes
from tarsus.viewer.solids import Mesh

Array = NDArray[np.float64]
METAL: Color = (0.42, 0.45, 0.50)
TRUNK: Color = (0.93, 0.68, 0.24)
FOOT: Color = (0.16, 0.17, 0.19)
THIN = 0.045  # of the robot's height: the radius of a link
SHORT = 1e-3  # m: no link where joints are nearer


def drawn_shapes(robot: Robot) -> list[DrawnShape]:
    """The robot's shapes, those of one body and color joined.

    A robot of a URDF or SDF file has them in its model. One of an MJCF file looks as MuJoCo
    compiles it, if the file is still there. Another one is drawn as `links`.
    """
    path = Path(robot.origin.file)
    found = model_shapes(robot)
    if not found and robot.origin.file and is_file(path) and root_tag(path) == "mujoco":
        found = mjcf_shapes(robot, path)
    shapes = merged(found or links(robot))
    if not shapes:
        raise UnmetCondition(
            f"{robot.name!r} has nothing to draw: it has no shapes, links or masses.", robot.name
        )
    return shapes


def links(robot: Mechanism) -> list[DrawnShape]:
    """Capsules from joint to joint, trunks as boxes of the same inertia, contacts as balls."""
    # how large it is
    places, _ = poses(robot, robot.neutral())
    reach = float(np.ptp(places[0, :-1], axis=0).max()) if len(robot.bodies) > 1 else 0.3
    found: list[DrawnShape] = []
    for k, body in enumerate(robot.bodies):
        below = [other.position for other in robot.bodies if other.parent == k]
        own = [c for c in robot.candidates if c.body == k]
        # a trunk, to which several limbs are joined: its points, or else a box of its inertia
        ends = [*below, *(c.position for c in own if not below)]
        hull = _hull(np.array([p for c in own if c.radius == 0 for p in _around(c)]))
        trunk = len(below) > 1 or body.parent == WORLD
        found += [DrawnShape(k, mesh, TRUNK if trunk else FOOT) for mesh in hull]
        if trunk and hull:
            continue
        if trunk and body.inertia.mass > 0:
            found.append(DrawnShape(k, _equivalent_box(robot, k), TRUNK))
        # a limb: to the next joint, or to its contact points
        elif ends:
            middle = np.mean(ends, axis=0)
            length = float(np.linalg.norm(middle))
            thick = [THIN * reach, 0.14 * length, *(0.9 * c.radius for c in own if c.radius > 0)]
            radius = max(0.15 * THIN * reach, min(thick))
            for end in ends if below else [middle]:
                if np.linalg.norm(end) > SHORT:
                    mesh = solids.between(np.zeros(3), end, radius)
                    found.append(DrawnShape(k, mesh, METAL))
        # where it touches
        for candidate in own:
            if candidate.radius > 0:
                ball = solids.sphere(candidate.radius)
                moved = Mesh(ball.vertices + candidate.position, ball.faces)
                found.append(DrawnShape(k, moved, FOOT))
    return found


def _equivalent_box(robot: Mechanism, number: int) -> Mesh:
    """The box of even density with the body's mass and inertia."""
    inertia = robot.bodies[number].inertia
    moments, axes = np.linalg.eigh(inertia.about_com)
    if np.linalg.det(axes) < 0:
        axes = axes * [1, 1, -1]
    squares = 6 / inertia.mass * (moments.sum() - 2 * moments)
    half = np.maximum(np.sqrt(np.maximum(squares, 0.0)) / 2, 5e-3)
    return solids.box(half).at(Pose(inertia.com, axes))


def _around(candidate: Candidate) -> Array:
    """Points (n, 3) of a candidate: its center, those of its outline."""
    if candidate.outline is None:
        return candidate.position[None]
    return solids.sphere(1.0).vertices @ candidate.outline.spread + candidate.position


def _hull(points: Array) -> list[Mesh]:
    """The convex hull of points (n, 3), made 4 mm thick where they are flat."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 3:
        return []
    spread = np.concatenate([points + shift for shift in 2e-3 * np.vstack([np.eye(3), -np.eye(3)])])
    try:
        hull = ConvexHull(spread)
    except QhullError:
        return []
    # SciPy does not turn its triangles outwards
    faces = hull.simplices
    a, b, c = (spread[faces[:, k]] for k in range(3))
    inside = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    return [solids.sharp(Mesh(spread, np.where(inside[:, None], faces[:, ::-1], faces)))]
