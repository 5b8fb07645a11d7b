"""Symmetries between legs: left and right, front and hind, and the diagonals."""

from __future__ import annotations

import numpy as np

from tarsus.environments.mirror import Mirror
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.legs import Leg, find_legs, why_no_diagonal_legs

SWAPS = ((1, -1), (-1, 1), (-1, -1))  # signs of the hips' x and y: other side, other end, both


def leg_symmetries(mechanism: Mechanism) -> tuple[Mirror, ...]:
    """Compute the mappings of motors that exchange paired legs.

    There are three for four legs with hips in a rectangle, and none for other robots.
    """
    if why_no_diagonal_legs(mechanism):
        return ()
    legs = find_legs(mechanism)
    middle = np.mean([leg.hip for leg in legs], axis=0)
    leg_at = {tuple(np.sign(leg.hip - middle)[:2].astype(int)): leg for leg in legs}
    if len(leg_at) < len(legs):
        return ()
    motors = [actuator.joint for actuator in mechanism.actuators]
    symmetries = []
    for swap in SWAPS:
        order, sign = np.arange(len(motors)), np.ones(len(motors), np.float32)
        for (x, y), leg in leg_at.items():
            other = leg_at[x * swap[0], y * swap[1]]
            for k, (joint, image) in enumerate(zip(leg.joints, other.joints, strict=True)):
                order[motors.index(joint)] = motors.index(image)
                sign[motors.index(joint)] = _sign(leg, other, k) * (swap[1] if k == 0 else 1)
        symmetries.append(Mirror(order, sign))
    return tuple(symmetries)


def _sign(leg: Leg, other: Leg, joint: int) -> float:
    return float(leg.signs[joint] * other.signs[joint])
