"""The robot without contact over one step: its mass matrix and what drives it."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
from casadi import SX

from tarsus.dynamics import crba, loop_constraints, rnea, springs
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Joint, Mechanism
from tarsus.spatial.inertia import LinearInertia

DRY_FRICTION_SPEED = 1e-2  # rad/s (m/s): below it a joint's dry friction acts as a damper


@dataclass(frozen=True, eq=False)
class Drive:
    """What acts on the joints.

    tau: generalized force (nu,), N or N m
    in_loops: force or moment of each loop joint
    give: what tau loses (nu,) per change of the velocities over the step; None: nothing
    """

    tau: SX
    in_loops: SX = field(default_factory=lambda: SX(0, 1))
    give: SX | None = None


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """M (nu, nu) and h (nu,) with M (u_free - u) = dt h, u_free what the velocity would be at the
    end of the step.
    """

    M: SX
    h: SX


def free_motion(kin: Kinematics, inertias: list[LinearInertia], drive: Drive, dt: SX) -> FreeMotion:
    """(M + dt D + dt^2/4 K)(u_free - u) = dt (tau - c - g - D u - K (q - rest)): damping acts at
    the end of the step, a spring at its mean coordinates, and neither can blow up.
    """
    mechanism = kin.mechanism
    D = dissipation(mechanism, kin.u)
    M = crba.mass_matrix(kin, inertias) + ca.diag(dt * D)
    h = drive.tau - rnea.bias(kin, inertias) - loop_constraints.rotors(kin) - D * kin.u
    if springs.has_springs(mechanism):
        M += ca.diag(springs.inertia(mechanism, dt))
        h += springs.force(kin)
    if drive.give is not None:
        M += ca.diag(dt * drive.give)
    free = loop_constraints.freedoms(kin) if mechanism.loops else []
    for k, (loop, row) in enumerate(zip(mechanism.loops, free, strict=True)):
        way = ca.vertcat(*row)
        rate = ca.dot(way, kin.u)
        d = _dissipation(loop.joint, rate)
        felt = loop.joint.armature + dt * d
        M += felt * ca.mtimes(way, way.T) if not felt.is_zero() else 0
        h += way * (drive.in_loops[k] - d * rate)
    return FreeMotion(M, h)


def residual_force(
    kin: Kinematics, inertias: list[LinearInertia], drive: Drive, u1: SX, dt: SX
) -> SX:
    """What (nu,) the contacts and constraints must have given for the velocity to go from kin.u to
    u1, N or N m.

    By the plain Newton-Euler recursion: it shares neither the mass matrix nor the factorization
    with `free_motion`.
    """
    mechanism, acceleration = kin.mechanism, (u1 - kin.u) / dt
    needed = (
        rnea.inverse_dynamics(kin, inertias, acceleration)
        + loop_constraints.rotors(kin, acceleration)
        - drive.tau
    )
    needed += armature(mechanism) * acceleration + dissipation(mechanism, kin.u) * u1
    if springs.has_springs(mechanism):
        needed -= springs.mean_force(kin, u1, dt)
    free = loop_constraints.freedoms(kin) if mechanism.loops else []
    for k, (loop, row) in enumerate(zip(mechanism.loops, free, strict=True)):
        way = ca.vertcat(*row)
        braking = _dissipation(loop.joint, ca.dot(way, kin.u)) * ca.dot(way, u1)
        needed += way * (braking - drive.in_loops[k])
    return needed


def dissipation(mechanism: Mechanism, u: SX) -> SX:
    """D (nu,) with friction torque -D u: viscous damping, dry friction f as f / max(|u|, u_s)."""
    bodies = zip(mechanism.bodies, mechanism.u_slices, strict=True)
    return ca.vertcat(
        *(_dissipation(body.joint, u[k]) for body, at in bodies for k in range(at.start, at.stop))
    )


def armature(mechanism: Mechanism) -> SX:
    """Reflected rotor inertia (nu,) on the diagonal of M."""
    bodies = zip(mechanism.bodies, mechanism.u_slices, strict=True)
    return ca.vertcat(
        *(SX(body.joint.armature) for body, at in bodies for _ in range(at.start, at.stop))
    )


def _dissipation(joint: Joint, rate: SX) -> SX:
    dry = joint.dry_friction / ca.fmax(ca.fabs(rate), DRY_FRICTION_SPEED) if joint.rubs else SX(0)
    return joint.damping + dry
