"""Place a robot with a moving base on the ground: parallel to it, its lowest candidate touching.

Separate free objects stay where they are; objects tied to the robot by loop joints move with it. A
file's body without joints is an object, not a robot, and stays where the file or keyframe puts it.

The lowest candidate is placed a tenth of a nanometer below the surface. Exactly on it, round-off
would decide whether a foot touches, and a foot without contact is pushed down by its motors in the
first step.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.collision.broad_phase import secondary_gaps
from tarsus.collision.ground import ground_below_candidates
from tarsus.dynamics import coordinates, tree
from tarsus.dynamics.kinematics import kinematics
from tarsus.model import base_motion
from tarsus.model.mechanism import WORLD, Mechanism
from tarsus.model.poses import rotation_from_quaternion
from tarsus.model.spans import create_spans
from tarsus.morphology.drawn import AS_DRAWN
from tarsus.program.ir import reference
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.spatial.quaternion import numeric_product
from tarsus.stepping.base import Scene

Array = NDArray[np.float64]
PLANE_TOLERANCE = 1e-9  # m
CONTACT_DEPTH = 1e-10  # m, depth of the lowest candidate
NORMAL_TOLERANCE = 1e-12  # between equal normals
MIN_SPREAD = 0.01  # m; points closer to a line do not determine the tilt


def place_on_ground(scene: Scene, q: Array) -> Array:
    """Place a robot on the ground; return its coordinates.

    A robot that is fixed or tied to the world stays where it is.

    Parameters
    ----------
    scene
        Robot, terrain and contact candidates.
    q
        Coordinates of the whole robot, shape (nq,) or (worlds, nq).

    Returns
    -------
    array
        Coordinates, shape (nq,), or (worlds, nq) if `q` has rows or the terrain differs by world.
        Where joints are cut, these are coordinates of the cut robot.
    """
    # place the whole robot if joints are cut
    cut, whole = scene.mechanism, scene.mechanism.uncut
    if whole is not None:
        names = {candidate.name for candidate in scene.candidates}
        uncut = replace(
            scene,
            mechanism=whole,
            candidates=tuple(c for c in whole.candidates if c.name in names),
            spans=create_spans(whole, names, scene.terrain.top_edge_count) if scene.spans else (),
        )
        placed = place_on_ground(uncut, q)
        return coordinates.to_cut(cut, placed)[0]
    # ignore free objects, unless loops tie them to the robot
    moved_roots, separate = tree.connected_roots(cut), _find_separate_bodies(cut)
    scene = replace(
        scene,
        candidates=tuple(c for c in scene.candidates if c.body not in separate),
        spans=tuple(s for s in scene.spans if s.body not in separate),
    )
    # a fixed or tied robot stays where it is
    values = scene.terrain.parameters()
    if _keeps_pose(cut) or not scene.candidates:
        return q
    # one robot per world if the ground differs
    program = _trace_gap_program(scene)
    worlds = max((value.shape[0] for value in values.values() if value.ndim > 1), default=0)
    placed = np.atleast_2d(np.array(q, dtype=float))
    if len(placed) == 1:
        placed = np.tile(placed, (max(worlds, 1), 1))
    given = {f"terrain.{name}": value for name, value in values.items()}

    # align the robot with the ground
    reports = reference.run(program, given | {"q": placed})
    for world, (ground, normals) in enumerate(
        zip(reports["ground"], reports["normals"], strict=True)
    ):
        normal = _ground_normal(ground.reshape(-1, 3), normals.reshape(-1, 3))
        if cut.floating:
            starts = [cut.q_slices[root].start for root in moved_roots]
            _tilt(placed[world], _rotation_from_vertical(normal), starts)
        else:
            base_motion.tilt_chain(cut, placed[world], normal)
    # move it down or up until the lowest candidate touches
    for _ in range(50):
        above = reference.run(program, given | {"q": placed})["gaps"].min(1) + CONTACT_DEPTH
        touches = np.abs(above) < CONTACT_DEPTH / 2
        if np.all(touches):
            break
        base_motion.raise_base(cut, placed, -np.where(touches, 0, above))
        for root in moved_roots - {0}:
            placed[:, cut.q_slices[root].start + 2] -= np.where(touches, 0, above)
    return placed if worlds or np.ndim(q) == 2 else placed[0]


def ground_depths(scene: Scene, q: Array) -> dict[str, tuple[float, Array]]:
    """Compute the depth of contact candidates that start below the ground, and the normals.

    Only candidates that `place_on_ground` does not move are checked: those of free objects, and of
    a robot that is fixed or tied to the world.

    Parameters
    ----------
    scene
        Robot, terrain and contact candidates.
    q
        Coordinates, shape (nq,) or (worlds, nq).

    Returns
    -------
    dict
        Largest depth over all worlds, in m, and unit ground normal, shape (3,), by candidate name.
        Candidates above the ground are omitted.
    """
    separate, stays = tree.object_bodies(scene.mechanism), _keeps_pose(scene.mechanism)
    checked = tuple(c for c in scene.candidates if stays or c.body in separate)
    if not checked:
        return {}
    values = {f"terrain.{name}": value for name, value in scene.terrain.parameters().items()}
    program = _trace_gap_program(replace(scene, candidates=checked, spans=(), pairs=()))
    worlds = max((value.shape[0] for value in values.values() if value.ndim > 1), default=1)
    rows = np.atleast_2d(q)
    rows = (
        np.broadcast_to(rows, (max(worlds, len(rows)), rows.shape[1])) if len(rows) == 1 else rows
    )
    reports = reference.run(program, values | {"q": rows})
    gaps, normals = reports["gaps"], reports["normals"].reshape(len(rows), len(checked), 3)
    return {
        c.name: (float(-gaps[world, k]), normals[world, k])
        for k, (c, world) in enumerate(zip(checked, gaps.argmin(0), strict=True))
        if gaps[world, k] < 0
    }


def _find_separate_bodies(mechanism: Mechanism) -> set[int]:
    """Find the bodies of free objects that loops do not tie to the robot."""
    company = tree.connected_roots(mechanism)
    return {
        i
        for i in tree.object_bodies(mechanism)
        if tree.support_path(mechanism, i)[-1] not in company
    }


def _keeps_pose(mechanism: Mechanism) -> bool:
    """Return whether the robot retains its initial pose.

    It is fixed or tied to the world, or it comes from a file and has no joint but those of its base
    and free ones.
    """
    company = tree.connected_roots(mechanism)
    moved = [
        i
        for i in range(len(mechanism.bodies))
        if tree.support_path(mechanism, i)[-1] in company and i not in mechanism.base_chain
    ]
    objects = AS_DRAWN in mechanism.keyframes and all(
        mechanism.bodies[i].joint.kind == "free" for i in moved
    )
    return objects or WORLD in company or not mechanism.mobile


def _tilt(q: Array, turn: Array, starts: list[int]) -> None:
    """Rotate root bodies by a quaternion about the origin of the first.

    Parameters
    ----------
    q
        Coordinates, shape (nq,), which are changed.
    turn
        Unit quaternion.
    starts
        Index of the first coordinate of each root.
    """
    rotation, origin = rotation_from_quaternion(turn), q[:3].copy()
    for start in starts:
        if start:
            q[start : start + 3] = origin + rotation @ (q[start : start + 3] - origin)
        q[start + 3 : start + 7] = numeric_product(turn, q[start + 3 : start + 7])


def _trace_gap_program(scene: Scene) -> Program:
    """Trace every candidate's gap, nearest ground point (3,) and normal (3,) as functions of q.

    Gaps of candidates come first, followed by those of spans.
    """
    b = Builder("look")
    kin = kinematics(scene.mechanism, b.parameter("q", scene.mechanism.nq))
    terrain = scene.terrain.symbols(b)
    points, distances, frames = ground_below_candidates(
        scene.geometry, kin, scene.candidates, terrain
    )
    normals = [frame[0, :].T for frame in frames]
    gaps = [distance - c.radius for c, distance in zip(scene.candidates, distances, strict=True)]
    if scene.spans:
        secondary = secondary_gaps(scene.geometry.all_secondary, kin, terrain, b)
        gaps = secondary.candidates + ([] if secondary.spans is None else secondary.spans.gaps)
    ground = [c - distance * n for c, distance, n in zip(points, distances, normals, strict=True)]
    return b.program(
        gaps=ca.vertcat(*gaps), ground=ca.vertcat(*ground), normals=ca.vertcat(*normals)
    )


def _ground_normal(ground: Array, normals: Array) -> Array:
    """Fit the normal of the plane nearest to the points (n, 3).

    If the points are on a line, it is the mean of the normals (n, 3).
    """
    from_mean = ground - ground.mean(0)
    if (
        np.ptp(normals, axis=0).max() < NORMAL_TOLERANCE
        and np.abs(from_mean @ normals[0]).max() < PLANE_TOLERANCE
    ):
        return normals[0]
    _, spread, axes = np.linalg.svd(from_mean)
    mean = normals.mean(0) / np.linalg.norm(normals.mean(0))
    if len(ground) < 3 or spread[1] < MIN_SPREAD:
        return mean
    return axes[2] * np.sign(axes[2] @ mean)


def _rotation_from_vertical(normal: Array) -> Array:
    """Compute the unit quaternion (w, x, y, z) of the smallest rotation from z to `normal`."""
    p = np.array([1 + normal[2], -normal[1], normal[0], 0.0])
    return p / np.linalg.norm(p)
