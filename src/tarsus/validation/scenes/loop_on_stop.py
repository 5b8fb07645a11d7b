"""A four-bar linkage that rests on a stop of its crank."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import ARM, G
from tarsus.validation.scenes.base import Case, ValidationScene

STOP = 1.0  # rad


class LoopOnStop(ValidationScene):
    """A parallelogram linkage of 4 kg falls until its crank hits a stop at 1 rad, and rests there.

    The coupler only translates. By virtual work the moment of the stop balances the weight,
    (m_1 / 2 + m_2 + m_3 / 2) g l cos(b), independent of the forces in the pins.
    """

    needs = frozenset({"hard joints"})
    tolerance: ClassVar[str] = (
        "moment: 1e-9, because equilibrium does not depend on dt; angle between parallel bars: 1e-9"
        " rad, for the drift of loop joints"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.001)
        start = Start(bodies.parallelogram(STOP), [0.6, -0.6, 0.6], limits=True)
        motion = engine.run(start, dt, 1.0)
        weight = (0.5 + 2.0 + 0.5) * G * ARM * np.cos(STOP)
        moment = float(motion.joints[-1, 0, 0] / dt)
        crank, coupler, rocker = motion.q[-1, 0]
        misalignment = float(max(abs(crank + coupler), abs(crank - rocker)))
        rate = float(np.abs(motion.u[-1]).max())
        return [
            Case("moment of the stop", "N m", -weight, moment, 1e-9 * weight),
            Case("angle between parallel bars", "rad", 0.0, misalignment, 1e-9),
            Case("rate at rest", "rad/s", 0.0, rate, 1e-9),
        ]
