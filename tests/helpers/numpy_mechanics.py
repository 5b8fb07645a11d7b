"""Kinematics and mass matrix of a mechanism in plain NumPy, by Jacobians: short and slow, for
tests only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tarsus.model.mechanism import WORLD, Mechanism

Array = NDArray[np.float64]


def poses(mechanism: Mechanism, q: Array) -> list[tuple[Array, Array]]:
    """World position (3,) and rotation (3, 3) of every body's frame at q (nq,)."""
    found: list[tuple[Array, Array]] = []
    for body, where in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        x, R = (np.zeros(3), np.eye(3)) if body.parent == WORLD else found[body.parent]
        x, R, at = x + R @ body.position, R @ body.rotation, q[where]
        kind, axis = body.joint.kind, body.joint.axis
        if kind == "free":
            x, R = x + R @ at[:3], R @ quaternion(at[3:])
        elif kind == "ball":
            R = R @ quaternion(at)
        elif kind == "hinge":
            R = R @ Rotation.from_rotvec(axis * at[0]).as_matrix()
        else:
            x = x + R @ axis * at[0]
        found.append((x, R))
    return found


def quaternion(p: Array) -> Array:
    """Rotation matrix of (w, x, y, z)."""
    return Rotation.from_quat(p, scalar_first=True).as_matrix()


Poses = list[tuple[Array, Array]]


def jacobian(mechanism: Mechanism, placed: Poses, body: int, point: Array) -> tuple[Array, Array]:
    """(3, nu) Jacobians of the world velocity of a point (3,) of a body and of its world angular
    velocity.
    """
    p = placed[body][0] + placed[body][1] @ point
    linear, angular = np.zeros((3, mechanism.nu)), np.zeros((3, mechanism.nu))
    at = body
    while at != WORLD:
        joint, where = mechanism.bodies[at].joint, mechanism.u_slices[at]
        x, R = placed[at]
        turning = {"free": R, "ball": R, "hinge": (R @ joint.axis)[:, None], "slide": None}[
            joint.kind
        ]
        if joint.kind == "free":
            linear[:, where.start : where.start + 3] = np.eye(3)
        if joint.kind == "slide":
            linear[:, where] = (R @ joint.axis)[:, None]
        if turning is not None:
            columns = slice(where.stop - turning.shape[1], where.stop)
            angular[:, columns] = turning
            linear[:, columns] = np.cross(turning.T, p - x).T
        at = mechanism.bodies[at].parent
    return linear, angular


def mass_matrix(mechanism: Mechanism, q: Array) -> Array:
    """M(q) (nu, nu) = sum of m J^T J + W^T I W, plus the armatures."""
    armature = [body.joint.armature for body in mechanism.bodies for _ in range(body.joint.nu)]
    M = np.diag(armature).astype(float)
    placed = poses(mechanism, q)
    for number, (body, (_, R)) in enumerate(zip(mechanism.bodies, placed, strict=True)):
        linear, angular = jacobian(mechanism, placed, number, body.inertia.com)
        M += body.inertia.mass * linear.T @ linear
        M += angular.T @ R @ body.inertia.about_com @ R.T @ angular
    return M


def center_of_mass(mechanism: Mechanism, q: Array) -> Array:
    """World position (3,) of the whole mechanism's center of mass."""
    placed = poses(mechanism, q)
    moments = [
        body.inertia.mass * (x + R @ body.inertia.com)
        for body, (x, R) in zip(mechanism.bodies, placed, strict=True)
    ]
    return np.sum(moments, axis=0) / mechanism.mass


def random_state(mechanism: Mechanism, seed: int) -> tuple[Array, Array]:
    """Coordinates (nq,) with unit quaternions and velocities (nu,), all of order one."""
    random = np.random.default_rng(seed)
    q = random.uniform(-1.0, 1.0, mechanism.nq)
    for body, where in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        if body.joint.kind in ("free", "ball"):
            q[where.stop - 4 : where.stop] /= np.linalg.norm(q[where.stop - 4 : where.stop])
    return q, random.uniform(-1.0, 1.0, mechanism.nu)
