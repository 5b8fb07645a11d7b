"""A ball on an undamped spring leaves after half a period, as fast as it came."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

STIFFNESS, SPEED = np.array([1e4, 3e4]), 2.0


class SpringContactTime(ValidationScene):
    """1 kg at 2 m/s, undamped: pi sqrt(m / k), with gravity + 2 atan(g / (omega v)) / omega."""

    needs = frozenset({"spring"})
    tolerance: ClassVar[str] = (
        "two steps of time, as touchdown and lift-off are seen at steps; the speed to first order"
        " in omega dt, v omega dt, and the weight's share of a step, g dt"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, omega = engine.step(0.005), np.sqrt(STIFFNESS / 1.0)
        u = [0, 0, -SPEED, 0, 0, 0]
        start = Start(
            bodies.point_mass(),
            bodies.pose([0, 0, 0.0]),
            u,
            parameters={"c_N": STIFFNESS, "d_N": 0.0},
        )
        motion = engine.run(start, dt, 0.05)
        touching = motion.impulse[:, :, 0, 0] > 0
        expected = (np.pi + 2 * np.arctan(G / (omega * SPEED))) / omega
        last = len(touching) - 1 - np.argmax(touching[::-1], axis=0)
        away = motion.u[last, np.arange(len(omega)), 2]
        labels = [f"c_N {k:g} N/m" for k in STIFFNESS]
        return [
            worst(("contact time", "s"), expected, touching.sum(0) * dt, 2 * dt, labels),
            worst(("speed away", "m/s"), SPEED, away, SPEED * omega * dt + G * dt, labels),
        ]
