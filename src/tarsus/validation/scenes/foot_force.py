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
SPEED = 1.0  # m/s, of both at touchdown
STEPS = (0.005, 0.0025, 0.001, 0.0001)  # s
Z = np.array([0.0, 0.0, 1.0])


class FootForce(ValidationScene):
    """A trunk of 10 kg on a springy leg with a foot of 0.5 kg lands at 1 m/s, dt 5 to 0.1 ms.

    The landing impulse of the foot is m (v + g dt), in addition to the impulse of the leg on the
    trunk in that step. Afterwards the ground carries the force of the leg, k x + d x', whose peak
    is that of an oscillator. (IsaacLab's issue 4366 reports forces that grow by orders of magnitude
    as dt decreases.)
    """

    needs = frozenset({"restitution", "rigid"})
    tolerance: ClassVar[str] = (
        "first order in dt for the peak: a fraction omega dt, with omega of the trunk on its leg;"
        " 1e-6 N s for the impulse, without that of the leg on the trunk"
    )

    def measure(self, engine: Engine) -> list[Case]:
        cases, omega = [], np.sqrt(STIFFNESS / TRUNK)
        peak, body = _peak(), leg()
        for nominal in STEPS:
            dt = engine.step(nominal)
            start = Start(body, [-TOUCH, 0.0], [-SPEED, 0.0])
            motion = engine.run(start, dt, 0.12)
            impulse = motion.impulse[:, 0, 0, 0]
            landed = int(np.argmax(impulse > 0))
            trunk = np.append(-SPEED, motion.u[:, 0].sum(1))  # velocity, m/s
            leg_impulse = TRUNK * (trunk[landed + 1] - trunk[landed] + G * dt)
            foot_impulse = float(impulse[landed] - leg_impulse)
            expected = FOOT * (SPEED + G * dt)
            label = f"dt {1e3 * nominal:g} ms"
            later = float(impulse[landed + 1 :].max()) / dt
            cases += [
                Case(f"peak, {label}", "N", peak, later, peak * omega * dt),
                Case(f"landing, {label}", "N s", expected, foot_impulse, 1e-6),
            ]
        return cases


def leg() -> Mechanism:
    """Build the foot on a vertical slide, and the trunk on a second slide above it.

    Coordinates: height of the foot, and length of the leg beyond its rest length, m.
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
    """Compute the peak force on the ground in N after the landing, x'' = g - (k x + d x') / m."""
    omega, ratio = np.sqrt(STIFFNESS / TRUNK), DAMPING / (2 * np.sqrt(STIFFNESS * TRUNK))
    damped, rest = omega * np.sqrt(1 - ratio**2), TRUNK * G / STIFFNESS
    t = np.linspace(0.0, 0.12, 200_001)
    a, b = -rest, (SPEED - ratio * omega * rest) / damped
    decay = np.exp(-ratio * omega * t)
    x = rest + decay * (a * np.cos(damped * t) + b * np.sin(damped * t))
    v = decay * (
        (b * damped - a * ratio * omega) * np.cos(damped * t)
        - (a * damped + b * ratio * omega) * np.sin(damped * t)
    )
    return float((STIFFNESS * x + DAMPING * v).max() + FOOT * G)
