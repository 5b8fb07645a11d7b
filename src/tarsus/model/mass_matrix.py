"""Mass matrix of a mechanism in NumPy, for checks on loading (Featherstone 2008)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import WORLD, Body, Inertia, Mechanism

Array = NDArray[np.float64]


def mass_matrix(mechanism: Mechanism, q: Array) -> Array:
    """Compute the mass matrix M(q), shape (nu, nu): the sum of J^T I J, plus armatures.

    Parameters
    ----------
    mechanism
        A robot.
    q
        Coordinates, shape (nq,).
    """
    M = np.diag([b.joint.armature for b in mechanism.bodies for _ in range(b.joint.nu)]).astype(
        float
    )
    jacobians: list[Array] = []  # of each body, in its frame: angular velocity, then linear
    slices = zip(mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True)
    for body, q_slice, u_slice in slices:
        rotation, shift, motion = _joint(body, q[q_slice])
        jacobian = np.zeros((6, mechanism.nu))
        if body.parent != WORLD:
            parent = jacobians[body.parent]
            jacobian[:3] = rotation.T @ parent[:3]
            jacobian[3:] = rotation.T @ (parent[3:] - np.cross(shift, parent[:3].T).T)
        jacobian[:, u_slice] += motion
        jacobians.append(jacobian)
        M += jacobian.T @ _spatial(body.inertia) @ jacobian
    return M


def _joint(body: Body, q: Array) -> tuple[Array, Array, Array]:
    """Compute a body's rotation and position in its parent, and its joint's motion subspace.

    The shapes are (3, 3), (3,) and (6, nu).
    """
    joint, turn, shift = body.joint, np.eye(3), np.zeros(3)
    motion = np.zeros((6, joint.nu))
    if joint.kind in ("free", "ball"):
        skew = _build_skew(q[-3:])
        turn = np.eye(3) + 2 * q[-4] * skew + 2 * skew @ skew
        motion[:3, -3:] = np.eye(3)
    if joint.kind == "free":
        shift, motion[3:, :3] = q[:3], turn.T @ body.rotation.T
    if joint.kind == "hinge":
        skew = _build_skew(joint.axis)
        turn = np.eye(3) + np.sin(q[0]) * skew + (1 - np.cos(q[0])) * skew @ skew
        motion[:3, 0] = joint.axis
    if joint.kind == "slide":
        shift, motion[3:, 0] = q[0] * joint.axis, joint.axis
    return body.rotation @ turn, body.position + body.rotation @ shift, motion


def _build_skew(v: Array) -> Array:
    """Build the matrix of the cross product with v."""
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _spatial(inertia: Inertia) -> Array:
    """Compute the spatial inertia, shape (6, 6), about the body's origin."""
    c, m = _build_skew(inertia.com), inertia.mass
    return np.block([[inertia.about_com - m * c @ c, m * c], [-m * c, m * np.eye(3)]])
