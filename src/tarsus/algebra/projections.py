"""Convex sets of the force laws and the projections (prox) on them (Gehring 2014, Eqns. (2)-(4) and
(11)).
"""

from __future__ import annotations

import casadi as ca
from casadi import SX


def half_line(x: SX) -> SX:
    """-prox of the non-positive half-line at -x: the nearest non-negative number (unilateral
    contact, Eqn. (2)).
    """
    return ca.fmax(x, 0)


def disc(x: SX, radius: SX) -> SX:
    """Projection of x (2,) on the disc of the given radius >= 0 (spatial Coulomb friction, Eqn.
    (3)).
    """
    squared = ca.dot(x, x)
    inside = squared <= radius * radius
    scale = ca.if_else(inside, 1, radius / ca.sqrt(ca.if_else(inside, 1, squared)))
    return scale * x
