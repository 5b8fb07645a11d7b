"""Poses and velocities of all bodies of a tree (Teixeira de Paula 2024, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics import tree
from tarsus.errors import InvalidModel
from tarsus.model.mechanism import WORLD, Body, Mechanism
from tarsus.spatial import rotation


@dataclass(frozen=True)
class Kinematics:
    """Poses and velocities of all bodies, as expressions of q and u.

    It stores the pose of each body in its parent. Velocities and world poses are computed when
    first used.
    """

    mechanism: Mechanism
    q: SX
    """Coordinates (nq,): joint by joint, m, rad and unit quaternions."""
    u: SX
    """Velocities (nu,): joint by joint, m/s and rad/s."""
    R: list[SX]
    """Rotation (3, 3) of each body: from its own frame to its parent's."""
    r: list[SX]
    """Origin (3,) of each body in its parent's frame, m."""

    @cached_property
    def omega(self) -> list[SX]:
        """Angular velocity of each body in its own frame, rad/s."""
        return tree.sweep_outward(self.mechanism, self._next_omega, SX.zeros(3))

    @cached_property
    def velocity(self) -> list[SX]:
        """Linear velocity of each body's origin in its own frame, m/s.

        Teixeira de Paula 2024, Eqn. (13).
        """
        return tree.sweep_outward(self.mechanism, self._next_velocity, SX.zeros(3))

    @cached_property
    def world_rotation(self) -> list[SX]:
        """Rotation (3, 3) of each body, from its own frame to the world."""
        return tree.sweep_outward(self.mechanism, lambda i, R: ca.mtimes(R, self.R[i]), SX.eye(3))

    @cached_property
    def world_position(self) -> list[SX]:
        """Origin (3,) of each body in the world, m."""

        def visit(i: int, parent: SX) -> SX:
            above = self.mechanism.bodies[i].parent
            R = SX.eye(3) if above == WORLD else self.world_rotation[above]
            return parent + ca.mtimes(R, self.r[i])

        return tree.sweep_outward(self.mechanism, visit, SX.zeros(3))

    def joint_velocity(self, i: int) -> SX:
        """Compute the velocities of the joint of body i."""
        return self.u[self.mechanism.u_slices[i]]

    def _next_omega(self, i: int, parent: SX) -> SX:
        joint, rate = self.mechanism.bodies[i].joint, self.joint_velocity(i)
        carried = ca.mtimes(self.R[i].T, parent)
        if joint.kind == "hinge":
            return carried + rotation.constant(joint.axis) * rate
        if joint.kind == "ball":
            return carried + rate
        return rate[3:] if joint.kind == "free" else carried

    def _next_velocity(self, i: int, parent: SX) -> SX:
        body, rate = self.mechanism.bodies[i], self.joint_velocity(i)
        if body.joint.kind == "free":
            return ca.mtimes(self.R[i].T, rate[:3])
        spin = SX.zeros(3) if body.parent == WORLD else self.omega[body.parent]
        carried = ca.mtimes(self.R[i].T, parent + ca.cross(spin, self.r[i]))
        if body.joint.kind == "slide":
            return carried + rotation.constant(body.joint.axis) * rate
        return carried


def kinematics(mechanism: Mechanism, q: SX, u: SX | None = None) -> Kinematics:
    """Compute the kinematics at given coordinates.

    Parameters
    ----------
    mechanism
        Mechanism with `bodies`.
    q
        Coordinates, shape (nq,).
    u
        Velocities, shape (nu,); zero by default.

    Returns
    -------
    Kinematics
        Poses of bodies in their parents; all else is computed when first used.

    Raises
    ------
    InvalidModel
        If a body with a free joint has another parent than the world, or an offset.
    """
    R, r = [], []
    for i, body in enumerate(mechanism.bodies):
        if body.joint.kind == "free" and (body.parent != WORLD or _displace(body)):
            raise InvalidModel(
                f"body {body.name!r} has a free joint, so its pose is in q: its parent must be the"
                " world, its position zero and its rotation the identity.",
                body.name,
            )
        rotated, shift = _joint_pose(mechanism, i, q[mechanism.q_slices[i]])
        home = rotation.constant(body.rotation)
        R.append(ca.mtimes(home, rotated))
        r.append(rotation.constant(body.position) + ca.mtimes(home, shift))
    return Kinematics(mechanism, q, SX.zeros(mechanism.nu) if u is None else u, R, r)


def _displace(body: Body) -> bool:
    return bool(np.any(body.position) or np.any(body.rotation != np.eye(3)))


def _joint_pose(mechanism: Mechanism, i: int, qi: SX) -> tuple[SX, SX]:
    joint = mechanism.bodies[i].joint
    if joint.kind == "hinge":
        return rotation.about_axis(joint.axis, qi), SX.zeros(3)
    if joint.kind == "slide":
        return SX.eye(3), rotation.constant(joint.axis) * qi
    if joint.kind == "ball":
        return rotation.from_quaternion(qi), SX.zeros(3)
    return rotation.from_quaternion(qi[3:]), qi[:3]


def coordinate_rate(mechanism: Mechanism, q: SX, u: SX) -> SX:
    """Compute q' = F(q) u (nq,) (Gehring 2014, Eqns. (1) and (22))."""
    rates = []
    for body, q_slice, du in zip(
        mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True
    ):
        if body.joint.kind == "free":
            rates += [u[du][:3], rotation.quaternion_rate(q[q_slice][3:], u[du][3:])]
        elif body.joint.kind == "ball":
            rates.append(rotation.quaternion_rate(q[q_slice], u[du]))
        else:
            rates.append(u[du])
    return ca.vertcat(*rates)


def displace(mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
    """Compute q + dt F(q) u with normalized quaternions; bodies rotate by exactly |omega| dt.

    Parameters
    ----------
    mechanism
        Mechanism to which the coordinates belong.
    q
        Coordinates, shape (nq,).
    u
        Velocities, shape (nu,).
    dt
        Duration in s.

    Returns
    -------
    SX
        Coordinates after dt, shape (nq,).

    References
    ----------
    Gehring 2014, Eqns. (6) and (8).
    """
    rates = []
    for body, du in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        omega = slice(du.stop - 3, du.stop)
        if body.joint.kind in ("free", "ball"):
            rates += [u[du.start : omega.start], rotation.stretch(u[omega], dt)]
        else:
            rates.append(u[du])
    return with_unit_quaternions(
        mechanism, q + dt * coordinate_rate(mechanism, q, ca.vertcat(*rates))
    )


def with_unit_quaternions(mechanism: Mechanism, q: SX) -> SX:
    """Normalize every quaternion of q (nq,)."""
    parts = []
    for body, q_slice in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        if body.joint.kind == "free":
            parts += [q[q_slice][:3], rotation.normalize(q[q_slice][3:])]
        elif body.joint.kind == "ball":
            parts.append(rotation.normalize(q[q_slice]))
        else:
            parts.append(q[q_slice])
    return ca.vertcat(*parts)
