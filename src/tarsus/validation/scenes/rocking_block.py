"""A block that rocks from edge to edge loses speed as predicted by Housner 1963."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, G
from tarsus.validation.scenes.base import Case, ValidationScene

HALF_WIDTH, HALF_HEIGHT = BOX[2], BOX[0]  # the box stands on one of its second smallest faces
TILT, SPEED = 0.02, 3.0  # rad, rad/s


class RockingBlock(ValidationScene):
    """A box on end, 0.08 m wide and 0.2 m high, that rocks to its other edge.

    The angular velocity is multiplied by 1 - 1.5 sin^2(alpha), tan(alpha) = 0.4.
    """

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "change of the speed by gravity in two steps, that of the impact and that of its late"
        " detection, 1.5 (g / R) sin(alpha) dt / omega"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, radius = engine.step(0.0005), float(np.hypot(HALF_WIDTH, HALF_HEIGHT))
        sine = HALF_WIDTH / radius
        # tilted about the edge at the origin; the other edge, at x = -2 HALF_WIDTH, is in the air
        center = np.array([-HALF_WIDTH, 0.0, HALF_HEIGHT])
        turn = np.array([[np.cos(TILT), np.sin(TILT)], [-np.sin(TILT), np.cos(TILT)]])
        x, z = turn @ center[[0, 2]]
        omega = np.array([0.0, -SPEED, 0.0])
        v = np.cross(omega, [x, 0.0, z])
        q = bodies.pose([x, 0.0, z - 1e-9], np.pi / 2 + TILT)
        motion = engine.run(Start(bodies.box(), q, [*v, *omega], parameters={"mu": 2.0}), dt, 0.03)
        spin = -motion.u[:, 0, 4]
        k = int(np.argmin(np.diff(spin)))
        expected = 1 - 1.5 * sine**2
        return [
            Case(
                "speed ratio",
                "1",
                expected,
                float(spin[k + 1] / spin[k]),
                1.5 * G / radius * sine * dt / SPEED,
            )
        ]
