"""Subcycling: a stiff contact force integrated with shorter steps inside one step of the robot.

A spring and damper in the ground is stable under an explicit step only while the step is short for
the mass that the contact feels. A falling robot lands on light links and on several points at once,
so no fixed step is short enough. Here the robot's dynamics stay as the step sees them, and only the
contacts are followed: their displacements x and velocities v in their own frames, with the Delassus
matrix G of the step,

    v' = v + ramp + G L,    x' = x + h (theta v + (1 - theta) v'),    L = h f(x + theta h v, v),

theta the instant at which the stepper sees its contacts. With one substep this is the step itself.
The ramp is what the free motion gains: over the step where contacts are seen halfway, at once where
they are seen at the start.

A substep h keeps R (C h^2 / 4 + D h / 2) at most MARGIN along every normal, R the column sum of |G|
over the contacts that may touch: the largest of these bounds the eigenvalue whose value 1 is the
stability limit (`contact/stability.py`). C and D are the force's slopes at the depth that the
contact may reach in the substep. Friction near rest is a damper so steep that it alone would ask
for thousands of substeps as a robot lands: substeps get no shorter than dt / FRICTION_SUBSTEPS for
its sake, and where it is steeper than they resolve, it brakes as hard as it can without a reversal
of the slip.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flat_matrix, triples
from tarsus.algebra.products import Matrix, times
from tarsus.contact.problem import Contact, ContactProblem
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

MARGIN = 0.25  # of the stability limit; of a spring without damper, half its longest stable step
NO_REVERSAL = 0.5  # of the limit: a damper so steep stops what it brakes, and no more
FRICTION_SUBSTEPS = 50  # in one step, for friction alone
MAX_SUBSTEPS = 400  # in one step
TINY = 1e-30
ROUND_OFF = 1e-9  # of a number of substeps

Evaluate = Callable[[ContactProblem, SX], tuple[list[SX], SX]]
Slopes = Callable[[int, Contact, SX], tuple[SX, SX]]


@dataclass(frozen=True, eq=False)
class Subcycled:
    """What the contacts did over a step.

    impulses: (3,) of each contact, N s
    carrying: (3,) of each contact, N s: an impulse at the step's seen instant that would move the
        coordinates by as much as the impulses of all substeps did
    memory: the law's, after the step
    substeps: how many there were; 0 where one evaluation made the step
    stable: 1 where every substep was below the stability limit, else 0
    """

    impulses: list[SX]
    carrying: list[SX] | None
    memory: SX
    substeps: SX
    stable: SX


def subcycle(
    problem: ContactProblem, memory: SX, evaluate: Evaluate, slopes: Slopes, builder: Builder
) -> Subcycled:
    """Integrate contact forces over the step of a problem.

    evaluate: impulses (3,) of all contacts over `problem.dt`, and the next memory, from a problem
        and a memory; contacts that are not active have none
    slopes: stiffness C (3,), N/m, and damping D (3,), N s/m, of a contact with a memory, both of
        its force along normal and tangents; from its number, itself and the memory of all
    """
    if problem.instant is None:
        impulses, kept = evaluate(touching(problem), memory)
        return Subcycled(impulses, None, kept, SX(0), SX(1))
    motion = ContactMotion.of(problem, evaluate, slopes, builder)
    end = builder.loop(motion.begin(memory), motion.substep, MAX_SUBSTEPS + 1)
    impulses, carrying = triples(end["impulse"]), triples(end["carrying"])
    more = ca.if_else(end["substeps"] > 1, end["substeps"], 0)
    return Subcycled(impulses, carrying, end["memory"], more, ca.logic_not(end["unstable"]))


@dataclass(frozen=True, eq=False)
class ContactMotion:
    """How contacts move over a step, by numbers computed once for all substeps.

    problem: with contacts where the stepper sees them
    theta: the instant at which it does
    rows: of G (3n, 3n), 1/kg
    felt (3n,): column sums of |G| over the contacts that may touch, 1/kg
    before, ramp (3n,): velocity at the start, and what the free motion adds to it, m/s
    """

    problem: ContactProblem
    theta: float
    evaluate: Evaluate
    slopes: Slopes
    builder: Builder
    rows: Matrix
    felt: list[SX]
    before: SX
    ramp: SX

    @classmethod
    def of(
        cls, problem: ContactProblem, evaluate: Evaluate, slopes: Slopes, builder: Builder
    ) -> ContactMotion:
        """The contacts of a problem that says at which instant they are seen."""
        assert problem.instant is not None
        contacts = builder.store_all("contacts", problem.contacts)
        active = entries(builder.store("active", ca.vertcat(*problem.active)))
        G = builder.store_all("G_all", problem.G)
        rows, size = flat_matrix(G, problem.n), range(3 * problem.n)
        felt = [sum((active[r // 3] * ca.fabs(rows[r][c]) for r in size), SX(0)) for c in size]
        felt = entries(builder.store("felt", ca.vertcat(*felt)))
        before = builder.store("before", ca.vertcat(*(c.velocity for c in contacts)))
        ramp = builder.store("ramp", ca.vertcat(*problem.free) - before)
        held = replace(problem, contacts=contacts, active=active, make_delassus=lambda: G)
        return cls(held, problem.instant, evaluate, slopes, builder, rows, felt, before, ramp)

    def begin(self, memory: SX) -> Values:
        """What the first substep begins with."""
        none, dt = SX.zeros(3 * self.problem.n), self.problem.dt
        place = {"x": -self.theta * dt * self.before, "v": self.before, "memory": memory}
        clock = {"left": dt, "ahead": dt, "substeps": SX(0), "unstable": SX(0)}
        return place | clock | {"impulse": none, "carrying": none}

    def substep(self, now: Values) -> tuple[Values, SX]:
        """One substep, and whether there is another."""
        # how long it is
        dt, theta, left = self.problem.dt, self.theta, now["left"]
        P, Q = self._steepness(now)
        count = self.builder.store("count", self._count(now, P, Q))
        h = self.builder.store("h", left / count)
        grows = [p * h * h / 4 + q * h / 2 for p, q in zip(P, Q, strict=True)]
        # what the contacts do in it
        x, v = now["x"], now["v"]
        impulses, memory = self.evaluate(self._at(x + theta * h * v, v, h), now["memory"])
        impulses = [
            without_reversal(impulse, ca.fmax(*grows[3 * i + 1 : 3 * i + 3]))
            for i, impulse in enumerate(impulses)
        ]
        L = self.builder.store("L_substep", ca.vertcat(*impulses))
        # where they get
        share = h / dt if theta else now["substeps"] == 0
        after = v + share * self.ramp + ca.vertcat(*times(self.rows, entries(L)))
        rest = ca.if_else(count > 1, left - h, 0)
        weight = ((1 - theta) * h + rest) / ((1 - theta) * dt)
        unstable = -least([-growth for growth in grows[::3]]) > 1
        new = {
            "x": x + h * (theta * v + (1 - theta) * after),
            "v": after,
            "memory": memory,
            "impulse": now["impulse"] + L,
            "carrying": now["carrying"] + weight * L,
            "left": rest,
            "ahead": 2 * h,
            "substeps": now["substeps"] + 1,
            "unstable": ca.logic_or(now["unstable"], unstable),
        }
        return new, rest > 0

    def _at(self, x: SX, v: SX, h: SX) -> ContactProblem:
        """The problem of a substep, its contacts displaced by x (3n,) with velocities v (3n,)."""
        triple = zip(self.problem.contacts, triples(x), triples(v), strict=True)
        moved = [displaced(contact, d, w) for contact, d, w in triple]
        here = replace(self.problem, contacts=moved, free=triples(v + self.ramp), dt=h)
        return touching(here)

    def _steepness(self, now: Values) -> tuple[list[SX], list[SX]]:
        """R C and R D (3n,), for slopes where contacts get in the time that is looked ahead."""
        found: tuple[list[SX], list[SX]] = [], []
        for i, (d, w) in enumerate(zip(triples(now["x"]), triples(now["v"]), strict=True)):
            deeper = d + ca.vertcat(ca.fmin(w[0], 0) * now["ahead"], 0, 0)
            there = displaced(self.problem.contacts[i], deeper, w)
            reaches = ca.logic_and(self.problem.active[i], there.gap <= 0)
            own = self.felt[3 * i : 3 * i + 3]
            for values, slope in zip(found, self.slopes(i, there, now["memory"]), strict=True):
                slope = entries(ca.if_else(reaches, slope, 0))
                values += [R * k for R, k in zip(own, slope, strict=True)]
        P, Q = (
            self.builder.store(name, ca.vertcat(*x)) for name, x in zip("PQ", found, strict=True)
        )
        return entries(P), entries(Q)

    def _count(self, now: Values, P: list[SX], Q: list[SX]) -> SX:
        """How many substeps as long as the next one the rest of the step takes."""
        pairs = list(zip(P, Q, strict=True))
        stable = least([longest(p, q, MARGIN) for p, q in pairs[::3]])
        slips = [pair for k, pair in enumerate(pairs) if k % 3]
        smooth = least([longest(p, q, NO_REVERSAL) for p, q in slips])
        h = ca.fmin(stable, ca.fmax(smooth, self.problem.dt / FRICTION_SUBSTEPS))
        shortest = now["left"] / ca.fmax(MAX_SUBSTEPS - now["substeps"], 1)
        h = ca.fmin(ca.fmax(ca.fmin(h, now["ahead"]), shortest), now["left"])
        return ca.ceil(now["left"] / h * (1 - ROUND_OFF))


def without_reversal(impulse: SX, growth: SX) -> SX:
    """An impulse (3,) whose friction is cut where its growth is more than stops the slip."""
    return ca.vertcat(impulse[0], ca.fmin(1, NO_REVERSAL / ca.fmax(growth, TINY)) * impulse[1:])


def longest(P: SX, Q: SX, margin: float) -> SX:
    """The step h, s, with P h^2 / 4 + Q h / 2 = margin."""
    return 4 * margin / ca.fmax(Q + ca.sqrt(Q * Q + 4 * margin * P), TINY)


def least(values: list[SX]) -> SX:
    """The smallest of some numbers."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [ca.fmin(a, b) for a, b in pairs] + ([values[-1]] if len(values) % 2 else [])
    return values[0]


def touching(problem: ContactProblem) -> ContactProblem:
    """The same with only those contacts active that are in the ground."""
    pairs = zip(problem.active, problem.contacts, strict=True)
    return replace(
        problem,
        active=[ca.logic_and(flag, contact.gap <= 0) for flag, contact in pairs],
        make_delassus=lambda: problem.G,
    )


def displaced(contact: Contact, by: SX, velocity: SX) -> Contact:
    """A contact moved by (3,), m, in its own frame, with another velocity (3,)."""
    moved = ca.mtimes(contact.frame.T, by)
    ball = contact.roundness
    if ball.tracked is not None:
        ball = replace(ball, tracked=ball.tracked + moved)
    return replace(
        contact,
        gap=contact.gap + by[0],
        point=contact.point + moved,
        velocity=velocity,
        roundness=ball,
        sinks=SX(0),
    )


def force_slopes(force: Callable[[Contact], SX], contact: Contact) -> tuple[SX, SX]:
    """Stiffness (3,) and damping (3,) of a force (3,) of one contact, along normal and tangents.

    Friction that opposes slip has its full slope across the slip, which is why both tangents get
    the sum of theirs.
    """
    by, faster = SX.sym("by", 3), SX.sym("faster", 3)
    f, symbols = force(displaced(contact, by, contact.velocity + faster)), ca.vertcat(by, faster)
    J = ca.substitute(ca.densify(-ca.jacobian(f, symbols)), symbols, SX.zeros(6))
    C, D = (ca.fmax(ca.diag(part), 0) for part in (J[:, :3], J[:, 3:]))
    return _together(C), _together(D)


def _together(slopes: SX) -> SX:
    across = slopes[1] + slopes[2]
    return ca.vertcat(slopes[0], across, across)
