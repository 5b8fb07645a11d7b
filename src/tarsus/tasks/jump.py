"""Jump to a height by a clock: bend, take off, fly, land and stand, repeatedly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.model.mechanism import Mechanism
from tarsus.morphology.legs import find_legs, why_no_diagonal_legs
from tarsus.parameters import parameter
from tarsus.tasks.base import (
    AXIAL,
    MOTORS,
    POLAR,
    LearningTask,
    Measured,
    Observed,
    Range,
    StateView,
    TrainingDefaults,
)

UPRIGHT_COSINE = 0.5  # a base tilted by more than 60 degrees has fallen
COLLAPSED_HEIGHT = 0.4  # of the standing height: a lower base has collapsed


@dataclass(frozen=True, kw_only=True)
class JumpTo(LearningTask):
    """Jump to a commanded height of the base above standing, once every `jump_interval` seconds.

    The command is `height`, of the base at the top of the flight above its standing height, in m.
    """

    height: Range = parameter((0.1, 0.25), "m", "commands: height of the jump above standing")
    jump_interval: float = parameter(1.5, "s", "time between jumps", "(0, inf)")
    push_off_time: float = parameter(
        0.4, "s", "duration of the push-off and of the landing", "(0, inf)"
    )
    action_scale: float = parameter(
        0.6, "rad", "shift of a joint target for an action of 1", "(0, 100]"
    )
    command_interval: float = parameter(3.0, "s", "time between command changes", "(0, inf)")
    push: float | None = parameter(0.0, "m/s", "largest velocity change by a push", "[0, inf)")

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        return super().why_unsuitable(mechanism) or why_no_diagonal_legs(mechanism)

    def training_defaults(self, mechanism: Mechanism) -> TrainingDefaults:
        return TrainingDefaults(methods={"ppo": {"rounds": 200, "fall_penalty": 5}})

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...]:
        """Return the farthest point of each leg."""
        return tuple(leg.name for leg in find_legs(mechanism))

    def commands(self) -> Mapping[str, Range]:
        return {"height": self.height}

    def observations(self, state: StateView) -> Mapping[str, Observed]:
        phase = 2 * np.pi * state.clock / self.jump_interval
        waves = [f(k * phase) for k in (1, 2) for f in (ca.sin, ca.cos)]
        path = ca.vertcat(self._path(state), self._flying(state), *waves)
        return {
            "down": Observed(state.down, 0.05, POLAR),
            "turning": Observed(0.25 * state.angular_velocity, 0.05, AXIAL),
            "velocity": Observed(state.velocity, 0.1, POLAR),
            "height": Observed(5 * (state.height - state.stand[2]), 0.05, (1,)),
            "path": Observed(path, mirror=(1.0,) * 6),
            "command": Observed(5 * state.command["height"], mirror=(1,)),
            "angles": Observed(state.angles - state.posture, 0.01, MOTORS),
            "rates": Observed(0.05 * state.rates, 0.05, MOTORS),
            "action": Observed(state.action, mirror=MOTORS),
        }

    def rewards(self, state: StateView) -> Mapping[str, SX]:
        error = state.height - state.stand[2] - self._path(state)
        v, flying = state.velocity, self._flying(state)
        air = 1 - sum(state.in_contact.values()) / len(state.in_contact)
        return {
            "path": 6 * ca.exp(-((error / 0.05) ** 2)),
            "off": -20 * ca.fabs(error),
            "air": 2 * ca.if_else(flying, air, 1 - air),
            "upright": -10 * ca.sumsqr(state.down[:2]),
            "sway": -0.1 * ca.sumsqr(state.angular_velocity),
            "drift": -2 * ca.sumsqr(v[:2]),
            "posture": -0.3 * ca.sumsqr(state.angles - state.posture) * (1 - flying),
            "jerk": -0.02 * ca.sumsqr(state.action - state.previous_action),
        }

    def measures(self, state: StateView) -> Mapping[str, Measured]:
        return {"path": Measured(state.height - state.stand[2] - self._path(state), "m")}

    def failed(self, state: StateView) -> SX:
        sunk = state.height < COLLAPSED_HEIGHT * state.stand[2]
        return ca.logic_or(sunk, state.rotation[2, 2] < UPRIGHT_COSINE)

    def _flight(self, state: StateView) -> tuple[SX, SX, SX]:
        """Compute time since take-off (negative before), flight time and initial speed.

        They are those of a point thrown upwards, in s and m/s.
        """
        gravity = -state.kin.mechanism.gravity_acceleration[2]
        speed = ca.sqrt(2 * gravity * ca.fmax(state.command["height"], 0))
        return (
            ca.fmod(state.clock, self.jump_interval) - self.push_off_time,
            2 * speed / gravity,
            speed,
        )

    def _flying(self, state: StateView) -> SX:
        """Compute whether the feet should be off the ground, 0 or 1."""
        t, flight, _ = self._flight(state)
        return ca.logic_and(t > 0, t < flight)

    def _path(self, state: StateView) -> SX:
        """Compute the desired height of the base above standing, in m.

        It is a free flight, joined at the same speed to cubics that start and end at rest.
        """
        t, flight, speed = self._flight(state)
        up, down = 1 + t / self.push_off_time, (t - flight) / self.push_off_time
        push_off = -speed * self.push_off_time * up**2 * (1 - up)
        landing = -speed * self.push_off_time * down * (1 - down) ** 2
        ballistic = speed * t * (1 - t / flight)
        after = ca.if_else(down < 1, landing, 0)
        return ca.if_else(t < 0, push_off, ca.if_else(t < flight, ballistic, after))
