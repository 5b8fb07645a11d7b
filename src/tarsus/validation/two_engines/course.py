"""What happens when: a robot's run in one of two engines, and how two runs differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.dynamics.integrate import difference
from tarsus.dynamics.robot import Robot

Array = NDArray[np.float64]
Torques = Callable[[float, Array, Array], Array]  # (t, q, u) -> torques of the actuators
GROUND = "ground"


@dataclass(frozen=True, eq=False)
class RobotRun:
    """A run.

    q, u: coordinates (steps, nq) and velocities (steps, nu) after every step
    stops: the step in which each joint first stood at its stop, by the joint's name
    meets: the step in which each two bodies first touched, by their names; one may be `GROUND`
    unsolved: steps that did not converge
    """

    q: Array
    u: Array
    stops: dict[str, int]
    meets: dict[frozenset[str], int]
    unsolved: int = 0

    @property
    def events(self) -> dict[str, int]:
        """The steps of all of them: joints by name, two bodies as "one:other"."""
        return self.stops | {":".join(sorted(both)): k for both, k in self.meets.items()}

    def late(self, other: RobotRun) -> dict[str, int]:
        """By how many steps the other's events come later, of those that both have."""
        own, others = self.events, other.events
        return {name: others[name] - k for name, k in own.items() if name in others}

    def alone(self, other: RobotRun) -> list[str]:
        """Events that the other does not have."""
        return sorted(self.events.keys() - other.events.keys())


@dataclass(frozen=True)
class Apart:
    """How far two poses of a robot are from each other, objects beside it left out.

    place: of the trunk, m
    angle: the trunk's turn or the largest of a joint, rad; slides by their way, m
    """

    place: float
    angle: float


def together(robot: Robot, one: RobotRun, other: RobotRun, most: Apart, lasting: int) -> int:
    """Steps until two runs are farther apart than `most` for so many steps in a row, or at their
    end; all, if they never are.
    """
    n = min(len(one.q), len(other.q))
    place, angle = _distances(robot, one.q[:n], other.q[:n])
    near = (place <= most.place) & (angle <= most.angle)  # not where either is no number
    for start in np.flatnonzero(~near).tolist():
        if not near[start : start + lasting].any():
            return start
    return n


def apart(robot: Robot, q: Array, other: Array) -> Apart:
    """Of coordinates (nq,) and other ones."""
    place, angle = _distances(robot, q, other)
    return Apart(float(place), float(angle))


def _distances(robot: Robot, q: Array, other: Array) -> tuple[Array, Array]:
    """`Apart`'s numbers of coordinates (..., nq) and other ones."""
    way = difference(robot, q, other)
    place, angles, beside = np.zeros(q.shape[:-1]), [], tree.object_bodies(robot)
    for k, (body, at) in enumerate(zip(robot.bodies, robot.u_slices, strict=True)):
        if k in beside:
            continue
        own = way[..., at]
        if body.joint.kind == "free":
            place = np.linalg.norm(own[..., :3], axis=-1)
            own = own[..., 3:]
        angles.append(np.linalg.norm(own, axis=-1))
    return place, np.max(angles, axis=0)
