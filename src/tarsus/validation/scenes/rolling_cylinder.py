"""A cylinder rolls down a slope at two thirds of what it would slide, and on the level for ever."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import TOUCH, WHEEL, G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

DEGREES = np.array([2.0, 5.0, 10.0, 20.0])
MU = 0.8
SPEED = 1.0  # m/s, on the level
WAY = 1.0  # m


class RollingCylinder(ValidationScene):
    """A solid cylinder on four slopes: (2/3) g sin a without slip; and 1 m of level at 1 m/s."""

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "of the way half a step of the last speed, by which a first-order stepper is ahead, and"
        " 1e-3 for compliant laws, under which it settles at first; 5e-4 of the speed"
    )

    def measure(self, engine: Engine) -> list[Case]:
        # down slopes, for the time of 1 m
        slope, dt, body = np.deg2rad(DEGREES), engine.step(0.0025), bodies.cylinder()
        pull = 2 / 3 * G * np.sin(slope)
        rough = {"mu": MU}
        start = Start(body, bodies.on_slope(slope, WHEEL), slope=slope, parameters=rough)
        seconds = float(np.sqrt(2 * WAY / pull.max()))
        motion = engine.run(start, dt, seconds)
        origin, end = np.asarray(start.q)[:, :3], motion.q[-1, :, :3]
        way, due = np.linalg.norm(end - origin, axis=1), 0.5 * pull * motion.time[-1] ** 2
        ahead = 0.5 * dt * pull * motion.time[-1]
        labels = [f"{d:g} deg" for d in DEGREES]
        # on the level
        rolling = [SPEED, 0, 0, 0, SPEED / WHEEL, 0]
        level = engine.run(
            Start(body, bodies.pose([0, 0, WHEEL - TOUCH]), rolling, parameters=rough),
            dt,
            WAY / SPEED,
        )
        return [
            worst(("way", "m"), due, way, 1e-3 * due + ahead, labels),
            Case("way on the level", "m", WAY, float(level.q[-1, 0, 0]), 1e-3 * WAY),
            Case("speed after it", "m/s", SPEED, float(level.u[-1, 0, 0]), 5e-4 * SPEED),
        ]
