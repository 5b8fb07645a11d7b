"""A foot that is dropped on its edge tips over onto its sole."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.integrate import quad

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

DROP, OFF, SEEN = 0.05, np.deg2rad(2.0), np.deg2rad(30.0)  # m; rad off balance, and when timed
SECONDS = 1.5


class DroppedFoot(ValidationScene):
    """A foot of 0.2 x 0.15 x 0.08 m falls 5 cm onto its edge, 2 degrees off balance, e 0, mu 2.

    The landing leaves the turn m v d / I about the edge, d the arm of the weight; from there it
    tips as a pendulum that stands on its edge. Timed is a tilt of 30 degrees; at the end it lies on
    its sole. An edge that grips or sinks leaves it standing.
    """

    needs = frozenset({"friction", "sticking", "rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "(1 + T g / v + s T) dt in time, T the time it tips: touchdown is found up to a step late"
        " and g dt too fast, and a method of first order turns the rate s of the pendulum into"
        " s (1 + s dt) at most; 0.01 rad at the end, which tells lying from standing at 1.2 rad,"
        " whatever depth a law rests at"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.0005), bodies.box()
        length, upright = float(np.hypot(BOX[0], BOX[2])), float(np.arctan2(BOX[0], BOX[2]))
        moment = body.mass * G * length
        inertia = body.bodies[0].inertia.about_com[1, 1] + body.mass * length**2
        # how long it falls, and tips from the turn that the landing leaves
        speed = float(np.sqrt(2 * G * DROP))
        turn = body.mass * speed * length * np.sin(OFF) / inertia

        def slowness(tilt: float) -> float:
            return 1 / np.sqrt(turn**2 + 2 * moment / inertia * (np.cos(OFF) - np.cos(tilt)))

        tips = quad(slowness, OFF, upright - SEEN)[0]
        # the same, simulated
        place = [-length * np.sin(OFF), 0.0, length * np.cos(OFF) + DROP]
        start = Start(body, bodies.pose(place, upright - OFF), parameters={"mu": 2.0})
        motion = engine.run(start, dt, SECONDS)
        lean = 2 * np.arctan2(motion.q[:, 0, 5], motion.q[:, 0, 3])
        allowed = (1 + tips * G / speed + tips * np.sqrt(moment / inertia)) * dt
        timed = falls_below(SEEN, lean, motion.time)
        return [
            Case("time until 30 deg", "s", speed / G + tips, timed, allowed),
            Case("tilt at the end", "rad", 0.0, float(lean[-1]), 0.01),
        ]
