"""A fast cube slides far and does not tip."""

from __future__ import annotations

from typing import ClassVar

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import CUBE, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

MU, SPEED = 0.5, 6.0
LOST_FRACTION = 0.9  # of the speed: excludes the last moments, in which laws differ


class SlidingCube(ValidationScene):
    """A cube of 0.1 m at 6 m/s with mu 0.5 stops after 1.223 s and 3.670 m.

    It would tip only if mu were above 1.
    """

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = "time: one step; distance: v0 dt, as for any first-order method"

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.001)
        q, u = bodies.pose([0, 0, CUBE[2] - TOUCH]), [SPEED, 0, 0, 0, 0, 0]
        motion = engine.run(Start(bodies.cube(), q, u, parameters={"mu": MU}), dt, 1.5)
        time = (
            falls_below((1 - LOST_FRACTION) * SPEED, motion.u[:, 0, 0], motion.time) / LOST_FRACTION
        )
        return [
            Case("time", "s", SPEED / (MU * G), time, dt),
            Case("distance", "m", SPEED**2 / (2 * MU * G), float(motion.q[-1, 0, 0]), SPEED * dt),
        ]
