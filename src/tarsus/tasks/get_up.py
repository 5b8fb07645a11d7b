"""Stand up after a fall: from any pose on the ground, with any joint angles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.effective_mass import min_effective_masses
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.morphology.legs import find_legs, why_no_diagonal_legs
from tarsus.morphology.rotors import with_back_emf, with_rotors
from tarsus.morphology.strides import crouch
from tarsus.parameters import parameter
from tarsus.tasks.base import (
    AXIAL,
    MOTORS,
    POLAR,
    Advice,
    Glimpse,
    Heights,
    LearningTask,
    Measured,
    Observed,
    Range,
)

UP = 0.9  # cosine of the tilt of a robot that stands
HIGH = 0.75  # of the height that is asked for: above it a robot stands
SINKS = 0.0094  # of a straight leg, how deep its foot sinks in while four stand
SWINGS = 0.17  # damping ratio of a quarter of the robot on that spring
LEARNED_AT = 0.004  # s
POSES = 20  # in which its stability is looked at
STABLE = 0.9  # of the stiffness and damping at which a contact's spring is unstable


@dataclass(frozen=True, kw_only=True)
class GetUp(LearningTask):
    """Stand up from any pose within some seconds, and keep standing.

    What touches the ground are the feet, both ends of the thighs as balls of the feet's radius,
    and the corners of the trunk: of the uniform box with its mass and moments of inertia. While it
    learns no robot fails, for its episode ends by then. Motors are on a voltage: `brake` of the
    torque over the joint's velocity limit damps a joint, so that at the limit none is left to drive
    it.

    What is paid for the turning grows evenly with the angle: it is as steep feet up as on the side.
    Height counts near upright alone, posture where the base is high as well: no leg is kept from
    pushing or folding. Joints begin far off, so that legs under a trunk that lies on them are met
    from the first.

    The same noise tries wide swings where a robot lies, small ones where it stands: `wider` grows
    with what is missing of standing. Noise lasts, for targets `follow` what is asked for.

    Commands:
    stand: share of the standing height
    """

    stand: Range = parameter((0.85, 1.0), "[1]", "commands: share of the standing height")
    within: float = parameter(
        4.0, "s", "a robot that does not stand by then has failed", "(0, inf)"
    )
    tumble: float = parameter(
        3.14159, "rad", "that the base is turned over at most, as an episode begins", "[0, 3.15]"
    )
    spread: float = parameter(1.5, "rad", "of the joints, as an episode begins", "[0, inf)")
    reach: float = parameter(1.0, "rad", "of a joint's target, for an action of 1", "(0, 100]")
    follow: float = parameter(
        0.15, "[1]", "of the way from the last action to the one asked for, a period", "(0, 1]"
    )
    episode: float = parameter(4.0, "s", "after which an episode is cut off", "(0, inf)")
    push: float = parameter(0.0, "m/s", "that pushes add to the velocity at most", "[0, inf)")
    wider: float = parameter(
        6.0, "[1]", "share of `reach` that is added to it as a robot lies on its back", "[0, 100]"
    )
    crouch: float = parameter(
        0.7, "[1]", "of a straight leg, how high hips stand at most", "(0, 1]"
    )
    rotor: float = parameter(
        1e-4, "s^2", "rotor inertia over torque of motors whose file gives none", "[0, 1]"
    )
    brake: float = parameter(
        1.0, "[1]", "of torque over velocity limit that damps a joint: back-EMF", "[0, 10]"
    )

    def suits(self, mechanism: Mechanism) -> str | None:
        return super().suits(mechanism) or why_no_diagonal_legs(mechanism)

    def advice(self, mechanism: Mechanism) -> Advice:
        ppo = {"rounds": 600, "width": 64, "discount": 0.99, "worth": 0.05, "drift": (0.01, 0.03)}
        ppo |= {"noise": 0.5, "quieter": 1500, "spread": 0.05, "fall": 0, "apart": 1}
        return Advice("compliant", methods={"ppo": ppo}, laws={"compliant": self._soft(mechanism)})

    def _soft(self, mechanism: Mechanism) -> dict[str, float]:
        """Springs of the ground that are soft for the robot's weight and stable at LEARNED_AT."""
        # by weight and size
        robot, dt = self.prepared(Robot.of(mechanism)), LEARNED_AT
        share, g = robot.mass / 4, float(np.linalg.norm(robot.gravity_acceleration))
        length = np.mean([sum(leg.lengths) for leg in find_legs(robot)])
        c = share * g / (SINKS * length)
        d = 2 * SWINGS * np.sqrt(c * share)
        # stable at the lightest contact of any pose: c dt^2 + 2 d dt < 4 m
        poses = np.tile(np.array(robot.keyframes["stand"], dtype=float), (POSES, 1))
        moved = (POSES, poses.shape[1] - 7)
        poses[:, 7:] += np.random.default_rng(0).uniform(-self.spread, self.spread, moved)
        least = min_effective_masses(robot, poses, robot.candidates, dt).min()
        scale = min(1.0, STABLE * 4 * least / (c * dt**2 + 2 * d * dt))
        c, d = (float(f"{scale * value:.2g}") for value in (c, d))
        return {"c_N": c, "c_T": c, "d_N": d, "d_T": d}

    def prepared(self, robot: Robot) -> Robot:
        """With trunk and thighs that touch the ground, and motors that have rotors and a speed."""
        robot = crouch(robot, self.crouch)
        robot = with_back_emf(with_rotors(robot, self.rotor), self.brake)
        # the feet, and both ends of the thighs
        legs = find_legs(robot)
        feet = [c for c in robot.candidates if c.name in [leg.name for leg in legs]]
        names = {body.joint.name: k for k, body in enumerate(robot.bodies)}
        ends = [
            Candidate(f"{leg.name}_{name}", names[leg.joints[k]], np.zeros(3), leg.radius)
            for k, name in ((1, "hip"), (2, "knee"))
            for leg in legs
        ]
        # the box
        trunk = robot.bodies[0].inertia
        moments = np.diag(trunk.about_com)
        sides = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / trunk.mass, 1e-6))
        corners = [
            Candidate(f"trunk_{k}", 0, trunk.com + 0.5 * sides * signs)
            for k, signs in enumerate(product((1.0, -1.0), repeat=3))
        ]
        return replace(robot, candidates=(*feet, *ends, *corners))

    def widened(self, kin: Kinematics, heights: Heights, stand: NDArray[np.float64]) -> SX:
        origin = kin.world_position[0]
        height = origin[2] - heights([origin])[0]
        high = ca.fmin(ca.fmax(height / (self.stand[0] * stand[2]), 0), 1)
        return 1 + self.wider * (1 - _level(kin.world_rotation[0]) * high)

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...]:
        """All: none of them hangs in the air when a robot lies."""
        return tuple(candidate.name for candidate in mechanism.candidates)

    def commands(self) -> Mapping[str, Range]:
        return {"stand": self.stand}

    def observations(self, now: Glimpse) -> Mapping[str, Observed]:
        return {
            "down": Observed(now.down, 0.05, POLAR),
            "turning": Observed(0.25 * now.turning, 0.05, AXIAL),
            "velocity": Observed(now.velocity, 0.1, POLAR),
            "height": Observed(5 * (now.height - now.stand[2]), 0.05, (1,)),
            "command": Observed(now.command["stand"], image=(1,)),
            "angles": Observed(now.angles - now.posture, 0.01, MOTORS),
            "rates": Observed(0.05 * now.rates, 0.05, MOTORS),
            "action": Observed(now.action, image=MOTORS),
        }

    def rewards(self, now: Glimpse) -> Mapping[str, SX]:
        upright = 1 - self._tilt(now) / np.pi
        level = _level(now.rotation)
        high = ca.fmin(ca.fmax(now.height / self._aim(now), 0), 1)
        bent = now.angles - now.posture
        return {
            "upright": 4 * upright,
            "height": 6 * level * high,
            "posture": 6 * level * high / (1 + ca.sumsqr(bent) / 5),
            "drift": -0.1 * ca.sumsqr(now.velocity[:2]),
            "jerk": -0.01 * ca.sumsqr(now.action - now.before),
            "rates": -2e-5 * ca.sumsqr(now.rates),
        }

    def measures(self, now: Glimpse) -> Mapping[str, Measured]:
        return {
            "tilt": Measured(self._tilt(now), "rad"),
            "height": Measured(now.height - self._aim(now), "m"),
        }

    def progress(self, now: Glimpse) -> SX:
        half = self.episode / 2
        low = ca.fmax(self._aim(now) - now.height, 0) / now.stand[2]
        well = ca.fmax(now.rotation[2, 2], 0) * ca.exp(-((low / 0.3) ** 2))
        return ca.if_else(now.clock > half, 2 * well, 0)

    def failed(self, now: Glimpse) -> SX:
        low = now.height < HIGH * self._aim(now)
        lies = ca.logic_or(low, now.rotation[2, 2] < UP)
        return ca.logic_and(now.clock > self.within, lies)

    def _tilt(self, now: Glimpse) -> SX:
        """Of the base, rad."""
        return ca.acos(ca.fmin(ca.fmax(now.rotation[2, 2], -1), 1))

    def _aim(self, now: Glimpse) -> SX:
        """The base's height that is asked for, m."""
        return now.command["stand"] * now.stand[2]


def _level(rotation: SX) -> SX:
    """How near to upright, 0 to 1: 0.53 where tilted by 45 degrees, 0.06 by 90."""
    return (0.5 * (1 + rotation[2, 2])) ** 4
