"""The landing of a rigid body takes the impulse m (1 + e) v."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

DROP, E = 1.0, np.array([0.0, 0.5, 0.8])


class LandingImpulse(ValidationScene):
    """1 kg from 1 m, e 0, 0.5 and 0.8: the impulse of the step of touchdown."""

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "2 (1 + e) m g dt: touchdown is found up to a step late, and the step's own weight is in"
        " the impulse"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, speed, body = engine.step(0.001), np.sqrt(2 * G * DROP), bodies.point_mass()
        motion = engine.run(Start(body, bodies.pose([0, 0, DROP]), parameters={"e_N": E}), dt, 0.6)
        normal = motion.impulse[:, :, 0, 0]
        got = normal[np.argmax(normal > 0, axis=0), np.arange(len(E))]
        expected = body.mass * (1 + E) * speed
        return [
            worst(
                ("impulse", "N s"),
                expected,
                got,
                2 * (1 + E) * body.mass * G * dt,
                [f"e {e:g}" for e in E],
            )
        ]
