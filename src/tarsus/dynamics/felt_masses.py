"""The mass that a contact feels: what a push at a point has to move."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import crba, jacobian, rnea
from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Candidate, Mechanism

Array = NDArray[np.float64]


def least_masses(
    mechanism: Mechanism, poses: Array, candidates: Sequence[Candidate], dt: float
) -> Array:
    """Of each candidate's center at each of the poses (k, nq), the mass felt in the direction in
    which it is least, kg, (k, n): 1 over the largest eigenvalue of J A^-1 J^T, A = M + dt D.

    D is the joints' damping, which a step takes at its end: it resists a push within dt, s.
    """
    # A and every J as functions of the pose
    q = SX.sym("q", mechanism.nq)
    kin = kinematics(mechanism, q)
    damping = np.zeros(mechanism.nu)
    for body, where in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        damping[where] = body.joint.damping
    A = crba.mass_matrix(kin, rnea.body_inertias(mechanism)) + dt * ca.diag(ca.DM(damping))
    points = [
        jacobian.dense(
            jacobian.point_jacobian(kin, candidate.body, SX(ca.DM(candidate.position))),
            mechanism.nu,
        )
        for candidate in candidates
    ]
    felt = ca.Function("felt", [q], [ca.densify(A), ca.densify(ca.vertcat(*points))])
    # pose by pose
    found = []
    for pose in poses:
        inertia, rows = (np.array(part, float) for part in felt(pose))
        turned = rows @ np.linalg.solve(inertia, rows.T)
        blocks = [turned[k : k + 3, k : k + 3] for k in range(0, len(turned), 3)]
        found.append([1 / np.linalg.eigvalsh(block).max() for block in blocks])
    return np.array(found)
