"""Costs of the trunk and the joints, shared by goals for legged robots."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.tasks.base import StateView


def height(state: StateView) -> SX:
    """Compute the squared deviation from the standing height, in m^2."""
    return (state.height - float(state.stand[2])) ** 2


def tilt(state: StateView) -> SX:
    """Compute the squared sine of the tilt of the base; beyond 90 degrees, 2 minus it."""
    squared_sine = ca.sumsqr(state.down[:2])
    return ca.if_else(state.down[2] < 0, squared_sine, 2 - squared_sine)


def posture(state: StateView) -> SX:
    """Sum the squared deviations of the joints from the standing posture, in rad^2."""
    return ca.sumsqr(state.angles - state.posture)


def drift(state: StateView, speed: SX, sideways: SX) -> SX:
    """Compute the squared error of the horizontal velocity of the base, in m^2/s^2."""
    return (state.velocity[0] - speed) ** 2 + (state.velocity[1] - sideways) ** 2
