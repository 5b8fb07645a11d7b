"""A cylinder rolls down a slope at 2/3 of the frictionless acceleration, and on level ground."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import TOUCH, WHEEL, G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

DEGREES = np.array([2.0, 5.0, 10.0, 20.0])
MU = 0.8
SPEED = 1.0  # m/s, on level ground
DISTANCE = 1.0  # m


class RollingCylinder(ValidationScene):
    """A solid cylinder rolls without slip.

    Down slopes its acceleration is (2/3) g sin a; on level ground it rolls 1 m at constant 1 m/s.
    """

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "distance: half a step at the final speed, by which a first-order stepper is ahead, and"
        " 1e-3 for compliant laws, under which the cylinder first settles; speed: 5e-4"
    )

    def measure(self, engine: Engine) -> list[Case]:
        # down slopes, until the fastest has rolled 1 m
        slope, dt, body = np.deg2rad(DEGREES), engine.step(0.0025), bodies.cylinder()
        acceleration = 2 / 3 * G * np.sin(slope)
        rough = {"mu": MU}
        start = Start(body, bodies.pose_on_slope(slope, WHEEL), slope=slope, parameters=rough)
        seconds = float(np.sqrt(2 * DISTANCE / acceleration.max()))
        motion = engine.run(start, dt, seconds)
        origin, end = np.asarray(start.q)[:, :3], motion.q[-1, :, :3]
        distance = np.linalg.norm(end - origin, axis=1)
        expected = 0.5 * acceleration * motion.time[-1] ** 2
        lead = 0.5 * dt * acceleration * motion.time[-1]
        labels = [f"{d:g} deg" for d in DEGREES]
        # on level ground
        rolling = [SPEED, 0, 0, 0, SPEED / WHEEL, 0]
        level = engine.run(
            Start(body, bodies.pose([0, 0, WHEEL - TOUCH]), rolling, parameters=rough),
            dt,
            DISTANCE / SPEED,
        )
        return [
            worst(("distance", "m"), expected, distance, 1e-3 * expected + lead, labels),
            Case(
                "distance on level ground", "m", DISTANCE, float(level.q[-1, 0, 0]), 1e-3 * DISTANCE
            ),
            Case("final speed", "m/s", SPEED, float(level.u[-1, 0, 0]), 5e-4 * SPEED),
        ]
