"""A box balanced on its edge falls as an inverted pendulum."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene

TILT = 1e-6  # rad
START, END = 0.6, 1.0  # s, interval in which the growth is measured


class FootEdge(ValidationScene):
    """A foot on its edge, tilted by 1e-6 rad: the tilt grows as cosh(s t), s^2 = m g l / I."""

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "s^2 dt: a first-order method changes the rate s to s (1 + s dt) at most"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.0005), bodies.box()
        length = float(np.hypot(BOX[0], BOX[2]))
        inertia = body.bodies[0].inertia.about_com[1, 1] + body.mass * length**2
        rate = float(np.sqrt(body.mass * G * length / inertia))
        # rotated by this angle, the center is above the edge at x = 0
        upright = np.arctan2(BOX[0], BOX[2])
        lean = upright + TILT
        position = [length * np.sin(TILT), 0.0, length * np.cos(TILT) - TOUCH]
        motion = engine.run(
            Start(body, bodies.pose(position, lean), parameters={"mu": 2.0}), dt, END
        )
        w, y = motion.q[:, 0, 3], motion.q[:, 0, 5]
        tilt = 2 * np.arctan2(y, w) - upright
        first = round(START / dt) - 1
        grown = float(np.log(tilt[-1] / tilt[first])) if tilt[-1] > 0 < tilt[first] else np.nan
        expected = float(np.log(np.cosh(rate * END) / np.cosh(rate * START)))
        return [Case("growth rate", "1/s", rate, rate * grown / expected, rate**2 * dt)]
