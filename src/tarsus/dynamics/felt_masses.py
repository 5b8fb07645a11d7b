"""The mass that a contact feels: what a push at a point has to move."""

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


def least_masses(
    mechanism: Mechanism, poses: Array, candidates: Sequence[Candidate], dt: float
) -> Array:
    """Of each candidate's center at each of the poses (k, nq), the mass felt in the direction in
    which it is least, kg, (k, n): 1 over the largest eigenvalue of its block (`felt_blocks`).
    """
    return 1 / np.linalg.eigvalsh(felt_blocks(mechanism, poses, candidates, dt))[..., -1]


def felt_blocks(
    mechanism: Mechanism, poses: Array, candidates: Sequence[Candidate], dt: float = 0.0
) -> Array:
    """J A^-1 J^T of each candidate's center at each of the poses (k, nq), world axes, 1/kg,
    (k, n, 3, 3): the velocity that the center takes from an impulse on itself.

    A = M + dt D with the joints' damping D, which a step of dt, s, takes at its end: it resists a
    push within the step. Joints that close loops hold (`mobility`).
    """
    # M, W and every J as functions of the pose
    q = SX.sym("q", mechanism.nq)
    kin = kinematics(mechanism, q)
    points = [
        jacobian.dense(
            jacobian.point_jacobian(kin, candidate.body, SX(candidate.position)), mechanism.nu
        )
        for candidate in candidates
    ]
    felt = ca.Function("felt", [q], [ca.densify(part) for part in (*held_inertia(kin), *points)])
    # the joints' damping
    damping = np.zeros(mechanism.nu)
    for body, where in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        damping[where] = body.joint.damping
    # pose by pose
    blocks = np.zeros((len(poses), len(candidates), 3, 3))
    for pose, found in zip(poses, blocks, strict=True):
        M, W, *jacobians = (np.array(part) for part in felt(pose))
        held = mobility(M + dt * np.diag(damping), W)
        for block, J in zip(found, jacobians, strict=True):
            block[:] = J @ held @ J.T
    return blocks


def held_inertia(kin: Kinematics) -> tuple[SX, SX]:
    """M (nu, nu), with the rotors of joints that close loops, and the directions W (m, nu) in which
    those hold.
    """
    mechanism = kin.mechanism
    M, W = crba.mass_matrix(kin, rnea.body_inertias(mechanism)), SX(0, mechanism.nu)
    if mechanism.loops:
        for loop, row in zip(mechanism.loops, loop_constraints.freedoms(kin), strict=True):
            way = ca.vertcat(*row)
            M += loop.joint.armature * ca.mtimes(way, way.T)
    if mechanism.constrained:
        W = ca.vertcat(*(ca.horzcat(*row) for row in loop_constraints.directions(kin)))
    return M, W


def mobility(A: Array, W: Array) -> NDArray[Any]:
    """A^-1 (nu, nu) where W (m, nu) holds: A^-1 - A^-1 W^T G^+ W A^-1, G = W A^-1 W^T."""
    if not len(W):
        return np.linalg.inv(A)
    answer = np.linalg.solve(A, W.T)
    return np.linalg.inv(A) - answer @ np.linalg.pinv(W @ answer, rcond=1e-9) @ answer.T
