"""A cube dragged by a growing force slips when it exceeds mu m g."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import CUBE, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

MU, SPEED = 0.4, 1.0
RATE = 2.0  # N/s: the force grows from zero, so that springs do not oscillate
DETECTION_SPEED = 0.01  # m/s, from which the onset of slip is extrapolated
LOST_FRACTION = 0.9  # of the speed: excludes the last moments, in which laws differ


class DraggedCube(ValidationScene):
    """A cube of 1 kg, mu 0.4, that slides to a stop and is then dragged by a growing force.

    From 1 m/s it stops after 0.2548 s and 0.1274 m. At rest it resists up to 3.924 N. After the
    onset of slip its speed is rate t^2 / (2 m), from which the onset is computed.
    """

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "one step in time and its distance, v0 dt; the growth of the force in two steps and while a"
        " tangential spring, if any, stretches: 1 % of the time from the onset of slip to its"
        " detection"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.001), bodies.cube()
        q = bodies.pose([0, 0, CUBE[2] - TOUCH])
        slid = engine.run(Start(body, q, [SPEED, 0, 0, 0, 0, 0], parameters={"mu": MU}), dt, 0.4)
        speed = slid.u[:, 0, 0]
        time = falls_below((1 - LOST_FRACTION) * SPEED, speed, slid.time) / LOST_FRACTION

        dragged = Start(body, q, parameters={"mu": MU}, push_rate=[RATE, 0, 0])
        motion = engine.run(dragged, dt, 2.2)
        since = np.sqrt(2 * body.mass * DETECTION_SPEED / RATE)
        slips = falls_below(-DETECTION_SPEED, -motion.u[:, 0, 0], motion.time) - since
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
