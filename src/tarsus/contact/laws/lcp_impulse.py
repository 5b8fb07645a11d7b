"""Rigid contact as a linear complementarity problem (LCP), with impacts.

Ogunsola: forces from accelerations, impulses where a contact closes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from tarsus.algebra import projections
from tarsus.algebra.blocks import triples
from tarsus.algebra.pivoting import Complementarity, Pivoted, pivot
from tarsus.algebra.products import Matrix
from tarsus.contact.base import HardLaw
from tarsus.contact.problem import ContactProblem, ContactSolution
from tarsus.contact.solvers.base import changes, finite
from tarsus.parameters import (
    Value,
    absolute_tolerance,
    friction,
    parameter,
    relative_tolerance,
    restitution,
)
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder, Values
from tarsus.references.books import FEATHERSTONE_2008
from tarsus.references.papers import OGUNSOLA
from tarsus.references.reference import Citation

SWEEPS = 200
TOLERANCE, SPREAD = 1e-12, 1e-10


@dataclass(frozen=True)
class LcpImpulse(HardLaw):
    """Ogunsola: impulse dynamics (4) where a contact is gained, then the LCP (3) over the step.

    First, impulses Lambda >= 0 give the closed contacts velocities zeta+ >= -e_N zeta-,
    complementary; e_N acts where a contact approaches faster than v_0, elsewhere it is 0. Then
    forces lambda >= 0 act over the step with acceleration a = M lambda + d >= -zeta+ / dt,
    complementary: Eqn. (3) for a contact at rest, nothing for one that leaves. Both are solved
    exactly by principal pivoting. The law returns Lambda + dt lambda.

    What differs from the paper: (4) with complementarity instead of equality, so that no foot is
    pulled while another lands; d = (free - before) / dt lacks the part of the points' own rotation;
    a contact that pressed in the last step takes part in this one although round-off shows it above
    the ground; and friction, which the paper leaves to future work: Coulomb's disc by turns with
    the LCP (friction for given normal impulses, then normal impulses for given friction)
    until both stand still. That need not happen where friction is so high that a leg may jam (mu
    above 1 on Mini Cheetah): `converged` is then 0.

    A standing contact creeps at about T_abs G_NN.
    """

    citation: ClassVar[Citation] = (
        OGUNSOLA.at("Eqns. (3)-(4)"),
        FEATHERSTONE_2008.at("pp. 219-224"),
    )
    not_modeled: ClassVar[Mapping[str, str]] = {"spring": "hard contact does not give way"}

    contact_memory: ClassVar[int] = 3  # the last impulse: who pressed, and where friction starts

    mu: Value = friction(0.0)
    e_N: Value = restitution(0.0, "normal", "restitution at contact gain")
    v_0: Value = parameter(1e-2, "m/s", "approach speed above which e_N acts", "[0, inf)")
    T_rel: Value = relative_tolerance(1e-8)
    T_abs: Value = absolute_tolerance(1e-9)

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        # what all sweeps share, computed once: closed contacts, free velocities, friction
        n = problem.n
        closed = entries(builder.keep("closed", ca.vertcat(*problem.active)))
        roomy = [problem.free[i] + ca.vertcat(room(problem, i), 0, 0) for i in range(n)]
        kept = builder.keep("free", ca.vertcat(*roomy))
        free = triples(kept)
        mu = entries(
            builder.keep(
                "mu", ca.vertcat(*(contact.friction * p.mu for contact in problem.contacts))
            )
        )
        # normal impulses that cancel the approach
        gained = at_contact_gain(problem, closed, p, builder)
        Lambda = entries(builder.keep("Lambda", ca.vertcat(*gained.x)))
        # from the last step's impulses
        begin = {
            "impulse": ca.vertcat(
                *(ca.if_else(closed[i], self.own(memory, i), 0) for i in range(n))
            ),
            "sweeps": SX(0),
            "right": SX(0),
            "moving": SX(1),
        }

        # one sweep: the LCP for given friction, then friction for given normal impulses
        def sweep(values: Values) -> tuple[Values, SX]:
            impulses = triples(values["impulse"])
            start = [impulse[0] - L > 0 for impulse, L in zip(impulses, Lambda, strict=True)]
            tangents = [impulse[1:] for impulse in impulses]
            pushed = [ca.vertcat(L, T) for L, T in zip(Lambda, tangents, strict=True)]
            pressed = pivot(
                lcp(problem, closed, normal_velocity(problem, free, pushed), p), start, builder
            )
            normals = [a + b for a, b in zip(Lambda, pressed.x, strict=True)]
            new = ca.vertcat(*with_friction(problem, free, normals, tangents, mu))
            more = changes(values["impulse"], new, p)
            return {
                "impulse": new,
                "sweeps": values["sweeps"] + 1,
                "right": pressed.settled,
                "moving": more,
            }, more

        # repeat; solved if the LCP was, nothing moved on and all is finite
        last = builder.loop(begin, sweep, SWEEPS)
        good = ca.logic_and(
            ca.logic_and(last["right"], ca.logic_not(last["moving"])), gained.settled
        )
        good = ca.logic_and(
            good, finite(entries(last["impulse"]) + entries(ca.vertcat(*problem.free)))
        )
        # read the result off
        impulses = triples(last["impulse"])
        return ContactSolution(impulses, last["impulse"], gained.iterations + last["sweeps"], good)


def room(problem: ContactProblem, i: int) -> SX:
    """How fast a contact still above the ground may close its gap, m/s."""
    return ca.fmax(problem.contacts[i].gap, 0) / problem.dt


def at_contact_gain(problem: ContactProblem, closed: list[SX], p: Any, builder: Builder) -> Pivoted:
    """Lambda of Eqn. (4): zeta+ = zeta- + M Lambda >= -e zeta-."""
    c, begins = [], SX(0)
    for i, contact in enumerate(problem.contacts):
        approach = contact.velocity[0]
        c.append(approach + ca.if_else(approach < -p.v_0, p.e_N * approach, 0) + room(problem, i))
        begins = ca.logic_or(begins, ca.logic_and(closed[i], c[i] < 0))
    kept = entries(builder.keep("gain", ca.vertcat(*c)))
    return pivot(lcp(problem, closed, kept, p), [value < 0 for value in kept], builder, begins)


def normal_velocity(problem: ContactProblem, free: list[SX], pushed: list[SX]) -> list[SX]:
    """dt d + zeta+ of Eqn. (3): normal velocities at the step's end under the impulses `pushed`."""
    velocities = []
    for i in range(problem.n):
        velocity = free[i][0]
        for j, push in enumerate(pushed):
            velocity = velocity + ca.dot(problem.G[i, j][0, :].T, push)
        velocities.append(velocity)
    return velocities


def lcp(problem: ContactProblem, closed: list[SX], c: list[SX], p: Any) -> Complementarity:
    """M x + c >= 0, x >= 0 for the closed contacts; M: the normal part of the Delassus matrix."""
    M: Matrix = [[problem.G[i, j][0, 0] for j in range(problem.n)] for i in range(problem.n)]
    small = p.T_rel * ca.sqrt(p.T_rel)
    return Complementarity(M, c, closed, ca.fmax(small, TOLERANCE), ca.fmax(small, SPREAD))


def with_friction(
    problem: ContactProblem, free: list[SX], normals: list[SX], tangents: list[SX], mu: list[SX]
) -> list[SX]:
    """Impulses (3,) after one Gauss-Seidel sweep of Coulomb's friction under given normal ones."""
    impulses = [ca.vertcat(N, T) for N, T in zip(normals, tangents, strict=True)]
    for i, normal in enumerate(normals):
        slip = free[i][1:]
        for j, impulse in enumerate(impulses):
            slip = slip + ca.mtimes(problem.G[i, j][1:, :], impulse)
        a, b, d = problem.G[i, i][1, 1], problem.G[i, i][1, 2], problem.G[i, i][2, 2]
        step = 2 / (a + d + ca.sqrt((a - d) ** 2 + 4 * b * b))
        impulses[i] = ca.vertcat(
            normal, projections.disc(tangents[i] - step * slip, mu[i] * normal)
        )
    return impulses
