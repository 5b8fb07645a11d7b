"""Find the nearest coordinates that close all loops, by Newton's method on g_B(q) = 0.

Each step is du = -(W_B^T)^+ g_B, the shortest one that closes the loops to first order. The
pseudo-inverse allows redundant rows.

References
----------
Nocedal and Wright 2006, section 11.1.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import loop_constraints
from tarsus.dynamics.integrate import integrate
from tarsus.dynamics.kinematics import kinematics
from tarsus.errors import UnmetCondition
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]
GAP_TOLERANCE = 1e-12  # m or rad
MAX_ITERATIONS = 100
# Perturbations of the start, m or rad: at a singular posture, such as a stretched leg, no Newton
# step exists.
START_OFFSETS = (0.0, 0.01, 0.1, 0.5)
MAX_STEP = 0.3  # m or rad; no joint moves further in one Newton step
RANK_TOLERANCE = 1e-6  # smaller singular values of W_B^T, relative to the largest, count as zero
FILE_ROUND_OFF = 1e-7  # m or rad; gaps that the rounded numbers of a file leave in redundant rows


def gaps(mechanism: Mechanism, q: Array) -> Array:
    """Compute the gap g_B of each constraint.

    Parameters
    ----------
    mechanism
        Mechanism with `loops` and `couplings`.
    q
        Coordinates, shape (nq,) or (N, nq).

    Returns
    -------
    Array
        Gaps, shape (nb,) or (N, nb), in m or rad.
    """
    q = np.asarray(q, float)
    return np.array(_build_constraint_function(mechanism)(q.T)[0]).T.reshape(
        *q.shape[:-1], loop_constraints.count_constraints(mechanism)
    )


def largest_gap(mechanism: Mechanism, q: Array) -> tuple[float, str]:
    """Find the largest gap over all coordinates, and the name of its joint.

    Parameters
    ----------
    mechanism
        Mechanism with `loops` and `couplings`.
    q
        Coordinates, shape (nq,) or (N, nq).

    Returns
    -------
    gap : float
        Largest absolute gap, in m or rad.
    name : str
        Joint with that gap; empty if the mechanism has no constraints.
    """
    sizes = np.abs(np.atleast_2d(gaps(mechanism, q))).max(0, initial=0.0)
    if not sizes.size:
        return 0.0, ""
    owners = [
        loop.joint.name
        for loop in mechanism.loops
        for _ in range(loop_constraints.ROWS[loop.joint.kind])
    ]
    owners += [coupling.joint for coupling in mechanism.couplings]
    return float(sizes.max()), owners[int(sizes.argmax())]


def close_loops(mechanism: Mechanism, q: Array) -> Array:
    """Find the coordinates nearest to q that close every loop.

    Free joints move only if the other joints cannot close the loops. Mimic joints take the values
    given by their leaders.

    Parameters
    ----------
    mechanism
        Mechanism with `loops` and `couplings`.
    q
        Coordinates, shape (nq,) or (N, nq).

    Returns
    -------
    Array
        Coordinates with closed loops, of the same shape.

    Raises
    ------
    UnmetCondition
        If no nearby coordinates close the loops, or only with a joint the wrong way round.
    """
    states = np.array(q, float)
    rows = [_close_state(mechanism, row) for row in states.reshape(-1, mechanism.nq)]
    return np.reshape(rows, states.shape)


def _close_state(mechanism: Mechanism, q: Array) -> Array:
    q = apply_couplings(mechanism, q)
    if _find_remaining_gap(mechanism, q)[0] < GAP_TOLERANCE:
        return _check_alignment(mechanism, q)
    joints, everything = np.ones(mechanism.nu), np.ones(mechanism.nu)
    for body, u_slice in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        joints[u_slice] = body.joint.kind != "free"
    offset = np.random.default_rng(0).normal(size=mechanism.nu)
    starts = ((movable, scale) for movable in (joints, everything) for scale in START_OFFSETS)
    best, gap, name = q, *_find_remaining_gap(mechanism, q)
    while gap > GAP_TOLERANCE and (start := next(starts, None)):
        movable, scale = start
        result = _iterate_newton(
            mechanism, integrate(mechanism, q, offset * movable, scale), movable
        )
        best, (gap, name) = min(
            (best, (gap, name)),
            (result, _find_remaining_gap(mechanism, result)),
            key=lambda each: each[1],
        )
    if gap > GAP_TOLERANCE:
        raise UnmetCondition(
            f"{mechanism.name!r}: the loops cannot be closed near the given coordinates: joint"
            f" {name!r} stays open by {gap:.3g} m or rad.",
            name,
        )
    return _check_alignment(mechanism, best)


def _find_remaining_gap(mechanism: Mechanism, q: Array) -> tuple[float, str]:
    """Find the largest gap that joints can close, and the name of the joint with the largest."""
    g, W, _ = (np.array(value) for value in _build_constraint_function(mechanism)(q))
    return _find_closable_gap(g[:, 0], W), largest_gap(mechanism, q)[1]


def _find_closable_gap(g: Array, W: Array) -> float:
    """Find the largest of the gaps g (nb,) that is not due to round-off in the file.

    Hinges of a planar loop that are parallel only up to the digits of a file never close it in the
    direction across the plane. If all gaps are below `FILE_ROUND_OFF`, only the range of W counts.
    """
    gap = float(np.abs(g).max(initial=0.0))
    if not GAP_TOLERANCE < gap < FILE_ROUND_OFF:
        return gap
    U, sizes, _ = np.linalg.svd(W, full_matrices=False)
    U = U[:, sizes > RANK_TOLERANCE * sizes.max()]
    return float(np.abs(U @ (U.T @ g)).max())


def apply_couplings(mechanism: Mechanism, q: Array) -> Array:
    """Set every mimic joint in coordinates (nq,) to the value given by its leaders."""
    q = np.array(q, float)
    slices = dict(zip(mechanism.joint_names, mechanism.q_slices, strict=True))
    for _ in mechanism.couplings:  # a mimic joint may lead another
        for coupling in mechanism.couplings:
            values = (
                leader.at(float(q[slices[leader.joint].start])) for leader in coupling.leaders
            )
            q[slices[coupling.joint].start] = sum(values, coupling.constant)
    return q


def _iterate_newton(mechanism: Mechanism, q: Array, movable: Array) -> Array:
    """Move the velocities with `movable` (nu,) 1; return the best coordinates (nq,) reached."""
    best, smallest = q, np.inf
    for _ in range(MAX_ITERATIONS):
        g, W, _ = (np.array(value) for value in _build_constraint_function(mechanism)(q))
        gap = _find_closable_gap(g[:, 0], W)
        if gap < smallest:
            best, smallest = q, gap
        if gap < 0.01 * GAP_TOLERANCE:
            break
        step = -np.linalg.pinv(W * movable, rcond=RANK_TOLERANCE) @ g[:, 0]
        step *= MAX_STEP / max(float(np.abs(step).max()), MAX_STEP)
        q = integrate(mechanism, q, step, 1.0)
    return best


def _check_alignment(mechanism: Mechanism, q: Array) -> Array:
    """Check q; raise UnmetCondition if the two sides of a joint point in opposite directions."""
    cosines = np.array(_build_constraint_function(mechanism)(q)[2])[:, 0]
    for loop, cosine in zip(mechanism.loops, cosines, strict=True):
        if cosine < 0:
            raise UnmetCondition(
                f"{mechanism.name!r}: loop joint {loop.joint.name!r} closes only with its two axes"
                " in opposite directions: check its rotation and axis, or start closer.",
                loop.joint.name,
            )
    return q


@cache
def _build_constraint_function(mechanism: Mechanism) -> ca.Function:
    """Build a function of q: g_B (nb,), W_B^T (nb, nu) and the alignment of each loop joint."""
    q = SX.sym("q", mechanism.nq)
    kin = kinematics(mechanism, q)
    rows = [ca.horzcat(*row) for row in loop_constraints.directions(kin)]
    W = ca.vertcat(SX(0, mechanism.nu), *rows)
    cosines = ca.vertcat(SX(0, 1), *loop_constraints.alignments(kin))
    return ca.Function("loops", [q], [loop_constraints.gaps(kin), ca.densify(W), cosines])
