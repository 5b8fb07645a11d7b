"""A capsule squeezed by two pads is held by friction and does not slip."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.mechanism import Body, Inertia, Joint, Mechanism
from tarsus.model.solids import Capsule, Cuboid
from tarsus.validation import bodies
from tarsus.validation.bodies import GRAVITY
from tarsus.validation.scenes.base import Case, ValidationScene

MASS, RADIUS, HALF = 0.045, 0.004, 0.025  # kg, m, m: capsule along y
PAD = np.array([0.008, 0.030, 0.020])  # m, half edges
PAD_MASS, PAD_DAMPING, OFFSET = 0.2, 100.0, 0.0125  # kg, N s/m, m from the middle at zero
SQUEEZE, PRELOAD = 6000.0, 0.002  # N/m and m: springs of the pads, and their compression
MU = 0.7
SOFT_STEP = 2e-5  # s
START, END = 0.5, 2.5  # s, interval in which the displacement is measured


class GrippedCapsule(ValidationScene):
    """A capsule of 45 g between two pads at 12 N each, mu 0.7.

    Friction could carry 38 times its weight. The speed at which the capsule slips down is measured
    from 0.5 to 2.5 s, after MuJoCo's issue 3328.
    """

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "1e-9 m/s: friction inside its cone holds without motion, up to the solver's tolerance"
    )

    def measure(self, engine: Engine) -> list[Case]:
        # springs on 45 g require a short step
        long_step = engine.impulsive or engine.peer
        body, dt = grip(), engine.step(0.002 if long_step else SOFT_STEP)
        q = bodies.coordinates(body, np.zeros(3))
        start = Start(body, q, parameters={"mu": MU}, motion_only=True)
        motion = engine.run(start, dt, END, skip=START)
        height = motion.q[:, 0, 4]
        speed = float(height[0] - height[-1]) / (motion.time[-1] - motion.time[0])
        return [Case("sinking speed", "m/s", 0.0, speed, 1e-9)]


def grip() -> Mechanism:
    """Build two pads on slides along x, pressed together by springs, and a free capsule.

    Coordinates (9,): displacements of the pads in m, and position and orientation of the capsule.
    """
    rest = OFFSET - PAD[0] - RADIUS + PRELOAD
    parts, solids = [], []
    for k, side in enumerate((1.0, -1.0)):
        axis = np.array([-side, 0.0, 0.0])  # inwards
        spring = Joint(
            f"press_{k}", "slide", axis, damping=PAD_DAMPING, stiffness=SQUEEZE, rest=rest
        )
        inertia = Inertia(PAD_MASS, np.zeros(3), 1e-4 * np.eye(3))
        parts.append(Body(f"pad_{k}", -1, spring, inertia, np.array([side * OFFSET, 0.0, 0.0])))
        solids.append(Cuboid(f"pad_{k}", k, np.zeros(3), PAD))
    along = MASS * RADIUS**2 / 2
    across = MASS * (3 * RADIUS**2 + (2 * HALF) ** 2) / 12
    capsule = Inertia(MASS, np.zeros(3), np.diag([across, along, across]))
    parts.append(Body("capsule", -1, Joint("free", "free"), capsule))
    solids.append(Capsule("capsule", 2, np.zeros(3), np.array([0.0, HALF, 0.0]), RADIUS))
    return Mechanism("grip", tuple(parts), solids=tuple(solids), gravity_acceleration=GRAVITY)
