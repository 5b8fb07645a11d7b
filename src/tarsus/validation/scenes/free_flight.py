"""A tumbling body in free flight conserves momentum and energy."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from tarsus.engines.base import Array, Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene

STEPS = (0.004, 0.002, 0.001)  # s
VELOCITY = np.array([1.0, 2.0, 3.0, 5.0, 0.2, -3.0])
ROUND_OFF = 1e-13  # relative error below which no order is computed


class FreeFlight(ValidationScene):
    """A body with three different moments of inertia flies for one second.

    The order of convergence is computed from the errors at 4, 2 and 1 ms.
    """

    tolerance: ClassVar[str] = (
        "1e-11 of the linear momentum, which every method integrates exactly; 0.2 of the order,"
        " which is reached only as dt approaches zero"
    )

    def measure(self, engine: Engine) -> list[Case]:
        errors = np.array([_errors(engine, dt) for dt in STEPS])
        order = float(engine.order or 1)  # at least the first
        cases = [Case("linear momentum, relative", "1", 0.0, float(errors[:, 0].max()), 1e-11)]
        for k, name in ((1, "angular momentum"), (2, "energy")):
            values = np.maximum(errors[:, k], ROUND_OFF)
            got = order if values[-1] == ROUND_OFF else float(np.log2(values[-2] / values[-1]))
            cases.append(Case(f"order of {name}", "1", order, got, 0.2, at_least=True))
        return cases


def _errors(engine: Engine, dt: float) -> Array:
    """Compute the largest relative errors of linear and angular momentum and energy in 1 s."""
    body = bodies.flyer()
    inertia, mass = np.diag(body.bodies[0].inertia.about_com), body.mass
    motion = engine.run(Start(body, bodies.pose([0, 0, 1.0]), VELOCITY), dt, 1.0)
    q, u, t = motion.q[:, 0], motion.u[:, 0], motion.time[:, None]
    linear = np.abs(u[:, :3] - VELOCITY[:3] + t * [0, 0, G]).max() / np.linalg.norm(VELOCITY[:3])
    turned = Rotation.from_quat(q[:, 3:], scalar_first=True).apply(inertia * u[:, 3:])
    angular = np.abs(turned - inertia * VELOCITY[3:]).max() / np.linalg.norm(inertia * VELOCITY[3:])
    energy = 0.5 * (u[:, 3:] ** 2 @ inertia + mass * np.sum(u[:, :3] ** 2, 1)) + mass * G * q[:, 2]
    before = 0.5 * (VELOCITY[3:] ** 2 @ inertia + mass * VELOCITY[:3] @ VELOCITY[:3]) + mass * G
    return np.array([linear, angular, np.abs(energy / before - 1).max()])
