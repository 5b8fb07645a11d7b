"""HOAP-1 dropped on springs of Sugihara 2006: it stays on the floor at the paper's large step."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, NotModeled, Start
from tarsus.morphology.feet import feet
from tarsus.morphology.rigid_robot import lock_joints
from tarsus.simulation import resolve
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

DROP, STEPS = 0.05, (0.001, 0.0025)  # m, s
FLOOR = {"k": 4410.0, "c": 282.0, "mu": 0.4}  # N/m, N s/m


class Hoap1Drop(ValidationScene):
    """Sugihara 2006, section IV.B: 5 cm, floor of 4410 N/m and 282 N s/m, mu 0.4, dt 1 and 2.5 ms.

    With its Eqn. (14) the robot comes to rest on the floor at both steps and does not leap. It is
    let fall standing, its joints locked: how the paper's robot holds them is not stated. At rest
    its eight corners are W / (8 k) deep on average.
    """

    needs = frozenset({"spring"})
    tolerance: ClassVar[str] = (
        "1e-6 of the depth, for equilibrium does not depend on dt; a leap is what brings it back to"
        " a tenth of its drop"
    )

    def measure(self, engine: Engine) -> list[Case]:
        if not set(FLOOR) <= engine.parameters:
            raise NotModeled("the law has no stiffness k and damping c", "stiffness")
        # the robot with locked joints, above its stand
        robot = resolve.robot("hoap1")
        q = np.array(robot.keyframes["stand"])
        body, standing = lock_joints(robot, q, feet(robot)), q[:7]
        start = Start(body, standing + DROP * np.eye(7)[2], parameters=FLOOR)
        # how high it leaps, and how deep its soles rest
        depths, leaps = [], []
        for dt in STEPS:
            motion = engine.run(start, dt, 6.0)
            height = motion.q[:, 0, 2] - standing[2]
            landed = int(np.argmax(motion.impulse[:, 0, :, 0].any(1)))
            leaps.append(max(float(height[landed + 1 :].max()), 0.0))
            w, x, y, z = motion.q[-1, 0, 3:]
            up = np.array(
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
            )  # z axis in the body
            corners = np.array([c.position for c in body.candidates])
            depths.append(-float(np.mean(motion.q[-1, 0, 2] + corners @ up)))
        # beside the static depth and no leap at all
        labels, expected = (
            [f"dt {1e3 * dt:g} ms" for dt in STEPS],
            robot.mass * G / (8 * FLOOR["k"]),
        )
        return [
            worst(("mean depth", "m"), expected, depths, 1e-6 * expected, labels),
            worst(("height of a leap", "m"), 0.0, leaps, DROP / 10, labels),
        ]
