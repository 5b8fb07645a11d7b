"""Free velocity in worlds where a joint turns far in one step.

The velocity terms c(q, u) are quadratic in u. Evaluated at the start of a step, they feed energy to
a light link that turns fast, until its velocity overflows. In such worlds the step takes them as
C(q, u^S) u^E, linear in the velocity at its end, with C(q, u) u = c(q, u): the method of Kahan
1993, of second order. Energy that is still gained from nothing is then removed from the motion of
the joints (docs/decisions/0016-fast-joints.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.elimination import solve_tree
from tarsus.algebra.ldl import factorize_tree, lower_triangle
from tarsus.dynamics import energy, rnea, springs, tree
from tarsus.dynamics.free_motion import Drive, free_motion
from tarsus.dynamics.kinematics import Kinematics, displace, kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping.base import Scene, StepStart
from tarsus.stepping.contact_moments import ContactMoment, with_moments

MIN_ENERGY = 1e-30  # J, against division by zero
MAX_SQUARED_VELOCITY = 1e100  # larger ones come from a division by zero


@dataclass(frozen=True, eq=False)
class FastMotion:
    """Worlds in which a joint turns fast.

    Attributes
    ----------
    is_fast
        1 in these worlds, else 0.
    u_free
        Their velocity (nu,) at the end of the step without contact and constraints.
    """

    is_fast: SX
    u_free: SX

    def select(self, u_free: SX) -> SX:
        """Replace the free velocity (nu,) in worlds where a joint turns fast."""
        return ca.if_else(self.is_fast, self.u_free, u_free)


def fast_motion(
    scene: Scene,
    q: SX,
    start: StepStart,
    has_mean_terms: SX,
    moments: list[ContactMoment],
    builder: Builder,
) -> FastMotion:
    """Compute Kahan's free velocity for worlds where a joint turns by over `fast_turn_angle`.

    q (nq,) are the coordinates at which the step is evaluated. Worlds with mean velocity terms
    (`flight`) are left as they are. The moments of contacts act as in other worlds.
    """
    mechanism, dt, instant = scene.mechanism, start.dt, start.evaluation.instant
    fast = SX(0) if instant is None else turns_fast(mechanism, start.u, dt, scene.fast_turn_angle)
    if instant is None or fast.is_zero():
        return FastMotion(SX(0), start.u)
    fast = ca.logic_and(fast, ca.logic_not(has_mean_terms))

    def turning_fast(_: Values) -> tuple[Values, SX]:
        # (M + dt C(q, u^S)) (u_free - u^S) = dt h
        kin = kinematics(mechanism, q, start.u)
        free = free_motion(kin, start.inertias, drive(start), dt)
        resisted = with_moments(free, moments, dt)
        A = resisted.M + dt * rnea.velocity_matrix(kin, start.inertias)
        change = ca.vertcat(*solve_tree(A, entries(dt * resisted.h)))
        u_end = kin.u + change
        if mechanism.constrained:
            return {"u_fast": u_end}, SX(0)

        # kinetic energy and momentum where the last step evaluated the robot
        last_q = displace(mechanism, start.q, kin.u, (instant - 1) * dt)
        last = kinematics(mechanism, last_q, kin.u)
        push = dt * (start.tau - rnea.gravity_terms(kin, start.inertias))
        before = energy.kinetic_energy(last, start.inertias)
        if springs.has_springs(mechanism):
            push += dt * springs.start_force(kin, dt)
            before += springs.inertia_energy(kin, dt)
        bound = EnergyBound(free.M, kin.u, push, before)
        momentum = push + base_momentum(last, kin, start.inertias)
        return {"u_fast": without_energy_gain(mechanism, bound, momentum, u_end)}, SX(0)

    fast = builder.store("fast", fast)
    end = builder.cold_loop({"u_fast": start.u}, turning_fast, 1, fast)
    return FastMotion(fast, end["u_fast"])


def drive(start: StepStart) -> Drive:
    """Compute the forces that act on the joints over the step."""
    return Drive(start.tau, start.tau_loops, start.implicit_damping)


def turns_fast(mechanism: Mechanism, u: SX, dt: SX, limit: float) -> SX:
    """Return 1 where a joint or a free body turns by more than a limit in a step from u (nu,).

    The limit is in rad; the largest entry of an angular velocity counts.
    """
    fastest = SX(0)
    for body, rates in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        first = rates.start + 3 if body.joint.kind == "free" else rates.start
        for k in range(first, rates.stop) if body.joint.kind != "slide" else ():
            fastest = ca.fmax(fastest, ca.fabs(u[k]))
    return dt * fastest > limit


@dataclass(frozen=True, eq=False)
class EnergyBound:
    """Upper bound on the energy at the end of a step: T <= before + push . (u^S + u^E) / 2.

    Attributes
    ----------
    M
        Mass matrix (nu, nu) of the kinetic energy T.
    u
        Velocity (nu,) at the start.
    push
        Impulse (nu,) of motors and gravity, N s or N m s.
    before
        Kinetic energy before the step, J.
    """

    M: SX
    u: SX
    push: SX
    before: SX

    def gain(self, u: SX) -> SX:
        """Compute the spurious energy gain, J, if the step ends with the velocity u (nu,)."""
        kinetic = 0.5 * ca.dot(u, ca.mtimes(self.M, u))
        return kinetic - self.before - 0.5 * ca.dot(self.push, self.u + u)

    def largest_share(self, origin: SX, change: SX) -> SX:
        """Find the largest share of `change`, 0 to 1, that may be added to `origin` (nu,)."""
        momentum = ca.mtimes(self.M, change)
        square = 0.5 * ca.dot(change, momentum)
        slope = ca.dot(origin, momentum) - 0.5 * ca.dot(self.push, change)
        root = ca.sqrt(ca.fmax(slope * slope - 4 * square * self.gain(origin), 0)) - slope
        return ca.fmin(ca.fmax(root, 0) / ca.fmax(2 * square, MIN_ENERGY), 1)


def without_energy_gain(mechanism: Mechanism, bound: EnergyBound, momentum: SX, u: SX) -> SX:
    """Reduce the motion of the joints in u (nu,) where it gains energy.

    Where u is infinite or NaN, the velocity at the start of the step replaces it.

    Parameters
    ----------
    mechanism : Mechanism
        Bodies and joints.
    bound : EnergyBound
        Bound on the energy.
    momentum : SX
        Momentum (nu,) of each floating base with all that it carries. The reduced velocity keeps
        it, unless that alone exceeds the bound.
    u : SX
        Velocity (nu,) at the end of the step.
    """
    u = ca.if_else(ca.dot(u, u) < MAX_SQUARED_VELOCITY, u, bound.u)
    rigid = rigid_velocity(mechanism, bound.M, momentum)
    rigid *= bound.largest_share(SX.zeros(u.numel()), rigid)
    inner = u - rigid_velocity(mechanism, bound.M, ca.mtimes(bound.M, u))
    reduced = rigid + bound.largest_share(rigid, inner) * inner
    return ca.if_else(bound.gain(u) > 0, reduced, u)


def rigid_velocity(mechanism: Mechanism, M: SX, momentum: SX) -> SX:
    """Compute the velocity (nu,) of a robot with all joints locked, given its momentum (nu,).

    A fixed base stands still.
    """
    u = SX.zeros(momentum.numel())
    for base in free_bodies(mechanism).values():
        factor = factorize_tree(lower_triangle(M[base, base]), 6)
        u[base] = ca.vertcat(*factor.solve(entries(momentum[base])))
    return u


def base_momentum(before: Kinematics, kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute the momentum (nu,) at `before` of every floating base with all that it carries.

    It is taken about the base's origin and in its axes at `kin`; entries of other joints are zero.
    """
    mechanism, momentum = kin.mechanism, SX.zeros(kin.u.numel())
    for base, entries_of_base in free_bodies(mechanism).items():
        carried = carried_inertias(mechanism, base, inertias)
        linear, angular = ca.vertsplit(energy.momentum(before, carried), 3)
        about = angular - ca.cross(kin.world_position[base], linear)
        about = ca.mtimes(kin.world_rotation[base].T, about)
        momentum[entries_of_base] = ca.vertcat(linear, about)
    return momentum


def carried_inertias(
    mechanism: Mechanism, root: int, inertias: list[LinearInertia]
) -> list[LinearInertia]:
    """Set the inertias of bodies that a base does not carry to zero."""
    return [
        inertia.scale(SX(int(root in tree.support_path(mechanism, i))))
        for i, inertia in enumerate(inertias)
    ]


def free_bodies(mechanism: Mechanism) -> dict[int, slice]:
    """Find the bodies on a free joint, and their slices of u."""
    slices = mechanism.u_slices
    return {i: slices[i] for i, body in enumerate(mechanism.bodies) if body.joint.kind == "free"}
