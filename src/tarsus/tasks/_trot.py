"""What tasks share that follow a velocity on four legs which trot by a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.legs import (
    Array,
    Leg,
    diagonals,
    find_legs,
    foot_in_hip_frame,
    foot_jacobian,
    why_no_diagonal_legs,
)
from tarsus.parameters import parameter
from tarsus.tasks.base import AXIAL, MOTORS, POLAR, Glimpse, LearningTask, Measured, Observed, Range

TILT = 0.5  # cosine: a base that leans by more than 60 degrees has fallen
SUNK = 0.55  # of the standing height: a base below it has collapsed
STAGES, LOOKS = 10, 5  # of bending a leg, and Newton's steps in each
LOW = 0.83  # of it: a base below that is paid less


@dataclass(frozen=True, kw_only=True)
class TrotTask(LearningTask):
    """Follow a commanded velocity; a clock says which diagonal shall be on the ground."""

    speed: Range = parameter((0.3, 1.0), "m/s", "commands along the heading")
    sideways: Range = parameter((0.0, 0.0), "m/s", "commands to the left")
    turn: Range = parameter((-0.5, 0.5), "rad/s", "commands to turn left")
    lift: float = parameter(0.04, "m", "of feet that the clock has in the air, unasked", "[0, inf)")
    frequency: float = parameter(2.5, "Hz", "of the trot that is rewarded", "(0, 100]")
    crouch: float = parameter(
        0.8, "[1]", "of a straight leg, how high hips stand at most", "(0, 1]"
    )

    def suits(self, mechanism: Mechanism) -> str | None:
        return super().suits(mechanism) or why_no_diagonal_legs(mechanism)

    def prepared(self, robot: Robot) -> Robot:
        """Standing with knees that are bent enough to walk on."""
        q = np.array(robot.keyframes["stand"], dtype=float)
        for leg in find_legs(robot):
            for joint, angle in zip(leg.joints, _bent(leg, self.crouch), strict=True):
                q[robot.q_slices[robot.joint_index(joint)].start] = angle
        if (q == robot.keyframes["stand"]).all():
            return robot
        return replace(robot, keyframes={**robot.keyframes, "stand": q})

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The farthest point of every leg."""
        return tuple(leg.name for leg in find_legs(mechanism))

    def commands(self) -> Mapping[str, Range]:
        return {"speed": self.speed, "sideways": self.sideways, "turn": self.turn}

    def rhythm(self, mechanism: Mechanism, stand: NDArray[np.float64], clock: SX) -> SX:
        """Feet go up and down in a trot on the spot, by the legs' Jacobians as they stand."""
        motors = [actuator.joint for actuator in mechanism.actuators]
        legs, found = find_legs(mechanism), SX.zeros(len(motors))
        swing = ca.sin(2 * np.pi * self.frequency * clock)
        for leg, diagonal in zip(legs, diagonals(legs), strict=True):
            up = ca.fmax(-swing if diagonal == 0 else swing, 0)
            bend = np.linalg.solve(foot_jacobian(leg, leg.posture), [0.0, 0.0, self.lift])
            for joint, angle in zip(leg.joints, bend, strict=True):
                found[motors.index(joint)] = angle * up
        return found

    def observations(self, now: Glimpse) -> Mapping[str, Observed]:
        at = 2 * np.pi * self.frequency * now.clock
        asked = ca.vertcat(*now.command.values())
        joints = now.angles - now.posture
        return {
            "down": Observed(now.down, 0.05, POLAR),
            "turning": Observed(0.25 * now.turning, 0.05, AXIAL),
            "velocity": Observed(2 * now.velocity, 0.1, POLAR),
            "command": Observed(asked, image=(1, -1, -1)),
            "angles": Observed(joints, 0.01, MOTORS),
            "rates": Observed(0.05 * now.rates, 0.05, MOTORS),
            "action": Observed(now.action, image=MOTORS),
            "clock": Observed(ca.vertcat(ca.sin(at), ca.cos(at)), image=(-1, -1)),
        }

    def rewards(self, now: Glimpse) -> Mapping[str, SX]:
        asked, v, spin = now.command, now.velocity, now.turning
        ahead = (v[0] - asked["speed"]) ** 2 + (v[1] - asked["sideways"]) ** 2
        low = ca.fmax(LOW * now.stand[2] - now.height, 0)
        change = now.action - now.before
        return {
            "velocity": 5 * ca.exp(-ahead / 0.1),
            "astray": -10 * ca.sqrt(ahead + 1e-4),
            "turn": 3.5 * ca.exp(-((spin[2] - asked["turn"]) ** 2) / 0.2),
            "clock": 1.5 * self._in_time(now),
            "bounce": -5 * v[2] ** 2,
            "sway": -0.15 * ca.sumsqr(spin[:2]),
            "tilt": -10 * ca.sumsqr(now.down[:2]),
            "jerk": -0.04 * ca.sumsqr(change),
            "rates": -1e-4 * ca.sumsqr(now.rates),
            "low": -100 * low**2,
        }

    def measures(self, now: Glimpse) -> Mapping[str, Measured]:
        asked, v = now.command, now.velocity
        return {
            "speed": Measured(v[0] - asked["speed"], "m/s"),
            "sideways": Measured(v[1] - asked["sideways"], "m/s"),
            "turn": Measured(now.turning[2] - asked["turn"], "rad/s"),
        }

    def failed(self, now: Glimpse) -> SX:
        sunk = now.height < SUNK * now.stand[2]
        return ca.logic_or(sunk, now.rotation[2, 2] < TILT)

    def _in_time(self, now: Glimpse) -> SX:
        """The share of feet that press when the clock says so, and only then."""
        legs = find_legs(now.kin.mechanism)
        first = ca.sin(2 * np.pi * self.frequency * now.clock) >= 0
        right = SX(0)
        for leg, diagonal in zip(legs, diagonals(legs), strict=True):
            due = first if diagonal == 0 else ca.logic_not(first)
            right += now.pressing[leg.name] == due
        return right / len(legs)


def _bent(leg: Leg, share: float) -> Array:
    """Its standing angles (3,), rad, or those with the foot straight above where it was, so that
    the hip is no higher than a share of thigh and shank.
    """
    angles, foot = np.array(leg.posture, float), leg.standing_foot
    high = -share * sum(leg.lengths)
    if foot[2] >= high:
        return angles
    for part in np.linspace(0, 1, STAGES + 1)[1:]:
        aim = foot + part * np.array([0.0, 0.0, high - foot[2]])
        for _ in range(LOOKS):
            off = aim - foot_in_hip_frame(leg, angles)
            angles = angles + np.linalg.solve(foot_jacobian(leg, angles), off)
    return angles
