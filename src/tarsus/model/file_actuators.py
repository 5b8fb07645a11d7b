"""Actuators of robot files: a control signal gives a force that is affine in the joint's state.

This is MuJoCo's actuation model (mujoco.readthedocs.io, chapter Computation). Motors, position and
velocity controllers, dampers and general affine actuators differ only in their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tarsus.errors import InvalidModel

Range = tuple[float, float]
Affine = tuple[float, float, float]
FREE: Range = (-np.inf, np.inf)
FADE_RATIO = 0.05  # part of a speed limit over which the torque falls to zero
STATELESS, INTEGRATOR, FILTERS = "none", "integrator", ("filter", "filterexact")
NOT_DRIVING = (
    "actuators that do not drive one hinge, slide or tendon are ignored"  # start of a report
)
MOTOR_NUMBERS = ("delay", "lag", "encoder_offset")  # what real motors add, 0 by default
SIMULATED = (STATELESS, INTEGRATOR, *FILTERS)  # dynamics


@dataclass(frozen=True)
class FileActuator:
    """Actuator of a file, on a hinge, slide or tendon.

    With the length l = gear q, where q is the coordinate of the joint or the length of the tendon,
    its rate v and the signal c, which is clipped to `control` and filtered, the force is (gain .
    (1, l, v)) c + bias . (1, l, v), clipped to `force`. The joint or tendon gets gear times the
    force. Above the speed limit there is no torque in the direction of motion. The sum over all
    actuators of the joint or tendon is clipped to `joint_force`.

    Attributes
    ----------
    name
        Unique among actuators.
    joint
        Name of the joint or tendon.
    gear
        Ratio, or the lever of a hinge in m.
    gain, bias
        Coefficients of 1, l and v.
    control
        Range of the signal.
    force, joint_force
        Ranges of its force, and of the total force of all actuators at its joint, in N m or N.
    dynamics
        "none", "integrator" (activation' = signal), "filter" or "filterexact" (of first order), or
        the name of dynamics that are not simulated.
    time_constant
        Time constant of a filter, in s.
    activation
        Range of the filtered or integrated signal.
    speed
        Speed limit of the joint, in rad/s or m/s; the torque fades over its last `FADE_RATIO`.
    acts_early
        Whether the force is that of the activation at the end of the step, not at its start
        (MuJoCo's `actearly`).
    delay
        Time by which the signal is late, in s.
    lag
        Time constant of the joint's torque, in s.
    encoder_offset
        Measured minus true coordinate of the joint, in rad or m, as a servo measures it.
    """

    name: str
    joint: str
    gear: float = 1.0
    gain: Affine = (1.0, 0.0, 0.0)
    bias: Affine = (0.0, 0.0, 0.0)
    control: Range = FREE
    force: Range = FREE
    joint_force: Range = FREE
    dynamics: str = STATELESS
    time_constant: float = 0.0
    activation: Range = FREE
    speed: float = np.inf
    acts_early: bool = False
    delay: float = 0.0
    lag: float = 0.0
    encoder_offset: float = 0.0

    def __post_init__(self) -> None:
        for name in MOTOR_NUMBERS:
            value = getattr(self, name)
            if not np.isfinite(value) or (value < 0 and name != "encoder_offset"):
                raise InvalidModel(
                    f"actuator {self.name!r}: {name} must be finite"
                    f"{'' if name == 'encoder_offset' else ' and >= 0'}, not {value}.",
                    self.name,
                )
        if not self.speed > 0:
            raise InvalidModel(
                f"actuator {self.name!r}: the speed limit must be > 0, not {self.speed}.", self.name
            )
        if np.isfinite(self.speed) and not np.isfinite(self.force).all():
            raise InvalidModel(
                f"actuator {self.name!r}: a speed limit needs a force limit too.", self.name
            )

    @property
    def is_simulated(self) -> bool:
        """Whether its dynamics are simulated."""
        return self.dynamics in SIMULATED

    @property
    def has_state(self) -> bool:
        """Whether the signal is integrated or filtered."""
        return self.dynamics != STATELESS

    @property
    def kp(self) -> float:
        """Force per length back to the origin: a position controller's gain."""
        return 0.0 - self.bias[1]  # never -0

    @property
    def kv(self) -> float:
        """Force per rate: a velocity controller's gain, a position controller's damping."""
        return 0.0 - self.bias[2]

    @property
    def kind(self) -> str:
        """Type by its numbers: motor, position, velocity, intvelocity, damper or general."""
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
        """Whether kp is its gain on the signal and on the length."""
        return self.kind in ("position", "intvelocity")

    @property
    def has_kv(self) -> bool:
        """Whether the actuator has a gain kv."""
        return self.kind in ("position", "intvelocity", "velocity")

    @property
    def depends_on_state(self) -> bool:
        """Whether the force depends on the state of the joint."""
        return any((*self.bias[1:], *self.gain[1:])) or self.has_kv

    @property
    def has_force_limit(self) -> bool:
        """Whether the force, or the sum of forces at the joint, has a limit."""
        return bool(np.isfinite([*self.force, *self.joint_force]).any())


def create_motor(joint: str, effort: float, velocity: float) -> FileActuator:
    """Create a motor named after its joint.

    Parameters
    ----------
    joint
        Name of the joint.
    effort
        Limit of the torque or force, infinite for none.
    velocity
        Speed limit, which needs a limit of effort; 0 for none.
    """
    speed = velocity if velocity > 0 and np.isfinite(effort) else np.inf
    return FileActuator(joint, joint, force=(-effort, effort), speed=speed)


def create_servo(
    joint: str, kp: float, kd: float, force: Range = FREE, speed: float = np.inf
) -> FileActuator:
    """Create a position servo, whose torque is kp (target - q) - kd u.

    Parameters
    ----------
    joint
        Name of the joint.
    kp, kd
        Gains, in N m/rad and N m s/rad.
    force
        Range of the torque.
    speed
        Speed limit, which needs limits of the torque.
    """
    limited = bool(np.isfinite(force).all())
    return FileActuator(
        f"{joint}_servo",
        joint,
        gain=(kp, 0.0, 0.0),
        bias=(0.0, -kp, -kd),
        force=force if limited else FREE,
        speed=speed if limited else np.inf,
    )
