"""A ball dropped from h rebounds to e^2 h."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

DROP, RESTITUTION = 1.0, np.array([0.5, 0.8])  # m, [1]


class Restitution(ValidationScene):
    """A ball falls from 1 m with e 0.5 and 0.8 and rebounds once, by Newton's law of impact."""

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "(1 + e^2) v dt with the landing speed v: touchdown is detected up to a step late, v dt"
        " below the ground and g dt too fast, which adds e^2 v dt to the height"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, speed = engine.step(0.001), np.sqrt(2 * G * DROP)
        start = Start(
            bodies.point_mass(), bodies.pose([0, 0, DROP]), parameters={"e_N": RESTITUTION}
        )
        motion = engine.run(start, dt, 1.3)
        labels, allowed = [f"e {e:g}" for e in RESTITUTION], (1 + RESTITUTION**2) * speed * dt
        rebound = []
        for world, e in enumerate(RESTITUTION):
            touching = np.nonzero(motion.impulse[:, world, 0, 0] > 0)[0]
            first = touching[0] if len(touching) else len(motion.q) - 1
            flight = round(2 * e * speed / G / dt)
            rebound.append(motion.q[first : first + flight + 1, world, 2].max())
        return [worst(("rebound", "m"), RESTITUTION**2 * DROP, rebound, allowed, labels)]
