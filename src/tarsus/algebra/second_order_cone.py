"""Second-order cone v_N >= |v_T| of v (3,): its Jordan algebra and the distance to its edge."""

from __future__ import annotations

import casadi as ca
from casadi import SX


def lorentz_form(v: SX) -> SX:
    """Compute v_N^2 - |v_T|^2 of v (3,), positive inside the cone and its mirror image."""
    return v[0] * v[0] - squared_slide(v)


def squared_slide(v: SX) -> SX:
    """Compute |v_T|^2 of v (3,)."""
    return v[1] * v[1] + v[2] * v[2]


def reflect(v: SX) -> SX:
    """Compute (v_N, -v_T); divided by lorentz_form(v), it is the inverse in the cone's algebra."""
    return ca.vertcat(v[0], -v[1], -v[2])


def inverse_edge_distance(v: SX, d: SX) -> SX:
    """Compute 1 / t for the t at which v + t d meets the cone's edge; <= 0 if it never does."""
    current, mixed, change = lorentz_form(v), v[0] * d[0] - ca.dot(v[1:], d[1:]), lorentz_form(d)
    return (ca.sqrt(ca.fmax(mixed * mixed - current * change, 0)) - mixed) / current
