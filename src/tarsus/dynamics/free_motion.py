"""Motion of the robot over one step without contact: mass matrix and driving forces."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
from casadi import SX

from tarsus.dynamics import crba, loop_constraints, rnea, springs, tendons
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.tendons import DRY_FRICTION_SPEED
from tarsus.model.mechanism import Joint, Mechanism
from tarsus.spatial.inertia import LinearInertia


@dataclass(frozen=True, eq=False)
class Drive:
    """Forces of the motors over a step.

    Attributes
    ----------
    tau
        Generalized force (nu,), in N or N m.
    in_loops
        Force or moment of each loop joint, in N or N m.
    implicit_damping
        Decrease of tau per change of velocity over the step, N s/m or N m s/rad: the diagonal (nu,)
        of a matrix, or the matrix; None: zero.
    """

    tau: SX
    in_loops: SX = field(default_factory=lambda: SX(0, 1))
    implicit_damping: SX | None = None


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """Terms of M (u_free - u) = dt h, with u_free the velocity at the end without contact.

    Attributes
    ----------
    M
        Mass matrix (nu, nu) with the implicit terms of damping, springs and motors.
    h
        Generalized force (nu,) at the start of the step.
    """

    M: SX
    h: SX

    def with_damping(self, D: SX, u: SX, dt: SX) -> FreeMotion:
        """Add implicit damping D (nu,) of a motion that starts with the velocity u (nu,)."""
        return FreeMotion(self.M + ca.diag(dt * D), self.h - D * u)


def free_motion(kin: Kinematics, inertias: list[LinearInertia], drive: Drive, dt: SX) -> FreeMotion:
    """Compute the terms of a step without contact.

    (M + dt D + dt^2/4 K)(u_free - u) = dt (tau - c - g - D u - K (q - rest)).

    Damping acts at the end of the step and springs at its mean coordinates, so the step is stable
    for any damping and stiffness.

    Parameters
    ----------
    kin
        Kinematics at the coordinates and velocities where forces are evaluated.
    inertias
        Inertia of each body.
    drive
        Forces of the motors.
    dt
        Step size in s.

    Returns
    -------
    FreeMotion
        Mass matrix and force.
    """
    mechanism = kin.mechanism
    D = dissipation(mechanism, kin.u)
    M = crba.mass_matrix(kin, inertias) + ca.diag(dt * D)
    h = drive.tau - rnea.bias(kin, inertias) - loop_constraints.rotor_forces(kin) - D * kin.u
    if springs.has_springs(mechanism):
        M += springs.inertia(kin, dt)
        h += springs.start_force(kin, dt)
    for braked in tendons.damping_forces(kin, dt):
        M += braked.inertia * ca.mtimes(braked.row, braked.row.T)
        h += braked.row * braked.force
    if drive.implicit_damping is not None:
        M += damping_matrix(dt * drive.implicit_damping)
    rates = loop_constraints.rate_rows(kin) if mechanism.loops else []
    for k, (loop, row) in enumerate(zip(mechanism.loops, rates, strict=True)):
        w = ca.vertcat(*row)
        rate = ca.dot(w, kin.u)
        d = _dissipation(loop.joint, rate)
        inertia = loop.joint.armature + dt * d
        M += inertia * ca.mtimes(w, w.T) if not inertia.is_zero() else 0
        h += w * (drive.in_loops[k] - d * rate)
    return FreeMotion(M, h)


def damping_matrix(D: SX) -> SX:
    """Return a damping matrix (nu, nu), given as its diagonal (nu,) or as the matrix."""
    return ca.diag(D) if D.is_column() else D


def residual_force(
    kin: Kinematics, inertias: list[LinearInertia], drive: Drive, u1: SX, dt: SX
) -> SX:
    """Compute the generalized force of contacts and constraints, from the change of velocity.

    It is computed by the Newton-Euler recursion, which shares neither the mass matrix nor the
    factorization with `free_motion`: an independent check of a step.

    Parameters
    ----------
    kin
        Kinematics at the coordinates and start velocities of the step.
    inertias
        Inertia of each body.
    drive
        Forces of the motors.
    u1
        Velocities at the end of the step, shape (nu,).
    dt
        Step size in s.

    Returns
    -------
    SX
        Force (nu,), in N or N m.
    """
    mechanism, acceleration = kin.mechanism, (u1 - kin.u) / dt
    force = (
        rnea.inverse_dynamics(kin, inertias, acceleration)
        + loop_constraints.rotor_forces(kin, acceleration)
        - drive.tau
    )
    force += armature(mechanism) * acceleration + dissipation(mechanism, kin.u) * u1
    if springs.has_springs(mechanism):
        force -= springs.mean_force(kin, u1, dt)
    for braked in tendons.damping_forces(kin, dt):
        force -= braked.mean_force(u1 - kin.u, dt)
    rates = loop_constraints.rate_rows(kin) if mechanism.loops else []
    for k, (loop, row) in enumerate(zip(mechanism.loops, rates, strict=True)):
        w = ca.vertcat(*row)
        braking = _dissipation(loop.joint, ca.dot(w, kin.u)) * ca.dot(w, u1)
        force += w * (braking - drive.in_loops[k])
    return force


def dissipation(mechanism: Mechanism, u: SX) -> SX:
    """Compute D (nu,) of the friction torque -D u: viscous damping plus f / max(|u|, u_s)."""
    bodies = zip(mechanism.bodies, mechanism.u_slices, strict=True)
    return ca.vertcat(
        *(
            _dissipation(body.joint, u[k])
            for body, u_slice in bodies
            for k in range(u_slice.start, u_slice.stop)
        )
    )


def armature(mechanism: Mechanism) -> SX:
    """Compute the reflected rotor inertia (nu,), on the diagonal of M."""
    bodies = zip(mechanism.bodies, mechanism.u_slices, strict=True)
    return ca.vertcat(
        *(
            SX(body.joint.armature)
            for body, u_slice in bodies
            for _ in range(u_slice.start, u_slice.stop)
        )
    )


def _dissipation(joint: Joint, rate: SX) -> SX:
    dry = (
        joint.dry_friction / ca.fmax(ca.fabs(rate), DRY_FRICTION_SPEED)
        if joint.has_dry_friction
        else SX(0)
    )
    return joint.damping + dry
