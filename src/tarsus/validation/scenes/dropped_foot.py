"""A foot dropped on its edge tips over onto its sole."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.integrate import quad

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

DROP, IMBALANCE, END_TILT = 0.05, np.deg2rad(2.0), np.deg2rad(30.0)  # m; rad; rad, when timed
SECONDS = 1.5


class DroppedFoot(ValidationScene):
    """A foot of 0.2 x 0.15 x 0.08 m falls 5 cm onto its edge, 2 degrees off balance, e 0, mu 2.

    After the landing it rotates about the edge at m v d / I, with the lever arm d of its weight,
    and tips like an inverted pendulum until it lies on its sole. The time to a tilt of 30 degrees
    is measured. An edge that sticks or sinks would leave it standing.
    """

    needs = frozenset({"friction", "sticking", "rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "(1 + T g / v + s T) dt in time, with the duration T of the fall: touchdown is detected up"
        " to a step late and g dt too fast, and a first-order method changes the rate s of the"
        " pendulum to s (1 + s dt) at most; 0.01 rad at the end, which distinguishes lying from"
        " standing at 1.2 rad, regardless of the depth at rest"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.0005), bodies.box()
        length, upright = float(np.hypot(BOX[0], BOX[2])), float(np.arctan2(BOX[0], BOX[2]))
        moment = body.mass * G * length
        inertia = body.bodies[0].inertia.about_com[1, 1] + body.mass * length**2
        # durations of the drop, and of tipping from the angular velocity after the landing
        speed = float(np.sqrt(2 * G * DROP))
        omega = body.mass * speed * length * np.sin(IMBALANCE) / inertia

        def slowness(tilt: float) -> float:
            gained = 2 * moment / inertia * (np.cos(IMBALANCE) - np.cos(tilt))
            return 1 / np.sqrt(omega**2 + gained)

        tipping = quad(slowness, IMBALANCE, upright - END_TILT)[0]
        # simulation
        position = [-length * np.sin(IMBALANCE), 0.0, length * np.cos(IMBALANCE) + DROP]
        start = Start(body, bodies.pose(position, upright - IMBALANCE), parameters={"mu": 2.0})
        motion = engine.run(start, dt, SECONDS)
        lean = 2 * np.arctan2(motion.q[:, 0, 5], motion.q[:, 0, 3])
        allowed = (1 + tipping * G / speed + tipping * np.sqrt(moment / inertia)) * dt
        time = falls_below(END_TILT, lean, motion.time)
        return [
            Case("time until 30 deg", "s", speed / G + tipping, time, allowed),
            Case("tilt at the end", "rad", 0.0, float(lean[-1]), 0.01),
        ]
