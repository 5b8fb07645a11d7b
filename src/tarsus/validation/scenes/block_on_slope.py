"""A block on a slope sticks if and only if the slope's angle is below atan(mu)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

MU, DEGREES = (
    grid.ravel() for grid in np.meshgrid([0.1, 0.3, 0.5, 0.7, 1.0], [3.0, 10.0, 20.0, 30.0, 40.0])
)
SECONDS = 1.0


class BlockOnSlope(ValidationScene):
    """Block on a slope that sticks or slides by Coulomb's law.

    Its speed after 1 s is g (sin - mu cos) t or zero, for 5 coefficients and 5 angles.
    """

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "0.01 m/s: the slowest of the sliding blocks reaches 0.59 m/s, so this distinguishes"
        " sticking from sliding regardless of the landing; creep has a separate scene"
    )

    def measure(self, engine: Engine) -> list[Case]:
        slope, dt = np.deg2rad(DEGREES), engine.step(0.005)
        start = Start(
            bodies.box(), bodies.pose_on_slope(slope, BOX[2]), slope=slope, parameters={"mu": MU}
        )
        motion = engine.run(start, dt, SECONDS, skip=SECONDS - dt)
        down = -(motion.u[-1, :, 0] * np.cos(slope) + motion.u[-1, :, 2] * np.sin(slope))
        expected = np.maximum(G * (np.sin(slope) - MU * np.cos(slope)) * SECONDS, 0)
        labels = [f"mu {m:g} at {d:g} deg" for m, d in zip(MU, DEGREES, strict=True)]
        return [worst(("speed downhill", "m/s"), expected, down, 0.01, labels)]
