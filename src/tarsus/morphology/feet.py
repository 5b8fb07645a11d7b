"""The feet of a robot, found by its shape."""

from __future__ import annotations

import numpy as np
from casadi import DM, SX

from tarsus.dynamics import jacobian
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Candidate

MOST = 40  # candidates that one compiled step can hold
A_FOOT = 4  # candidates a foot has at most
SOLE = 0.01  # m: candidates of a foot that are not higher than this above its lowest
ARMS = 0.3  # of the robot's height at zero joint angles: what ends higher is no foot


def feet(robot: Robot) -> tuple[Candidate, ...]:
    """The lowest candidates of the links that end each leg, with all joints at zero."""
    kin = kinematics(robot, SX(robot.neutral()))
    lowest = np.array(
        [
            float(DM(jacobian.position(kin, c.body, SX(c.position))[2])) - c.radius
            for c in robot.candidates
        ]
    )
    parents = {body.parent for body in robot.bodies}
    ground, height = lowest.min(), np.ptp(lowest)
    found: list[int] = []
    for body in range(len(robot.bodies)):
        own = [k for k, c in enumerate(robot.candidates) if c.body == body and body not in parents]
        if own and min(lowest[own]) <= ground + ARMS * height:
            sole = [k for k in own if lowest[k] <= min(lowest[own]) + SOLE]
            found += sorted(sole, key=lambda k: lowest[k])[:A_FOOT]
    return tuple(robot.candidates[k] for k in sorted(found)[:MOST])
