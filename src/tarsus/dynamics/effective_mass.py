"""Effective mass at contacts: the inertia that an impulse at a point has to move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import crba, jacobian, loop_constraints, rnea
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import Candidate, Mechanism

Array = NDArray[np.float64]


def min_effective_masses(
    mechanism: Mechanism, poses: Array, candidates: Sequence[Candidate], dt: float
) -> Array:
    """Compute the smallest effective mass over all directions, at each candidate's center.

    It is the reciprocal of the largest eigenvalue of `contact_mobilities`.

    Parameters
    ----------
    mechanism
        Mechanism with `candidates`.
    poses
        Coordinates, shape (k, nq).
    candidates
        Contact candidates, n of them.
    dt
        Step size in s, by which joint damping adds to the inertia.

    Returns
    -------
    Array
        Masses in kg, shape (k, n).
    """
    return 1 / np.linalg.eigvalsh(contact_mobilities(mechanism, poses, candidates, dt))[..., -1]


def contact_mobilities(
    mechanism: Mechanism, poses: Array, candidates: Sequence[Candidate], dt: float = 0.0
) -> Array:
    """Compute J A^-1 J^T at each candidate's center: its velocity per impulse on itself.

    A = M + dt D with the damping D of the joints, which a step evaluates at its end. Loop joints
    are locked (`mobility`).

    Parameters
    ----------
    mechanism
        Mechanism with `candidates`.
    poses
        Coordinates, shape (k, nq).
    candidates
        Contact candidates, n of them.
    dt
        Step size in s.

    Returns
    -------
    Array
        Blocks in 1/kg, shape (k, n, 3, 3), world axes.
    """
    # M, W and every J as functions of the coordinates
    q = SX.sym("q", mechanism.nq)
    kin = kinematics(mechanism, q)
    points = [
        jacobian.dense(
            jacobian.point_jacobian(kin, candidate.body, SX(candidate.position)), mechanism.nu
        )
        for candidate in candidates
    ]
    matrices = (*inertia_and_constraints(kin), *points)
    evaluate = ca.Function("felt", [q], [ca.densify(matrix) for matrix in matrices])
    # the joints' damping
    damping = np.zeros(mechanism.nu)
    for body, u_slice in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        damping[u_slice] = body.joint.damping
    # pose by pose
    blocks = np.zeros((len(poses), len(candidates), 3, 3))
    for pose, of_pose in zip(poses, blocks, strict=True):
        M, W, *jacobians = (np.array(matrix) for matrix in evaluate(pose))
        inverse = mobility(M + dt * np.diag(damping), W)
        for block, J in zip(of_pose, jacobians, strict=True):
            block[:] = J @ inverse @ J.T
    return blocks


def inertia_and_constraints(kin: Kinematics) -> tuple[SX, SX]:
    """Compute M (nu, nu), with the rotors of loop joints, and the constraint rows W (m, nu)."""
    mechanism = kin.mechanism
    M, W = crba.mass_matrix(kin, rnea.body_inertias(mechanism)), SX(0, mechanism.nu)
    if mechanism.loops:
        for loop, row in zip(mechanism.loops, loop_constraints.rate_rows(kin), strict=True):
            w = ca.vertcat(*row)
            M += loop.joint.armature * ca.mtimes(w, w.T)
    if mechanism.constrained:
        W = ca.vertcat(*(ca.horzcat(*row) for row in loop_constraints.directions(kin)))
    return M, W


def mobility(A: Array, W: Array) -> NDArray[Any]:
    """Compute A^-1 - A^-1 W^T G^+ W A^-1, with G = W A^-1 W^T: the inverse of A under W u = 0."""
    if not len(W):
        return np.linalg.inv(A)
    response = np.linalg.solve(A, W.T)
    return np.linalg.inv(A) - response @ np.linalg.pinv(W @ response, rcond=1e-9) @ response.T
