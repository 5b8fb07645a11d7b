"""A sliding sphere starts to roll at 5/7 of its initial speed."""

from __future__ import annotations

from typing import ClassVar

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import RADIUS, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

MU, SPEED = 0.2, 2.0
LOST_FRACTION = 0.9  # of the slip: excludes the last moments, in which laws differ


class SlideToRoll(ValidationScene):
    """A solid sphere slides at 2 m/s with mu 0.2 and rolls at 5/7 v0 from t = 2 v0 / (7 mu g)."""

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "rolling speed: 1e-6 m/s, because friction has no moment about its line of action, so that"
        " the speed does not depend on dt; time: one step"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.005)
        q, u = bodies.pose([0, 0, RADIUS - TOUCH]), [SPEED, 0, 0, 0, 0, 0]
        motion = engine.run(Start(bodies.sphere(), q, u, parameters={"mu": MU}), dt, 1.5)
        v, spin = motion.u[:, 0, 0], motion.u[:, 0, 4]
        time = (
            falls_below((1 - LOST_FRACTION) * SPEED, v - RADIUS * spin, motion.time) / LOST_FRACTION
        )
        return [
            Case("rolling speed", "m/s", 5 / 7 * SPEED, float(v[-1]), 1e-6),
            Case("time", "s", 2 * SPEED / (7 * MU * G), time, dt),
        ]
