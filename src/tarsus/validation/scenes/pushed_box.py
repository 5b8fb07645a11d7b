"""A box that is pushed over the floor: Coulomb's friction against the pusher's force."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.objects import Box
from tarsus.validation import bodies
from tarsus.validation.bodies import TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

MU, MASS, PUSHER = 0.4, 2.0, 1.0  # [1], kg, kg
EDGES = (0.3, 0.3, 0.1)  # m
FORCE = np.array([4.0, 7.0, 10.0, 15.0])  # N; the box holds 7.848
SECONDS = 1.0
TIP = 0.02  # m


class PushedBox(ValidationScene):
    """A ball on a slide, 1 kg, pushes a box of 2 kg, mu 0.4, with four forces F.

    Below mu m g = 7.848 N nothing moves; above it both gain (F - mu m g) / (M + m), and the ball
    presses with what is left of F.
    """

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "1e-6 m/s and N: neither depends on dt, but a law stops iterating at its tolerance"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.0025), bodies.pusher(Box(mass=MASS, edges=EDGES))
        q = bodies.coordinates(body, [TIP + EDGES[0] / 2 - TOUCH, 0, EDGES[2] / 2 - TOUCH])
        push = np.stack([FORCE, 0 * FORCE, 0 * FORCE], -1)
        start = Start(body, q, push=push, parameters={"mu": MU})
        motion = engine.run(start, dt, SECONDS, skip=SECONDS - dt)
        gained = np.maximum(FORCE - MU * MASS * G, 0) / (MASS + PUSHER)
        pressed = motion.impulse[-1, :, -1, 0] / dt
        labels = [f"{f:g} N" for f in FORCE]
        return [
            worst(("speed", "m/s"), gained * SECONDS, motion.u[-1, :, 1], 1e-6, labels),
            worst(("force on the box", "N"), FORCE - PUSHER * gained, pressed, 1e-6, labels),
        ]
