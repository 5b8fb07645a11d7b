"""Foot placement, and the trajectory of a swing foot.

Consider a linear inverted pendulum (Kajita 2001) with time constant T = sqrt(h / g). To leave a
stance of t seconds as fast as it entered it, its foot must be T tanh(t / 2T) v ahead of the trunk.
The neutral point t v / 2 of Raibert 1986 neglects that gravity accelerates the trunk. To stop, its
foot must be T v ahead, at the capture point. Gehring 2013 adds both distances ahead of the hip: the
first for the commanded velocity, and the second, times a feedback gain close to 1, for the excess
velocity.
"""

from __future__ import annotations

from math import sqrt, tanh
from typing import NamedTuple

import casadi as ca


class FootTarget(NamedTuple):
    """Target of a foot: a point, shape (3,), in m, and its velocity, shape (3,), in m/s."""

    point: ca.SX
    velocity: ca.SX


def foothold(
    hip: ca.SX, velocity: ca.SX, commanded: ca.SX, remaining: ca.SX, times: tuple[float, float]
) -> ca.SX:
    """Compute where a foot should touch down, shape (2,), in m, world axes.

    Parameters
    ----------
    hip
        Where the foot would stand if the robot were at rest, shape (2,), in m.
    velocity
        Velocity of that point, shape (2,), in m/s.
    commanded
        Its commanded velocity, shape (2,), in m/s.
    remaining
        Time until touch-down, in s.
    times
        Times by which the commanded velocity and the excess velocity are multiplied, in s.
    """
    steady, feedback = times
    return hip + velocity * remaining + commanded * steady + (velocity - commanded) * feedback


def pendulum_times(height: float, gravity: float, stance: float) -> tuple[float, float]:
    """Compute T tanh(t / 2T) and T, in s, of a pendulum of height h in a stance of duration t."""
    time_constant = sqrt(height / gravity)
    return time_constant * tanh(stance / (2 * time_constant)), time_constant


def swing_target(
    start: ca.SX, end: ca.SX, lift: tuple[ca.SX, ca.SX | float], progress: ca.SX, duration: float
) -> FootTarget:
    """Compute the target of a swing foot that lifts off and touches down at rest.

    Parameters
    ----------
    start, end
        Lift-off and touch-down, shape (2,), in m, world axes.
    lift
        Height of the ground, and how far above it the foot rises, in m.
    progress
        Progress of the swing, 0 to 1.
    duration
        Duration of the swing, in s.
    """
    ground, height = lift
    s, rate, rest = progress, 1 / duration, 1 - progress
    blend, blend_rate = s * s * (3 - 2 * s), (6 * rate) * s * rest
    rise, rise_rate = (16 * s * s) * (rest * rest), (32 * rate) * (s * rest) * (1 - 2 * s)
    stride = end - start
    return FootTarget(
        ca.vertcat(start + blend * stride, ground + height * rise),
        ca.vertcat(blend_rate * stride, height * rise_rate),
    )
