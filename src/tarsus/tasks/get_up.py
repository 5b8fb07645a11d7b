"""Get up after a fall, from any pose on the ground and any joint angles."""

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
    Heights,
    LearningTask,
    Measured,
    Observed,
    Range,
    StateView,
    TrainingDefaults,
)

UPRIGHT_COSINE = 0.9  # least cosine of the tilt of a standing robot
MIN_HEIGHT = 0.75  # least height of a standing robot, as a fraction of the commanded height
STATIC_DEPTH = 0.0094  # depth of a foot while four stand, in lengths of a straight leg
DAMPING_RATIO = 0.17  # of a quarter of the robot on the spring of a contact
TRAINING_DT = 0.004  # s
POSES = 20  # in which the stability of the contacts is checked
STABILITY_MARGIN = 0.9  # of the stiffness and damping at which a contact becomes unstable


@dataclass(frozen=True, kw_only=True)
class GetUp(LearningTask):
    """Stand up from any pose within a few seconds, and keep standing.

    The contacts are the feet, spheres of the same radius at both ends of the thighs, and the
    corners of the trunk, taken as the uniform box with its mass and moments of inertia. No episode
    fails in training, because it ends before `within`. The motors have back-EMF: `brake` times
    torque over velocity limit damps a joint, so that no driving torque is left at the limit.

    The reward for turning upright grows linearly with the angle: its slope is the same upside down
    and on the side. Height is only rewarded close to upright, and posture only if the base is also
    high, so that legs are free to push or fold. Joints start far from standing, so that legs caught
    under a lying trunk occur from the first episodes.

    Exploration noise should cause wide motions of a lying robot and small ones of a standing robot:
    `inverted_boost` increases the range of an action with the distance from standing. The noise is
    low-pass filtered, because targets approach the requested action gradually (`action_filter`).

    The command is `stand`, the fraction of the standing height.
    """

    stand: Range = parameter((0.85, 1.0), "[1]", "commands: fraction of the standing height")
    within: float = parameter(
        4.0, "s", "time after which a robot that does not stand has failed", "(0, inf)"
    )
    start_tilt: float = parameter(3.14159, "rad", "largest initial tilt of the base", "[0, 3.15]")
    start_offset: float = parameter(1.5, "rad", "largest initial joint offset", "[0, inf)")
    action_scale: float = parameter(
        1.0, "rad", "shift of a joint target for an action of 1", "(0, 100]"
    )
    action_filter: float = parameter(
        0.15,
        "[1]",
        "action filter: fraction of the way to the requested action per period",
        "(0, 1]",
    )
    episode: float = parameter(4.0, "s", "duration of an episode", "(0, inf)")
    push: float = parameter(0.0, "m/s", "largest velocity change by a push", "[0, inf)")
    inverted_boost: float = parameter(
        6.0,
        "[1]",
        "increase of `action_scale` for a robot on its back, as a multiple of it",
        "[0, 100]",
    )
    crouch: float = parameter(
        0.7, "[1]", "largest hip height, in lengths of a straight leg", "(0, 1]"
    )
    rotor: float = parameter(
        1e-4, "s^2", "rotor inertia per torque, for motors whose file gives none", "[0, 1]"
    )
    brake: float = parameter(
        1.0, "[1]", "back-EMF damping of a joint, in units of torque over velocity limit", "[0, 10]"
    )

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        return super().why_unsuitable(mechanism) or why_no_diagonal_legs(mechanism)

    def training_defaults(self, mechanism: Mechanism) -> TrainingDefaults:
        ppo = {
            "rounds": 600,
            "width": 64,
            "discount": 0.99,
            "reward_scale": 0.05,
            "kl_range": (0.01, 0.03),
        }
        ppo |= {
            "noise": 0.5,
            "noise_half_life": 1500,
            "entropy": 0.05,
            "fall_penalty": 0,
            "staggered": 1,
        }
        return TrainingDefaults(
            "compliant", methods={"ppo": ppo}, laws={"compliant": self._soft_ground(mechanism)}
        )

    def _soft_ground(self, mechanism: Mechanism) -> dict[str, float]:
        """Choose ground stiffness and damping, soft for the robot and stable at TRAINING_DT."""
        # from weight and size
        robot, dt = self.prepare(Robot.of(mechanism)), TRAINING_DT
        share, g = robot.mass / 4, float(np.linalg.norm(robot.gravity_acceleration))
        length = np.mean([sum(leg.lengths) for leg in find_legs(robot)])
        c = share * g / (STATIC_DEPTH * length)
        d = 2 * DAMPING_RATIO * np.sqrt(c * share)
        # stable for the lightest contact in any pose: c dt^2 + 2 d dt < 4 m
        poses = np.tile(np.array(robot.keyframes["stand"], dtype=float), (POSES, 1))
        moved = (POSES, poses.shape[1] - 7)
        poses[:, 7:] += np.random.default_rng(0).uniform(
            -self.start_offset, self.start_offset, moved
        )
        least = min_effective_masses(robot, poses, robot.candidates, dt).min()
        scale = min(1.0, STABILITY_MARGIN * 4 * least / (c * dt**2 + 2 * d * dt))
        c, d = (float(f"{scale * value:.2g}") for value in (c, d))
        return {"c_N": c, "c_T": c, "d_N": d, "d_T": d}

    def prepare(self, robot: Robot) -> Robot:
        """Add contacts on trunk and thighs, rotor inertias and back-EMF to the robot."""
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
        # the corners of the trunk
        trunk = robot.bodies[0].inertia
        moments = np.diag(trunk.about_com)
        sides = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / trunk.mass, 1e-6))
        corners = [
            Candidate(f"trunk_{k}", 0, trunk.com + 0.5 * sides * signs)
            for k, signs in enumerate(product((1.0, -1.0), repeat=3))
        ]
        return replace(robot, candidates=(*feet, *ends, *corners))

    def action_scale_factor(
        self, kin: Kinematics, heights: Heights, stand: NDArray[np.float64]
    ) -> SX:
        origin = kin.world_position[0]
        height = origin[2] - heights([origin])[0]
        high = ca.fmin(ca.fmax(height / (self.stand[0] * stand[2]), 0), 1)
        return 1 + self.inverted_boost * (1 - _uprightness(kin.world_rotation[0]) * high)

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...]:
        """Return all candidates: a lying robot may touch with any of them."""
        return tuple(candidate.name for candidate in mechanism.candidates)

    def commands(self) -> Mapping[str, Range]:
        return {"stand": self.stand}

    def observations(self, state: StateView) -> Mapping[str, Observed]:
        return {
            "down": Observed(state.down, 0.05, POLAR),
            "turning": Observed(0.25 * state.angular_velocity, 0.05, AXIAL),
            "velocity": Observed(state.velocity, 0.1, POLAR),
            "height": Observed(5 * (state.height - state.stand[2]), 0.05, (1,)),
            "command": Observed(state.command["stand"], mirror=(1,)),
            "angles": Observed(state.angles - state.posture, 0.01, MOTORS),
            "rates": Observed(0.05 * state.rates, 0.05, MOTORS),
            "action": Observed(state.action, mirror=MOTORS),
        }

    def rewards(self, state: StateView) -> Mapping[str, SX]:
        upright = 1 - self._tilt(state) / np.pi
        level = _uprightness(state.rotation)
        high = ca.fmin(ca.fmax(state.height / self._commanded_height(state), 0), 1)
        deviation = state.angles - state.posture
        return {
            "upright": 4 * upright,
            "height": 6 * level * high,
            "posture": 6 * level * high / (1 + ca.sumsqr(deviation) / 5),
            "drift": -0.1 * ca.sumsqr(state.velocity[:2]),
            "jerk": -0.01 * ca.sumsqr(state.action - state.previous_action),
            "rates": -2e-5 * ca.sumsqr(state.rates),
        }

    def measures(self, state: StateView) -> Mapping[str, Measured]:
        return {
            "tilt": Measured(self._tilt(state), "rad"),
            "height": Measured(state.height - self._commanded_height(state), "m"),
        }

    def progress(self, state: StateView) -> SX:
        half = self.episode / 2
        height_error = ca.fmax(self._commanded_height(state) - state.height, 0) / state.stand[2]
        well = ca.fmax(state.rotation[2, 2], 0) * ca.exp(-((height_error / 0.3) ** 2))
        return ca.if_else(state.clock > half, 2 * well, 0)

    def failed(self, state: StateView) -> SX:
        low = state.height < MIN_HEIGHT * self._commanded_height(state)
        lies = ca.logic_or(low, state.rotation[2, 2] < UPRIGHT_COSINE)
        return ca.logic_and(state.clock > self.within, lies)

    def _tilt(self, state: StateView) -> SX:
        """Compute the tilt of the base, in rad."""
        return ca.acos(ca.fmin(ca.fmax(state.rotation[2, 2], -1), 1))

    def _commanded_height(self, state: StateView) -> SX:
        """Compute the commanded height of the base, in m."""
        return state.command["stand"] * state.stand[2]


def _uprightness(rotation: SX) -> SX:
    """Compute how upright the base is, 0 to 1: 0.53 at a tilt of 45 degrees, 0.06 at 90."""
    return (0.5 * (1 + rotation[2, 2])) ** 4
