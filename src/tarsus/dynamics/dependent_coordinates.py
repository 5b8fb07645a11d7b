"""Coordinates that are functions of q and may have limits: of loop joints, tendons, ball joints.

They are numbered: first the joints that close loops, then the lengths of tendons, then the angles
by which ball joints with limits are turned.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics import coordinates, loop_constraints, tendons
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.loop_constraints import Row
from tarsus.dynamics.springs import MIN_SQUARED_SINE
from tarsus.model.mechanism import Mechanism


def names(mechanism: Mechanism) -> list[str]:
    """List the names of the joints and tendons."""
    loops = [loop.joint.name for loop in mechanism.loops]
    tendon_names = [tendon.name for tendon in mechanism.tendons]
    return loops + tendon_names + [mechanism.joint_names[i] for i in _limited_balls(mechanism)]


def limits(mechanism: Mechanism) -> list[tuple[float, float]]:
    """List the ranges, in rad or m."""
    joints = [loop.joint for loop in mechanism.loops]
    balls = [mechanism.bodies[i].joint for i in _limited_balls(mechanism)]
    parts = [*joints, *mechanism.tendons, *balls]
    return [(part.lower, part.upper) for part in parts]


def rate_rows(kin: Kinematics) -> list[Row]:
    """Compute the rows w (nu,) with w . u the rates, in rad/s or m/s."""
    rows = [tendons.rate_row(kin, tendon) for tendon in kin.mechanism.tendons]
    rows += [_rotation(kin, i)[1] for i in _limited_balls(kin.mechanism)]
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
    m = kin.mechanism
    loops = {k: center for k, center in centers.items() if k < len(m.loops)}
    values = dict(zip(loops, coordinates.loop_positions(kin, loops), strict=True))
    first_ball = len(m.loops) + len(m.tendons)
    for k in centers:
        if k >= first_ball:
            values[k] = _rotation(kin, _limited_balls(m)[k - first_ball])[0]
        elif k not in loops:
            values[k] = tendons.length(kin, m.tendons[k - len(m.loops)])
    return [values[k] for k in centers]


@cache
def position_function(mechanism: Mechanism, centers: tuple[tuple[int, float], ...]) -> ca.Function:
    """Build `positions` as a function of columns q."""
    q = SX.sym("q", mechanism.nq)
    values = positions(kinematics(mechanism, q), dict(centers))
    return ca.Function("dependent", [q], [ca.vertcat(SX(0, 1), *values)])


def _limited_balls(mechanism: Mechanism) -> list[int]:
    """Find the bodies on ball joints whose angle of rotation has a limit."""
    joints = [body.joint for body in mechanism.bodies]
    return [i for i, joint in enumerate(joints) if joint.kind == "ball" and joint.upper < np.pi]


def _rotation(kin: Kinematics, body: int) -> tuple[SX, SX]:
    """Compute the angle of rotation of a ball joint, 0 to pi, and its row (nu,), along the axis."""
    p, row = kin.q[kin.mechanism.q_slices[body]], SX(kin.mechanism.nu, 1)
    sine = ca.sqrt(ca.fmax(ca.sumsqr(p[1:]), MIN_SQUARED_SINE))
    row[kin.mechanism.u_slices[body]] = ca.if_else(p[0] < 0, -1, 1) * p[1:] / sine
    return 2 * ca.atan2(sine, ca.fabs(p[0])), row
