"""Dry friction holds joints under load."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import ARM, G
from tarsus.validation.scenes.base import Case, ValidationScene

HINGE, SLIDE = 1.9, 4.0  # N m, N: dry friction
ANGLES = np.array([[0.3], [0.8], [-1.2]])  # rad, at which friction exceeds the weight's moment
PUSH_RATE, MIN_SPEED = 8.0, 1e-6  # N/s; m/s, from which the sled counts as moving


class JointStiction(ValidationScene):
    """Arms of 1 kg held by dry friction of 1.9 N m, and a sled pushed against 4 N of dry friction.

    An arm rests at the angle a if friction can balance its weight, m g l cos(a). The push on the
    sled grows from zero: the sled breaks away at t_0 = f / rate and then moves at
    rate (t - t_0)^2 / (2 m), with friction f in every step.
    """

    needs = frozenset({"hard joints"})
    tolerance: ClassVar[str] = (
        "creep: 1e-9 rad/s, and friction: 1e-9, because Coulomb's law of a joint is solved, not"
        " regularized; breakaway: two steps; speed: increase by the push in two steps"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.001)
        # arms at rest
        rest = engine.run(Start(bodies.arm(friction=HINGE), ANGLES, limits=True), dt, 1.0)
        loads = G * ARM / 2 * np.cos(ANGLES[:, 0])
        imbalance = float(np.abs(rest.joints[-1, :, 0] / dt + loads).max())
        creep = float(np.abs(rest.u).max())
        # the sled, from rest until it slides
        seconds, breakaway = 0.8, SLIDE / PUSH_RATE
        push = Start(bodies.sled(SLIDE), [0.0], push_rate=[PUSH_RATE, 0.0, 0.0], limits=True)
        motion = engine.run(push, dt, seconds)
        moving = motion.u[:, 0, 0] > MIN_SPEED
        first = int(np.argmax(moving))
        start = float(motion.time[first] - dt) if moving.any() else np.nan
        excess = motion.joints[first + 1 :, 0, 0] / dt + SLIDE
        sliding_time = seconds - breakaway
        speed = float(motion.u[-1, 0, 0])
        return [
            Case("creep of resting arms", "rad/s", 0.0, creep, 1e-9),
            Case("friction of resting arms minus load", "N m", 0.0, imbalance, 1e-9 * HINGE),
            Case("time of breakaway", "s", breakaway, start, 2 * dt),
            Case("friction minus f while sliding", "N", 0.0, np.abs(excess).max(), 1e-9 * SLIDE),
            Case(
                "final speed",
                "m/s",
                PUSH_RATE * sliding_time**2 / 2,
                speed,
                2 * PUSH_RATE * sliding_time * dt,
            ),
        ]
