"""A body on springs sinks by its weight divided by their stiffness."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, NotModeled, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

STIFFNESS = np.array([1e4, 3e4, 1e5])  # N/m
PARAMETERS = ("c_N", "k")  # names of the stiffness in the laws


class SpringRest(ValidationScene):
    """A box of 2 kg rests on its four corners at the depth W / (4 k), for three stiffnesses."""

    needs = frozenset({"spring"})
    tolerance: ClassVar[str] = (
        "1e-6 of the depth: equilibrium does not depend on dt, and the landing has decayed after"
        " six seconds"
    )

    def measure(self, engine: Engine) -> list[Case]:
        name = next((name for name in PARAMETERS if name in engine.parameters), None)
        if name is None:
            raise NotModeled("the law has no stiffness", "stiffness")
        body, dt = bodies.box(), engine.step(0.005)
        start = Start(body, bodies.pose([0, 0, BOX[2]]), parameters={name: STIFFNESS})
        motion = engine.run(start, dt, 6.0, skip=5.9)
        expected, got = body.mass * G / (4 * STIFFNESS), BOX[2] - motion.q[-1, :, 2]
        return [
            worst(
                ("depth", "m"),
                expected,
                got,
                1e-6 * expected,
                [f"{name} {k:g} N/m" for k in STIFFNESS],
            )
        ]
