"""Costs of the trunk and the joints, shared by goals for legged robots."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.tasks.base import StateView


def height(now: StateView) -> SX:
    """Return the squared deviation from the standing height, in m^2."""
    return (now.height - float(now.stand[2])) ** 2


def tilt(now: StateView) -> SX:
    """Return the squared sine of the tilt of the base; beyond a right angle, 2 minus it."""
    leans = ca.sumsqr(now.down[:2])
    return ca.if_else(now.down[2] < 0, leans, 2 - leans)


def posture(now: StateView) -> SX:
    """Return the summed squares of the joints' deviations from the standing posture, in rad^2."""
    return ca.sumsqr(now.angles - now.posture)


def drift(now: StateView, speed: SX, sideways: SX) -> SX:
    """Return the squared error of the horizontal velocity of the base, in m^2/s^2."""
    return (now.velocity[0] - speed) ** 2 + (now.velocity[1] - sideways) ** 2
