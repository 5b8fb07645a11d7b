"""Convert states between a mechanism with cut joints and the mechanism before cutting."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import loop_constraints
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import WORLD, LoopJoint, Mechanism
from tarsus.model.poses import quaternion_from_rotation
from tarsus.spatial.quaternion import conjugate, product
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]


def uncut_state(mechanism: Mechanism, q: SX, u: SX) -> tuple[SX, SX]:
    """Convert the state to the mechanism before joints were cut; q and u if none were.

    The angle of a cut hinge is in (-pi, pi]. Drift, motion that the cut joint does not allow, is
    ignored.

    Parameters
    ----------
    mechanism
        Mechanism with cut joints.
    q, u
        Its coordinates (nq,) and velocities (nu,).

    Returns
    -------
    tuple of SX
        Coordinates and velocities of `mechanism.uncut`.
    """
    if mechanism.uncut is None:
        return q, u
    kin = kinematics(mechanism, q, u)
    cut = {loop.child: k for k, loop in enumerate(mechanism.loops)}
    orientations, rates = quaternions(kin), loop_constraints.rate_rows(kin)
    coordinates, velocities = [], []
    for i, body in enumerate(mechanism.uncut.bodies):
        if i not in cut or mechanism.bodies[i].joint.name == body.joint.name:
            coordinates.append(q[mechanism.q_slices[i]])
            velocities.append(u[mechanism.u_slices[i]])
            continue
        loop = mechanism.loops[cut[i]]
        coordinates.append(_displacement(kin, loop, orientations))
        row = ca.vertcat(*rates[cut[i]])
        velocities.append(
            _relative_omega(kin, loop) if loop.joint.kind == "ball" else ca.dot(row, u)
        )
    return ca.vertcat(*coordinates), ca.vertcat(*velocities)


def cut_state(mechanism: Mechanism, q: SX, u: SX) -> tuple[SX, SX]:
    """Convert a state of the mechanism before cutting to the one with cut joints.

    Parameters
    ----------
    mechanism
        Mechanism with cut joints.
    q, u
        Coordinates and velocities of `mechanism.uncut`.

    Returns
    -------
    tuple of SX
        Coordinates (nq,) and velocities (nu,) of `mechanism`.
    """
    uncut = mechanism.uncut
    if uncut is None:
        return q, u
    kin = kinematics(uncut, q, u)
    orientations = quaternions(kin)
    coordinates, velocities = [], []
    for i, (body, before) in enumerate(zip(mechanism.bodies, uncut.bodies, strict=True)):
        if body.joint.name == before.joint.name:
            coordinates.append(kin.q[uncut.q_slices[i]])
            velocities.append(kin.u[uncut.u_slices[i]])
            continue
        shift = constant(before.inertia.com - body.inertia.com)
        R = kin.world_rotation[i]
        coordinates += [kin.world_position[i] + ca.mtimes(R, shift), orientations[i]]
        velocity = ca.mtimes(R, kin.velocity[i] + ca.cross(kin.omega[i], shift))
        velocities += [velocity, kin.omega[i]]
    return ca.vertcat(*coordinates), ca.vertcat(*velocities)


def to_cut(mechanism: Mechanism, q: Array, u: Array | None = None) -> tuple[Array, Array]:
    """Evaluate `cut_state` at one state or N states; u is zero by default."""
    return _evaluate(mechanism, "cut", mechanism.uncut or mechanism, q, u)


def to_uncut(mechanism: Mechanism, q: Array, u: Array | None = None) -> tuple[Array, Array]:
    """Evaluate `uncut_state` at one state or N states; u is zero by default."""
    return _evaluate(mechanism, "uncut", mechanism, q, u)


def _evaluate(
    mechanism: Mechanism, to: str, source: Mechanism, q: Array, u: Array | None
) -> tuple[Array, Array]:
    q = np.asarray(q, float)
    u = np.broadcast_to(
        np.zeros(source.nu) if u is None else np.asarray(u, float), (*q.shape[:-1], source.nu)
    )
    converted = _build_conversion_function(mechanism, to)(q.T, u.T)
    q_new, u_new = (np.array(columns).T for columns in converted)
    return q_new.reshape(*q.shape[:-1], -1), u_new.reshape(*q.shape[:-1], -1)


@cache
def _build_conversion_function(mechanism: Mechanism, to: str) -> ca.Function:
    """Build the conversion as a function of columns q and u."""
    given = mechanism if to == "uncut" else mechanism.uncut or mechanism
    q, u = SX.sym("q", given.nq), SX.sym("u", given.nu)
    return ca.Function(
        to, [q, u], list({"uncut": uncut_state, "cut": cut_state}[to](mechanism, q, u))
    )


def loop_positions(kin: Kinematics, middles: Mapping[int, float]) -> list[SX]:
    """Compute the positions of loop joints: travel of a slide in m, angle of a hinge in rad.

    Parameters
    ----------
    kin
        Kinematics at q.
    middles
        For each index of a loop joint, the angle within half a turn of which its angle is given.

    Returns
    -------
    list of SX
        Positions, in the order of `middles`.
    """
    orientations = quaternions(kin)
    loops = kin.mechanism.loops
    return [_displacement(kin, loops[k], orientations, middle) for k, middle in middles.items()]


def _displacement(
    kin: Kinematics, loop: LoopJoint, orientations: list[SX], middle: float = 0.0
) -> SX:
    """Compute the coordinates of a loop joint: angle, travel, or quaternion."""
    axis = constant(loop.joint.axis)
    if loop.joint.kind == "slide":
        offset = kin.world_position[loop.child] + ca.mtimes(
            kin.world_rotation[loop.child], constant(loop.in_child)
        )
        if loop.parent != WORLD:
            anchor = ca.mtimes(kin.world_rotation[loop.parent], constant(loop.position))
            offset = offset - kin.world_position[loop.parent] - anchor
        return ca.dot(ca.mtimes(kin.world_rotation[loop.child], axis), offset)
    frame = constant(quaternion_from_rotation(loop.rotation))
    of_parent = frame if loop.parent == WORLD else product(orientations[loop.parent], frame)
    relative = product(conjugate(of_parent), orientations[loop.child])
    if loop.joint.kind == "ball":
        return relative
    along = ca.dot(axis, relative[1:])
    sine, cosine = 2 * relative[0] * along, relative[0] * relative[0] - along * along
    if not middle:
        return ca.atan2(sine, cosine)
    c, s = float(np.cos(middle)), float(np.sin(middle))
    return middle + ca.atan2(c * sine - s * cosine, c * cosine + s * sine)


def _relative_omega(kin: Kinematics, loop: LoopJoint) -> SX:
    """Compute the angular velocity of the child relative to the parent, rad/s, child's frame."""
    omega = kin.omega[loop.child]
    if loop.parent == WORLD:
        return omega
    R = ca.mtimes(kin.world_rotation[loop.child].T, kin.world_rotation[loop.parent])
    return omega - ca.mtimes(R, kin.omega[loop.parent])


def quaternions(kin: Kinematics) -> list[SX]:
    """Compute the orientation of every body in the world as a unit quaternion (w, x, y, z)."""
    orientations: list[SX] = []
    for body, q_slice in zip(kin.mechanism.bodies, kin.mechanism.q_slices, strict=True):
        joint, qi = body.joint, kin.q[q_slice]
        quaternion = SX([1, 0, 0, 0])
        if joint.kind == "hinge":
            quaternion = ca.vertcat(ca.cos(qi / 2), constant(joint.axis) * ca.sin(qi / 2))
        elif joint.kind != "slide":
            quaternion = qi[-4:]
        quaternion = product(constant(quaternion_from_rotation(body.rotation)), quaternion)
        is_root = body.parent == WORLD
        orientations.append(
            quaternion if is_root else product(orientations[body.parent], quaternion)
        )
    return orientations
