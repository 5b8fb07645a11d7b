"""Subcycling: integrate a stiff contact force with substeps inside one step of the robot.

A spring and damper in the ground is stable under an explicit step only while the step is short for
the mass that the contact feels. A falling robot lands on light links and on several points at once,
so no fixed step is short enough. Here the robot's dynamics stay as the step evaluated them, and
only the contacts are integrated: their displacements x and velocities v in their own frames, with
the Delassus matrix G of the step,

    v' = v + (h / dt) ramp + G L,    x' = x + h (theta v + (1 - theta) v'),
    L = h f(x + theta h v, v),

where theta is the instant at which the stepper evaluates contacts, and the ramp the velocity gained
in free motion over the step. With one substep this is the step itself. At theta = 0 the ramp
displaces a contact by dt ramp in one substep, and by about half of that in many; the coordinates of
the robot get the same share.

A substep h keeps R (C h^2 / 4 + D h / 2) at most MARGIN along every normal, R being the column sum
of |G| over the contacts that may touch: the largest of these bounds the eigenvalue whose value 1 is
the stability limit (`contact/stability.py`). C and D are the slopes of the force at the depth that
the contact may reach in the substep. Friction near rest is a damper so steep that it alone would
require thousands of substeps as a robot lands. It therefore shortens substeps only down to
dt / FRICTION_SUBSTEPS. Where it is too steep even for these, it brakes as hard as it can without
reversing the slip.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flatten_blocks, triples
from tarsus.algebra.products import Matrix, multiply
from tarsus.contact.problem import Contact, ContactProblem
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

MARGIN = 0.25  # fraction of the stability limit; for a spring, half its longest stable step
NO_REVERSAL = 0.5  # fraction of the stability limit at which a damper stops the slip exactly
FRICTION_SUBSTEPS = 50  # per step, for the sake of friction
MAX_SUBSTEPS = 400  # per step
MIN_DIVISOR = 1e-30
COUNT_ROUND_OFF = 1e-9  # relative round-off of the number of substeps

Evaluate = Callable[[ContactProblem, SX], tuple[list[SX], SX]]
Slopes = Callable[[int, Contact, SX], tuple[SX, SX]]


@dataclass(frozen=True, eq=False)
class SubcycleResult:
    """Result of the contacts over a step.

    Attributes
    ----------
    impulses
        Impulse (3,) of each contact, N s.
    coordinate_impulses
        Impulse (3,) of each contact, N s, at the instant of evaluation that would displace the
        coordinates by as much as the impulses of all substeps did; None if that is `impulses`.
    free_share
        Share of the ramp that displaces the coordinates; None if that is all of it.
    memory
        Memory of the law after the step.
    substeps
        Number of substeps; 0 if there was one evaluation.
    stable
        1 if every substep was below the stability limit, else 0.
    """

    impulses: list[SX]
    coordinate_impulses: list[SX] | None
    free_share: SX | None
    memory: SX
    substeps: SX
    stable: SX


def subcycle(
    problem: ContactProblem, memory: SX, evaluate: Evaluate, slopes: Slopes, builder: Builder
) -> SubcycleResult:
    """Integrate contact forces over the step of a problem.

    Parameters
    ----------
    problem : ContactProblem
        Contacts of the step.
    memory : SX
        Memory of the law.
    evaluate : callable
        Returns the impulses (3,) of all contacts over `problem.dt` and the next memory, given a
        problem and a memory. Inactive contacts have zero impulses.
    slopes : callable
        Returns the stiffness C (3,), N/m, and damping D (3,), N s/m, of a contact's force along
        normal and tangents, given its number, the contact and the memory of all.
    builder : Builder
        Traces the loop.
    """
    if problem.instant is None:
        impulses, memory = evaluate(restrict_to_touching(problem), memory)
        return SubcycleResult(impulses, None, None, memory, SX(0), SX(1))
    motion = ContactMotion.of(problem, evaluate, slopes, builder)
    end = builder.loop(motion.begin(memory), motion.substep, MAX_SUBSTEPS + 1)
    impulses, coordinate_impulses = triples(end["impulse"]), triples(end["coordinate_impulse"])
    substeps = ca.if_else(end["substeps"] > 1, end["substeps"], 0)
    stable = ca.logic_not(end["unstable"])
    free_share = end["free_share"] if motion.theta == 0 else None
    return SubcycleResult(
        impulses, coordinate_impulses, free_share, end["memory"], substeps, stable
    )


@dataclass(frozen=True, eq=False)
class ContactMotion:
    """Motion of the contacts over a step, with the values that all substeps share.

    Attributes
    ----------
    problem
        Contacts where the stepper evaluates them.
    theta
        Instant at which it does.
    evaluate, slopes, builder
        As in `subcycle`.
    rows
        Rows of G (3n, 3n), 1/kg.
    column_sums
        Column sums (3n,) of |G| over the contacts that may touch, 1/kg.
    before, ramp
        Velocity at the start (3n,), and what the free motion adds to it, m/s.
    """

    problem: ContactProblem
    theta: float
    evaluate: Evaluate
    slopes: Slopes
    builder: Builder
    rows: Matrix
    column_sums: list[SX]
    before: SX
    ramp: SX

    @classmethod
    def of(
        cls, problem: ContactProblem, evaluate: Evaluate, slopes: Slopes, builder: Builder
    ) -> ContactMotion:
        """Prepare the contacts of a problem that has an instant of evaluation."""
        assert problem.instant is not None
        contacts = builder.store_all("contacts", problem.contacts)
        active = entries(builder.store("active", ca.vertcat(*problem.active)))
        G = builder.store_all("G_all", problem.G)
        rows, size = flatten_blocks(G, problem.n), range(3 * problem.n)
        column_sums = [
            sum((active[r // 3] * ca.fabs(rows[r][c]) for r in size), SX(0)) for c in size
        ]
        column_sums = entries(builder.store("column_sums", ca.vertcat(*column_sums)))
        before = builder.store("before", ca.vertcat(*(c.velocity for c in contacts)))
        ramp = builder.store("ramp", ca.vertcat(*problem.free) - before)
        stored = replace(problem, contacts=contacts, active=active, make_delassus=lambda: G)
        return cls(
            stored, problem.instant, evaluate, slopes, builder, rows, column_sums, before, ramp
        )

    def begin(self, memory: SX) -> Values:
        """Return the values that the first substep starts from."""
        zeros, dt = SX.zeros(3 * self.problem.n), self.problem.dt
        state = {"x": -self.theta * dt * self.before, "v": self.before, "memory": memory}
        clock = {"remaining": dt, "max_length": dt, "substeps": SX(0), "unstable": SX(0)}
        sums = {"impulse": zeros, "coordinate_impulse": zeros}
        return state | clock | sums | ({"free_share": SX(0)} if self.theta == 0 else {})

    def substep(self, state: Values) -> tuple[Values, SX]:
        """Take one substep; also return whether there is another."""
        # its length
        dt, theta, left = self.problem.dt, self.theta, state["remaining"]
        P, Q = self._steepness(state)
        count = self.builder.store("count", self._count(state, P, Q))
        h = self.builder.store("h", left / count)
        growth = [p * h * h / 4 + q * h / 2 for p, q in zip(P, Q, strict=True)]
        # impulses of the contacts
        x, v = state["x"], state["v"]
        impulses, memory = self.evaluate(self._problem_at(x + theta * h * v, v, h), state["memory"])
        impulses = [
            without_reversal(impulse, ca.fmax(*growth[3 * i + 1 : 3 * i + 3]))
            for i, impulse in enumerate(impulses)
        ]
        L = self.builder.store("L_substep", ca.vertcat(*impulses))
        # displacements and velocities after it
        share = h / dt
        after = v + share * self.ramp + ca.vertcat(*multiply(self.rows, entries(L)))
        rest = ca.if_else(count > 1, left - h, 0)
        weight = ((1 - theta) * h + rest) / ((1 - theta) * dt)
        unstable = -minimum([-value for value in growth[::3]]) > 1
        new = {
            "x": x + h * (theta * v + (1 - theta) * after),
            "v": after,
            "memory": memory,
            "impulse": state["impulse"] + L,
            "coordinate_impulse": state["coordinate_impulse"] + weight * L,
            "remaining": rest,
            "max_length": 2 * h,
            "substeps": state["substeps"] + 1,
            "unstable": ca.logic_or(state["unstable"], unstable),
        }
        if theta == 0:
            new["free_share"] = state["free_share"] + share * weight
        return new, rest > 0

    def _problem_at(self, x: SX, v: SX, h: SX) -> ContactProblem:
        """Set up the problem of a substep.

        Contacts are displaced by x (3n,) at velocities v (3n,).
        """
        motions = zip(self.problem.contacts, triples(x), triples(v), strict=True)
        moved = [displace(contact, d, w) for contact, d, w in motions]
        problem = replace(self.problem, contacts=moved, free=triples(v + self.ramp), dt=h)
        return restrict_to_touching(problem)

    def _steepness(self, state: Values) -> tuple[list[SX], list[SX]]:
        """Compute R C and R D (3n,), with slopes at the depth that contacts may reach."""
        steepness: tuple[list[SX], list[SX]] = [], []
        for i, (d, w) in enumerate(zip(triples(state["x"]), triples(state["v"]), strict=True)):
            deeper = d + ca.vertcat(ca.fmin(w[0], 0) * state["max_length"], 0, 0)
            deepest = displace(self.problem.contacts[i], deeper, w)
            touches = ca.logic_and(self.problem.active[i], deepest.gap <= 0)
            sums = self.column_sums[3 * i : 3 * i + 3]
            slopes = self.slopes(i, deepest, state["memory"])
            for values, slope in zip(steepness, slopes, strict=True):
                slope = entries(ca.if_else(touches, slope, 0))
                values += [R * k for R, k in zip(sums, slope, strict=True)]
        P, Q = (
            self.builder.store(name, ca.vertcat(*values))
            for name, values in zip("PQ", steepness, strict=True)
        )
        return entries(P), entries(Q)

    def _count(self, state: Values, P: list[SX], Q: list[SX]) -> SX:
        """Count the substeps as long as the next one in the rest of the step."""
        pairs = list(zip(P, Q, strict=True))
        stable = minimum([longest_step(p, q, MARGIN) for p, q in pairs[::3]])
        slips = [pair for k, pair in enumerate(pairs) if k % 3]
        smooth = minimum([longest_step(p, q, NO_REVERSAL) for p, q in slips])
        h = ca.fmin(stable, ca.fmax(smooth, self.problem.dt / FRICTION_SUBSTEPS))
        shortest = state["remaining"] / ca.fmax(MAX_SUBSTEPS - state["substeps"], 1)
        h = ca.fmin(ca.fmax(ca.fmin(h, state["max_length"]), shortest), state["remaining"])
        return ca.ceil(state["remaining"] / h * (1 - COUNT_ROUND_OFF))


def without_reversal(impulse: SX, growth: SX) -> SX:
    """Reduce the friction of an impulse (3,) where it would reverse the slip."""
    return ca.vertcat(
        impulse[0], ca.fmin(1, NO_REVERSAL / ca.fmax(growth, MIN_DIVISOR)) * impulse[1:]
    )


def longest_step(P: SX, Q: SX, margin: float) -> SX:
    """Compute the step h, s, with P h^2 / 4 + Q h / 2 = margin."""
    return 4 * margin / ca.fmax(Q + ca.sqrt(Q * Q + 4 * margin * P), MIN_DIVISOR)


def minimum(values: list[SX]) -> SX:
    """Return the smallest value."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [ca.fmin(a, b) for a, b in pairs] + ([values[-1]] if len(values) % 2 else [])
    return values[0]


def restrict_to_touching(problem: ContactProblem) -> ContactProblem:
    """Restrict a problem to the contacts that penetrate the ground."""
    pairs = zip(problem.active, problem.contacts, strict=True)
    return replace(
        problem,
        active=[ca.logic_and(flag, contact.gap <= 0) for flag, contact in pairs],
        make_delassus=lambda: problem.G,
    )


def displace(contact: Contact, by: SX, velocity: SX) -> Contact:
    """Displace a contact by (3,), m, in its own frame, and set its velocity (3,)."""
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
        possible_sinking=SX(0),
    )


def force_slopes(force: Callable[[Contact], SX], contact: Contact) -> tuple[SX, SX]:
    """Compute stiffness (3,) and damping (3,) of a contact's force (3,) along normal and tangents.

    Friction that opposes slip has its full slope across the slip, so both tangents get the sum of
    their slopes.
    """
    by, faster = SX.sym("by", 3), SX.sym("faster", 3)
    f, symbols = force(displace(contact, by, contact.velocity + faster)), ca.vertcat(by, faster)
    J = ca.substitute(ca.densify(-ca.jacobian(f, symbols)), symbols, SX.zeros(6))
    C, D = (ca.fmax(ca.diag(part), 0) for part in (J[:, :3], J[:, 3:]))
    return _with_tangent_sum(C), _with_tangent_sum(D)


def _with_tangent_sum(slopes: SX) -> SX:
    tangential = slopes[1] + slopes[2]
    return ca.vertcat(slopes[0], tangential, tangential)
