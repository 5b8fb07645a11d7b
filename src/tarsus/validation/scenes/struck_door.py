"""A ball strikes a door on a hinge."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.objects import Ball
from tarsus.validation import bodies
from tarsus.validation.scenes.base import Case, ValidationScene, worst

MASS, BALL, RADIUS = 5.0, 1.0, 0.1  # kg, kg, m
WIDTH, HALF = 0.8, 0.02  # m, of the door; half of its thickness
ARM, SPEED, AHEAD = 0.6, 2.0, 0.05  # m from the hinge, m/s, m before it touches
RESTITUTION = np.array([0.0, 0.5, 1.0])


class StruckDoor(ValidationScene):
    """A ball of 1 kg at 2 m/s, 0.6 m from the hinge of a door of 5 kg and 0.8 m, without gravity.

    P = (1 + e) v / (1 / m + r^2 / I); the door turns with r P / I, the ball keeps v - P / m.
    """

    needs = frozenset({"restitution", "rigid"})
    tolerance: ClassVar[str] = (
        "1e-6 of the speeds: the ball strikes before the door turns, so that neither depends on dt,"
        " but a law stops iterating at its tolerance"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.0025), bodies.door(Ball(mass=BALL, radius=RADIUS))
        q = bodies.coordinates(body, [ARM, -HALF - RADIUS - AHEAD, 0.0])
        u = [0.0, 0.0, SPEED, 0.0, 0.0, 0.0, 0.0]
        start = Start(body, q, u, parameters={"e_N": RESTITUTION, "mu": 0.0})
        # up to the impact and no further: a door that turns leaves the ball, or takes it along
        motion = engine.run(start, dt, AHEAD / SPEED + 2 * dt)
        struck = np.argmax(motion.impulse[:, :, 0, 0] > 0, axis=0)
        after = motion.u[struck, np.arange(len(RESTITUTION))]
        inertia = MASS / 12 * (WIDTH**2 + (2 * HALF) ** 2) + MASS * (WIDTH / 2) ** 2
        impulse = (1 + RESTITUTION) * SPEED / (1 / BALL + ARM**2 / inertia)
        labels = [f"e {e:g}" for e in RESTITUTION]
        return [
            worst(("door", "rad/s"), ARM * impulse / inertia, after[:, 0], 2e-6, labels),
            worst(("ball", "m/s"), SPEED - impulse / BALL, after[:, 2], 2e-6, labels),
        ]
