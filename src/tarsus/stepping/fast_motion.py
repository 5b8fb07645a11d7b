"""The free velocity in worlds where a joint turns far in one step.

The velocity terms c(q, u) are quadratic in u. Taken at the start of a step they feed a light link
that turns fast, until it is no longer finite. In such worlds the step takes them as C(q, u^S) u^E,
linear in the velocity at its end, with C(q, u) u = c(q, u): the method of Kahan 1993, of second
order. Energy that is then still gained from nothing is taken from the joints' motion
(docs/decisions/0016-fast-joints.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.elimination import solve_tree
from tarsus.algebra.ldl import factorize_tree, lower
from tarsus.dynamics import energy, rnea
from tarsus.dynamics.free_motion import Drive, free_motion
from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder, Values
from tarsus.stepping.base import StepInputs

FAST = 0.1  # rad in one step: below it c(q, u^S) does
SMALL = 1e-30  # J


@dataclass(frozen=True, eq=False)
class FastMotion:
    """Worlds where a joint turns fast.

    fast: 1 in these, else 0
    u_free: their velocity (nu,) at the end of the step without contact and constraints
    """

    fast: SX
    u_free: SX

    def instead_of(self, u_free: SX) -> SX:
        """The free velocity (nu,): u_free in the worlds where no joint turns fast."""
        return ca.if_else(self.fast, self.u_free, u_free)


def fast_motion(mechanism: Mechanism, q: SX, start: StepInputs, builder: Builder) -> FastMotion:
    """Kahan's free velocity where a joint turns by more than FAST in the step seen at q (nq,)."""
    dt, last = start.dt, start.last
    fast = SX(0) if last is None else turns_fast(mechanism, start.u, dt)
    if last is None or fast.is_zero():
        return FastMotion(SX(0), start.u)

    def turning_fast(_: Values) -> tuple[Values, SX]:
        # (M + dt C(q, u^S)) (u_free - u^S) = dt h
        kin = kinematics(mechanism, q, start.u)
        free = free_motion(kin, start.inertias, Drive(start.tau, start.tau_loops), dt)
        A = free.M + dt * rnea.velocity_matrix(kin, start.inertias)
        change = ca.vertcat(*solve_tree(A, entries(dt * free.h)))
        u_end = kin.u + change
        if mechanism.loops:
            return {"u_fast": u_end}, SX(0)

        # kinetic energy where the last step looked at the robot, and the work since
        before = energy.kinetic_energy(kinematics(mechanism, last, kin.u), start.inertias)
        driving = start.tau - rnea.gravity_terms(kin, start.inertias)
        work = dt * ca.dot(kin.u + 0.5 * change, driving)
        return {"u_fast": without_gain(mechanism, free.M, u_end, before + work)}, SX(0)

    fast = builder.keep("fast", fast)
    return FastMotion(fast, builder.loop({"u_fast": start.u}, turning_fast, 1, fast)["u_fast"])


def turns_fast(mechanism: Mechanism, u: SX, dt: SX) -> SX:
    """1 where a joint or a free body turns by more than FAST in a step from u (nu,), else 0.

    Of a spin the largest entry counts.
    """
    fastest = SX(0)
    for body, at in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        first = at.start + 3 if body.joint.kind == "free" else at.start
        for k in range(first, at.stop) if body.joint.kind != "slide" else ():
            fastest = ca.fmax(fastest, ca.fabs(u[k]))
    return dt * fastest > FAST


def without_gain(mechanism: Mechanism, M: SX, u: SX, allowed: SX) -> SX:
    """u (nu,) with so much less motion that its kinetic energy is `allowed`, J, at most.

    The joints slow down against the robot locked in its posture, which leaves the robot's momentum
    as it is. Only if that does not suffice, the locked robot slows down too.
    """
    locked = SX.zeros(u.numel())
    if mechanism.floating:
        momentum = entries(ca.mtimes(M[:6, :], u))
        locked[:6] = ca.vertcat(*factorize_tree(lower(M[:6, :6]), 6).solve(momentum))
    inner = u - locked
    of_locked, of_inner = (0.5 * ca.dot(part, ca.mtimes(M, part)) for part in (locked, inner))
    return _part(allowed, of_locked) * locked + _part(allowed - of_locked, of_inner) * inner


def _part(allowed: SX, kinetic: SX) -> SX:
    """The factor, 1 at most, on a velocity that leaves no more than `allowed` of its `kinetic`."""
    return ca.sqrt(ca.fmin(ca.fmax(allowed, 0) / ca.fmax(kinetic, SMALL), 1))
