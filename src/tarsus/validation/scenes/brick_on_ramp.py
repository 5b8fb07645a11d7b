"""The brick on a ramp of Rengifo 2009 slides down, slows and stops."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

MU, SPEED = 0.6, 1.0
ANGLE = np.deg2rad(20.0)  # the paper states no numbers
LOST_FRACTION = 0.9  # of the speed: excludes the last moments, in which laws differ


class BrickOnRamp(ValidationScene):
    """A brick that slides down a ramp and stops, Rengifo 2009, Eqns. (5)-(6).

    Friction is mu m g cos(a) while it slides and m g sin(a) at rest.
    """

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "two steps in time; 1e-3 of the friction at rest, because a law without impacts may not"
        " have settled yet"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.001), bodies.box()
        # the ground rises along x
        u = [-SPEED * np.cos(ANGLE), 0, -SPEED * np.sin(ANGLE), 0, 0, 0]
        start = Start(
            body, bodies.pose_on_slope(ANGLE, BOX[2]), u, slope=ANGLE, parameters={"mu": MU}
        )
        motion = engine.run(start, dt, 2.0)
        downhill = -(motion.u[:, 0, 0] * np.cos(ANGLE) + motion.u[:, 0, 2] * np.sin(ANGLE))
        time = falls_below((1 - LOST_FRACTION) * SPEED, downhill, motion.time) / LOST_FRACTION
        friction = np.linalg.norm(motion.impulse[-1, 0, :, 1:].sum(0)) / dt
        weight = body.mass * G
        return [
            Case(
                "time to stop",
                "s",
                SPEED / (G * (MU * np.cos(ANGLE) - np.sin(ANGLE))),
                time,
                2 * dt,
            ),
            Case("friction at rest", "N", weight * np.sin(ANGLE), float(friction), 1e-3 * weight),
        ]
