"""A bouncing ball comes to rest after sqrt(2 h / g) (1 + e) / (1 - e)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene

DROP, RESTITUTION = 1.0, 0.5  # m, [1]


class ManyBounces(ValidationScene):
    """A ball with restitution 0.5 falls from 1 m: infinitely many bounces in finite time (Zeno)."""

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "1 / e + 2 / (1 - e) steps for each bounce that lasts longer than a step: it starts up to"
        " v dt below the ground, which changes its flight by 1 / e steps; it also changes the next"
        " landing speed by g dt / e, and all later bounces together by 2 / (1 - e) steps"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, speed = engine.step(0.001), np.sqrt(2 * G * DROP)
        fall = np.sqrt(2 * DROP / G)
        expected = fall * (1 + RESTITUTION) / (1 - RESTITUTION)
        start = Start(
            bodies.point_mass(), bodies.pose([0, 0, DROP]), parameters={"e_N": RESTITUTION}
        )
        motion = engine.run(start, dt, 2 * expected)
        flying = np.nonzero(motion.impulse[:, 0, 0, 0] == 0)[0]
        bounces = np.ceil(np.log(2 * speed / (G * dt)) / np.log(1 / RESTITUTION))
        allowed = float(bounces * (1 / RESTITUTION + 2 / (1 - RESTITUTION)) * dt)
        return [Case("time to rest", "s", expected, float(motion.time[flying[-1]]), allowed)]
