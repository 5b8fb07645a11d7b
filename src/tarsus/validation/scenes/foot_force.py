"""The force on a foot between impacts, and the impulse of its landing, do not depend on dt."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism
from tarsus.validation.bodies import GRAVITY, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene

TRUNK, FOOT = 10.0, 0.5  # kg
STIFFNESS, DAMPING = 5000.0, 100.0  # N/m, N s/m, of the leg between them
SPEED = 1.0  # m/s, of both as the foot touches
STEPS = (0.005, 0.0025, 0.001, 0.0001)  # s
Z = np.array([0.0, 0.0, 1.0])


class FootForce(ValidationScene):
    """A trunk of 10 kg on a springy leg with a foot of 0.5 kg lands at 1 m/s, dt 5 to 0.1 ms.

    The foot's landing takes m (v + g dt), plus the leg's force on the trunk in that step. After it
    the ground carries the leg's force, k x + d x', an oscillator with a known peak. (Reports of
    forces that grow by orders as dt shrinks: IsaacLab's issue 4366.)
    """

    needs = frozenset({"restitution", "rigid"})
    tolerance: ClassVar[str] = (
        "of the peak first order in dt: omega dt, with omega of the trunk on its leg; of the"
        " impulse, less what the leg gave the trunk in that step, 1e-6 N s"
    )

    def measure(self, engine: Engine) -> list[Case]:
        cases, omega = [], np.sqrt(STIFFNESS / TRUNK)
        peak, body = _peak(), leg()
        for asked in STEPS:
            dt = engine.step(asked)
            start = Start(body, [-TOUCH, 0.0], [-SPEED, 0.0])
            motion = engine.run(start, dt, 0.12)
            impulse = motion.impulse[:, 0, 0, 0]
            landed = int(np.argmax(impulse > 0))
            trunk = np.append(-SPEED, motion.u[:, 0].sum(1))  # its velocity, m/s
            by_leg = TRUNK * (trunk[landed + 1] - trunk[landed] + G * dt)
            taken, expected = float(impulse[landed] - by_leg), FOOT * (SPEED + G * dt)
            what = f"dt {1e3 * asked:g} ms"
            later = float(impulse[landed + 1 :].max()) / dt
            cases += [
                Case(f"peak, {what}", "N", peak, later, peak * omega * dt),
                Case(f"landing, {what}", "N s", expected, taken, 1e-6),
            ]
        return cases


def leg() -> Mechanism:
    """The foot on a vertical slide, the trunk on one above it: (height of the foot, leg's length
    beyond its rest), m.
    """
    ground = Joint("foot", "slide", Z)
    spring = Joint("leg", "slide", Z, stiffness=STIFFNESS, damping=DAMPING)
    parts = [
        Body(name, k - 1, joint, Inertia(mass, np.zeros(3), 0.01 * np.eye(3)))
        for k, (name, joint, mass) in enumerate([("foot", ground, FOOT), ("trunk", spring, TRUNK)])
    ]
    point = (Candidate("foot", 0, np.zeros(3)),)
    return Mechanism("springy_leg", tuple(parts), point, gravity_acceleration=GRAVITY)


def _peak() -> float:
    """The largest force on the ground, N, after the landing: of x'' = g - (k x + d x') / m."""
    omega, ratio = np.sqrt(STIFFNESS / TRUNK), DAMPING / (2 * np.sqrt(STIFFNESS * TRUNK))
    own, rest = omega * np.sqrt(1 - ratio**2), TRUNK * G / STIFFNESS
    t = np.linspace(0.0, 0.12, 200_001)
    a, b = -rest, (SPEED - ratio * omega * rest) / own
    fading = np.exp(-ratio * omega * t)
    x = rest + fading * (a * np.cos(own * t) + b * np.sin(own * t))
    v = fading * (
        (b * own - a * ratio * omega) * np.cos(own * t)
        - (a * own + b * ratio * omega) * np.sin(own * t)
    )
    return float((STIFFNESS * x + DAMPING * v).max() + FOOT * G)
