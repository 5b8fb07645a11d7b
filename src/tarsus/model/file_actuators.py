"""Actuators as a file describes them: a control signal into a force that is affine in the state.

MuJoCo's actuation model (mujoco.readthedocs.io, chapter Computation): motors, position and velocity
servos, dampers and general affine actuators are the same with other numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tarsus.errors import InvalidModel

Range = tuple[float, float]
Affine = tuple[float, float, float]
FREE: Range = (-np.inf, np.inf)
FALLING = 0.05  # part of a limit of speed over which the torque falls to none
STATELESS, INTEGRATOR, FILTERS = "none", "integrator", ("filter", "filterexact")
NOT_DRIVING = "actuators that do not drive one hinge or slide are left out"  # a report's words
SIMULATED = (STATELESS, INTEGRATOR, *FILTERS)  # dynamics


@dataclass(frozen=True)
class FileActuator:
    """An actuator of a file, on a hinge or slide.

    With the length l = gear q, its rate v and the signal c, within `control` or filtered, its force
    is (gain . (1, l, v)) c + bias . (1, l, v), held within `force`. The joint gets gear times that,
    no torque that drives it on where it turns faster than `speed`, and from all its actuators
    together what lies within `at_joint`.

    gear: [1], or m of a hinge's lever
    gain, bias: of 1, l and v
    control: range of the signal
    force, at_joint: ranges, N m or N
    dynamics: "none", "integrator" (activation' = signal), "filter" or "filterexact" (of first
        order), else the name of one that is not simulated
    time_constant: of a filter, s
    activation: range of what is filtered or integrated
    early: whether the force is that of the activation at the step's end, not at its start
    speed: of the joint, rad/s or m/s; below the last `FALLING` of it the motor has all its torque
    """

    name: str
    joint: str
    gear: float = 1.0
    gain: Affine = (1.0, 0.0, 0.0)
    bias: Affine = (0.0, 0.0, 0.0)
    control: Range = FREE
    force: Range = FREE
    at_joint: Range = FREE
    dynamics: str = STATELESS
    time_constant: float = 0.0
    activation: Range = FREE
    speed: float = np.inf
    early: bool = False

    def __post_init__(self) -> None:
        if not self.speed > 0:
            raise InvalidModel(
                f"actuator {self.name!r}: the speed limit must be > 0, not {self.speed}.", self.name
            )
        if np.isfinite(self.speed) and not np.isfinite(self.force).all():
            raise InvalidModel(
                f"actuator {self.name!r}: a speed limit needs a force limit too.", self.name
            )

    @property
    def simulated(self) -> bool:
        """Whether its dynamics are known here."""
        return self.dynamics in SIMULATED

    @property
    def has_state(self) -> bool:
        """Whether its signal is integrated or filtered."""
        return self.dynamics != STATELESS

    @property
    def kp(self) -> float:
        """What it pulls back per length: a position servo's gain."""
        return 0.0 - self.bias[1]  # never -0

    @property
    def kv(self) -> float:
        """What it pulls back per rate: a velocity servo's gain, a position servo's damping."""
        return 0.0 - self.bias[2]

    @property
    def kind(self) -> str:
        """motor, position, velocity, intvelocity, damper or general, by its numbers."""
        constant, affine = not any(self.gain[1:]), any(self.bias)
        if not affine and constant and not self.has_state:
            return "motor"
        if self.gain[:2] == (0.0, 0.0) and not affine and not self.has_state:
            return "damper"
        if constant and self.gain[0] == self.kp and self.bias[0] == 0.0:
            if not self.has_state:
                return "position"
            return "intvelocity" if self.dynamics == INTEGRATOR else "position"
        if constant and self.gain[0] == self.kv and not any(self.bias[:2]) and not self.has_state:
            return "velocity"
        return "general"

    @property
    def has_kp(self) -> bool:
        """Whether kp is both its gain and what it pulls back with."""
        return self.kind in ("position", "intvelocity")

    @property
    def has_kv(self) -> bool:
        """Whether it has a gain kv of its own."""
        return self.kind in ("position", "intvelocity", "velocity")

    @property
    def soft(self) -> bool:
        """Whether its force depends on the state of its joint."""
        return any((*self.bias[1:], *self.gain[1:])) or self.has_kv

    @property
    def limited(self) -> bool:
        """Whether its force, or that of its joint's actuators, has a limit."""
        return bool(np.isfinite([*self.force, *self.at_joint]).any())


def motor(joint: str, effort: float, velocity: float) -> FileActuator:
    """Of a joint by its name: the effort limits it, and the velocity, 0 of none, if there is an
    effort.
    """
    speed = velocity if velocity > 0 and np.isfinite(effort) else np.inf
    return FileActuator(joint, joint, force=(-effort, effort), speed=speed)
