"""The bouncing ball of Rengifo 2009: restitution follows from the gains."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Array, Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

SPEED = 1.0  # m/s
SOFT, HARD = np.array([1e3, 1e3, 1e3]), np.array([10.0, 80.0, 400.0])  # k_p 1/s^2, k_v 1/s


class BouncingBall(ValidationScene):
    """A ball in compliant ground with p'' = -k_p p - k_v min(0, p'), Rengifo 2009, Eqns. (3)-(4).

    The ball sinks to a depth d like a damped oscillator and leaves at sqrt(k_p) d, so that
    restitution decreases from 1 to 0 as k_v grows. With k_p = 0 it stays at the depth v / k_v
    (Fig. 4, dashed). At first contact the force is m g + m k_v v (section II.A), which is the
    maximum if k_v v exceeds k_p times the depth.
    """

    needs = frozenset()
    tolerance: ClassVar[str] = (
        "first order in dt: a fraction k_v dt of the speed, depth and force, and the distance of"
        " one step, v dt, in depth"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(2e-5), bodies.point_mass()
        gains = {"k_p": np.append(SOFT, 0.0), "k_v": np.append(HARD, 400.0), "epsilon": 0.0}
        start = Start(body, bodies.pose([0, 0, 0.0]), [0, 0, -SPEED, 0, 0, 0], parameters=gains)
        motion = engine.run(start, dt, 0.2)
        height, speed = motion.q[..., 2], motion.u[..., 2]
        touching = motion.impulse[..., 0, 0] > 0
        last = np.array([np.argmin(touching[1:, k]) for k in range(len(SOFT))])
        away = speed[last, np.arange(len(SOFT))] / SPEED
        labels = [f"k_p {k:g}, k_v {v:g}" for k, v in zip(SOFT, HARD, strict=True)]
        allowed = HARD * dt + np.sqrt(SOFT) * dt + G * dt / SPEED
        peak = float(motion.impulse[:, 3, 0, 0].max() / dt)
        push = body.mass * (G + 400.0 * SPEED)
        return [
            worst(("speed after / before", "1"), restitution(SOFT, HARD), away, allowed, labels),
            Case(
                "depth at rest, k_p 0",
                "m",
                SPEED / 400.0,
                -float(height[-1, 3]),
                400.0 * dt * SPEED / 400.0 + SPEED * dt,
            ),
            Case("greatest force, k_v 400", "N", push, peak, 400.0 * dt * push),
        ]


def restitution(k_p: Array, k_v: Array) -> Array:
    """Compute sqrt(k_p) d / v, with the largest depth d of p'' = -k_p p - k_v p' at speed v."""
    half = k_v / 2
    root = np.sqrt(np.abs(half**2 - k_p))
    under = half**2 < k_p
    stops = (
        np.where(under, np.arctan2(root, half), np.arctanh(np.where(under, 0, root / half))) / root
    )
    return (
        np.sqrt(k_p)
        * np.exp(-half * stops)
        * np.where(under, np.sin(root * stops), np.sinh(root * stops))
        / root
    )
