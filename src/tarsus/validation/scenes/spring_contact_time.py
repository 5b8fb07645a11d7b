"""A ball leaves an undamped spring after half a period, at its landing speed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

STIFFNESS, SPEED = np.array([1e4, 3e4]), 2.0


class SpringContactTime(ValidationScene):
    """A body of 1 kg hits undamped springs at 2 m/s.

    Contact lasts pi / omega + 2 atan(g / (omega v)) / omega with omega = sqrt(k / m); the second
    term is due to gravity.
    """

    needs = frozenset({"spring"})
    tolerance: ClassVar[str] = (
        "contact time: two steps, because touchdown and lift-off are detected at steps; speed:"
        " first order in omega dt, v omega dt, and the change by gravity in a step, g dt"
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
        lift_off = motion.u[last, np.arange(len(omega)), 2]
        labels = [f"c_N {k:g} N/m" for k in STIFFNESS]
        return [
            worst(("contact time", "s"), expected, touching.sum(0) * dt, 2 * dt, labels),
            worst(("lift-off speed", "m/s"), SPEED, lift_off, SPEED * omega * dt + G * dt, labels),
        ]
