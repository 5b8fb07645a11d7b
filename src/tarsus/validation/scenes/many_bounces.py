"""A bouncing ball comes to rest after sqrt(2 h / g) (1 + e) / (1 - e)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene

DROP, E = 1.0, 0.5


class ManyBounces(ValidationScene):
    """Infinitely many bounces in finite time (Zeno), e 0.5 from 1 m."""

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "for every bounce longer than a step: it starts up to v dt below the ground, which costs 1"
        " / e steps of flight and g dt / e of the next landing speed, which all later bounces"
        " inherit, 2 / (1 - e) steps"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, speed = engine.step(0.001), np.sqrt(2 * G * DROP)
        fall = np.sqrt(2 * DROP / G)
        start = Start(bodies.point_mass(), bodies.pose([0, 0, DROP]), parameters={"e_N": E})
        motion = engine.run(start, dt, 2 * fall * (1 + E) / (1 - E))
        flying = np.nonzero(motion.impulse[:, 0, 0, 0] == 0)[0]
        bounces = np.ceil(np.log(2 * speed / (G * dt)) / np.log(1 / E))
        allowed = float(bounces * (1 / E + 2 / (1 - E)) * dt)
        return [
            Case(
                "time to rest",
                "s",
                fall * (1 + E) / (1 - E),
                float(motion.time[flying[-1]]),
                allowed,
            )
        ]
