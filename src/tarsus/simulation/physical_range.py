"""Limit the range in which robots move; a run that leaves it has diverged.

No step that ends outside the range has converged.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.solvers.base import is_finite
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.symbolic import entries

MAX_TURN = np.pi  # rad per step; no step resolves a faster rotation
MAX_SPEED = 300.0  # m/s
MAX_POSITION = 1e6  # m or rad


def max_rates(robot: Mechanism, dt: float) -> NDArray[np.float64]:
    """Compute the largest allowed rate of every velocity (nu,), in rad/s or m/s."""
    slides = is_linear(robot)
    return np.where(slides, MAX_SPEED, MAX_TURN / dt)


def is_linear(robot: Mechanism) -> NDArray[np.bool_]:
    """Find which velocities (nu,) are in m/s; the others are in rad/s."""
    linear = np.zeros(robot.nu, dtype=bool)
    for body, u_slice in zip(robot.bodies, robot.u_slices, strict=True):
        if body.joint.kind == "slide":
            linear[u_slice] = True
        elif body.joint.kind == "free":
            linear[u_slice.start : u_slice.start + 3] = True
    return linear


def is_in_range(robot: Mechanism, q: SX, u: SX, dt: SX) -> SX:
    """Return 1 where a state is finite and inside the physical range, else 0."""
    rates, places = entries(ca.fabs(u)), entries(ca.fabs(q))
    fast, turned, far = SX(0), SX(0), SX(0)
    for rate, slides in zip(rates, is_linear(robot), strict=True):
        if slides:
            fast = ca.fmax(fast, rate)
        else:
            turned = ca.fmax(turned, rate)
    for index in places:
        far = ca.fmax(far, index)
    inside = ca.logic_and(
        ca.logic_and(fast <= MAX_SPEED, dt * turned <= MAX_TURN), far <= MAX_POSITION
    )
    return ca.logic_and(inside, is_finite(rates + places))
