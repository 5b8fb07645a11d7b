"""Which legs may move alike: in pairs of the two sides, of front and hind, of the diagonals."""

from __future__ import annotations

import numpy as np

from tarsus.environments.mirror import Mirror
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.legs import Leg, find_legs, why_no_diagonal_legs

SWAPS = ((1, -1), (-1, 1), (-1, -1))  # of hips' x and y: to the other side, end, and both


def pairings(mechanism: Mechanism) -> tuple[Mirror, ...]:
    """Images of the motors under which legs of a pair do the same: three, of four legs with hips in
    a rectangle; none of other robots.
    """
    if why_no_diagonal_legs(mechanism):
        return ()
    legs = find_legs(mechanism)
    middle = np.mean([leg.hip for leg in legs], axis=0)
    place = {tuple(np.sign(leg.hip - middle)[:2].astype(int)): leg for leg in legs}
    if len(place) < len(legs):
        return ()
    motors = [actuator.joint for actuator in mechanism.actuators]
    found = []
    for swap in SWAPS:
        order, sign = np.arange(len(motors)), np.ones(len(motors), np.float32)
        for (x, y), leg in place.items():
            other = place[x * swap[0], y * swap[1]]
            for k, (joint, image) in enumerate(zip(leg.joints, other.joints, strict=True)):
                order[motors.index(joint)] = motors.index(image)
                sign[motors.index(joint)] = _sign(leg, other, k) * (swap[1] if k == 0 else 1)
        found.append(Mirror(order, sign))
    return tuple(found)


def _sign(leg: Leg, other: Leg, joint: int) -> float:
    return float(leg.signs[joint] * other.signs[joint])
