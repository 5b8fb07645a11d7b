"""Dry friction of joints under load."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import ARM, G
from tarsus.validation.scenes.base import Case, ValidationScene

HINGE, SLIDE = 1.9, 4.0  # N m, N: dry friction
HELD = np.array([[0.3], [0.8], [-1.2]])  # rad: arms whose weight has a smaller moment
RISE, SEEN = 8.0, 1e-6  # N/s, m/s: how the push grows, and a rate that counts as motion


class JointStiction(ValidationScene):
    """Arms of 1 kg that dry friction of 1.9 N m holds; a sled pushed ever harder against 4 N.

    An arm at the angle a stays where m g l cos(a) is less, friction equal to it. The sled breaks
    away at f / rate and then goes at rate (t - t_0)^2 / (2 m), braked by f in every step.
    """

    needs = frozenset({"hard joints"})
    tolerance: ClassVar[str] = (
        "1e-9 rad/s of creep, 1e-9 of the friction, as Coulomb's law of a joint is solved, not"
        " regularized; two steps in time; what the push adds in two steps in speed"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.001)
        # arms at rest
        rest = engine.run(Start(bodies.arm(friction=HINGE), HELD, limits=True), dt, 1.0)
        loads = G * ARM / 2 * np.cos(HELD[:, 0])
        held = float(np.abs(rest.joints[-1, :, 0] / dt + loads).max())
        creep = float(np.abs(rest.u).max())
        # the sled, from rest until it slides
        seconds, starts = 0.8, SLIDE / RISE
        push = Start(bodies.sled(SLIDE), [0.0], push_rate=[RISE, 0.0, 0.0], limits=True)
        motion = engine.run(push, dt, seconds)
        moving = motion.u[:, 0, 0] > SEEN
        first = int(np.argmax(moving))
        begun = float(motion.time[first] - dt) if moving.any() else np.nan
        braked = motion.joints[first + 1 :, 0, 0] / dt + SLIDE
        slid = seconds - starts
        speed = float(motion.u[-1, 0, 0])
        return [
            Case("creep of held arms", "rad/s", 0.0, creep, 1e-9),
            Case("friction of held arms beside their load", "N m", 0.0, held, 1e-9 * HINGE),
            Case("breaks away at", "s", starts, begun, 2 * dt),
            Case("friction while it slides, less f", "N", 0.0, np.abs(braked).max(), 1e-9 * SLIDE),
            Case("speed at the end", "m/s", RISE * slid**2 / 2, speed, 2 * RISE * slid * dt),
        ]
