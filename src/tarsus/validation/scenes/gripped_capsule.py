"""A capsule that two pads press from both sides hangs by friction alone, and stays where it is."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.mechanism import Body, Inertia, Joint, Mechanism
from tarsus.model.solids import Capsule, Cuboid
from tarsus.validation import bodies
from tarsus.validation.bodies import GRAVITY
from tarsus.validation.scenes.base import Case, ValidationScene

MASS, RADIUS, HALF = 0.045, 0.004, 0.025  # kg, m, m: of the capsule, which lies along y
PAD = np.array([0.008, 0.030, 0.020])  # m, half edges
PAD_MASS, PAD_DAMPING, APART = 0.2, 100.0, 0.0125  # kg, N s/m, m from the middle at zero
SQUEEZE, DEEPER = 6000.0, 0.002  # N/m and m: what presses the pads, and how far past touch
MU = 0.7
SOFT_STEP = 2e-5  # s
FROM, TO = 0.5, 2.5  # s: between these the way is measured


class GrippedCapsule(ValidationScene):
    """45 g between two pads at 12 N each, mu 0.7: friction could carry 38 times the weight.

    After issue 3328 of MuJoCo's: how fast the capsule sinks through the grip, from 0.5 to 2.5 s.
    """

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "1e-9 m/s: friction inside its cone holds without motion; what is left is the solver's"
        " tolerance"
    )

    def measure(self, engine: Engine) -> list[Case]:
        # springs on 45 g ask for a step of their own
        rough = engine.impulsive or engine.peer
        body, dt = grip(), engine.step(0.002 if rough else SOFT_STEP)
        q = bodies.coordinates(body, np.zeros(3))
        start = Start(body, q, parameters={"mu": MU}, motion_alone=True)
        motion = engine.run(start, dt, TO, skip=FROM)
        height = motion.q[:, 0, 4]
        sunk = float(height[0] - height[-1]) / (motion.time[-1] - motion.time[0])
        return [Case("sinks", "m/s", 0.0, sunk, 1e-9)]


def grip() -> Mechanism:
    """Two pads on slides along x, pressed together by springs, and the free capsule.

    Coordinates (9,): of the pads, m, and the capsule's place and attitude.
    """
    rest = APART - PAD[0] - RADIUS + DEEPER
    parts, solids = [], []
    for k, side in enumerate((1.0, -1.0)):
        axis = np.array([-side, 0.0, 0.0])  # inwards
        spring = Joint(
            f"press_{k}", "slide", axis, damping=PAD_DAMPING, stiffness=SQUEEZE, rest=rest
        )
        inertia = Inertia(PAD_MASS, np.zeros(3), 1e-4 * np.eye(3))
        parts.append(Body(f"pad_{k}", -1, spring, inertia, np.array([side * APART, 0.0, 0.0])))
        solids.append(Cuboid(f"pad_{k}", k, np.zeros(3), PAD))
    along = MASS * RADIUS**2 / 2
    across = MASS * (3 * RADIUS**2 + (2 * HALF) ** 2) / 12
    held = Inertia(MASS, np.zeros(3), np.diag([across, along, across]))
    parts.append(Body("capsule", -1, Joint("free", "free"), held))
    solids.append(Capsule("capsule", 2, np.zeros(3), np.array([0.0, HALF, 0.0]), RADIUS))
    return Mechanism("grip", tuple(parts), solids=tuple(solids), gravity_acceleration=GRAVITY)
