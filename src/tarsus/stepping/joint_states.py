"""What a joint's row allows within a step: the rates at its end, and Coulomb's law.

What a limit allows is an interval of the rate u^E; dry friction holds a joint at rest with up to
f, and brakes a moving one with f. `joints` solves a step under both.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.algebra.products import dot
from tarsus.dynamics import coordinates, loop_constraints
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.program.ir.symbolic import entries, is_float64
from tarsus.stepping.base import Scene, StepStart
from tarsus.stepping.joint_rows import JointRow, loop_rows, rows

DRAG_NEXT = 14  # passes after which friction drags what still changes
AFRESH = 8  # passes after which contacts are taken to press and stick first
KEEP = 32  # passes after which a limit keeps what it holds: none is passed
SHORT = 0.5  # of its side: a joint kept at rest, where its limit would pull it on
RETURN = 0.2  # rad/s, m/s: how fast a joint that begins beyond its limit comes back
# times its inertia is added to a joint at a limit; in float32: what is told of its force comes from
# how little it gives way
AT_LIMIT, COARSE_LIMIT = 1e6, 1e4
STILL = 1e-9  # rad/s, m/s: a joint at rest
CREEP, COARSE = 1e-10, 3e-6  # rad/s, m/s: how a joint creeps that friction holds; in float32
SLOW = 1e-2  # rad/s, m/s: what friction drags is no slower in its law
CLOSE = 0.05  # of the friction force: what drags may exceed
SETTLING = 0.01  # s: of a limit that is a spring
NOISE = 1e-7  # of an impulse or a rate: what float32 leaves undecided


@dataclass(frozen=True, eq=False)
class JointState:
    """One row where a step looks at the robot: the rates that it may end with, and its friction.

    u: rate at the step's start, rad/s or m/s
    lower, upper: least and greatest rate at its end; None: any
    friction: largest impulse of dry friction in the step, N m s or N s; None: there is none
    place: of its rate in u
    creep: rate, rad/s or m/s, at which friction that holds the joint is all that it can be
    stop: how often a limit adds the joint's inertia
    way: in place of it the direction (nu,) of a joint that closes a loop, rate = way . u

    Its modes: side -1 at the lower limit, 1 at the upper, 0 between; with friction also way, the
    sign of the rate that it brakes, 0 where it holds, and drag of a damper, which holds, or 0. A
    joint at a limit needs no friction: the limit holds it.
    """

    u: SX
    lower: SX | None
    upper: SX | None
    friction: SX | None
    place: int
    creep: SX
    stop: SX
    way: list[SX] | None = None

    def rate(self, u: SX) -> SX:
        """Its rate, rad/s or m/s, at velocities (nu,)."""
        return u[self.place] if self.way is None else dot(self.way, entries(u))

    @property
    def ends(self) -> list[tuple[int, SX]]:
        """The limits: sign and rate."""
        both = ((-1, self.lower), (1, self.upper))
        return [(sign, rate) for sign, rate in both if rate is not None]

    def guess(self) -> SX:
        """The modes that the start of the step suggests."""
        side = SX(0)
        for sign, end in self.ends:
            side = ca.if_else(sign * (self.u - end) >= -STILL, sign, side)
        if self.friction is None:
            return side
        moves = ca.logic_and(side == 0, ca.fabs(self.u) > self.creep)
        way = ca.if_else(moves, ca.sign(self.u), 0)
        return ca.vertcat(side, way, ca.if_else(moves, 0, self.holding))

    @property
    def holding(self) -> SX:
        """The drag of friction that holds it."""
        assert self.friction is not None
        return self.friction / self.creep

    def _velocity(self, side: SX) -> SX:
        """The rate at which a limit holds the joint; 0 away from both."""
        velocity = SX(0)
        for sign, end in self.ends:
            velocity = ca.if_else(side == sign, end, velocity)
        return velocity

    def held(self, modes: SX) -> tuple[SX, SX, SX, SX]:
        """Weight, drag, velocity, and impulse of friction in these modes: see `LockedJoints`."""
        side, velocity = modes[0], self._velocity(modes[0])
        weight, drag, friction = self.stop * (side * side), SX(0), SX(0)
        if self.friction is not None:
            limited, dragged = side != 0, modes[2] > 0
            drag = ca.if_else(limited, 0, modes[2])
            friction = ca.if_else(ca.logic_or(limited, dragged), 0, -modes[1] * self.friction)
        return weight, drag, velocity, friction

    def next(self, modes: SX, u: SX, impulses: tuple[SX, SX], way: SX, done: SX) -> tuple[SX, SX]:
        """The modes that a step solved in these asks for, and whether they are others.

        u: rate at its end; impulses: of the limit and of dry friction in it; way: that in which
        friction shall brake, 0 where it shall hold (`joint_friction`); done: passes before
        """
        # a limit lets go of what leaves it by itself, and stops what passes it
        side, at_end = modes[0], self._velocity(modes[0])
        pulled = side * (u - at_end) < -NOISE * ca.fabs(at_end)
        leaves = ca.logic_and(pulled, done < KEEP)
        stops = ca.logic_and(ca.logic_and(pulled, done >= KEEP), ca.fabs(side) == 1)
        if self.friction is not None:
            # friction may hold it there
            leaves = ca.logic_and(leaves, side * impulses[0] > self.friction)
        passed = sum((sign * (sign * (u - end) > STILL) for sign, end in self.ends), SX(0))
        new = ca.if_else(leaves, 0, ca.if_else(side == 0, passed, side))
        new = ca.if_else(stops, SHORT * side, new)
        wrong = new != side
        if self.friction is None:
            return new, wrong
        way, drag = self._rubbing((modes[1], way), modes[2], u, impulses[1], done)
        way, drag = ca.if_else(side == 0, way, 0), ca.if_else(side == 0, drag, self.holding)
        # friction first: what it lets go may not pass the limit any more
        others = ca.logic_or(way != modes[1], drag != modes[2])
        new = ca.if_else(ca.logic_and(side == 0, others), 0, new)
        return ca.vertcat(new, way, drag), ca.logic_or(wrong, others)

    def _rubbing(self, ways: tuple[SX, SX], drag: SX, u: SX, rubbed: SX, done: SX) -> tuple[SX, SX]:
        """The next way and drag of a joint with dry friction; ways: before, and asked for."""
        assert self.friction is not None
        way, new = ways
        held = ca.if_else(new == 0, self.holding, 0)
        # what goes on changing is dragged by a damper; its force comes down to the law's
        law = self.friction / ca.fmax(ca.fabs(u), SLOW)
        off = ca.fabs(ca.fabs(rubbed) - self.friction) > CLOSE * self.friction
        much = ca.fabs(rubbed) > (1 + CLOSE) * self.friction
        off = ca.if_else(ca.fabs(u) > SLOW, off, much)
        brakes = ca.logic_and(drag > 0, drag != self.holding)
        dragged = ca.if_else(ca.if_else(brakes, off, new != way), law, drag)
        late = done >= DRAG_NEXT
        return ca.if_else(late, way, new), ca.if_else(late, dragged, held)


def joint_states(scene: Scene, q: SX, start: StepStart) -> list[JointState]:
    """The rows seen at q (nq,)."""
    often, found, loops = 1 / start.dt, [], loop_rows(scene)
    double = is_float64(start.dt)
    creep, stop = ca.if_else(double, CREEP, COARSE), ca.if_else(double, AT_LIMIT, COARSE_LIMIT)
    ways, closing = loop_motions(scene, q, start.u, loops) if loops else ([], {})
    for row in rows(scene):
        way = ways[row.loop] if row.loop >= 0 else None
        u = start.u[row.u] if way is None else dot(way, entries(start.u))
        at, rates = q[row.q] if way is None else closing[row.loop], dict[int, SX]()
        for sign, limit in ((-1, row.lower), (1, row.upper)):
            if not np.isfinite(limit):
                continue
            # to the limit when the next step looks; slowly back from beyond
            rate = ca.fmax(sign * (limit - at) * often, -RETURN)
            if scene.bounce:
                # thrown back, if it came with a rate that would pass it
                coming = sign * u
                rate = ca.if_else(coming > rate, ca.fmin(rate, -scene.bounce * coming), rate)
            rates[sign] = sign * rate
        # at an impact's instant no force of friction counts
        rubs = row.rubs and not start.evaluation.impact
        friction = start.dt * row.friction if rubs else None
        found.append(JointState(u, rates.get(-1), rates.get(1), friction, row.u, creep, stop, way))
    return found


def loop_motions(
    scene: Scene, q: SX, u: SX, loops: list[JointRow]
) -> tuple[list[list[SX]], dict[int, SX]]:
    """Of joints that close loops: directions (nu,) of all, angles, rad, or ways, m, of these."""
    kin, middles = kinematics(scene.mechanism, q, u), {row.loop: row.middle for row in loops}
    places = zip(middles, coordinates.loop_positions(kin, middles), strict=True)
    return loop_constraints.rate_rows(kin), dict(places)


def spring(scene: Scene, kin: Kinematics, M: SX) -> SX:
    """The force (nu,) of limits at an instant, for steppers that take forces: of a spring and
    damper, critical with the joint's own inertia in M (nu, nu), that do not pull.
    """
    force = SX.zeros(scene.mechanism.nu)
    for row in rows(scene):
        for sign, limit in ((-1, row.lower), (1, row.upper)):
            if np.isfinite(limit):
                beyond, rate = sign * (kin.q[row.q] - limit), sign * kin.u[row.u]
                push = M[row.u, row.u] * (beyond / SETTLING + 2 * rate) / SETTLING
                force[row.u] -= sign * ca.if_else(beyond > 0, ca.fmax(push, 0), 0)
    return force
