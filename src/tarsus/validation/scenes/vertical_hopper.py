"""A lossless vertical hopper keeps its period."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, NotModeled, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene

DROP, STIFFNESS = 0.1, 1e4  # m, N/m


class VerticalHopper(ValidationScene):
    """A body of 1 kg hops from 0.1 m on an undamped spring of 10 kN/m or on rigid ground with e 1.

    The time between two landings is measured. The flight lasts 2 v / g and the contact with the
    spring (pi + 2 atan(g / (omega v))) / omega.
    """

    tolerance: ClassVar[str] = (
        "two steps, because landings are detected at steps, and the effect on the flight of an"
        " error in speed of v omega dt (on rigid ground g dt), 2 / g times this error"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, speed = engine.step(5e-5), np.sqrt(2 * G * DROP)
        if "c_N" in engine.parameters and "spring" not in engine.not_modeled:
            omega, parameters = np.sqrt(STIFFNESS), {"c_N": STIFFNESS, "d_N": 0.0}
            on_ground, speed_error = (
                (np.pi + 2 * np.arctan(G / (omega * speed))) / omega,
                speed * omega * dt,
            )
        elif "e_N" in engine.parameters and "restitution" not in engine.not_modeled:
            on_ground, speed_error, parameters = 0.0, G * dt, {"e_N": 1.0}
        else:
            raise NotModeled("the law has neither an undamped spring nor restitution", "damping")
        period = 2 * speed / G + on_ground
        start = Start(bodies.point_mass(), bodies.pose([0, 0, DROP]), parameters=parameters)
        motion = engine.run(start, dt, speed / G + 1.3 * period)
        touching = motion.impulse[:, 0, 0, 0] > 0
        landings = motion.time[1:][touching[1:] & ~touching[:-1]]
        got = float(landings[1] - landings[0]) if len(landings) > 1 else np.nan
        return [Case("period", "s", period, got, 2 * dt + 2 * speed_error / G)]
