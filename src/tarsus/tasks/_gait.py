"""What tasks share that follow a velocity on legs that take turns: four trot, two walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.rotors import with_rotors
from tarsus.morphology.strides import crouch, strides, why_no_strides
from tarsus.parameters import parameter
from tarsus.tasks.base import (
    AXIAL,
    MOVED,
    POLAR,
    Advice,
    Glimpse,
    LearningTask,
    Measured,
    Observed,
    Range,
    known,
)

TILT = 0.5  # cosine: a base that leans by more than 60 degrees has fallen
LEVEL = 2.0  # worth of level soles
LOW = 0.83  # of the standing height: a base below that is paid less
KEPT = 16  # robots whose habits are remembered


class Habit(NamedTuple):
    """What is asked of legs unless the task says otherwise, and how it is paid.

    speed to episode: as in `GaitTask`
    unit: m/s, an error of the velocity that counts as one
    astray, straight, clock: worth of going, turning and stepping as asked
    sunk: share of the standing height below which a base has collapsed
    """

    speed: Range
    lift: float
    frequency: float
    crouch: float
    stiffness: float
    push: float = 0.5
    episode: float = 20.0
    unit: float = 1.0
    astray: float = 10.0
    straight: float = 0.0
    clock: float = 1.5
    sunk: float = 0.55


TROT = Habit(speed=(0.3, 1.0), lift=0.04, frequency=2.5, crouch=0.8, stiffness=1.0)


@dataclass(frozen=True, kw_only=True)
class GaitTask(LearningTask):
    """Follow a commanded velocity; a clock says which feet shall be on the ground.

    What is "none" is filled in for the robot by `fitted`.
    """

    speed: Range | None = parameter(None, "m/s", "commands along the heading; none: the robot's")
    sideways: Range = parameter((0.0, 0.0), "m/s", "commands to the left")
    turn: Range = parameter((-0.5, 0.5), "rad/s", "commands to turn left")
    lift: float | None = parameter(
        None, "m", "of feet that the clock has in the air, unasked; none: the robot's", "[0, inf)"
    )
    frequency: float | None = parameter(
        None, "Hz", "of the gait that is rewarded; none: the robot's", "(0, 100]"
    )
    crouch: float | None = parameter(
        None, "[1]", "of a straight leg, how high hips stand at most; none: the robot's", "(0, 1]"
    )
    stiffness: float | None = parameter(
        None, "[1]", "factor on that of the joints' servos; none: the robot's", "(0, 10]"
    )
    rotor: float = parameter(
        1e-4, "s^2", "rotor inertia over torque of motors whose file gives none", "[0, 1]"
    )
    push: float | None = parameter(
        None, "m/s", "that pushes add to the velocity at most; none: the robot's", "[0, inf)"
    )
    episode: float | None = parameter(
        None, "s", "after which an episode is cut off; none: the robot's", "(0, inf)"
    )

    def suits(self, mechanism: Mechanism) -> str | None:
        return super().suits(mechanism) or why_no_strides(mechanism)

    def advice(self, mechanism: Mechanism) -> Advice:
        if len(strides(mechanism)) == 4:
            return Advice()
        ppo = {"rounds": 700, "fall": 15, "discount": 0.98, "width": 64, "quieter": 250}
        return Advice(methods={"ppo": ppo})

    def fitted(self, robot: Robot) -> Self:
        own = habit(robot)._asdict()
        return replace(self, **{k: v for k, v in own.items() if getattr(self, k, v) is None})

    def prepared(self, robot: Robot) -> Robot:
        """Standing with knees that are bent enough to walk on, and with rotors."""
        return crouch(with_rotors(robot, self.rotor), known(self.crouch))

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The farthest point of every leg, or the corners of its sole."""
        return tuple(foot for leg in strides(mechanism) for foot in leg.feet)

    def moves(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Those of the legs."""
        joints = {joint for leg in strides(mechanism) for joint in leg.joints}
        return tuple(k for k, motor in enumerate(mechanism.actuators) if motor.joint in joints)

    def firmness(self) -> float:
        return known(self.stiffness)

    def commands(self) -> Mapping[str, Range]:
        return {"speed": known(self.speed), "sideways": self.sideways, "turn": self.turn}

    def rhythm(self, mechanism: Mechanism, stand: NDArray[np.float64], clock: SX) -> SX:
        """Feet go up and down on the spot, in turns."""
        motors = [actuator.joint for actuator in mechanism.actuators]
        found = SX.zeros(len(motors))
        swing = ca.sin(2 * np.pi * known(self.frequency) * clock)
        for leg in strides(mechanism):
            up = ca.fmax(-swing if leg.half == 0 else swing, 0)
            for joint, angle in zip(leg.joints, leg.lifted(known(self.lift)), strict=True):
                found[motors.index(joint)] = angle * up
        return found

    def observations(self, now: Glimpse) -> Mapping[str, Observed]:
        at = 2 * np.pi * known(self.frequency) * now.clock
        asked = ca.vertcat(*now.command.values())
        moved = list(self.moves(now.kin.mechanism))
        return {
            "down": Observed(now.down, 0.05, POLAR),
            "turning": Observed(0.25 * now.turning, 0.05, AXIAL),
            "velocity": Observed(2 * now.velocity, 0.1, POLAR),
            "command": Observed(asked, image=(1, -1, -1)),
            "angles": Observed((now.angles - now.posture)[moved], 0.01, MOVED),
            "rates": Observed(0.05 * now.rates[moved], 0.05, MOVED),
            "action": Observed(now.action, image=MOVED),
            "clock": Observed(ca.vertcat(ca.sin(at), ca.cos(at)), image=(-1, -1)),
        }

    def rewards(self, now: Glimpse) -> Mapping[str, SX]:
        # how far it is from what is asked, in units of the robot's speed
        asked, spin, own = now.command, now.turning, habit(now.kin.mechanism)
        v, turned = now.velocity / own.unit, spin[2] - asked["turn"]
        ahead = (v[0] - asked["speed"] / own.unit) ** 2 + (v[1] - asked["sideways"] / own.unit) ** 2
        low = ca.fmax(LOW * now.stand[2] - now.height, 0)
        change = now.action - now.before
        found = {
            "velocity": 5 * ca.exp(-ahead / 0.1),
            "astray": -own.astray * ca.sqrt(ahead + 1e-4),
            "turn": 3.5 * ca.exp(-(turned**2) / 0.2),
            "clock": own.clock * self._in_time(now),
            "bounce": -5 * v[2] ** 2,
            "sway": -0.15 * ca.sumsqr(spin[:2]),
            "tilt": -10 * ca.sumsqr(now.down[:2]),
            "jerk": -0.04 * ca.sumsqr(change),
            "rates": -1e-4 * ca.sumsqr(now.rates),
            "low": -100 * low**2,
        }
        # what two legs need besides
        if own.straight:
            found["straight"] = -own.straight * ca.sqrt(turned**2 + 1e-4)
        if soles := [leg.sole for leg in strides(now.kin.mechanism) if leg.sole]:
            found["level"] = -LEVEL * sum((_slope(now, *sole) for sole in soles), SX(0))
        return found

    def measures(self, now: Glimpse) -> Mapping[str, Measured]:
        asked, v = now.command, now.velocity
        return {
            "speed": Measured(v[0] - asked["speed"], "m/s"),
            "sideways": Measured(v[1] - asked["sideways"], "m/s"),
            "turn": Measured(now.turning[2] - asked["turn"], "rad/s"),
        }

    def failed(self, now: Glimpse) -> SX:
        sunk = now.height < habit(now.kin.mechanism).sunk * now.stand[2]
        return ca.logic_or(sunk, now.rotation[2, 2] < TILT)

    def _in_time(self, now: Glimpse) -> SX:
        """The share of legs that press when the clock says so, and only then."""
        legs = strides(now.kin.mechanism)
        first = ca.sin(2 * np.pi * known(self.frequency) * now.clock) >= 0
        right = SX(0)
        for leg in legs:
            due = first if leg.half == 0 else ca.logic_not(first)
            pressing = now.pressing[leg.feet[0]]
            for foot in leg.feet[1:]:
                pressing = ca.logic_or(pressing, now.pressing[foot])
            right += pressing == due
        return right / len(legs)


@lru_cache(maxsize=KEPT)
def habit(mechanism: Mechanism) -> Habit:
    """That of a robot: four legs trot as robots of a knee's height do; two walk by their length L,
    in units of sqrt(g L) and sqrt(g / L).
    """
    legs = strides(mechanism)
    if len(legs) == 4:
        return TROT
    length = float(np.mean([leg.length for leg in legs]))
    gravity = float(np.linalg.norm(mechanism.gravity_acceleration))
    fastest = 0.2 * float(np.sqrt(gravity * length))
    return Habit(
        speed=(0.0, fastest),
        lift=0.1 * length,
        frequency=0.4 * float(np.sqrt(gravity / length)),
        crouch=0.93,
        stiffness=0.4,
        push=0.5 * fastest,
        episode=5.0,
        unit=fastest,
        astray=5.0,
        straight=3.0,
        clock=5.0,
        sunk=0.7,
    )


def _slope(now: Glimpse, body: int, upright: NDArray[np.float64]) -> SX:
    """The square of the sine of a sole's tilt; upright (3,): in its body."""
    up = ca.mtimes(now.kin.world_rotation[body][2, :], SX(ca.DM(upright)))
    return 1 - up**2
