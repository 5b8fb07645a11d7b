"""Walk of a biped on flat feet: capture-point pattern, foot placement and inverse dynamics.

- The pattern is that of `control.pendulum`: steps of fixed duration, with the center of pressure in
  the middle of the stance sole and moved from foot to foot in double support.
- The center of pressure corrects errors of the capture point within the sole (the ankle strategy);
  the next foothold corrects the rest.
- The trunk stays upright and keeps its heading. What this and the swing leg need from the ground
  enters the center of pressure (`control.inverse_dynamics`).
- `gait` 0 brings the feet together and stands; 1 sways and walks off. Speeds change slowly.
- After a fall the robot gives up: its joints move softly to the posture. `trip` makes it fall.

Times are in units of sqrt(h / g), lengths in units of the height h of the center of mass, and gains
are per mass and inertia: no number is tuned to a robot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.base import ControlInputs, require_suitable
from tarsus.control.biped_step import MAX_STRIDE, BipedStep, WalkMemory
from tarsus.control.foothold import swing_target
from tarsus.control.inverse_dynamics import WholeBody, WholeBodyMotion, attitude_acceleration
from tarsus.control.pendulum import StepPattern
from tarsus.control.stance import HEIGHT_GAIN, FlatFootedController, Stance, measure_stance
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.references.papers import ENGLSBERGER_2015, KAJITA_2001, PRATT_2006
from tarsus.references.reference import Citation

Array = NDArray[np.float64]

ATTITUDE_GAIN, POSTURE_GAIN = 2.0, 3.0  # gains in units of sqrt(g / h), 1/s


@dataclass(frozen=True)
class Walk(FlatFootedController):
    """Walk of a biped with flat soles and a floating base.

    The commands are `speed`, in m/s forwards, `sideways`, in m/s to the left, `turn`, in rad/s to
    the left, and `gait`, 1 to walk or 0 to stand.
    """

    citation: ClassVar[Citation] = (
        KAJITA_2001.at("linear inverted pendulum"),
        PRATT_2006.at("capture point"),
        ENGLSBERGER_2015.at("steps and their feedback by the capture point"),
    )

    step: float = parameter(2.6, "[1]", "duration of a step, in units of sqrt(h / g)", "[1, 20]")
    double: float = parameter(0.2, "[1]", "fraction of a step in double support", "[0.05, 0.5]")
    clearance: float = parameter(0.08, "[1]", "lift of a foot, as a fraction of h", "[0, 1]")
    crouch: float = parameter(0.03, "[1]", "lowering of the trunk, as a fraction of h", "[0, 0.5]")
    sole: float = parameter(
        0.6, "[1]", "fraction of the sole reserved for balance; the rest is for the trunk", "[0, 1]"
    )

    trip_time: float | None = parameter(
        None,
        "s",
        "time at which the swing foot is held back, to make the robot trip; none: never",
        "[0, 1e6]",
    )

    commands: ClassVar[Mapping[str, float]] = {
        "speed": 0.1,
        "sideways": 0.0,
        "turn": 0.0,
        "gait": 1.0,
    }

    def max_speed(self, mechanism: Mechanism) -> float:
        """Compute the speed of steps half a leg long, in m/s."""
        robot = measure_stance(mechanism, self.initial_coordinates(mechanism))
        return MAX_STRIDE * robot.length / self._pattern(robot).step

    def initial_memory(self, mechanism: Mechanism) -> Array:
        """Return the memory of a standing robot (see `WalkMemory`)."""
        require_suitable(self, mechanism)
        return np.zeros(WalkMemory.size())

    def torque(self, inputs: ControlInputs) -> tuple[SX, SX]:
        """Compute the torques, shape (n_actuators,), in N m, and the memory (see `WalkMemory`)."""
        mechanism, memory = inputs.mechanism, WalkMemory.read(inputs.memory)
        robot = measure_stance(mechanism, self.initial_coordinates(mechanism))
        pattern = self._pattern(robot)
        step = BipedStep.of(
            WholeBody.of(mechanism, inputs.q, inputs.u), robot, pattern, memory, inputs.dt
        )

        # desired center of pressure, and the next foothold
        balance = step.balance(self.sole)
        tripped = SX(0) if self.trip_time is None else inputs.t >= self.trip_time
        target = swing_target(
            memory.liftoff,
            ca.if_else(tripped, memory.liftoff, balance.foothold),
            (step.stance_foot[2], self.clearance * robot.height * (1 - tripped)),
            step.progress,
            pattern.step - pattern.double,
        )
        soles = step.sole_motions(target.point, target.velocity)
        height_gain = HEIGHT_GAIN * pattern.rate
        up = height_gain**2 * (robot.height - step.height(balance.trailing_load))
        up -= 2 * height_gain * step.velocity[2]
        push = ca.vertcat(pattern.rate**2 * balance.com_offset, up)

        # torques; soft servos after a fall
        attitude_gain = ATTITUDE_GAIN * pattern.rate
        turn = attitude_acceleration(
            step.body.kin, step.heading_error, memory.speed[2], attitude_gain**2, 2 * attitude_gain
        )
        posture_gain = POSTURE_GAIN * pattern.rate
        joints = step.body.servo(robot.posture, posture_gain**2, 2 * posture_gain)
        loads = step.loads(balance.trailing_load)
        tau = step.body.torques(WholeBodyMotion(push, turn, soles, joints), loads)
        limp = robot.inertia * step.body.motor_entries(joints)
        next_memory = step.next_memory(inputs.command, balance.foothold)
        return ca.if_else(memory.fallen, limp, tau), next_memory

    def _pattern(self, robot: Stance) -> StepPattern:
        time_constant = float(np.sqrt(robot.height / robot.gravity))
        return StepPattern(
            robot.height,
            robot.gravity,
            self.step * time_constant,
            self.double * self.step * time_constant,
        )
