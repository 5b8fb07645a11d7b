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
from tarsus.contact.problem import Contact, ContactProblem
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

MARGIN = 0.25  # of the stability limit; of a spring without damper, half its longest stable step
NO_REVERSAL = 0.5  # of the limit: a damper so steep stops what it brakes, and no more
FRICTION_SUBSTEPS = 50  # in one step, for friction alone
MAX_SUBSTEPS = 400  # in one step
TINY = 1e-30

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
    theta, dt, n = problem.instant, problem.dt, problem.n

    # all that the substeps read is computed once
    contacts = builder.hold("contacts", problem.contacts)
    active = entries(builder.keep("active", ca.vertcat(*problem.active)))
    G = builder.hold("G_all", problem.G)
    rows = flat_matrix(G, n)
    size = range(3 * n)
    felt = [sum((active[r // 3] * ca.fabs(rows[r][c]) for r in size), SX(0)) for c in size]
    felt = entries(builder.keep("felt", ca.vertcat(*felt)))
    before = builder.keep("before", ca.vertcat(*(c.velocity for c in contacts)))
    ramp = builder.keep("ramp", ca.vertcat(*problem.free) - before)
    held = replace(problem, contacts=contacts, active=active, make_delassus=lambda: G)

    def at(x: SX, v: SX, h: SX) -> ContactProblem:
        moved = [
            displaced(contact, d, w)
            for contact, d, w in zip(contacts, triples(x), triples(v), strict=True)
        ]
        free = triples(v + ramp)
        return touching(replace(held, contacts=moved, free=free, dt=h, make_delassus=lambda: G))

    def steepness(now: Values) -> tuple[list[SX], list[SX]]:
        """R C and R D (3n,), for slopes where contacts get in the time that is looked ahead."""
        P, Q = [], []
        for i, (d, w) in enumerate(zip(triples(now["x"]), triples(now["v"]), strict=True)):
            deeper = d + ca.vertcat(ca.fmin(w[0], 0) * now["ahead"], 0, 0)
            there = displaced(contacts[i], deeper, w)
            reaches = ca.logic_and(active[i], there.gap <= 0)
            for found, part in zip((P, Q), slopes(i, there, now["memory"]), strict=True):
                part = entries(ca.if_else(reaches, part, 0))
                found += [R * k for R, k in zip(felt[3 * i : 3 * i + 3], part, strict=True)]
        P, Q = builder.keep("P", ca.vertcat(*P)), builder.keep("Q", ca.vertcat(*Q))
        return entries(P), entries(Q)

    def one(now: Values) -> tuple[Values, SX]:
        # how long a substep is
        left, normal = now["left"], slice(0, None, 3)
        P, Q = steepness(now)
        stable = least([longest(p, q, MARGIN) for p, q in zip(P[normal], Q[normal], strict=True)])
        slips = [k for k in range(3 * n) if k % 3]
        smooth = least([longest(P[k], Q[k], NO_REVERSAL) for k in slips])
        wanted = ca.fmin(stable, ca.fmax(smooth, dt / FRICTION_SUBSTEPS))
        floor = left / ca.fmax(MAX_SUBSTEPS - now["substeps"], 1)
        wanted = ca.fmin(ca.fmax(ca.fmin(wanted, now["ahead"]), floor), left)
        count = builder.keep("count", ca.ceil(left / wanted * (1 - 1e-9)))
        h = builder.keep("h", left / count)
        grows = [p * h * h / 4 + q * h / 2 for p, q in zip(P, Q, strict=True)]
        # what the contacts do in it
        x, v = now["x"], now["v"]
        impulses, memory = evaluate(at(x + theta * h * v, v, h), now["memory"])
        for i, impulse in enumerate(impulses):
            steep = ca.fmax(grows[3 * i + 1], grows[3 * i + 2])
            brakes = ca.fmin(1, NO_REVERSAL / ca.fmax(steep, TINY))
            impulses[i] = ca.vertcat(impulse[0], brakes * impulse[1:])
        L = builder.keep("L_substep", ca.vertcat(*impulses))
        # where they get
        share = h / dt if theta else now["substeps"] == 0
        gained = [sum((a * b for a, b in zip(row, entries(L), strict=True)), SX(0)) for row in rows]
        after = v + share * ramp + ca.vertcat(*gained)
        rest = ca.if_else(count > 1, left - h, 0)
        weight = ((1 - theta) * h + rest) / ((1 - theta) * dt)
        unstable = -least([-growth for growth in grows[normal]]) > 1
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

    none = SX.zeros(3 * n)
    begin = {"x": -theta * dt * before, "v": before, "memory": memory, "impulse": none}
    begin |= {"carrying": none, "left": dt, "ahead": dt, "substeps": SX(0), "unstable": SX(0)}
    end = builder.loop(begin, one, MAX_SUBSTEPS + 1)
    impulses, carrying = triples(end["impulse"]), triples(end["carrying"])
    more = ca.if_else(end["substeps"] > 1, end["substeps"], 0)
    return Subcycled(impulses, carrying, end["memory"], more, ca.logic_not(end["unstable"]))


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
    if ball.told is not None:
        ball = replace(ball, told=ball.told + moved)
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
    f = force(displaced(contact, by, contact.velocity + faster))
    symbols, zeros = ca.vertcat(by, faster), SX.zeros(6)
    J = ca.substitute(ca.densify(-ca.jacobian(f, symbols)), symbols, zeros)
    C, D = (ca.fmax(ca.diag(part), 0) for part in (J[:, :3], J[:, 3:]))
    return tuple(ca.vertcat(part[0], part[1] + part[2], part[1] + part[2]) for part in (C, D))  # type: ignore[return-value]
