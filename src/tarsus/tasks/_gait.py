"""Shared by tasks that follow a velocity on alternating legs: four legs trot, two legs walk."""

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
from tarsus.morphology.strides import crouch, find_strides, why_no_strides
from tarsus.parameters import parameter
from tarsus.tasks.base import (
    AXIAL,
    MOVED,
    POLAR,
    LearningTask,
    Measured,
    Observed,
    Range,
    StateView,
    TermSource,
    TrainingDefaults,
    require_fitted,
)

UPRIGHT_COSINE = 0.5  # a base tilted by more than 60 degrees has fallen
LEVEL_SOLES_WEIGHT = 2.0
LOW_HEIGHT = 0.83  # of the standing height: a lower base is penalized
CACHE_SIZE = 16  # robots


class GaitDefaults(NamedTuple):
    """Default gait of a robot, and the weights of its rewards.

    Attributes
    ----------
    speed, lift, frequency, crouch, stiffness, push, episode
        As in `GaitTask`.
    unit
        Velocity error that counts as one, in m/s.
    velocity_error, straight, clock
        Weights of the velocity, the turn rate and the timing of the steps.
    sunk
        Fraction of the standing height below which the base has collapsed.
    """

    speed: Range
    lift: float
    frequency: float
    crouch: float
    stiffness: float
    push: float = 0.5
    episode: float = 20.0
    unit: float = 1.0
    velocity_error: float = 10.0
    straight: float = 0.0
    clock: float = 1.5
    sunk: float = 0.55


TROT = GaitDefaults(speed=(0.3, 1.0), lift=0.04, frequency=2.5, crouch=0.8, stiffness=1.0)


@dataclass(frozen=True, kw_only=True)
class GaitTask(LearningTask):
    """Follow a commanded velocity; a clock prescribes which feet are on the ground.

    `fit` replaces None by the default of the robot.
    """

    speed: Range | None = parameter(
        None, "m/s", "range of forward speed commands; none: the robot's"
    )
    sideways: Range = parameter((0.0, 0.0), "m/s", "range of lateral speed commands, to the left")
    turn: Range = parameter((-0.5, 0.5), "rad/s", "range of turn rates to the left")
    lift: float | None = parameter(
        None, "m", "lift of swing feet before any action; none: the robot's", "[0, inf)"
    )
    frequency: float | None = parameter(
        None, "Hz", "frequency of the rewarded gait; none: the robot's", "(0, 100]"
    )
    crouch: float | None = parameter(
        None, "[1]", "largest hip height, in lengths of a straight leg; none: the robot's", "(0, 1]"
    )
    stiffness: float | None = parameter(
        None, "[1]", "factor on the stiffness of the joint servos; none: the robot's", "(0, 10]"
    )
    rotor: float = parameter(
        1e-4, "s^2", "rotor inertia per torque, for motors whose file gives none", "[0, 1]"
    )
    push: float | None = parameter(
        None, "m/s", "largest velocity change by a push; none: the robot's", "[0, inf)"
    )
    episode: float | None = parameter(
        None, "s", "duration of an episode; none: the robot's", "(0, inf)"
    )

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        return super().why_unsuitable(mechanism) or why_no_strides(mechanism)

    def training_defaults(self, mechanism: Mechanism) -> TrainingDefaults:
        if len(find_strides(mechanism)) == 4:
            return TrainingDefaults()
        shared = {"fall_penalty": 15, "discount": 0.98, "width": 64}
        ppo = {"rounds": 700, **shared, "noise_half_life": 250}
        return TrainingDefaults(methods={"ppo": ppo, "rsl_ppo": {"rounds": 300, **shared}})

    def fit(self, robot: Robot) -> Self:
        defaults = gait_defaults(robot)._asdict()
        return replace(self, **{k: v for k, v in defaults.items() if getattr(self, k, v) is None})

    def prepare(self, robot: Robot) -> Robot:
        """Bend the robot's knees enough to walk, and add rotor inertias."""
        return crouch(with_rotors(robot, self.rotor), require_fitted(self.crouch))

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...]:
        """Return the farthest point of each leg, or the corners of its sole."""
        return tuple(foot for leg in find_strides(mechanism) for foot in leg.feet)

    def moved_motors(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Find the motors of the legs."""
        joints = {joint for leg in find_strides(mechanism) for joint in leg.joints}
        return tuple(k for k, motor in enumerate(mechanism.actuators) if motor.joint in joints)

    def stiffness_factor(self) -> float:
        return require_fitted(self.stiffness)

    def commands(self) -> Mapping[str, Range]:
        return {"speed": require_fitted(self.speed), "sideways": self.sideways, "turn": self.turn}

    def reference_motion(self, mechanism: Mechanism, stand: NDArray[np.float64], clock: SX) -> SX:
        """Lift the feet alternately, without moving forwards."""
        motors = [actuator.joint for actuator in mechanism.actuators]
        offsets = SX.zeros(len(motors))
        swing = ca.sin(2 * np.pi * require_fitted(self.frequency) * clock)
        for leg in find_strides(mechanism):
            up = ca.fmax(-swing if leg.half == 0 else swing, 0)
            for joint, angle in zip(
                leg.joints, leg.lift_offsets(require_fitted(self.lift)), strict=True
            ):
                offsets[motors.index(joint)] = angle * up
        return offsets

    def observations(self, state: StateView) -> Mapping[str, Observed]:
        frequency = require_fitted(self.frequency)
        phase = 2 * np.pi * frequency * state.clock
        clock = ca.vertcat(ca.sin(phase), ca.cos(phase))
        waves = tuple(
            TermSource(name, options={"period": 1 / frequency})
            for name in ("sin_phase", "cos_phase")
        )
        command = ca.vertcat(*state.command.values())
        indices = list(self.moved_motors(state.kin.mechanism))
        return {
            "down": Observed(state.down, 0.05, POLAR, terms=_term("projected_gravity")),
            "turning": Observed(
                0.25 * state.angular_velocity, 0.05, AXIAL, terms=_term("base_ang_vel", 0.25)
            ),
            "velocity": Observed(
                2 * state.velocity, 0.1, POLAR, terms=_term("heading_lin_vel", 2.0)
            ),
            "command": Observed(command, mirror=(1, -1, -1), terms=_term("command")),
            "angles": Observed(
                (state.angles - state.posture)[indices], 0.01, MOVED, terms=_term("joint_pos_rel")
            ),
            "rates": Observed(
                0.05 * state.rates[indices], 0.05, MOVED, terms=_term("joint_vel", 0.05)
            ),
            "action": Observed(state.action, mirror=MOVED, terms=_term("last_action")),
            "clock": Observed(clock, mirror=(-1, -1), terms=waves),
        }

    def rewards(self, state: StateView) -> Mapping[str, SX]:
        # errors in units of the robot's speed
        command, spin, defaults = (
            state.command,
            state.angular_velocity,
            gait_defaults(state.kin.mechanism),
        )
        v, turn_error = state.velocity / defaults.unit, spin[2] - command["turn"]
        velocity_error = (v[0] - command["speed"] / defaults.unit) ** 2 + (
            v[1] - command["sideways"] / defaults.unit
        ) ** 2
        low = ca.fmax(LOW_HEIGHT * state.stand[2] - state.height, 0)
        change = state.action - state.previous_action
        terms = {
            "velocity": 5 * ca.exp(-velocity_error / 0.1),
            "velocity_error": -defaults.velocity_error * ca.sqrt(velocity_error + 1e-4),
            "turn": 3.5 * ca.exp(-(turn_error**2) / 0.2),
            "clock": defaults.clock * self._timing(state),
            "bounce": -5 * v[2] ** 2,
            "sway": -0.15 * ca.sumsqr(spin[:2]),
            "tilt": -10 * ca.sumsqr(state.down[:2]),
            "jerk": -0.04 * ca.sumsqr(change),
            "rates": -1e-4 * ca.sumsqr(state.rates),
            "low": -100 * low**2,
        }
        # additional terms for two legs
        if defaults.straight:
            terms["straight"] = -defaults.straight * ca.sqrt(turn_error**2 + 1e-4)
        if soles := [leg.sole for leg in find_strides(state.kin.mechanism) if leg.sole]:
            terms["level"] = -LEVEL_SOLES_WEIGHT * sum(
                (_slope(state, *sole) for sole in soles), SX(0)
            )
        return terms

    def measures(self, state: StateView) -> Mapping[str, Measured]:
        command, v = state.command, state.velocity
        return {
            "speed": Measured(v[0] - command["speed"], "m/s"),
            "sideways": Measured(v[1] - command["sideways"], "m/s"),
            "turn": Measured(state.angular_velocity[2] - command["turn"], "rad/s"),
        }

    def failed(self, state: StateView) -> SX:
        sunk = state.height < gait_defaults(state.kin.mechanism).sunk * state.stand[2]
        return ca.logic_or(sunk, state.rotation[2, 2] < UPRIGHT_COSINE)

    def _timing(self, state: StateView) -> SX:
        """Compute the fraction of legs that are in contact exactly when the clock prescribes it."""
        legs = find_strides(state.kin.mechanism)
        first = ca.sin(2 * np.pi * require_fitted(self.frequency) * state.clock) >= 0
        correct = SX(0)
        for leg in legs:
            stance = first if leg.half == 0 else ca.logic_not(first)
            contact = state.in_contact[leg.feet[0]]
            for foot in leg.feet[1:]:
                contact = ca.logic_or(contact, state.in_contact[foot])
            correct += contact == stance
        return correct / len(legs)


@lru_cache(maxsize=CACHE_SIZE)
def gait_defaults(mechanism: Mechanism) -> GaitDefaults:
    """Choose the default gait of a robot.

    Four legs trot with the values of a robot of knee height. Two legs of length L walk, in units of
    sqrt(g L) and sqrt(g / L).
    """
    legs = find_strides(mechanism)
    if len(legs) == 4:
        return TROT
    length = float(np.mean([leg.length for leg in legs]))
    gravity = float(np.linalg.norm(mechanism.gravity_acceleration))
    max_speed = 0.2 * float(np.sqrt(gravity * length))
    return GaitDefaults(
        speed=(0.0, max_speed),
        lift=0.1 * length,
        frequency=0.4 * float(np.sqrt(gravity / length)),
        crouch=0.93,
        stiffness=0.4,
        push=0.5 * max_speed,
        episode=5.0,
        unit=max_speed,
        velocity_error=5.0,
        straight=3.0,
        clock=5.0,
        sunk=0.7,
    )


def _term(name: str, scale: float = 1.0) -> tuple[TermSource, ...]:
    return (TermSource(name, scale),)


def _slope(state: StateView, body: int, upright: NDArray[np.float64]) -> SX:
    """Compute the squared sine of a sole's tilt; `upright`, (3,), is its normal in its body."""
    up = ca.mtimes(state.kin.world_rotation[body][2, :], SX(ca.DM(upright)))
    return 1 - up**2
