"""The feet of a robot, found by its shape."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from casadi import SX

from tarsus.dynamics import tree
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.support_points import lowest_point
from tarsus.model.mechanism import Candidate, Mechanism

MAX_CANDIDATES = 40  # candidates that one compiled step can hold
A_FOOT = 4  # candidates a foot has at most
SOLE = 0.01  # m: candidates of a foot that are not higher than this above its lowest
ARMS = 0.3  # of the robot's height at zero joint angles: what ends higher is no foot
ROBOTS = 64  # robots whose feet are remembered


@lru_cache(maxsize=ROBOTS)
def feet(robot: Mechanism) -> tuple[Candidate, ...]:
    """The lowest candidates of the links that end each leg, with all joints at zero, or of a robot
    with closed loops in its keyframe "stand".

    Found once for each robot object.
    """
    if not robot.candidates:
        return ()
    zero = robot.neutral()
    kin = kinematics(robot, SX(robot.keyframes.get("stand", zero) if robot.loops else zero))
    lowest = np.array([float(lowest_point(kin, candidate)[2]) for candidate in robot.candidates])
    own = [k for touching in candidates_of_robot(robot).values() for k in touching]
    ground, height = lowest[own].min(initial=np.inf), np.ptp(lowest[own]) if own else 0.0
    chosen: list[int] = []
    for _, touching in sorted(candidates_of_last_bodies(robot).items()):
        bottom = min(lowest[touching])
        if bottom <= ground + ARMS * height:
            sole = [k for k in touching if lowest[k] <= bottom + SOLE]
            chosen += sorted(sole, key=lambda k: lowest[k])[:A_FOOT]
    return tuple(robot.candidates[k] for k in sorted(chosen)[:MAX_CANDIDATES])


def soles(robot: Mechanism) -> dict[int, list[Candidate]]:
    """The `feet`, grouped by the body they belong to."""
    by_body: dict[int, list[Candidate]] = {}
    for foot in feet(robot):
        by_body.setdefault(foot.body, []).append(foot)
    return by_body


def candidates_of_last_bodies(mechanism: Mechanism) -> dict[int, list[int]]:
    """Indices of the contact candidates on every body of the robot that carries no other, by
    body.
    """
    parents = {body.parent for body in mechanism.bodies}
    return {i: found for i, found in candidates_of_robot(mechanism).items() if i not in parents}


def candidates_of_robot(mechanism: Mechanism) -> dict[int, list[int]]:
    """Indices of the contact candidates by body, those of free objects beside the robot left
    out.
    """
    by_body: dict[int, list[int]] = {}
    beside = tree.object_bodies(mechanism)
    for k, candidate in enumerate(mechanism.candidates):
        if candidate.body not in beside:
            by_body.setdefault(candidate.body, []).append(k)
    return by_body
