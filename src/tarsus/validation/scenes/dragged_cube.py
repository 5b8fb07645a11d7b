"""A cube dragged by a growing force slips when it exceeds mu m g."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import CUBE, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

MU, SPEED = 0.4, 1.0
RATE = 2.0  # N/s: the force grows from zero, so that no spring is set swinging
SEEN = 0.01  # m/s: slip is taken back from this speed to its beginning
NEARLY = 0.9  # of the speed lost: how a law comes to rest does not enter the time


class DraggedCube(ValidationScene):
    """1 kg, mu 0.4: from 1 m/s 0.2548 s and 0.1274 m; at rest it holds against a growing force up
    to 3.924 N.

    From the beginning of slip on the speed is rate t^2 / (2 m), from which the beginning is found.
    """

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "one step in time and its distance, v0 dt; the growth of the force in two steps and"
        " while a tangential spring, where there is one, stretches: 1 % of the time from slip to"
        " the speed at which it is seen"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.001), bodies.cube()
        q = bodies.pose([0, 0, CUBE[2] - TOUCH])
        slid = engine.run(Start(body, q, [SPEED, 0, 0, 0, 0, 0], parameters={"mu": MU}), dt, 0.4)
        time = falls_below((1 - NEARLY) * SPEED, slid.u[:, 0, 0], slid.time) / NEARLY

        dragged = Start(body, q, parameters={"mu": MU}, push_rate=[RATE, 0, 0])
        motion = engine.run(dragged, dt, 2.2)
        since = np.sqrt(2 * body.mass * SEEN / RATE)
        slips = falls_below(-SEEN, -motion.u[:, 0, 0], motion.time) - since
        return [
            Case("time", "s", SPEED / (MU * G), time, dt),
            Case("distance", "m", SPEED**2 / (2 * MU * G), float(slid.q[-1, 0, 0]), SPEED * dt),
            Case(
                "force at slip",
                "N",
                MU * body.mass * G,
                RATE * slips,
                RATE * (2 * dt + 0.01 * since),
            ),
        ]
