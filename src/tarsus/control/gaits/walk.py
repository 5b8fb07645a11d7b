"""A biped's walk on flat feet: capture-point pattern, foot placement, inverse dynamics.

- The pattern is that of `control.pendulum`: steps of fixed duration, the center of pressure in the
  middle of the stance sole, moved from foot to foot while both stand.
- Errors of the capture point are taken back by the center of pressure, as far as the sole goes (the
  ankle), and beyond that by where the next foot is placed.
- The trunk is held upright and to its heading, and what that and the swinging leg need from the
  ground counts into the center of pressure (`control.inverse_dynamics`).
- `gait` 0 brings the feet together and stands; 1 sways and walks off. Speeds change slowly.
- After a fall it gives up: joints go softly to the posture. `trip` makes it fall.

Times are in units of sqrt(h / g), lengths in parts of the height h of the center of mass, gains per
mass and inertia: no number belongs to a robot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.base import ControlInputs, require
from tarsus.control.biped_step import STRIDE, BipedStep, WalkMemory
from tarsus.control.foothold import swing
from tarsus.control.inverse_dynamics import Stander, WholeBodyMotion, attitude
from tarsus.control.pendulum import StepPattern
from tarsus.control.stance import HIGH, OnFlatFeet, Stance, stance
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.references.papers import ENGLSBERGER_2015, KAJITA_2001, PRATT_2006
from tarsus.references.reference import Citation

Array = NDArray[np.float64]

UPRIGHT, POSTURE = 2.0, 3.0  # of sqrt(g / h), 1/s: stiffness and damping of each


@dataclass(frozen=True)
class Walk(OnFlatFeet):
    """A walk for two legs with flat soles and a floating base.

    Commands:
    speed: m/s forwards
    sideways: m/s to the left
    turn: rad/s to the left
    gait: 1 to walk, 0 to stand
    """

    citation: ClassVar[Citation] = (
        KAJITA_2001.at("linear inverted pendulum"),
        PRATT_2006.at("capture point"),
        ENGLSBERGER_2015.at("steps and their feedback by the capture point"),
    )

    step: float = parameter(2.6, "[1]", "duration of a step, in units of sqrt(h / g)", "[1, 20]")
    double: float = parameter(0.2, "[1]", "part of a step with both feet down", "[0.05, 0.5]")
    clearance: float = parameter(0.08, "[1]", "lift of a foot, as a part of h", "[0, 1]")
    crouch: float = parameter(0.03, "[1]", "lowering of the trunk, as a part of h", "[0, 0.5]")
    sole: float = parameter(
        0.6, "[1]", "part of the sole that balancing may use, the rest is the trunk's", "[0, 1]"
    )

    trip: float | None = parameter(
        None, "s", "when it stumbles: the swinging foot stays behind; none: never", "[0, 1e6]"
    )

    commands: ClassVar[Mapping[str, float]] = {
        "speed": 0.1,
        "sideways": 0.0,
        "turn": 0.0,
        "gait": 1.0,
    }

    def fastest(self, mechanism: Mechanism) -> float:
        """Half a leg's length a step."""
        robot = stance(mechanism, self.initial_coordinates(mechanism))
        return STRIDE * robot.length / self._pattern(robot).step

    def initial_memory(self, mechanism: Mechanism) -> Array:
        """See `WalkMemory`; it stands, and takes its heading from its first step."""
        require(self, mechanism)
        return np.zeros(WalkMemory.size())

    def torque(self, now: ControlInputs) -> tuple[SX, SX]:
        """Torques (n_actuators,) N m; memory: see `WalkMemory`."""
        mechanism, was = now.mechanism, WalkMemory.read(now.memory)
        robot = stance(mechanism, self.initial_coordinates(mechanism))
        pattern = self._pattern(robot)
        step = BipedStep.of(Stander.of(mechanism, now.q, now.u), robot, pattern, was, now.dt)

        # where the ground should push, and the next foothold
        balance = step.balance(self.sole)
        stumbles = SX(0) if self.trip is None else now.t >= self.trip
        lifted = swing(
            was.lifted_at,
            ca.if_else(stumbles, was.lifted_at, balance.foothold),
            (step.standing[2], self.clearance * robot.height * (1 - stumbles)),
            step.progress,
            pattern.step - pattern.double,
        )
        soles = step.sole_motions(lifted.point, lifted.velocity)
        height = HIGH * pattern.rate
        up = height**2 * (robot.height - step.height(balance.carried))
        up -= 2 * height * step.velocity[2]
        push = ca.vertcat(pattern.rate**2 * balance.away, up)

        # the torques; soft servos after a fall
        firm = UPRIGHT * pattern.rate
        turn = attitude(step.stander.kin, step.astray, was.speed[2], firm**2, 2 * firm)
        soft = POSTURE * pattern.rate
        joints = step.stander.servo(robot.posture, soft**2, 2 * soft)
        loads = step.loads(balance.carried)
        tau = step.stander.torques(WholeBodyMotion(push, turn, soles, joints), loads)
        limp = robot.inertia * step.stander.motors(joints)
        after = step.after(now.command, balance.foothold)
        return ca.if_else(was.fallen, limp, tau), after

    def _pattern(self, robot: Stance) -> StepPattern:
        own = float(np.sqrt(robot.height / robot.gravity))
        return StepPattern(
            robot.height, robot.gravity, self.step * own, self.double * self.step * own
        )
