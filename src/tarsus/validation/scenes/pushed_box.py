"""A box pushed across the floor, with Coulomb friction."""

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
FORCE = np.array([4.0, 7.0, 10.0, 15.0])  # N; friction resists up to 7.848 N
SECONDS = 1.0
TIP = 0.02  # m, radius of the pusher


class PushedBox(ValidationScene):
    """A ball of 1 kg on a slide pushes a box of 2 kg, mu 0.4, with four forces F.

    Below mu m g = 7.848 N nothing moves. Above it both accelerate at (F - mu m g) / (M + m), and
    the ball pushes the box with the rest of F.
    """

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "1e-6 m/s and 1e-6 N: neither depends on dt, but solvers stop iterating at their tolerance"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.0025), bodies.pusher(Box(mass=MASS, edges=EDGES))
        q = bodies.coordinates(body, [TIP + EDGES[0] / 2 - TOUCH, 0, EDGES[2] / 2 - TOUCH])
        push = np.stack([FORCE, 0 * FORCE, 0 * FORCE], -1)
        start = Start(body, q, push=push, parameters={"mu": MU})
        motion = engine.run(start, dt, SECONDS, skip=SECONDS - dt)
        acceleration = np.maximum(FORCE - MU * MASS * G, 0) / (MASS + PUSHER)
        force = motion.impulse[-1, :, -1, 0] / dt
        labels = [f"{f:g} N" for f in FORCE]
        return [
            worst(("speed", "m/s"), acceleration * SECONDS, motion.u[-1, :, 1], 1e-6, labels),
            worst(("force on the box", "N"), FORCE - PUSHER * acceleration, force, 1e-6, labels),
        ]
