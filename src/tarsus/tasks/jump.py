"""Jump to a height by a clock: bend, take off, fly, land, stand, and again."""

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
    Advice,
    Glimpse,
    LearningTask,
    Measured,
    Observed,
    Range,
)

TILT = 0.5  # cosine: a base that leans by more than 60 degrees has fallen
SUNK = 0.4  # of the standing height: a base below it has collapsed


@dataclass(frozen=True, kw_only=True)
class JumpTo(LearningTask):
    """Jump to a commanded height of the base over that of standing, once in every `every` seconds.

    Commands:
    height: m, of the base at the top of the flight above where it stands
    """

    height: Range = parameter((0.1, 0.25), "m", "commands: the flight's top above standing")
    every: float = parameter(1.5, "s", "from one jump to the next", "(0, inf)")
    bend: float = parameter(0.4, "s", "of it to bend and stretch, and to land again", "(0, inf)")
    reach: float = parameter(0.6, "rad", "of a joint's target, for an action of 1", "(0, 100]")
    hold: float = parameter(3.0, "s", "after which a command changes", "(0, inf)")
    push: float | None = parameter(
        0.0, "m/s", "that pushes add to the velocity at most", "[0, inf)"
    )

    def suits(self, mechanism: Mechanism) -> str | None:
        return super().suits(mechanism) or why_no_diagonal_legs(mechanism)

    def advice(self, mechanism: Mechanism) -> Advice:
        return Advice(methods={"ppo": {"rounds": 200, "fall": 5}})

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The farthest point of every leg."""
        return tuple(leg.name for leg in find_legs(mechanism))

    def commands(self) -> Mapping[str, Range]:
        return {"height": self.height}

    def observations(self, now: Glimpse) -> Mapping[str, Observed]:
        at = 2 * np.pi * now.clock / self.every
        waves = [f(k * at) for k in (1, 2) for f in (ca.sin, ca.cos)]
        path = ca.vertcat(self._path(now), self._flying(now), *waves)
        return {
            "down": Observed(now.down, 0.05, POLAR),
            "turning": Observed(0.25 * now.turning, 0.05, AXIAL),
            "velocity": Observed(now.velocity, 0.1, POLAR),
            "height": Observed(5 * (now.height - now.stand[2]), 0.05, (1,)),
            "path": Observed(path, image=(1.0,) * 6),
            "command": Observed(5 * now.command["height"], image=(1,)),
            "angles": Observed(now.angles - now.posture, 0.01, MOTORS),
            "rates": Observed(0.05 * now.rates, 0.05, MOTORS),
            "action": Observed(now.action, image=MOTORS),
        }

    def rewards(self, now: Glimpse) -> Mapping[str, SX]:
        off = now.height - now.stand[2] - self._path(now)
        v, flying = now.velocity, self._flying(now)
        air = 1 - sum(now.pressing.values()) / len(now.pressing)
        return {
            "path": 6 * ca.exp(-((off / 0.05) ** 2)),
            "off": -20 * ca.fabs(off),
            "air": 2 * ca.if_else(flying, air, 1 - air),
            "upright": -10 * ca.sumsqr(now.down[:2]),
            "sway": -0.1 * ca.sumsqr(now.turning),
            "drift": -2 * ca.sumsqr(v[:2]),
            "posture": -0.3 * ca.sumsqr(now.angles - now.posture) * (1 - flying),
            "jerk": -0.02 * ca.sumsqr(now.action - now.before),
        }

    def measures(self, now: Glimpse) -> Mapping[str, Measured]:
        return {"path": Measured(now.height - now.stand[2] - self._path(now), "m")}

    def failed(self, now: Glimpse) -> SX:
        sunk = now.height < SUNK * now.stand[2]
        return ca.logic_or(sunk, now.rotation[2, 2] < TILT)

    def _flight(self, now: Glimpse) -> tuple[SX, SX, SX]:
        """Of a point that is thrown up: s since it left the ground (negative before), how long its
        flight is, s, and its speed as it begins, m/s.
        """
        gravity = -now.kin.mechanism.gravity_acceleration[2]
        speed = ca.sqrt(2 * gravity * ca.fmax(now.command["height"], 0))
        return ca.fmod(now.clock, self.every) - self.bend, 2 * speed / gravity, speed

    def _flying(self, now: Glimpse) -> SX:
        """Whether the feet shall be off the ground."""
        t, flight, _ = self._flight(now)
        return ca.logic_and(t > 0, t < flight)

    def _path(self, now: Glimpse) -> SX:
        """Where the base shall be above where it stands, m: a free flight, and before and after it
        cubics of the same speed that begin and end at rest.
        """
        t, flight, speed = self._flight(now)
        up, down = 1 + t / self.bend, (t - flight) / self.bend
        bent = -speed * self.bend * up**2 * (1 - up)
        landed = -speed * self.bend * down * (1 - down) ** 2
        flown = speed * t * (1 - t / flight)
        after = ca.if_else(down < 1, landed, 0)
        return ca.if_else(t < 0, bent, ca.if_else(t < flight, flown, after))
