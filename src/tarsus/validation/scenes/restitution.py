"""A ball dropped from h rebounds to e^2 h."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

DROP, E = 1.0, np.array([0.5, 0.8])


class Restitution(ValidationScene):
    """Newton's law of impact: one bounce from 1 m, e 0.5 and 0.8."""

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "(1 + e^2) v dt with the landing speed v: touchdown is found up to a step late, v dt below"
        " the ground and g dt too fast, which is e^2 v dt of height"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, speed = engine.step(0.001), np.sqrt(2 * G * DROP)
        start = Start(bodies.point_mass(), bodies.pose([0, 0, DROP]), parameters={"e_N": E})
        motion = engine.run(start, dt, 1.3)
        rebound = []
        for world, e in enumerate(E):
            touching = np.nonzero(motion.impulse[:, world, 0, 0] > 0)[0]
            first = touching[0] if len(touching) else len(motion.q) - 1
            flight = round(2 * e * speed / G / dt)
            rebound.append(motion.q[first : first + flight + 1, world, 2].max())
        return [
            worst(
                ("rebound", "m"),
                E**2 * DROP,
                rebound,
                (1 + E**2) * speed * dt,
                [f"e {e:g}" for e in E],
            )
        ]
