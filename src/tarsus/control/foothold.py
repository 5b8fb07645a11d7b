"""Where a swinging foot goes, and the way there.

A linear inverted pendulum (Kajita 2001) of time constant T = sqrt(h / g) that is to
leave a stance of t seconds as fast as it came must stand T tanh(t / 2T) v ahead of its trunk. The
neutral point t v / 2 of Raibert 1986 leaves out that gravity speeds up the trunk. One that is to
stop must stand T v ahead, its capture point. So a foot goes ahead of its hip by the first for the
velocity asked for and by the second, times a feedback near 1, for what is in excess of it, as in
Gehring 2013.
"""

from __future__ import annotations

from math import sqrt, tanh
from typing import NamedTuple

import casadi as ca


class FootTarget(NamedTuple):
    """A point (3,) m and its velocity (3,) m/s."""

    point: ca.SX
    velocity: ca.SX


def foothold(
    hip: ca.SX, velocity: ca.SX, asked: ca.SX, remaining: ca.SX, times: tuple[float, float]
) -> ca.SX:
    """Where to touch down (2,), m, world axes.

    hip: (2,) where the foot would stand at rest
    velocity: (2,) of that point, m/s
    asked: (2,) what it should be
    remaining: s until touch-down
    times: s, by which the velocity asked for and its excess put the foot ahead
    """
    steady, feedback = times
    return hip + velocity * remaining + asked * steady + (velocity - asked) * feedback


def pendulum_times(height: float, gravity: float, stance: float) -> tuple[float, float]:
    """T tanh(t / 2T) and T, s, of a pendulum's height, m, and its time of stance, s."""
    own = sqrt(height / gravity)
    return own * tanh(stance / (2 * own)), own


def swing(
    start: ca.SX, end: ca.SX, lift: tuple[ca.SX, ca.SX | float], progress: ca.SX, duration: float
) -> FootTarget:
    """From start (2,) to end (2,), leaving and arriving at rest; progress: 0 to 1 in `duration` s.

    lift: height of the ground and how far above it the foot rises, m.
    """
    ground, height = lift
    s, rate, left = progress, 1 / duration, 1 - progress
    blend, blend_rate = s * s * (3 - 2 * s), (6 * rate) * s * left
    rise, rise_rate = (16 * s * s) * (left * left), (32 * rate) * (s * left) * (1 - 2 * s)
    way = end - start
    return FootTarget(
        ca.vertcat(start + blend * way, ground + height * rise),
        ca.vertcat(blend_rate * way, height * rise_rate),
    )
