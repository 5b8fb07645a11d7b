"""Coordinates that are functions of q and may have limits: of loop joints, and lengths of tendons.

They are numbered: first the joints that close loops, then the tendons.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import casadi as ca
from casadi import SX

from tarsus.dynamics import coordinates, loop_constraints, tendons
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.loop_constraints import Row
from tarsus.model.mechanism import Mechanism


def names(mechanism: Mechanism) -> list[str]:
    """List the names of the joints and tendons."""
    loops = [loop.joint.name for loop in mechanism.loops]
    return loops + [tendon.name for tendon in mechanism.tendons]


def limits(mechanism: Mechanism) -> list[tuple[float, float]]:
    """List the ranges, in rad or m."""
    loops = [(loop.joint.lower, loop.joint.upper) for loop in mechanism.loops]
    return loops + [(tendon.lower, tendon.upper) for tendon in mechanism.tendons]


def rate_rows(kin: Kinematics) -> list[Row]:
    """Compute the rows w (nu,) with w . u the rates, in rad/s or m/s."""
    rows = [tendons.rate_row(kin, tendon) for tendon in kin.mechanism.tendons]
    return loop_constraints.rate_rows(kin) + [loop_constraints.row_entries(row.T) for row in rows]


def positions(kin: Kinematics, centers: Mapping[int, float]) -> list[SX]:
    """Compute the coordinates with the given numbers, in rad or m.

    Parameters
    ----------
    kin
        Kinematics at q.
    centers
        For each number the angle within half a turn of which the angle of a loop joint is given.
    """
    loops = {k: center for k, center in centers.items() if k < len(kin.mechanism.loops)}
    values = dict(zip(loops, coordinates.loop_positions(kin, loops), strict=True))
    for k in centers:
        if k not in loops:
            values[k] = tendons.length(kin, kin.mechanism.tendons[k - len(kin.mechanism.loops)])
    return [values[k] for k in centers]


@cache
def position_function(mechanism: Mechanism, centers: tuple[tuple[int, float], ...]) -> ca.Function:
    """Build `positions` as a function of columns q."""
    q = SX.sym("q", mechanism.nq)
    values = positions(kinematics(mechanism, q), dict(centers))
    return ca.Function("dependent", [q], [ca.vertcat(SX(0, 1), *values)])
