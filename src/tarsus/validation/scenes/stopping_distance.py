"""A sliding block stops after v^2 / (2 mu g)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

MU, SPEED = np.array([0.2, 0.4, 0.7]), 2.0


class StoppingDistance(ValidationScene):
    """A block slides at 2 m/s with three coefficients of friction until it stops."""

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "v0 dt, the distance traveled in one step, as for any first-order method"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.005)
        q, u = bodies.pose([0, 0, BOX[2] - TOUCH]), [SPEED, 0, 0, 0, 0, 0]
        motion = engine.run(Start(bodies.box(), q, u, parameters={"mu": MU}), dt, 1.3, skip=1.29)
        expected, labels = SPEED**2 / (2 * MU * G), [f"mu {m:g}" for m in MU]
        return [worst(("distance", "m"), expected, motion.q[-1, :, 0], SPEED * dt, labels)]
