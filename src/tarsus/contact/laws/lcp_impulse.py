"""Rigid contact as a linear complementarity problem (LCP), with impacts.

Ogunsola: forces from accelerations, impulses where a contact closes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flatten, triples
from tarsus.algebra.pivoting import ComplementarityProblem, PivotResult, pivot
from tarsus.algebra.products import Matrix
from tarsus.contact.base import HardLaw
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.contact.solvers._last_step import with_derivative
from tarsus.contact.solvers.base import HardProblem, Outcome, exceeds_dense, is_finite
from tarsus.contact.solvers.exact import Exact
from tarsus.contact.solvers.newton import Newton
from tarsus.parameters import (
    Value,
    absolute_tolerance,
    friction,
    parameter,
    relative_tolerance,
    restitution,
)
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.references.books import FEATHERSTONE_2008
from tarsus.references.papers import OGUNSOLA
from tarsus.references.reference import Citation

TOLERANCE, REGULARIZATION = 1e-12, 1e-10


@dataclass(frozen=True)
class LcpImpulse(HardLaw):
    """Impulse dynamics (4) of Ogunsola where a contact closes, then the LCP (3) over the step.

    First, impulses Lambda >= 0 give the closed contacts velocities zeta+ >= -e_N zeta-,
    complementary to them; e_N acts where a contact approaches faster than v_0, elsewhere it is 0.
    Then forces lambda >= 0 act over the step with acceleration a = M lambda + d >= -zeta+ / dt,
    complementary to them: Eqn. (3) for a contact at rest, no force for one that separates. Both are
    solved exactly by principal pivoting. The law returns Lambda + dt lambda.

    Differences from the paper: (4) has a complementarity instead of an equality, so that no foot is
    pulled while another lands. Over a step, the acceleration is the mean from its start to its end,
    so that a contact that pressed rests there (`HardLaw.half_step_change`). A contact that pressed
    in the last step is active in this one even if round-off shows it above the ground.

    Friction, which the paper leaves to future work, is Coulomb's cone. Where a closed contact has
    friction, Lambda and dt lambda are one impulse with Newton's restitution, found by the solvers
    of `moreau` (newton for up to 12 contacts, 24 where the robot has fallen, else exact). Under
    `event_driven` they stay separate.
    """

    citation: ClassVar[Citation] = (
        OGUNSOLA.at("Eqns. (3)-(4)"),
        FEATHERSTONE_2008.at("pp. 219-224"),
    )
    not_modeled: ClassVar[Mapping[str, str]] = {"spring": "hard contact is not compliant"}

    at_instants: ClassVar[bool] = True
    contact_memory: ClassVar[int] = 4  # the last impulse (3,) and sliding root: the warm start

    mu: Value = friction(0.0)
    e_N: Value = restitution(0.0, "normal", "restitution at contact gain")
    v_0: Value = parameter(1e-2, "m/s", "approach speed above which e_N acts", "[0, inf)")
    T_rel: Value = relative_tolerance(1e-8)
    T_abs: Value = absolute_tolerance(1e-9)

    def correction(self, contact: Contact, p: Any, memory: SX, dt: SX) -> SX:
        """Extrapolate the velocity of a pressing contact to the end of the step."""
        return ca.if_else(memory[0] > 0, self.half_step_change(contact, dt), 0)

    def _free_velocity(self, problem: ContactProblem, i: int, p: Any, memory: SX) -> SX:
        """Compute the velocity (3,), m/s, without impulses, after restitution and correction.

        Contact impulses keep its normal component from becoming an approach.
        """
        change = self.correction(problem.contacts[i], p, self.memory_of(memory, i), problem.dt)
        return problem.free[i] + ca.vertcat(closing_speed(problem, i), 0, 0) + change

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        # computed once for both cases: closed contacts, free velocities, friction
        n, contacts = problem.n, problem.contacts
        closed = entries(builder.store("closed", ca.vertcat(*problem.active)))
        G, free = problem.G, [self._free_velocity(problem, i, p, memory) for i in range(n)]
        free = triples(builder.store("free", ca.vertcat(*free)))
        problem = replace(problem, active=closed, free=free, make_delassus=lambda: G)
        mu = [contact.friction * p.mu for contact in contacts]
        mu = entries(builder.store("mu", ca.vertcat(*mu)))
        has_friction = SX(0)
        for flag, coefficient in zip(closed, mu, strict=True):
            has_friction = ca.logic_or(has_friction, ca.logic_and(flag, coefficient > 0))
        # one of the two cases, from the impulses of the last step
        last = [ca.if_else(closed[i], self.memory_of(memory, i), 0) for i in range(n)]
        begin = Outcome([SX.zeros(3)] * n, SX(0), SX(1), [SX(0)] * n).to_registers()
        smooth = builder.loop(
            begin,
            lambda _: (without_friction(problem, last, p, builder).to_registers(), SX(0)),
            1,
            ca.logic_not(has_friction),
        )
        outcome = Outcome.from_registers(
            builder.loop(
                smooth,
                lambda _: (with_friction(problem, mu, last, p, builder).to_registers(), SX(0)),
                1,
                has_friction,
            )
        )
        # memory for the next warm start; converged if all values are finite, too
        pairs = zip(outcome.impulses, outcome.roots, strict=True)
        warm = ca.vertcat(*(ca.vertcat(impulse, root) for impulse, root in pairs))
        good = ca.logic_and(outcome.converged, is_finite(entries(warm) + flatten(free)))
        return ContactSolution(outcome.impulses, warm, outcome.iterations, good)


def without_friction(problem: ContactProblem, last: list[SX], p: Any, builder: Builder) -> Outcome:
    """Solve Eqn. (4), then Eqn. (3) over the step.

    last[i] (4,) is the impulse and root of contact i in the last step.
    """
    n, closed = problem.n, problem.active
    gained = impact_impulses(problem, closed, p, builder)
    Lambda = entries(builder.store("Lambda", ca.vertcat(*gained.x)))
    start = [values[0] - L > 0 for values, L in zip(last, Lambda, strict=True)]
    pressed = pivot(
        set_up_lcp(problem, closed, normal_velocity(problem, Lambda), p), start, builder
    )
    impulses = [ca.vertcat(a + b, 0, 0) for a, b in zip(Lambda, pressed.x, strict=True)]
    settled = ca.logic_and(gained.converged, pressed.converged)
    return Outcome(impulses, gained.iterations + pressed.iterations, settled, [SX(0)] * n)


def with_friction(
    problem: ContactProblem, mu: list[SX], last: list[SX], p: Any, builder: Builder
) -> Outcome:
    """Solve both at once in Coulomb's cones mu[i], with Newton's restitution."""
    c = [
        free + ca.vertcat(rebound(contact, p), 0, 0)
        for free, contact in zip(problem.free, problem.contacts, strict=True)
    ]
    hard = HardProblem(problem, c, mu, p, builder)
    solver = Exact() if exceeds_dense(hard) else Newton()
    outcome = solver.solve(hard, [values[:3] for values in last], [values[3] for values in last])
    return with_derivative(hard, outcome)


def rebound(contact: Contact, p: Any) -> SX:
    """Compute e_N times the approach velocity, m/s, where it is faster than v_0."""
    approach = contact.velocity[0]
    return ca.if_else(approach < -p.v_0, p.e_N * approach, 0)


def closing_speed(problem: ContactProblem, i: int) -> SX:
    """Compute the speed at which a contact still above the ground may close its gap, m/s."""
    return ca.fmax(problem.contacts[i].gap, 0) / problem.dt


def impact_impulses(
    problem: ContactProblem, closed: list[SX], p: Any, builder: Builder
) -> PivotResult:
    """Compute Lambda of Eqn. (4): zeta+ = zeta- + M Lambda >= -e zeta-."""
    c, impact = [], SX(0)
    for i, contact in enumerate(problem.contacts):
        c.append(contact.velocity[0] + rebound(contact, p) + closing_speed(problem, i))
        impact = ca.logic_or(impact, ca.logic_and(closed[i], c[i] < 0))
    stored = entries(builder.store("gain", ca.vertcat(*c)))
    basic = [value < 0 for value in stored]
    return pivot(set_up_lcp(problem, closed, stored, p), basic, builder, impact)


def normal_velocity(problem: ContactProblem, Lambda: list[SX]) -> list[SX]:
    """Compute dt d + zeta+ of Eqn. (3): normal velocities at the end of the step.

    They follow from the impulses Lambda.
    """
    velocities = []
    for i in range(problem.n):
        pushed = (problem.G[i, j][0, 0] * L for j, L in enumerate(Lambda))
        velocities.append(sum(pushed, problem.free[i][0]))
    return velocities


def set_up_lcp(
    problem: ContactProblem, closed: list[SX], c: list[SX], p: Any
) -> ComplementarityProblem:
    """Set up M x + c >= 0, x >= 0 for the closed contacts; M is the normal part of G."""
    M: Matrix = [[problem.G[i, j][0, 0] for j in range(problem.n)] for i in range(problem.n)]
    small = p.T_rel * ca.sqrt(p.T_rel)
    return ComplementarityProblem(
        M, c, closed, ca.fmax(small, TOLERANCE), ca.fmax(small, REGULARIZATION)
    )
