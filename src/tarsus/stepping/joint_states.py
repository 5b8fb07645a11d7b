"""Rates that a step allows a lockable joint, and its dry friction.

A limit allows an interval of the rate u^E at the end of a step. Dry friction locks a joint at rest
with an impulse of up to f, and brakes a moving one with f. `joints` solves a step under both.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.algebra.products import dot
from tarsus.dynamics import dependent_coordinates
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.program.ir.symbolic import entries, is_float64
from tarsus.stepping.base import Scene, StepStart
from tarsus.stepping.lockable_joints import (
    LockableJoint,
    find_lockable_joints,
    lockable_dependents,
)

# numbers of passes after which joints that still change are treated differently
RESTART_PASS = 8  # solvers ignore the contact states of the last step
DAMPER_PASS = 14  # dry friction of a joint that still changes becomes a damper
KEEP_LIMITS_PASS = 32  # limits no longer release joints, so that none is passed
KEPT_SIDE = 0.5  # factor on `side`: a joint that stays locked although its limit pulls it
RETURN_RATE = 0.2  # rad/s, m/s: how fast a joint that starts beyond its limit comes back
# multiple of its inertia that is added to a joint at a limit; smaller in float32, where the
# reported impulse is computed from the small motion that remains
LIMIT_FACTOR, LIMIT_FACTOR_FLOAT32 = 1e6, 1e4
REST_RATE = 1e-9  # rad/s, m/s: a joint at rest
CREEP_RATE, CREEP_RATE_FLOAT32 = 1e-10, 3e-6  # rad/s, m/s: creep of a joint locked by friction
MIN_DAMPED_RATE = 1e-2  # rad/s, m/s: slower joints get the damper of this rate
DAMPER_TOLERANCE = 0.05  # of the friction force: accepted deviation of a damper from Coulomb's law
LIMIT_SPRING_TIME = 0.01  # s: time constant of a limit that is a spring
RELATIVE_NOISE = 1e-7  # of an impulse or a rate: round-off of float32


@dataclass(frozen=True, eq=False)
class JointState:
    """Rates with which one joint may end a step, and its friction.

    A joint has up to three modes, which an attempt at a step assumes:

    - `side`: -1 if it is locked at the lower limit, 1 at the upper, 0 between them;
    - `sign`, with friction: sign of the rate that friction brakes, 0 where friction locks the
      joint;
    - `damping`, with friction: impulse of friction per rate, if friction acts as a damper. It is
      very large where friction locks the joint, and 0 where friction is constant.

    A joint at a limit needs no friction, because the limit locks it.

    Attributes
    ----------
    u
        Rate at the start of the step, rad/s or m/s.
    lower, upper
        Least and greatest rate at its end; None if unbounded.
    friction
        Largest impulse of dry friction in the step, N m s or N s; None without friction.
    index
        Index of its rate in u.
    creep_rate
        Rate, rad/s or m/s, at which locking friction reaches its largest impulse.
    limit_factor
        Multiple of the joint's inertia that a limit adds.
    direction
        For a dependent coordinate: direction (nu,) with rate = direction . u.
    """

    u: SX
    lower: SX | None
    upper: SX | None
    friction: SX | None
    index: int
    creep_rate: SX
    limit_factor: SX
    direction: list[SX] | None = None

    def rate(self, u: SX) -> SX:
        """Compute its rate, rad/s or m/s, at velocities (nu,)."""
        return u[self.index] if self.direction is None else dot(self.direction, entries(u))

    @property
    def limits(self) -> list[tuple[int, SX]]:
        """Finite limits: sign, and rate that reaches the limit."""
        both = ((-1, self.lower), (1, self.upper))
        return [(sign, rate) for sign, rate in both if rate is not None]

    def initial_modes(self) -> SX:
        """Choose the modes that the start of the step suggests."""
        side = SX(0)
        for sign, limit in self.limits:
            side = ca.if_else(sign * (self.u - limit) >= -REST_RATE, sign, side)
        if self.friction is None:
            return side
        moves = ca.logic_and(side == 0, ca.fabs(self.u) > self.creep_rate)
        sign = ca.if_else(moves, ca.sign(self.u), 0)
        return ca.vertcat(side, sign, ca.if_else(moves, 0, self.locking_damping))

    @property
    def locking_damping(self) -> SX:
        """Damping of friction that locks the joint."""
        assert self.friction is not None
        return self.friction / self.creep_rate

    def _limit_rate(self, side: SX) -> SX:
        """Compute the rate at which a limit locks the joint; 0 away from both."""
        rate = SX(0)
        for sign, limit in self.limits:
            rate = ca.if_else(side == sign, limit, rate)
        return rate

    def locking_terms(self, modes: SX) -> tuple[SX, SX, SX, SX]:
        """Compute the terms that lock or brake the joint in these modes.

        They are inertia factor, added inertia, velocity and friction impulse, as in `LockedJoints`.
        """
        side, velocity = modes[0], self._limit_rate(modes[0])
        factor, added, friction = self.limit_factor * (side * side), SX(0), SX(0)
        if self.friction is not None:
            at_limit, damped = side != 0, modes[2] > 0
            added = ca.if_else(at_limit, 0, modes[2])
            friction = ca.if_else(ca.logic_or(at_limit, damped), 0, -modes[1] * self.friction)
        return factor, added, velocity, friction

    def next_modes(
        self, modes: SX, u: SX, impulses: tuple[SX, SX], sign: SX, done: SX
    ) -> tuple[SX, SX]:
        """Choose the modes that a solved step calls for; also return whether they differ.

        Parameters
        ----------
        modes : SX
            Modes in which the step was solved.
        u : SX
            Rate of the joint at the end of the step.
        impulses : tuple of SX
            Impulses of the limit and of dry friction in the step.
        sign : SX
            Sign of the rate that friction is to brake next, 0 where it locks the joint
            (`joint_friction`).
        done : SX
            Number of passes before this one.
        """
        # a limit releases a joint that leaves it by itself, and locks one that passes it
        side, limit_rate = modes[0], self._limit_rate(modes[0])
        pulled = side * (u - limit_rate) < -RELATIVE_NOISE * ca.fabs(limit_rate)
        leaves = ca.logic_and(pulled, done < KEEP_LIMITS_PASS)
        stays = ca.logic_and(ca.logic_and(pulled, done >= KEEP_LIMITS_PASS), ca.fabs(side) == 1)
        if self.friction is not None:
            # friction may lock it there
            leaves = ca.logic_and(leaves, side * impulses[0] > self.friction)
        passed = sum((s * (s * (u - limit) > REST_RATE) for s, limit in self.limits), SX(0))
        new = ca.if_else(leaves, 0, ca.if_else(side == 0, passed, side))
        new = ca.if_else(stays, KEPT_SIDE * side, new)
        wrong = new != side
        if self.friction is None:
            return new, wrong
        sign, damping = self._next_friction((modes[1], sign), modes[2], u, impulses[1], done)
        sign = ca.if_else(side == 0, sign, 0)
        damping = ca.if_else(side == 0, damping, self.locking_damping)
        # friction first: a joint that it releases may no longer pass the limit
        others = ca.logic_or(sign != modes[1], damping != modes[2])
        new = ca.if_else(ca.logic_and(side == 0, others), 0, new)
        return ca.vertcat(new, sign, damping), ca.logic_or(wrong, others)

    def _next_friction(
        self, signs: tuple[SX, SX], damping: SX, u: SX, impulse: SX, done: SX
    ) -> tuple[SX, SX]:
        """Choose the next sign and damping of a joint with dry friction.

        Parameters
        ----------
        signs : tuple of SX
            Sign before, and the one called for next.
        damping, u, impulse, done : SX
            Damping, rate and friction impulse of the step, and number of passes before it.
        """
        assert self.friction is not None
        sign, new = signs
        locked = ca.if_else(new == 0, self.locking_damping, 0)
        # a joint that keeps changing is braked by a damper whose force converges to Coulomb's
        coulomb = self.friction / ca.fmax(ca.fabs(u), MIN_DAMPED_RATE)
        off = ca.fabs(ca.fabs(impulse) - self.friction) > DAMPER_TOLERANCE * self.friction
        too_large = ca.fabs(impulse) > (1 + DAMPER_TOLERANCE) * self.friction
        off = ca.if_else(ca.fabs(u) > MIN_DAMPED_RATE, off, too_large)
        is_damper = ca.logic_and(damping > 0, damping != self.locking_damping)
        damped = ca.if_else(ca.if_else(is_damper, off, new != sign), coulomb, damping)
        late = done >= DAMPER_PASS
        return ca.if_else(late, sign, new), ca.if_else(late, damped, locked)


def joint_states(scene: Scene, q: SX, start: StepStart) -> list[JointState]:
    """Compute the states of all lockable joints at the coordinates q (nq,)."""
    frequency, states, dependents = 1 / start.dt, [], lockable_dependents(scene)
    double = is_float64(start.dt)
    creep_rate = ca.if_else(double, CREEP_RATE, CREEP_RATE_FLOAT32)
    limit_factor = ca.if_else(double, LIMIT_FACTOR, LIMIT_FACTOR_FLOAT32)
    kin = kinematics(scene.mechanism, q, start.u) if dependents else None
    directions, positions = dependent_motions(kin, dependents)
    for joint in find_lockable_joints(scene):
        direction = directions[joint.dependent] if joint.dependent >= 0 else None
        u = start.u[joint.u] if direction is None else dot(direction, entries(start.u))
        position = q[joint.q] if direction is None else positions[joint.dependent]
        rates = dict[int, SX]()
        for sign, limit in ((-1, joint.lower), (1, joint.upper)):
            if not np.isfinite(limit):
                continue
            # reach the limit at the next step's evaluation; from beyond it come back slowly
            rate = ca.fmax(sign * (limit - position) * frequency, -RETURN_RATE)
            if scene.bounce:
                # bounce, if it arrives with a rate that would pass the limit
                approach = sign * u
                rate = ca.if_else(approach > rate, ca.fmin(rate, -scene.bounce * approach), rate)
            rates[sign] = sign * rate
        # finite forces such as friction do not act during an impact
        rubs = joint.has_friction and not start.evaluation.impact
        friction = start.dt * joint.friction if rubs else None
        limits = rates.get(-1), rates.get(1)
        how = friction, joint.u, creep_rate, limit_factor, direction
        states.append(JointState(u, *limits, *how))
    return states


def dependent_motions(
    kin: Kinematics | None, dependents: list[LockableJoint]
) -> tuple[list[list[SX]], dict[int, SX]]:
    """Compute directions (nu,) of all dependent coordinates, and the positions of the given ones.

    Positions are in rad or m. Without any, `kin` is not needed.
    """
    if kin is None or not dependents:
        return [], {}
    centers = {joint.dependent: joint.branch_center for joint in dependents}
    positions = dependent_coordinates.positions(kin, centers)
    return dependent_coordinates.rate_rows(kin), dict(zip(centers, positions, strict=True))


def limit_springs(scene: Scene, kin: Kinematics, M: SX) -> SX:
    """Compute the force (nu,) of limits at an instant, for steppers that compute forces.

    Each limit is a spring and damper, critically damped with the joint's own inertia in M (nu, nu),
    that does not pull. The inertia of a tendon is the one that its joints have if each is alone.
    """
    force = SX.zeros(scene.mechanism.nu)
    directions, positions = dependent_motions(kin, lockable_dependents(scene))
    for joint in find_lockable_joints(scene):
        row = SX(scene.mechanism.nu, 1)
        if joint.dependent < 0:
            row[joint.u] = 1
            position, inertia = kin.q[joint.q], M[joint.u, joint.u]
        else:
            row = ca.vertcat(*directions[joint.dependent])
            position, inertia = positions[joint.dependent], 1 / ca.dot(row * row, 1 / ca.diag(M))
        rate = ca.dot(row, kin.u)
        for sign, limit in ((-1, joint.lower), (1, joint.upper)):
            if np.isfinite(limit):
                beyond, outward, time = sign * (position - limit), sign * rate, LIMIT_SPRING_TIME
                push = inertia * (beyond / time + 2 * outward) / time
                force -= row * (sign * ca.if_else(beyond > 0, ca.fmax(push, 0), 0))
    return force
