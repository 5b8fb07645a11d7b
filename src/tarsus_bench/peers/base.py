"""The base class of the simulators that are compared: the same robot, servo and start in each."""

from __future__ import annotations

import importlib.util
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.engines.base import Session

Array = NDArray[np.float64]
FRICTION = 0.8  # of every contact [1]


@dataclass(frozen=True, eq=False)
class Work:
    """What a simulator is given.

    robot: floating, hinges alone, contact candidates as spheres; its keyframe "stand" is the
        posture that the servos hold
    q (nq,), u (nu,): the start
    kp: N m/rad; kd: N m s/rad; both zero: no motor acts
    dt: step, s
    """

    robot: Robot
    q: Array
    u: Array
    kp: float
    kd: float
    dt: float

    @property
    def posture(self) -> Array:
        """The joint angles (joints,) that the servos hold, rad."""
        return np.asarray(self.robot.keyframes["stand"])[7:]

    @property
    def joints(self) -> tuple[str, ...]:
        """The hinges' names in the order of q."""
        return self.robot.joint_names[1:]


class PeerSession(Session):
    """A simulator at work.

    To add one:

    1. Make a file in ``tarsus_bench/peers``; its name is the simulator's in the table.
    2. Write one class in it that inherits from `PeerSession`, and import the simulator inside
       methods alone: the file must be readable without it.
    3. Name its `package` (what Python imports) and its `distributions` (what one installs).
    4. Build the robot in ``__init__``: `tarsus.model.to_urdf` and `to_mjcf` write it for you. The
       floor is the plane z = 0; friction is `FRICTION`; the robot does not touch itself.
    5. The servo is tau = kp (posture - angle) - kd rate, computed at the start of a step and held.
       Write `act` (read the joints, hand over torques) and `move` (one step), or, if the simulator
       can compute it itself, `advance`, and set `own_servo`.
    6. Say what a reader should know in `settings`: solver, iterations, tolerances, number format,
       everything in which it differs from the others.

    variants: ways of running it, name -> what is different about it
    own_servo: whether the simulator computes the servo, without Python in every step
    """

    package: ClassVar[str]
    distributions: ClassVar[tuple[str, ...]]
    variants: ClassVar[Mapping[str, str]] = {"": "defaults"}
    own_servo: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, work: Work, variant: str) -> None:
        """Build the robot on the floor, ready to `reset`; the base keeps what it is given."""
        self._work, self.dt = work, work.dt

    @classmethod
    def installed(cls) -> bool:
        """Whether Python finds its package; nothing is imported."""
        return importlib.util.find_spec(cls.package) is not None

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Version, solver, iterations, tolerance, number format and what else matters, as text."""

    @abstractmethod
    def mass(self) -> float:
        """The robot's mass by the simulator's own account, kg."""

    @abstractmethod
    def reset(self) -> None:
        """Back to the start, also of everything that the solver remembers."""

    def act(self) -> None:
        """Read the joints and hand over the servos' torques."""
        raise NotImplementedError(f"{type(self).__name__} has no servo in Python")

    def move(self) -> None:
        """One step of the simulator."""
        raise NotImplementedError(f"{type(self).__name__} moves by advance alone")

    def advance(self, steps: int) -> None:
        """Steps with the servo, nothing recorded."""
        for _ in range(steps):
            self.act()
            self.move()


def world_to_body(q: Array, omega: Array) -> Array:
    """An angular velocity (3,) in world axes in those of the base, whose quaternion is in q."""
    w, v = q[3], -q[4:7]
    twice = 2 * np.cross(v, omega)
    return omega + w * twice + np.cross(v, twice)


def body_to_world(q: Array, omega: Array) -> Array:
    """The other way."""
    w, v = q[3], q[4:7]
    twice = 2 * np.cross(v, omega)
    return omega + w * twice + np.cross(v, twice)
