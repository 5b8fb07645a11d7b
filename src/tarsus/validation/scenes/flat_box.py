"""A box dropped flat comes to rest, and the ground carries its weight."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, G
from tarsus.validation.scenes.base import Case, ValidationScene

SECONDS = 12.0


class FlatBox(ValidationScene):
    """A box of 0.2 x 0.15 x 0.08 m dropped from 10 mm, with steps of 10 ms if possible.

    The last 0.1 s of 12 s are measured.
    """

    tolerance: ClassVar[str] = (
        "1e-9 rad/s and 1e-6 of the weight: four corners can share a load in infinitely many ways,"
        " but the box is at rest in all of them, up to the solver's tolerance and remains of the"
        " landing"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.01), bodies.box()
        motion = engine.run(
            Start(body, bodies.pose([0, 0, BOX[2] + 0.01])), dt, SECONDS, skip=SECONDS - 0.1
        )
        load = motion.impulse[:, 0, :, 0].sum(-1) / dt / (body.mass * G)
        return [
            Case(
                "angular speed",
                "rad/s",
                0.0,
                float(np.linalg.norm(motion.u[:, 0, 3:], axis=-1).max()),
                1e-9,
            ),
            Case(
                "normal forces / weight", "1", 1.0, float(load[np.argmax(np.abs(load - 1))]), 1e-6
            ),
        ]
