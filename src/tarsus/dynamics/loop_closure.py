"""Coordinates that close the loops, nearest to those given: Newton's method on g_B(q) = 0.

Each step moves along du = -(W_B^T)^+ g_B, the shortest that closes the loops to first order
(Nocedal and Wright 2006, section 11.1), redundant rows or not.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import loop_constraints
from tarsus.dynamics.integrate import integrated
from tarsus.dynamics.kinematics import kinematics
from tarsus.errors import UnmetCondition
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]
CLOSED = 1e-12  # m or rad: nothing is left to do
STEPS = 100
ASIDE = (
    0.0,
    0.01,
    0.1,
    0.5,
)  # m or rad: Newton's starts, aside from a stretched leg from which no step leads
LONGEST = 0.3  # m or rad: no joint moves further in one Newton step
FLAT = 1e-6  # of the largest: smaller singular values of W_B^T are those of redundant rows
ROUNDED = 1e-7  # m or rad: by so much the digits of a file leave redundant rows open


def gaps(mechanism: Mechanism, q: Array) -> Array:
    """g_B (nb,), or (N, nb) for q (N, nq): how far each constraint is from being met, m or rad."""
    q = np.asarray(q, float)
    return np.array(_seen(mechanism)(q.T)[0]).T.reshape(
        *q.shape[:-1], loop_constraints.count(mechanism)
    )


def widest(mechanism: Mechanism, q: Array) -> tuple[float, str]:
    """The largest gap (m or rad) over all coordinates (nq,) or (N, nq), and its joint's name."""
    apart = np.abs(np.atleast_2d(gaps(mechanism, q))).max(0, initial=0.0)
    if not apart.size:
        return 0.0, ""
    owners = [
        loop.joint.name
        for loop in mechanism.loops
        for _ in range(loop_constraints.ROWS[loop.joint.kind])
    ]
    owners += [coupling.joint for coupling in mechanism.couplings]
    return float(apart.max()), owners[int(apart.argmax())]


def closed(mechanism: Mechanism, q: Array) -> Array:
    """Coordinates nearest to q, (nq,) or (N, nq), that close every loop; free joints move last, and
    joints that follow others go where these lead them.

    TarsusError with the gap that is left if there are none near, or only with a joint turned the
    wrong way round.
    """
    given = np.array(q, float)
    rows = [_closed(mechanism, row) for row in given.reshape(-1, mechanism.nq)]
    return np.reshape(rows, given.shape)


def _closed(mechanism: Mechanism, q: Array) -> Array:
    q = following(mechanism, q)
    if _left(mechanism, q)[0] < CLOSED:
        return _the_right_way_round(mechanism, q)
    joints, everything = np.ones(mechanism.nu), np.ones(mechanism.nu)
    for body, at in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        joints[at] = body.joint.kind != "free"
    aside = np.random.default_rng(0).normal(size=mechanism.nu)
    starts = ((movable, scale) for movable in (joints, everything) for scale in ASIDE)
    found, left, name = q, *_left(mechanism, q)
    while left > CLOSED and (start := next(starts, None)):
        tried = _newton(mechanism, integrated(mechanism, q, aside * start[0], start[1]), start[0])
        found, (left, name) = min(
            (found, (left, name)), (tried, _left(mechanism, tried)), key=lambda each: each[1]
        )
    if left > CLOSED:
        raise UnmetCondition(
            f"{mechanism.name!r}: the loops cannot be closed near the given coordinates: joint"
            f" {name!r} stays open by {left:.3g} m or rad.",
            name,
        )
    return _the_right_way_round(mechanism, found)


def _left(mechanism: Mechanism, q: Array) -> tuple[float, str]:
    """The largest gap as far as joints can close it, and the name of the joint with the largest."""
    g, W, _ = (np.array(part) for part in _seen(mechanism)(q))
    return _closable(g[:, 0], W), widest(mechanism, q)[1]


def _closable(g: Array, W: Array) -> float:
    """The largest of gaps g (nb,), or where all are as small as `ROUNDED` of what joints can close:
    hinges of a planar loop that are parallel but for a file's digits never close it across.
    """
    apart = float(np.abs(g).max(initial=0.0))
    if not CLOSED < apart < ROUNDED:
        return apart
    U, sizes, _ = np.linalg.svd(W, full_matrices=False)
    U = U[:, sizes > FLAT * sizes.max()]
    return float(np.abs(U @ (U.T @ g)).max())


def following(mechanism: Mechanism, q: Array) -> Array:
    """Coordinates (nq,) with every joint that follows another where that leads it."""
    q, places = (
        np.array(q, float),
        dict(zip(mechanism.joint_names, mechanism.q_slices, strict=True)),
    )
    for _ in mechanism.couplings:  # each may lead another
        for coupling in mechanism.couplings:
            x = float(q[places[coupling.leader].start]) if coupling.leader else 0.0
            q[places[coupling.joint].start] = coupling.at(x)
    return q


def _newton(mechanism: Mechanism, q: Array, movable: Array) -> Array:
    """The best coordinates (nq,) found with the velocities where `movable` (nu,) is 1."""
    best, least = q, np.inf
    for _ in range(STEPS):
        g, W, _ = (np.array(part) for part in _seen(mechanism)(q))
        apart = _closable(g[:, 0], W)
        if apart < least:
            best, least = q, apart
        if apart < 0.01 * CLOSED:
            break
        move = -np.linalg.pinv(W * movable, rcond=FLAT) @ g[:, 0]
        move *= LONGEST / max(float(np.abs(move).max()), LONGEST)
        q = integrated(mechanism, q, move, 1.0)
    return best


def _the_right_way_round(mechanism: Mechanism, q: Array) -> Array:
    """q itself; TarsusError if a hinge's or slide's two halves point in opposite directions."""
    alike = np.array(_seen(mechanism)(q)[2])[:, 0]
    for loop, cosine in zip(mechanism.loops, alike, strict=True):
        if cosine < 0:
            raise UnmetCondition(
                f"{mechanism.name!r}: loop joint {loop.joint.name!r} closes only with its two axes"
                " in opposite directions: check its rotation and axis, or start closer.",
                loop.joint.name,
            )
    return q


@cache
def _seen(mechanism: Mechanism) -> ca.Function:
    """From q: g_B (nb,), W_B^T (nb, nu), and of each loop joint the cosine between its halves."""
    q = SX.sym("q", mechanism.nq)
    kin = kinematics(mechanism, q)
    rows = [ca.horzcat(*row) for row in loop_constraints.directions(kin)]
    W = ca.vertcat(SX(0, mechanism.nu), *rows)
    alike = ca.vertcat(SX(0, 1), *loop_constraints.facing(kin))
    return ca.Function("loops", [q], [loop_constraints.gaps(kin), ca.densify(W), alike])
