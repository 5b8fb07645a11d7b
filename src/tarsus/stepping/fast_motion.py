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
from tarsus.dynamics import energy, rnea, springs, tree
from tarsus.dynamics.free_motion import Drive, free_motion
from tarsus.dynamics.kinematics import Kinematics, displace, kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping.base import Scene, StepStart

LONG = 20  # velocities: more of them make code so long that it is compiled where it is needed
SMALL = 1e-30  # J
LARGE = 1e100  # of a squared velocity: what is above was divided by zero


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


def fast_motion(scene: Scene, q: SX, start: StepStart, builder: Builder) -> FastMotion:
    """Kahan's free velocity where a joint turns by more than `fast` in the step seen at q (nq,)."""
    mechanism, dt, instant = scene.mechanism, start.dt, start.evaluation.instant
    fast = SX(0) if instant is None else turns_fast(mechanism, start.u, dt, scene.fast)
    if instant is None or fast.is_zero():
        return FastMotion(SX(0), start.u)

    def turning_fast(_: Values) -> tuple[Values, SX]:
        # (M + dt C(q, u^S)) (u_free - u^S) = dt h
        kin = kinematics(mechanism, q, start.u)
        free = free_motion(kin, start.inertias, drive(start), dt)
        A = free.M + dt * rnea.velocity_matrix(kin, start.inertias)
        change = ca.vertcat(*solve_tree(A, entries(dt * free.h)))
        u_end = kin.u + change
        if mechanism.constrained:
            return {"u_fast": u_end}, SX(0)

        # kinetic energy and momentum where the last step looked at the robot
        last = displace(mechanism, start.q, kin.u, (instant - 1) * dt)
        seen = kinematics(mechanism, last, kin.u)
        push = dt * (start.tau - rnea.gravity_terms(kin, start.inertias))
        before = energy.kinetic_energy(seen, start.inertias)
        if springs.has_springs(mechanism):
            push += dt * springs.force(kin)
            before += 0.5 * ca.dot(springs.inertia(mechanism, dt), kin.u * kin.u)
        bound = Bound(free.M, kin.u, push, before)
        momentum = push + momentum_since(seen, kin, start.inertias)
        return {"u_fast": without_gain(mechanism, bound, momentum, u_end)}, SX(0)

    fast = builder.store("fast", fast)
    loop = builder.cold_loop if mechanism.nu > LONG else builder.loop
    found = loop({"u_fast": start.u}, turning_fast, 1, fast)
    return FastMotion(fast, found["u_fast"])


def drive(start: StepStart) -> Drive:
    """What acts on the joints over the step."""
    return Drive(start.tau, start.tau_loops, start.give)


def turns_fast(mechanism: Mechanism, u: SX, dt: SX, limit: float) -> SX:
    """1 where a joint or a free body turns by more than a limit in a step from u (nu,), else 0.

    limit in rad; of a spin the largest entry counts.
    """
    fastest = SX(0)
    for body, at in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        first = at.start + 3 if body.joint.kind == "free" else at.start
        for k in range(first, at.stop) if body.joint.kind != "slide" else ():
            fastest = ca.fmax(fastest, ca.fabs(u[k]))
    return dt * fastest > limit


@dataclass(frozen=True, eq=False)
class Bound:
    """What bounds the energy at the end of a step: T <= before + push . (u^S + u^E) / 2.

    M: mass matrix (nu, nu) of T
    u: velocity (nu,) at the start
    push: impulse (nu,) of motors and gravity, N s or N m s
    before: kinetic energy before the step, J
    """

    M: SX
    u: SX
    push: SX
    before: SX

    def gained(self, u: SX) -> SX:
        """Energy from nothing, J, if the step ends with the velocity u (nu,)."""
        kinetic = 0.5 * ca.dot(u, ca.mtimes(self.M, u))
        return kinetic - self.before - 0.5 * ca.dot(self.push, self.u + u)

    def along(self, origin: SX, way: SX) -> SX:
        """The largest part, 1 at most, of `way` (nu,) that may be added to the velocity `origin`
        (nu,); 0 if none may.
        """
        momentum = ca.mtimes(self.M, way)
        square = 0.5 * ca.dot(way, momentum)
        slope = ca.dot(origin, momentum) - 0.5 * ca.dot(self.push, way)
        root = ca.sqrt(ca.fmax(slope * slope - 4 * square * self.gained(origin), 0)) - slope
        return ca.fmin(ca.fmax(root, 0) / ca.fmax(2 * square, SMALL), 1)


def without_gain(mechanism: Mechanism, bound: Bound, momentum: SX, u: SX) -> SX:
    """u (nu,) where it gains no energy, else with as much less motion of the joints.

    momentum: (nu,), of each floating base with all it carries in the rows of its joint: what the
        velocity then has instead of u's, and only if that is too much energy, less
    u may be infinite or NaN: then the step goes on from the velocity at its start.
    """
    u = ca.if_else(ca.dot(u, u) < LARGE, u, bound.u)
    origin = locked(mechanism, bound.M, momentum)
    origin *= bound.along(SX.zeros(u.numel()), origin)
    inner = u - locked(mechanism, bound.M, ca.mtimes(bound.M, u))
    return ca.if_else(bound.gained(u) > 0, origin + bound.along(origin, inner) * inner, u)


def locked(mechanism: Mechanism, M: SX, momentum: SX) -> SX:
    """Velocity (nu,) of the robot locked in its posture, from the momentum (nu,) of its floating
    base with all it carries; a fixed base stands still.
    """
    u = SX.zeros(momentum.numel())
    for at in free_bodies(mechanism).values():
        u[at] = ca.vertcat(*factorize_tree(lower(M[at, at]), 6).solve(entries(momentum[at])))
    return u


def momentum_since(seen: Kinematics, kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Momentum (nu,) at `seen` of every floating base with all it carries, about the base's origin
    and in its axes at `kin`; zero elsewhere.
    """
    mechanism, found = kin.mechanism, SX.zeros(kin.u.numel())
    for base, at in free_bodies(mechanism).items():
        own = [
            inertia.scaled(SX(int(base in tree.path(mechanism, i))))
            for i, inertia in enumerate(inertias)
        ]
        linear, angular = ca.vertsplit(energy.momentum(seen, own), 3)
        about = angular - ca.cross(kin.world_position[base], linear)
        found[at] = ca.vertcat(linear, ca.mtimes(kin.world_rotation[base].T, about))
    return found


def free_bodies(mechanism: Mechanism) -> dict[int, slice]:
    """Bodies on a free joint, and where it stands in u."""
    at = mechanism.u_slices
    return {i: at[i] for i, body in enumerate(mechanism.bodies) if body.joint.kind == "free"}
