"""A wheel of spokes rolls down a slope at a speed of its own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import SPOKE, SPOKES, WHEEL_INERTIA, G
from tarsus.validation.scenes.base import Case, ValidationScene

SLOPE, SECONDS = 0.1, 6.0  # rad, s
LAST = 4  # impacts that are looked at


class RimlessWheel(ValidationScene):
    """8 spokes of 0.5 m on 0.1 rad: each landing leaves (J + m l^2 cos 2a) / (J + m l^2) of the
    turning speed.

    2a is the angle between spokes, J the inertia about the axle. In steady rolling a landing loses
    the energy that the slope gives a step, 2 m g l sin(a) sin(slope) (McGeer 1990).
    """

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "what gravity changes of the speed in two steps, the one of the impact and the one it is"
        " found late; steady speed: four times that, as each spoke also stands where it was found,"
        " up to a step's way below the ground"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body, half = engine.step(0.0005), bodies.wheel(), np.pi / SPOKES
        inertia = WHEEL_INERTIA + body.mass * SPOKE**2
        kept = (WHEEL_INERTIA + body.mass * SPOKE**2 * np.cos(2 * half)) / inertia
        gained = 2 * body.mass * G * SPOKE * np.sin(half) * np.sin(SLOPE)
        landing = float(np.sqrt(2 * gained / (inertia * (1 - kept**2))))
        # on one spoke at a right angle to the slope, at about the speed it has there; rolling
        # towards -x
        first = np.sqrt(
            (kept * landing) ** 2 - 2 * body.mass * G * SPOKE * (1 - np.cos(half - SLOPE)) / inertia
        )
        axle = (SPOKE - bodies.TOUCH) * np.array([-np.sin(SLOPE), 0.0, np.cos(SLOPE)])
        speed = SPOKE * first * np.array([-np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
        start = Start(body, [*axle, -SLOPE], [*speed, -first], slope=SLOPE, parameters={"mu": 1.5})
        motion = engine.run(start, dt, SECONDS)
        omega = -motion.u[:, 0, 3]
        impacts = np.nonzero(omega[1:] < 0.9 * omega[:-1])[0][-LAST:]
        found = omega[impacts] if len(impacts) == LAST else np.full(LAST, np.nan)
        after = omega[impacts + 1] if len(impacts) == LAST else np.full(LAST, np.nan)
        change = 2 * body.mass * G * SPOKE * np.sin(half + SLOPE) / inertia * dt
        return [
            Case(
                "speed after / before", "1", kept, float(np.mean(after / found)), change / landing
            ),
            Case("speed at landing", "rad/s", landing, float(np.mean(found)), 4 * change),
        ]
