"""Costs that goals on legs share: of the trunk and of the joints."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.tasks.base import Glimpse


def height(now: Glimpse) -> SX:
    """The square of how much the base is off its standing height, m^2."""
    return (now.height - float(now.stand[2])) ** 2


def tilt(now: Glimpse) -> SX:
    """The square of the sine of the base's lean; 2 - that beyond a right angle."""
    leans = ca.sumsqr(now.down[:2])
    return ca.if_else(now.down[2] < 0, leans, 2 - leans)


def posture(now: Glimpse) -> SX:
    """The sum of squares of the joints' distances from the standing posture, rad^2."""
    return ca.sumsqr(now.angles - now.posture)


def drift(now: Glimpse, speed: SX, sideways: SX) -> SX:
    """The square of how much the base's velocity along the ground is off, m^2/s^2."""
    return (now.velocity[0] - speed) ** 2 + (now.velocity[1] - sideways) ** 2
