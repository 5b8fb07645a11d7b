"""The path of a foot over one turn of its phase: a straight stance, then a Bezier swing.

Everything is per unit of stride (x from -1/2 to 1/2) and of step height (z from 0 to 1 and back),
and per turn of phase, not per second. Stance for phase < duty: x runs straight from 1/2 to -1/2 on
the ground. Position and velocity join without a jump at lift-off and touch-down (C1).
Teixeira de Paula 2024, section 6.2, uses Bezier curves for the two stages without printing their
points; these are ours.
Around the middle of a stage both curves are so even that they cost a few products: with r = s -
1/2, x = a r + b r^3 and z = (1 - 4 r^2)^2 are the curves of `swing_points` and `LIFT_POINTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
from numpy.polynomial import Polynomial

LIFT_POINTS = (0.0, 0.0, 1.6, 1.6, 0.0, 0.0)  # ends at rest, peak 1 in the middle: 1.6 * 20 / 32


class FootPath(NamedTuple):
    """x and z with their derivatives by phase (per turn); load: 0 in swing, a bump of height 1 in
    stance.
    """

    x: ca.SX
    z: ca.SX
    dx: ca.SX
    dz: ca.SX
    load: ca.SX


def swing_points(duty: float) -> tuple[float, ...]:
    """Control points of x in swing: it leaves and arrives with the velocity of stance.

    Stance moves by -1/duty per turn; a swing of 1 - duty turns therefore starts with the slope
    -(1 - duty)/duty in its own parameter, and the first of four spans is a fourth of that.
    """
    overshoot = (1 - duty) / duty / 4
    return (-0.5, -0.5 - overshoot, 0.0, 0.5 + overshoot, 0.5)


def bezier(points: Sequence[float]) -> Polynomial:
    """The Bezier curve of some control points as a polynomial in s in [0, 1]."""
    degree = len(points) - 1
    s, curve, ways = Polynomial([0.0, 1.0]), Polynomial([0.0]), 1
    for i, point in enumerate(points):
        curve = curve + point * ways * s**i * (1 - s) ** (degree - i)
        ways = ways * (degree - i) // (i + 1)
    return curve


def foot_path(phase: ca.SX, duty: float) -> FootPath:
    """Where the foot is at a phase in [0, 1); duty: the part of the turn spent in stance."""
    centered = bezier(swing_points(duty))(Polynomial([0.5, 1.0]))  # in r: odd
    linear, cubic = float(centered.coef[1]), float(centered.coef[3])
    swing = duty <= phase  # 0 or 1; blends below are cheaper than branches
    per_turn = _blend(swing, 1 / duty, 1 / (1 - duty))
    r = phase * per_turn - _blend(swing, 0.5, 0.5 + duty / (1 - duty))
    square = r * r
    straight, curved = _blend(swing, -1.0, linear), swing * cubic * square
    rise = 1 - 4 * square
    bump = rise * rise
    lift = swing * bump
    return FootPath(
        x=r * (straight + curved),
        z=lift,
        dx=(straight + 3 * curved) * per_turn,
        dz=swing * per_turn * (-16 * r * rise),
        load=bump - lift,
    )


def _blend(swing: ca.SX, stance_value: float, swing_value: float) -> ca.SX:
    return stance_value + swing * (swing_value - stance_value)
