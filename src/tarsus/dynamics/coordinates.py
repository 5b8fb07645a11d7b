"""A mechanism with cut joints seen in the coordinates of the whole one, and the other way round."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import loops
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import WORLD, LoopJoint, Mechanism
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]


def whole(mechanism: Mechanism, q: SX, u: SX) -> tuple[SX, SX]:
    """Coordinates and velocities of the mechanism before its joints were cut; those given if none were.

    A cut hinge's angle is in (-pi, pi]; what a joint cannot do (drift) is left out.
    """
    if mechanism.whole is None:
        return q, u
    kin = kinematics(mechanism, q, u)
    cut = {loop.child: k for k, loop in enumerate(mechanism.loops)}
    turns, rates = _quaternions(kin), loops.freedoms(kin)
    coordinates, velocities = [], []
    for i, body in enumerate(mechanism.whole.bodies):
        if i not in cut or mechanism.bodies[i].joint.name == body.joint.name:
            coordinates.append(q[mechanism.q_slices[i]])
            velocities.append(u[mechanism.u_slices[i]])
            continue
        loop = mechanism.loops[cut[i]]
        coordinates.append(_displacement(kin, loop, turns))
        row = ca.vertcat(*rates[cut[i]])
        velocities.append(_relative_spin(kin, loop) if loop.joint.kind == "ball" else ca.dot(row, u))
    return ca.vertcat(*coordinates), ca.vertcat(*velocities)


def in_cut(mechanism: Mechanism, q: Array, u: Array | None = None) -> tuple[Array, Array]:
    """Coordinates (nq,) and velocities (nu,) of a mechanism with cut joints from those of the whole one."""
    uncut = mechanism.whole
    if uncut is None:
        return np.array(q, float), np.zeros(mechanism.nu) if u is None else np.array(u, float)
    kin = kinematics(uncut, SX(np.asarray(q, float)), SX(np.zeros(uncut.nu) if u is None else np.asarray(u, float)))
    coordinates, velocities = [], []
    for i, (body, before) in enumerate(zip(mechanism.bodies, uncut.bodies, strict=True)):
        if body.joint.name == before.joint.name:
            coordinates.append(kin.q[uncut.q_slices[i]])
            velocities.append(kin.u[uncut.u_slices[i]])
            continue
        shift = constant(before.inertia.com - body.inertia.com)
        turn = kin.world_rotation[i]
        coordinates += [kin.world_position[i] + ca.mtimes(turn, shift), _quaternions(kin)[i]]
        moved = ca.mtimes(turn, kin.velocity[i] + ca.cross(kin.omega[i], shift))
        velocities += [moved, kin.omega[i]]
    found = (np.array(ca.evalf(ca.vertcat(*part))).ravel() for part in (coordinates, velocities))
    q_cut, u_cut = found
    return q_cut, u_cut


def _displacement(kin: Kinematics, loop: LoopJoint, turns: list[SX]) -> SX:
    """The joint's own coordinate(s): angle, way, or quaternion."""
    axis = constant(loop.joint.axis)
    if loop.joint.kind == "slide":
        apart = kin.world_position[loop.child] + ca.mtimes(kin.world_rotation[loop.child], constant(loop.in_child))
        if loop.parent != WORLD:
            home = ca.mtimes(kin.world_rotation[loop.parent], constant(loop.position))
            apart = apart - kin.world_position[loop.parent] - home
        return ca.dot(ca.mtimes(kin.world_rotation[loop.child], axis), apart)
    home = constant(_quaternion(loop.rotation))
    above = home if loop.parent == WORLD else _product(turns[loop.parent], home)
    relative = _product(_conjugate(above), turns[loop.child])
    if loop.joint.kind == "ball":
        return relative
    along = ca.dot(axis, relative[1:])
    return ca.atan2(2 * relative[0] * along, relative[0] * relative[0] - along * along)


def _relative_spin(kin: Kinematics, loop: LoopJoint) -> SX:
    """Angular velocity of the child against the parent in the child's frame, rad/s."""
    spin = kin.omega[loop.child]
    if loop.parent == WORLD:
        return spin
    seen = ca.mtimes(kin.world_rotation[loop.child].T, kin.world_rotation[loop.parent])
    return spin - ca.mtimes(seen, kin.omega[loop.parent])


def _quaternions(kin: Kinematics) -> list[SX]:
    """World orientation of every body as a unit quaternion (w, x, y, z)."""
    found: list[SX] = []
    for body, at in zip(kin.mechanism.bodies, kin.mechanism.q_slices, strict=True):
        joint, qi = body.joint, kin.q[at]
        own = SX([1, 0, 0, 0])
        if joint.kind == "hinge":
            own = ca.vertcat(ca.cos(qi / 2), constant(joint.axis) * ca.sin(qi / 2))
        elif joint.kind != "slide":
            own = qi[-4:]
        own = _product(constant(_quaternion(body.rotation)), own)
        found.append(own if body.parent == WORLD else _product(found[body.parent], own))
    return found


def _product(a: SX, b: SX) -> SX:
    """First b, then a."""
    return ca.vertcat(a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:]))


def _conjugate(p: SX) -> SX:
    return ca.vertcat(p[0], -p[1:])


def _quaternion(matrix: Array) -> Array:
    """The unit quaternion (w, x, y, z) of a constant rotation matrix."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(matrix).as_quat(scalar_first=True)
