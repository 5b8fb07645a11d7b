"""Jacobians along support paths, carried from the body up to the world.

Teixeira de Paula 2024, Alg. 6.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.dynamics.kinematics import Kinematics
from tarsus.spatial.rotation import constant, skew

Columns = dict[int, SX]  # velocity index -> column (3,)


def position(kin: Kinematics, body: int, point: SX) -> SX:
    """Compute the world position (3,) of a point (3,) in the body's frame, in m."""
    for i in tree.support_path(kin.mechanism, body):
        point = kin.r[i] + ca.mtimes(kin.R[i], point)
    return point


def numeric_position(kin: Kinematics, body: int, point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute `position` as numbers (3,), in m, for kinematics at numeric coordinates."""
    return np.array(DM(position(kin, body, SX(point)))).ravel()


def joint_axis(kin: Kinematics, body: int) -> NDArray[np.float64]:
    """Compute the world axis (3,) of a body's hinge, for kinematics at numeric coordinates."""
    return np.array(DM(kin.world_rotation[body])) @ kin.mechanism.bodies[body].joint.axis


def direction_in_body(kin: Kinematics, body: int, direction: SX) -> SX:
    """Compute a world direction (3,) in the body's frame, rotated along the support path."""
    for i in reversed(tree.support_path(kin.mechanism, body)):
        direction = ca.mtimes(kin.R[i].T, direction)
    return direction


def direction_in_world(kin: Kinematics, body: int, direction: SX) -> SX:
    """Rotate a direction (3,) of the body's frame to world axes."""
    for i in tree.support_path(kin.mechanism, body):
        direction = ca.mtimes(kin.R[i], direction)
    return direction


def point_jacobian(kin: Kinematics, body: int, point: SX) -> Columns:
    """Compute the nonzero columns of J, with J u the world velocity of a body's point (3,)."""
    mechanism, columns = kin.mechanism, Columns()
    for i in tree.support_path(mechanism, body):
        joint, first = mechanism.bodies[i].joint, mechanism.u_slices[i].start
        if joint.kind == "hinge":
            columns[first] = ca.cross(constant(joint.axis), point)
        elif joint.kind == "slide":
            columns[first] = constant(joint.axis)
        else:
            spin = -skew(point)
            offset = 3 if joint.kind == "free" else 0
            columns.update({first + offset + k: spin[:, k] for k in range(3)})
        columns = {k: ca.mtimes(kin.R[i], column) for k, column in columns.items()}
        if joint.kind == "free":
            columns.update({first + k: SX.eye(3)[:, k] for k in range(3)})
        point = kin.r[i] + ca.mtimes(kin.R[i], point)
    return columns


def angular_jacobian(kin: Kinematics, body: int) -> Columns:
    """Compute the nonzero columns of J, with J u the world angular velocity of the body."""
    mechanism, columns = kin.mechanism, Columns()
    for i in tree.support_path(mechanism, body):
        joint, first = mechanism.bodies[i].joint, mechanism.u_slices[i].start
        if joint.kind == "hinge":
            columns[first] = constant(joint.axis)
        elif joint.kind != "slide":
            offset = 3 if joint.kind == "free" else 0
            columns.update({first + offset + k: SX.eye(3)[:, k] for k in range(3)})
        columns = {k: ca.mtimes(kin.R[i], column) for k, column in columns.items()}
    return columns


def dense(columns: Columns, width: int) -> SX:
    """Expand columns to a (3, width) matrix with structural zeros elsewhere."""
    return ca.horzcat(*(columns.get(k, SX(3, 1)) for k in range(width)))
