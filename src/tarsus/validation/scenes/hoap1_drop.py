"""HOAP-1 dropped onto the compliant floor of Sugihara 2006, with the step sizes of the paper."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, NotModeled, Start
from tarsus.morphology.feet import find_feet
from tarsus.morphology.rigid_robot import lock_joints
from tarsus.simulation import resolve
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

DROP, STEPS = 0.05, (0.001, 0.0025)  # m, s
FLOOR = {"k": 4410.0, "c": 282.0, "mu": 0.4}  # N/m, N s/m


class Hoap1Drop(ValidationScene):
    """HOAP-1 falls 5 cm onto a floor with 4410 N/m, 282 N s/m and mu 0.4, at dt 1 and 2.5 ms.

    This is the experiment of Sugihara 2006, section IV.B: with Eqn. (14) the robot comes to rest at
    both step sizes and does not jump. Here it falls with locked joints in its standing posture,
    because the paper does not state how its joints are controlled. At rest its eight contact points
    have a mean depth of W / (8 k).
    """

    needs = frozenset({"spring"})
    tolerance: ClassVar[str] = (
        "depth: 1e-6, because equilibrium does not depend on dt; height after landing: a tenth of"
        " the drop, above which it counts as a jump"
    )

    def measure(self, engine: Engine) -> list[Case]:
        if not set(FLOOR) <= engine.parameters:
            raise NotModeled("the law has no stiffness k and damping c", "stiffness")
        # the robot with locked joints, above its standing position
        robot = resolve.resolve_robot("hoap1")
        q = np.array(robot.keyframes["stand"])
        body, standing = lock_joints(robot, q, find_feet(robot)), q[:7]
        start = Start(body, standing + DROP * np.eye(7)[2], parameters=FLOOR)
        # height after landing, and depth at rest
        depths, rebounds = [], []
        for dt in STEPS:
            motion = engine.run(start, dt, 6.0)
            height = motion.q[:, 0, 2] - standing[2]
            landed = int(np.argmax(motion.impulse[:, 0, :, 0].any(1)))
            rebounds.append(max(float(height[landed + 1 :].max()), 0.0))
            w, x, y, z = motion.q[-1, 0, 3:]
            # vertical axis in the frame of the body
            up = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
            corners = np.array([c.position for c in body.candidates])
            depths.append(-float(np.mean(motion.q[-1, 0, 2] + corners @ up)))
        labels = [f"dt {1e3 * dt:g} ms" for dt in STEPS]
        expected = robot.mass * G / (8 * FLOOR["k"])
        return [
            worst(("mean depth", "m"), expected, depths, 1e-6 * expected, labels),
            worst(("rebound", "m"), 0.0, rebounds, DROP / 10, labels),
        ]
