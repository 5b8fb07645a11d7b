"""A fast cube slides far and does not tip."""

from __future__ import annotations

from typing import ClassVar

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import CUBE, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

MU, SPEED = 0.5, 6.0
NEARLY = 0.9  # of the speed lost: how a law comes to rest does not enter the time


class SlidingCube(ValidationScene):
    """A cube of 0.1 m at 6 m/s with mu 0.5: 1.223 s, 3.670 m; to tip it would need mu > 1."""

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "one step in time and its distance, v0 dt, as for any first-order method"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.001)
        q, u = bodies.pose([0, 0, CUBE[2] - TOUCH]), [SPEED, 0, 0, 0, 0, 0]
        motion = engine.run(Start(bodies.cube(), q, u, parameters={"mu": MU}), dt, 1.5)
        time = falls_below((1 - NEARLY) * SPEED, motion.u[:, 0, 0], motion.time) / NEARLY
        return [
            Case("time", "s", SPEED / (MU * G), time, dt),
            Case("distance", "m", SPEED**2 / (2 * MU * G), float(motion.q[-1, 0, 0]), SPEED * dt),
        ]
