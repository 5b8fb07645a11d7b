"""A ball hits a hinged door."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.objects import Ball
from tarsus.validation import bodies
from tarsus.validation.scenes.base import Case, ValidationScene, worst

MASS, BALL, RADIUS = 5.0, 1.0, 0.1  # kg, kg, m
WIDTH, HALF_THICKNESS = 0.8, 0.02  # m, of the door
ARM, SPEED, GAP = 0.6, 2.0, 0.05  # m from the hinge; m/s; m, initial distance from the door
RESTITUTION = np.array([0.0, 0.5, 1.0])


class StruckDoor(ValidationScene):
    """A ball of 1 kg hits a door of 5 kg at 2 m/s, 0.6 m from its hinge, without gravity.

    The impulse is P = (1 + e) v / (1 / m + r^2 / I). The door then rotates at r P / I, and the ball
    moves at v - P / m.
    """

    needs = frozenset({"restitution", "rigid"})
    tolerance: ClassVar[str] = (
        "2e-6 rad/s and 2e-6 m/s: the door does not move before the impact, so that neither speed"
        " depends on dt, but solvers stop iterating at their tolerance"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.0025), bodies.door(Ball(mass=BALL, radius=RADIUS))
        q = bodies.coordinates(body, [ARM, -HALF_THICKNESS - RADIUS - GAP, 0.0])
        u = [0.0, 0.0, SPEED, 0.0, 0.0, 0.0, 0.0]
        start = Start(body, q, u, parameters={"e_N": RESTITUTION, "mu": 0.0})
        # only up to the impact: afterwards the door may lose the ball or carry it along
        motion = engine.run(start, dt, GAP / SPEED + 2 * dt)
        struck = np.argmax(motion.impulse[:, :, 0, 0] > 0, axis=0)
        after = motion.u[struck, np.arange(len(RESTITUTION))]
        inertia = MASS / 12 * (WIDTH**2 + (2 * HALF_THICKNESS) ** 2) + MASS * (WIDTH / 2) ** 2
        impulse = (1 + RESTITUTION) * SPEED / (1 / BALL + ARM**2 / inertia)
        labels = [f"e {e:g}" for e in RESTITUTION]
        return [
            worst(("door", "rad/s"), ARM * impulse / inertia, after[:, 0], 2e-6, labels),
            worst(("ball", "m/s"), SPEED - impulse / BALL, after[:, 2], 2e-6, labels),
        ]
