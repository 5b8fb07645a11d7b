"""A rigid body that lands receives the impulse m (1 + e) v."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

DROP, RESTITUTION = 1.0, np.array([0.0, 0.5, 0.8])  # m, [1]


class LandingImpulse(ValidationScene):
    """A body of 1 kg falls from 1 m with e 0, 0.5 and 0.8: impulse in the step of touchdown."""

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "2 (1 + e) m g dt: touchdown is detected up to a step late, and the impulse includes that"
        " of the weight during the step"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, speed, body = engine.step(0.001), np.sqrt(2 * G * DROP), bodies.point_mass()
        motion = engine.run(
            Start(body, bodies.pose([0, 0, DROP]), parameters={"e_N": RESTITUTION}), dt, 0.6
        )
        normal = motion.impulse[:, :, 0, 0]
        got = normal[np.argmax(normal > 0, axis=0), np.arange(len(RESTITUTION))]
        expected = body.mass * (1 + RESTITUTION) * speed
        return [
            worst(
                ("impulse", "N s"),
                expected,
                got,
                2 * (1 + RESTITUTION) * body.mass * G * dt,
                [f"e {e:g}" for e in RESTITUTION],
            )
        ]
