"""A stuck block does not creep."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX
from tarsus.validation.scenes.base import Case, ValidationScene, worst

MU, DEGREES = (
    np.array([0.1, 0.3, 0.5, 0.7, 1.0, 1.0]),
    np.array([3.0, 10.0, 20.0, 30.0, 30.0, 40.0]),
)


class Creep(ValidationScene):
    """Blocks on slopes below the friction angle: their largest speed from 2.9 s to 3 s is zero."""

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "1e-9 m/s: Coulomb friction holds without motion, so that only the solver's tolerance and"
        " remains of the landing after three seconds are allowed"
    )

    def measure(self, engine: Engine) -> list[Case]:
        slope, dt = np.deg2rad(DEGREES), engine.step(0.005)
        start = Start(
            bodies.box(), bodies.pose_on_slope(slope, BOX[2]), slope=slope, parameters={"mu": MU}
        )
        motion = engine.run(start, dt, 3.0, skip=2.9)
        uphill = motion.u[..., 0] * np.cos(slope) + motion.u[..., 2] * np.sin(slope)
        speed = np.hypot(uphill, motion.u[..., 1]).max(0)
        labels = [f"mu {m:g} at {d:g} deg" for m, d in zip(MU, DEGREES, strict=True)]
        return [worst(("speed", "m/s"), 0.0, speed, 1e-9, labels)]
