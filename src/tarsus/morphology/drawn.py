"""Coordinates in which a robot's file draws it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]

AS_DRAWN = "qpos0"  # keyframe with every body where its file draws it
MARGIN = 0.03  # of a joint's range, at either end


def as_drawn(robot: Mechanism) -> Array:
    """Return the coordinates (nq,) in which the file draws the robot; by default all are zero."""
    return np.asarray(robot.keyframes.get(AS_DRAWN, robot.neutral()))


def roots_as_drawn(robot: Mechanism) -> Array:
    """Create coordinates (nq,) with joints at zero, but base and objects as the file draws them."""
    q, drawn = robot.neutral(), as_drawn(robot)
    placed = tree.object_bodies(robot).union(robot.base_chain)
    for i, body in enumerate(robot.bodies):
        if body.joint.kind == "free" or i in placed:
            q[robot.q_slices[i]] = drawn[robot.q_slices[i]]
    return q


def nearest_drawn(robot: Mechanism) -> Array:
    """Find the coordinates (nq,) closest to the robot as drawn, within the ranges of joints."""
    q, drawn = roots_as_drawn(robot), as_drawn(robot)
    for i, body in enumerate(robot.bodies):
        if body.joint.kind in ("hinge", "slide"):
            q[robot.q_slices[i]] = clamp_to_range(robot, i, float(drawn[robot.q_slices[i].start]))
    return q


def clamp_to_range(robot: Mechanism, body: int, angle: float) -> float:
    """Find the closest coordinate in the joint's range, with a margin at its ends."""
    joint = robot.bodies[body].joint
    margin = MARGIN * (joint.upper - joint.lower) if np.isfinite(joint.upper - joint.lower) else 0.0
    margin = 0.0 if joint.lower <= angle <= joint.upper else margin
    return float(np.clip(angle, joint.lower + margin, joint.upper - margin))
