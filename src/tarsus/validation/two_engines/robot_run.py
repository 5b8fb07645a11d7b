"""Run of a robot in one of two engines, with its events, and the differences of two runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.dynamics.integrate import difference
from tarsus.dynamics.robot import Robot
from tarsus.model.base_motion import base_position

Array = NDArray[np.float64]
Torques = Callable[[float, Array, Array], Array]  # (t, q, u) -> torques of the actuators
GROUND = "ground"


@dataclass(frozen=True, eq=False)
class RobotRun:
    """Run of a robot in one engine."""

    q: Array
    """Coordinates after every step, shape (steps, nq)."""
    u: Array
    """Velocities after every step, shape (steps, nu)."""
    limit_hits: dict[str, int]
    """Step in which each joint first reached its limit, by joint."""
    first_touches: dict[frozenset[str], int]
    """Step in which two bodies first touched, by their names, one of which may be `GROUND`."""
    unsolved: int = 0
    """Number of steps that did not converge."""

    @property
    def events(self) -> dict[str, int]:
        """Steps of all events, by joint or by two bodies as "one:other"."""
        return self.limit_hits | {
            ":".join(sorted(both)): k for both, k in self.first_touches.items()
        }

    def delays(self, other: RobotRun) -> dict[str, int]:
        """Compute by how many steps each common event happens later in the other run."""
        events, others = self.events, other.events
        return {name: others[name] - k for name, k in events.items() if name in others}

    def unmatched_events(self, other: RobotRun) -> list[str]:
        """List the events that the other run lacks."""
        return sorted(self.events.keys() - other.events.keys())


@dataclass(frozen=True)
class PoseDistance:
    """Distance between two poses of a robot, without separate objects."""

    position: float
    """Distance of the trunk, m."""
    angle: float
    """Largest rotation of the trunk or a hinge, rad, or displacement of a slide, m."""


def agreeing_steps(
    robot: Robot, one: RobotRun, other: RobotRun, limit: PoseDistance, duration: int
) -> int:
    """Count the steps until the poses of two runs stop agreeing.

    Parameters
    ----------
    robot
        Robot of both runs.
    one, other
        Runs to compare.
    limit
        Largest distance between poses that agree.
    duration
        Number of steps in a row for which poses must differ.

    Returns
    -------
    int
        Steps until then; all steps if the runs agree to the end.
    """
    n = min(len(one.q), len(other.q))
    position, angle = _distances(robot, one.q[:n], other.q[:n])
    close = (position <= limit.position) & (angle <= limit.angle)  # false for NaN
    for start in np.flatnonzero(~close).tolist():
        if not close[start : start + duration].any():
            return start
    return n


def pose_distance(robot: Robot, q: Array, other: Array) -> PoseDistance:
    """Compute the distance between two poses (nq,)."""
    position, angle = _distances(robot, q, other)
    return PoseDistance(float(position), float(angle))


def _distances(robot: Robot, q: Array, other: Array) -> tuple[Array, Array]:
    """Compute position and angle of `PoseDistance` between coordinates (..., nq)."""
    change = difference(robot, q, other)
    position, angles, objects = np.zeros(q.shape[:-1]), [], tree.object_bodies(robot)
    if robot.mobile:
        ends = (base_position(robot, each) for each in (q, other))
        position = np.linalg.norm(np.subtract(*ends), axis=-1)
    for k, (body, indices) in enumerate(zip(robot.bodies, robot.u_slices, strict=True)):
        if k in objects or (k in robot.base_chain and body.joint.kind == "slide"):
            continue
        motion = change[..., indices]
        if body.joint.kind == "free":
            motion = motion[..., 3:]
        angles.append(np.linalg.norm(motion, axis=-1))
    return position, np.max(angles, axis=0)
