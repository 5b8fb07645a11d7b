"""Feedback linearization: the ground imposes the contacts' accelerations (Rengifo 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.algebra import projections
from tarsus.algebra.blocks import flat_matrix, triples
from tarsus.algebra.minimum_norm import minimum_norm
from tarsus.algebra.products import Matrix, times
from tarsus.contact import stability
from tarsus.contact.base import ROUND_OFF, Law
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.contact.solvers._error_norm import without_gain
from tarsus.contact.solvers.base import HardProblem, changes, finite, one_by_one
from tarsus.contact.solvers.exact import Exact
from tarsus.contact.solvers.newton import Newton
from tarsus.parameters import (
    Value,
    absolute_tolerance,
    choice,
    friction,
    parameter,
    relative_tolerance,
)
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, is_float64
from tarsus.program.ir.trace import Builder
from tarsus.references.papers import RENGIFO_2009
from tarsus.references.reference import Citation

PASSES = 30
TINY = 1e-30
FINE = 1e-2  # of rho, for what is within reach: float32 has no digits for it


@dataclass(frozen=True)
class Linearized(Law):
    """Rengifo 2009: desired acceleration (17), the force that gives it (18), saturations (19)-(20).

    A closed contact shall accelerate as p'' = k_p (-epsilon - gap) - k_v min(0, v_N) along the
    normal and -k_v v_T along the ground, Eqn. (17) with the interpenetration of section V. G F =
    p'' - (acceleration without contact) is solved for the F of least norm, by iterated
    regularization instead of the pseudo-inverse; forces that pull are set to zero (19) and friction
    is cut to its disc in its own direction (20). No mass appears in k_p and k_v.

    The acceleration without contact is (free - before) / dt and the points' velocity products, B_c
    of Eqn. (16): without these a foot under a turning leg would drift out of the ground, drop for a
    step and press again.

    What differs from the paper. Section V prints p_z -> +epsilon, which would be above the
    ground: here epsilon counts downwards. A point that lands slower than 2 k_v epsilon does not
    bounce off again; the paper's 1e-6 m would do that only for steps below 2 k_v epsilon / g =
    0.05 ms, and under a walking biped, whose leg drives a foot without contact down with some 40 g,
    below a fortieth of that. Stable for k_v dt < 2. With saturation "once" the normal forces are
    those that would go with the friction wanted, not with the friction left over: a box that slides
    (the paper has a brick without height) sinks and tumbles; hence "repeated". Where friction lifts
    a sliding foot about as much as its normal force does, passes let it go and close it forever, or
    come near too slowly: 1 % of the steps of a learned walk of Mini Cheetah, a third of those of a
    biped thrown deep into the ground. There friction that slides opposes the velocity that is still
    lacking, and the solver of hard contact finds it together with the normal forces (`by_coulomb`).
    Corners of a rigid sole ask for accelerations that one body cannot have at once; those nearest
    to them that it can have are sought (`within_reach`), as by the pseudo-inverse, or else a corner
    that has let go is never content. What settles in neither way has `converged` 0, and impulses
    that are shortened until they give the robot no energy.
    """

    citation: ClassVar[Citation] = (RENGIFO_2009.at("Eqns. (16)-(20), section V"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "rests epsilon deep and gives way by k_p and k_v",
        "restitution": "follows from k_v, not a parameter",
        "spring": "k_p is an acceleration per depth, not a stiffness",
    }

    at_instants: ClassVar[bool] = True

    mu: Value = friction(0.8)
    k_p: Value = parameter(500.0, "1/s^2", "gain of penetration", "[0, inf)")
    k_v: Value = parameter(250.0, "1/s", "gain of velocity", "[0, inf)")
    epsilon: Value = parameter(5e-4, "m", "penetration at rest", "[0, inf)")
    rho: Value = parameter(1e-4, "[1]", "regularization over G's largest entry", "(0, inf)")
    T_rel: Value = relative_tolerance(1e-6)
    T_abs: Value = absolute_tolerance(1e-6)
    saturation: Literal["repeated", "once"] = choice(
        "repeated",
        "how the forces are limited",
        repeated="solved again with what is limited held, until nothing changes",
        once="as the paper: Eqn. (18) solved, then Eqns. (19)-(20) applied",
    )

    def closed(self, contact: Contact, memory: SX) -> SX:
        """Its gap is closed to round-off, as that of hard laws."""
        return contact.gap <= ROUND_OFF

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """k_v dt < 2, and with the gap taken halfway k_p dt^2 + 2 k_v dt < 4, whatever the mass."""
        return {
            "the gains k_p and k_v": float(np.min(stability.spring_limit(self.k_p, self.k_v, 1.0)))
        }

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        # what every pass shares, computed once
        n = problem.n
        G = flat_matrix(problem.G, n)
        columns = [missing_velocity(problem, i, p) for i in range(n)]
        closed = entries(builder.store("closed", ca.vertcat(*problem.active)))
        wanted = entries(builder.store("missing", ca.vertcat(*columns)))
        rho = ca.if_else(is_float64(problem.dt), FINE * p.rho, p.rho)
        wanted = within_reach(G, wanted, closed, rho)
        wanted = entries(builder.store("wanted", ca.vertcat(*wanted)))
        mu = ca.vertcat(*(contact.friction * p.mu for contact in problem.contacts))
        known = Known(G, wanted, closed, entries(builder.store("mu", mu)), p)
        # from no impulse, all closed contacts pressing and none sliding
        begin = {
            "impulse": SX.zeros(3 * n),
            "pressing": ca.vertcat(*known.closed),
            "sliding": SX.zeros(n),
            "way": SX.zeros(2 * n),
            "passes": SX(0),
            "moving": SX(1),
        }
        # one pass, or repeated until nobody changes sides
        many = self.saturation == "repeated"
        last = builder.loop(begin, lambda values: one_pass(known, values), PASSES if many else 1)
        # where that does not settle, by the solver of hard contact
        if many:
            last = builder.cold_loop(
                last, lambda values: by_coulomb(problem, known, values, builder), 1, last["moving"]
            )
        # solved if it settled and all is finite; what has not settled at least gives no energy
        settled = ca.logic_not(last["moving"]) if many else SX(1)
        free = ca.vertcat(*problem.free)
        impulse = last["impulse"]
        if many:
            shortened = without_gain(G, entries(free), triples(impulse))
            impulse = ca.if_else(settled, impulse, ca.vertcat(*shortened))
        good = ca.logic_and(settled, finite(entries(impulse) + entries(free)))
        impulses = triples(impulse)
        return ContactSolution(impulses, SX(0, 1), last["passes"], good)


def desired_acceleration(problem: ContactProblem, i: int, p: Any) -> SX:
    """p''_i (3,), Eqn. (17), with steady interpenetration as in section V."""
    contact = problem.contacts[i]
    approach = ca.vertcat(ca.fmin(contact.velocity[0], 0), contact.velocity[1:])
    return ca.vertcat(p.k_p * (-p.epsilon - contact.gap), 0, 0) - p.k_v * approach


def missing_velocity(problem: ContactProblem, i: int, p: Any) -> SX:
    """dt times the right side of Eqn. (18): the velocity (3,) that impulses must add."""
    contact = problem.contacts[i]
    sought = desired_acceleration(problem, i, p) - contact.velocity_product
    return problem.dt * sought - (problem.free[i] - contact.velocity)


def within_reach(G: Matrix, wanted: list[SX], closed: list[SX], rho: SX) -> list[SX]:
    """The velocities (3n,) nearest to those wanted that impulses at closed contacts can add: points
    of one rigid body cannot each have its own. Eqn. (18) has the same solution for both. What feet
    of legs of their own want they can have: there nothing but the regularization rho is changed.
    """
    sought = [closed[k // 3] for k in range(len(wanted))]
    b = [used * value for used, value in zip(sought, wanted, strict=True)]
    return times(G, minimum_norm(G, b, rho, sought))


@dataclass(frozen=True)
class Known:
    """Eqn. (18) for the loop.

    G (3n, 3n): 1/kg
    wanted (3n,): velocities to add, m/s
    closed[i], mu[i]: of each contact
    p: parameters
    """

    G: Matrix
    wanted: list[SX]
    closed: list[SX]
    mu: list[SX]
    p: Any


def one_pass(known: Known, values: Values) -> tuple[Values, SX]:
    """Eqn. (18) for the components that are not saturated, then Eqns. (19)-(20), then who is
    saturated, by signs.
    """
    pressing, sliding = entries(values["pressing"]), entries(values["sliding"])
    G, p, n, size = known.G, known.p, len(known.mu), range(len(known.wanted))
    at = [slice(3 * i, 3 * i + 3) for i in range(n)]
    ways = [values["way"][2 * i : 2 * i + 2] for i in range(n)]
    # friction at its limit is given, not sought; 0 and 1 as factors: the tracer would move a
    # selection out of every product and add what is left
    limited = [sliding[k // 3] if k % 3 else SX(0) for k in size]
    held = [slides * old for slides, old in zip(limited, entries(values["impulse"]), strict=True)]
    sought = [pressing[k // 3] * ca.logic_not(limited[k]) for k in size]
    b = [
        sought[k] * (known.wanted[k] - moved) for k, moved in zip(size, times(G, held), strict=True)
    ]
    found = minimum_norm(G, b, p.rho, sought)

    forces = [ca.vertcat(*found[a]) for a in at]
    edges = [
        mu * projections.half_line(force[0]) for mu, force in zip(known.mu, forces, strict=True)
    ]
    impulses = [
        saturated(force, slides * edge * way + force[1:], edge)
        for slides, force, way, edge in zip(sliding, forces, ways, edges, strict=True)
    ]
    lacking = [
        a - b for a, b in zip(known.wanted, times(G, entries(ca.vertcat(*impulses))), strict=True)
    ]
    for i, force in enumerate(forces):
        needed = ca.sqrt(ca.dot(force[1:], force[1:]) + TINY)
        slips = ca.logic_and(pressing[i], needed > edges[i])
        sticks = (
            ca.dot(ways[i], ca.vertcat(*lacking[at[i]])[1:]) < -p.T_abs * G[3 * i + 1][3 * i + 1]
        )
        ways[i] = ca.if_else(sliding[i], ways[i], force[1:] / needed)
        closes = lacking[3 * i] > p.T_abs * G[3 * i][3 * i]
        # decide between stick and slip once friction has converged, or the two alternate forever
        steady = ca.logic_not(changes(values["impulse"][at[i]], impulses[i], p))
        sliding[i] = ca.if_else(sliding[i], ca.logic_not(ca.logic_and(sticks, steady)), slips)
        pressing[i] = ca.if_else(
            pressing[i], force[0] >= -p.T_abs, ca.logic_and(known.closed[i], closes)
        )
    new = {
        "impulse": ca.vertcat(*impulses),
        "pressing": ca.vertcat(*pressing),
        "sliding": ca.vertcat(*sliding),
    }
    flips = ca.vertcat(*(ca.fabs(new[key] - values[key]) for key in ("pressing", "sliding")))
    given = ca.logic_and(ca.sum1(new["sliding"]) > 0, changes(values["impulse"], new["impulse"], p))
    more = ca.logic_or(given, ca.sum1(flips) > 0)
    return new | {"way": ca.vertcat(*ways), "passes": values["passes"] + 1, "moving": more}, more


def by_coulomb(
    problem: ContactProblem, known: Known, values: Values, builder: Builder
) -> tuple[Values, SX]:
    """Eqn. (18) with Eqn. (19) and friction that slides against the velocity still lacking, where
    no direction of its own settles: the inclusions of hard contact, by their solver.
    """
    n = len(known.mu)
    c = triples(-ca.vertcat(*known.wanted))
    at = [slice(3 * i, 3 * i + 3) for i in range(n)]
    G = {
        (i, j): ca.vertcat(*(ca.horzcat(*row[at[j]]) for row in known.G[at[i]]))
        for i in range(n)
        for j in range(n)
    }
    active = replace(problem, active=known.closed, make_delassus=lambda: G)
    active = replace(active, joints=None, make_shared=None, softened=None)
    hard = HardProblem(active, c, known.mu, known.p, builder)
    none = [SX.zeros(3)] * n
    method = Exact() if one_by_one(hard) else Newton()
    found = method.solve(hard, none, [SX(0)] * n)
    impulse, passes = ca.vertcat(*found.impulses), values["passes"] + found.iterations
    moving = ca.logic_not(found.converged)
    return values | {"impulse": impulse, "passes": passes, "moving": moving}, SX(0)


def saturated(force: SX, friction: SX, edge: SX) -> SX:
    """Eqns. (19)-(20): no pull, and friction cut to its disc without turning it."""
    return ca.vertcat(projections.half_line(force[0]), projections.disc(friction, edge))
