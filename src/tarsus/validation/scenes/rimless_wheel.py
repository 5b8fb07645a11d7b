"""A rimless wheel rolls down a slope at a constant average speed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import SPOKE, SPOKES, WHEEL_INERTIA, G
from tarsus.validation.scenes.base import Case, ValidationScene

SLOPE, SECONDS = 0.1, 6.0  # rad, s
IMPACT_COUNT = 4  # last impacts, which are measured


class RimlessWheel(ValidationScene):
    """A rimless wheel with 8 spokes of 0.5 m on a slope of 0.1 rad.

    Each landing multiplies the angular velocity by (J + m l^2 cos 2a) / (J + m l^2), with the angle
    2a between spokes and the inertia J about the axle. In steady rolling, a landing dissipates the
    energy that the slope adds per spoke, 2 m g l sin(a) sin(slope) (McGeer 1990).
    """

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "change of the speed by gravity in two steps, that of the impact and that of its late"
        " detection; four times that for the steady speed, because each spoke also lands up to the"
        " distance of a step below the ground"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body, half = engine.step(0.0005), bodies.wheel(), np.pi / SPOKES
        inertia = WHEEL_INERTIA + body.mass * SPOKE**2
        speed_ratio = (WHEEL_INERTIA + body.mass * SPOKE**2 * np.cos(2 * half)) / inertia
        gained = 2 * body.mass * G * SPOKE * np.sin(half) * np.sin(SLOPE)
        landing = float(np.sqrt(2 * gained / (inertia * (1 - speed_ratio**2))))
        # on one spoke at a right angle to the slope, at about the speed it has there; rolling
        # towards -x
        first = np.sqrt(
            (speed_ratio * landing) ** 2
            - 2 * body.mass * G * SPOKE * (1 - np.cos(half - SLOPE)) / inertia
        )
        axle = (SPOKE - bodies.TOUCH) * np.array([-np.sin(SLOPE), 0.0, np.cos(SLOPE)])
        speed = SPOKE * first * np.array([-np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
        start = Start(body, [*axle, -SLOPE], [*speed, -first], slope=SLOPE, parameters={"mu": 1.5})
        motion = engine.run(start, dt, SECONDS)
        omega = -motion.u[:, 0, 3]
        impacts = np.nonzero(omega[1:] < 0.9 * omega[:-1])[0][-IMPACT_COUNT:]
        before = omega[impacts] if len(impacts) == IMPACT_COUNT else np.full(IMPACT_COUNT, np.nan)
        after = (
            omega[impacts + 1] if len(impacts) == IMPACT_COUNT else np.full(IMPACT_COUNT, np.nan)
        )
        change = 2 * body.mass * G * SPOKE * np.sin(half + SLOPE) / inertia * dt
        return [
            Case(
                "speed after / before",
                "1",
                speed_ratio,
                float(np.mean(after / before)),
                change / landing,
            ),
            Case("speed at landing", "rad/s", landing, float(np.mean(before)), 4 * change),
        ]
