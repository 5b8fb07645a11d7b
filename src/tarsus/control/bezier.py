"""Path of a foot over one cycle of its phase: a straight stance, then a Bezier swing.

Lengths are in units of the stride (x from -1/2 to 1/2) and of the step height (z from 0 to 1 and
back). Rates are per cycle, not per second. During stance, phase < duty, x decreases linearly from
1/2 to -1/2 on the ground. Position and velocity are continuous at lift-off and touch-down (C1).
Teixeira de Paula 2024, section 6.2, uses Bezier curves for both stages but does not print their
control points; the ones here are our own.

About the middle of a stage both curves have a symmetry that makes them cheap to evaluate: with r =
s - 1/2, x = a r + b r^3 and z = (1 - 4 r^2)^2 are the curves of `swing_points` and `LIFT_POINTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
from numpy.polynomial import Polynomial

LIFT_POINTS = (0.0, 0.0, 1.6, 1.6, 0.0, 0.0)  # at rest at both ends, 1 in the middle: 1.6 * 20 / 32


class FootPath(NamedTuple):
    """Position of a foot and its derivatives with respect to phase, per cycle.

    Attributes
    ----------
    x, z
        Forward and vertical position, in strides and step heights.
    dx, dz
        Their derivatives.
    load
        0 in swing; in stance a smooth bump of height 1.
    """

    x: ca.SX
    z: ca.SX
    dx: ca.SX
    dz: ca.SX
    load: ca.SX


def swing_points(duty: float) -> tuple[float, ...]:
    """Compute the control points of x in swing, such that velocity is continuous with stance.

    Stance moves by -1/duty per cycle. A swing of 1 - duty cycles therefore starts with the slope
    -(1 - duty)/duty in its own parameter, and the first of its four spans is a fourth of that.
    """
    overshoot = (1 - duty) / duty / 4
    return (-0.5, -0.5 - overshoot, 0.0, 0.5 + overshoot, 0.5)


def bezier_polynomial(points: Sequence[float]) -> Polynomial:
    """Compute the Bezier curve with these control points as a polynomial in s, 0 to 1."""
    degree = len(points) - 1
    s, curve, binomial = Polynomial([0.0, 1.0]), Polynomial([0.0]), 1
    for i, point in enumerate(points):
        curve = curve + point * binomial * s**i * (1 - s) ** (degree - i)
        binomial = binomial * (degree - i) // (i + 1)
    return curve


def foot_path(phase: ca.SX, duty: float) -> FootPath:
    """Compute the path of a foot at a phase in [0, 1); `duty` is the stance fraction of a cycle."""
    centered = bezier_polynomial(swing_points(duty))(
        Polynomial([0.5, 1.0])
    )  # an odd polynomial in r
    linear, cubic = float(centered.coef[1]), float(centered.coef[3])
    swing = duty <= phase  # 0 or 1; the blends below are cheaper than branches
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
