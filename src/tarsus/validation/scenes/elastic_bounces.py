"""Elastic balls bounce and keep their energy: the bouncing test of SimBenchmark."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene

BALLS, MASS, RADIUS, HEIGHT, SECONDS = 49, 10.0, 0.1, 5.0, 20.0  # [1], kg, m, m, s


class ElasticBounces(ValidationScene):
    """49 balls of 10 kg fall from 5 m and bounce for 20 s with restitution 1, in steps of 10 ms.

    All balls move alike, so one is simulated. The error is SimBenchmark's: that of the total
    energy, squared and averaged.
    """

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "(n m g v dt)^2 for all balls, n bounces and their first speed v: a bounce that starts up"
        " to a step late changes the landing speed by g dt, hence the energy by m g v dt, and such"
        " changes may add up"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.01)
        start = Start(
            bodies.sphere(MASS, RADIUS),
            bodies.pose([0.0, 0.0, HEIGHT]),
            parameters={"mu": 0.0, "e_N": 1.0},
        )
        motion = engine.run(start, dt, SECONDS)
        speed_squared = np.square(motion.u[:, 0, :3]).sum(axis=1)
        energy = BALLS * MASS * (G * motion.q[:, 0, 2] + speed_squared / 2)
        error = float(np.square(energy - BALLS * MASS * G * HEIGHT).mean())
        speed = np.sqrt(2 * G * (HEIGHT - RADIUS))
        bounces = np.ceil(SECONDS * G / (2 * speed))
        allowed = float(bounces * BALLS * MASS * G * speed * dt) ** 2
        return [Case("mean squared error of energy", "J^2", 0.0, error, allowed)]
