"""Feedback linearization: the ground imposes the contacts' accelerations (Rengifo 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.algebra import projections
from tarsus.algebra.blocks import flatten_blocks, triples
from tarsus.algebra.minimum_norm import minimum_norm
from tarsus.algebra.products import Matrix, multiply
from tarsus.contact import stability
from tarsus.contact.base import GAP_ROUND_OFF, Law
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.contact.solvers._error_norm import without_energy_gain
from tarsus.contact.solvers.base import HardProblem, exceeds_dense, has_changed, is_finite
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

MAX_PASSES = 30
MIN_SQUARE = 1e-30  # against division by zero
ATTAINABLE_RHO = (
    1e-2  # factor on rho for `attainable_velocities`; float32 has too few digits for it
)


@dataclass(frozen=True)
class Linearized(Law):
    """Feedback linearization of Rengifo 2009: desired acceleration, the force for it, saturation.

    These are Eqns. (17), (18) and (19)-(20).

    A closed contact is to accelerate as p'' = k_p (-epsilon - gap) - k_v min(0, v_N) along the
    normal and -k_v v_T along the ground, Eqn. (17) with the interpenetration of section V. G F =
    p'' - (acceleration without contact) is solved for the F of least norm, by iterated
    regularization instead of the pseudo-inverse. Forces that pull are set to zero (19), and
    friction is shortened to its disc in its own direction (20). k_p and k_v contain no mass.

    The acceleration without contact is (free - before) / dt plus the points' velocity products, B_c
    of Eqn. (16): without them, a foot under a turning leg would drift out of the ground, drop for a
    step and press again.

    Differences from the paper. Section V prints p_z -> +epsilon, which would be above the ground:
    here epsilon counts downwards. A point that lands slower than 2 k_v epsilon does not bounce off;
    with the paper's 1e-6 m that would hold only for steps below 2 k_v epsilon / g = 0.05 ms, and
    under a walking biped, whose leg drives a foot without contact down with some 40 g, below a
    fortieth of that. The law is stable for k_v dt < 2. With saturation "once" the normal forces are
    those that would go with unlimited friction, not with the limited one: a sliding box (the paper
    has a brick without height) sinks and tumbles; hence "repeated".

    Where friction lifts a sliding foot about as much as its normal force does, passes release it
    and close it forever, or converge too slowly: 1 % of the steps of a learned walk of Mini
    Cheetah, a third of those of a biped thrown deep into the ground. There, sliding friction
    opposes the velocity that is still missing, and the solver of hard contact finds it together
    with the normal forces (`solve_coulomb`). Corners of a rigid sole ask for accelerations that one
    body cannot have at once. The nearest ones that it can have are used instead
    (`attainable_velocities`), as by the pseudo-inverse; otherwise a corner that was released would
    never converge. A step that
    converges in neither way has `converged` 0, and its impulses are shortened until they add no
    energy.
    """

    citation: ClassVar[Citation] = (RENGIFO_2009.at("Eqns. (16)-(20), section V"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "contacts rest at the depth epsilon; k_p and k_v make them compliant",
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
        repeated="solved again with limited forces fixed, until nothing changes",
        once="as the paper: Eqn. (18) solved, then Eqns. (19)-(20) applied",
    )

    def considers_closed(self, contact: Contact, memory: SX) -> SX:
        """Return 1 if the gap is closed up to round-off, as for hard laws."""
        return contact.gap <= GAP_ROUND_OFF

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """Compute the limit of the gains, which does not depend on mass.

        It is k_v dt < 2, and with the gap evaluated at the midpoint k_p dt^2 + 2 k_v dt < 4.
        """
        return {
            "the gains k_p and k_v": float(np.min(stability.spring_limit(self.k_p, self.k_v, 1.0)))
        }

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        # computed once for all passes
        n = problem.n
        G = flatten_blocks(problem.G, n)
        columns = [missing_velocity(problem, i, p) for i in range(n)]
        closed = entries(builder.store("closed", ca.vertcat(*problem.active)))
        wanted = entries(builder.store("missing_velocity", ca.vertcat(*columns)))
        rho = ca.if_else(is_float64(problem.dt), ATTAINABLE_RHO * p.rho, p.rho)
        wanted = attainable_velocities(G, wanted, closed, rho)
        wanted = entries(builder.store("velocity_change", ca.vertcat(*wanted)))
        mu = ca.vertcat(*(contact.friction * p.mu for contact in problem.contacts))
        equations = LinearizedProblem(G, wanted, closed, entries(builder.store("mu", mu)), p)
        # start from zero impulses, with all closed contacts pressing and none sliding
        begin = {
            "impulse": SX.zeros(3 * n),
            "pressing": ca.vertcat(*equations.closed),
            "sliding": SX.zeros(n),
            "direction": SX.zeros(2 * n),
            "passes": SX(0),
            "moving": SX(1),
        }
        # one pass, or passes until no contact changes its saturation
        many = self.saturation == "repeated"
        last = builder.loop(
            begin, lambda values: solve_pass(equations, values), MAX_PASSES if many else 1
        )
        # where that does not converge, use the solver of hard contact
        if many:
            last = builder.cold_loop(
                last,
                lambda values: solve_coulomb(problem, equations, values, builder),
                1,
                last["moving"],
            )
        # converged if all values are finite, too; unconverged impulses must not add energy
        settled = ca.logic_not(last["moving"]) if many else SX(1)
        free = ca.vertcat(*problem.free)
        impulse = last["impulse"]
        if many:
            shortened = without_energy_gain(G, entries(free), triples(impulse))
            impulse = ca.if_else(settled, impulse, ca.vertcat(*shortened))
        good = ca.logic_and(settled, is_finite(entries(impulse) + entries(free)))
        impulses = triples(impulse)
        return ContactSolution(impulses, SX(0, 1), last["passes"], good)


def desired_acceleration(problem: ContactProblem, i: int, p: Any) -> SX:
    """Compute p''_i (3,), Eqn. (17), with constant interpenetration as in section V."""
    contact = problem.contacts[i]
    approach = ca.vertcat(ca.fmin(contact.velocity[0], 0), contact.velocity[1:])
    return ca.vertcat(p.k_p * (-p.epsilon - contact.gap), 0, 0) - p.k_v * approach


def missing_velocity(problem: ContactProblem, i: int, p: Any) -> SX:
    """Compute dt times the right side of Eqn. (18): the velocity (3,) that impulses must add."""
    contact = problem.contacts[i]
    acceleration = desired_acceleration(problem, i, p) - contact.velocity_product
    return problem.dt * acceleration - (problem.free[i] - contact.velocity)


def attainable_velocities(G: Matrix, wanted: list[SX], closed: list[SX], rho: SX) -> list[SX]:
    """Compute the velocities (3n,) nearest to `wanted` that impulses at closed contacts can add.

    Points of one rigid body cannot each have their own. Eqn. (18) has the same solution for both.
    Feet of different legs can have any velocity: for them only the regularization rho changes it.
    """
    sought = [closed[k // 3] for k in range(len(wanted))]
    b = [used * value for used, value in zip(sought, wanted, strict=True)]
    return multiply(G, minimum_norm(G, b, rho, sought))


@dataclass(frozen=True)
class LinearizedProblem:
    """Eqn. (18), as the loop reads it.

    Attributes
    ----------
    G
        Delassus matrix (3n, 3n), 1/kg.
    wanted
        Velocities (3n,) to add, m/s.
    closed, mu
        Closed flag and friction coefficient of each contact.
    p
        Parameters.
    """

    G: Matrix
    wanted: list[SX]
    closed: list[SX]
    mu: list[SX]
    p: Any


def solve_pass(equations: LinearizedProblem, values: Values) -> tuple[Values, SX]:
    """Solve Eqn. (18) for unsaturated components, apply Eqns. (19)-(20), update the saturation."""
    pressing, sliding = entries(values["pressing"]), entries(values["sliding"])
    G, p, n, size = equations.G, equations.p, len(equations.mu), range(len(equations.wanted))
    slices = [slice(3 * i, 3 * i + 3) for i in range(n)]
    directions = [values["direction"][2 * i : 2 * i + 2] for i in range(n)]
    # friction at its limit is known; factors 0 and 1 rather than selections, which the tracer would
    # move out of every product
    limited = [sliding[k // 3] if k % 3 else SX(0) for k in size]
    fixed = [slides * old for slides, old in zip(limited, entries(values["impulse"]), strict=True)]
    unknown = [pressing[k // 3] * ca.logic_not(limited[k]) for k in size]
    b = [
        unknown[k] * (equations.wanted[k] - moved)
        for k, moved in zip(size, multiply(G, fixed), strict=True)
    ]
    solved = minimum_norm(G, b, p.rho, unknown)

    forces = [ca.vertcat(*solved[a]) for a in slices]
    edges = [
        mu * projections.project_on_half_line(force[0])
        for mu, force in zip(equations.mu, forces, strict=True)
    ]
    impulses = [
        saturate(force, slides * edge * direction + force[1:], edge)
        for slides, force, direction, edge in zip(sliding, forces, directions, edges, strict=True)
    ]
    missing = [
        a - b
        for a, b in zip(equations.wanted, multiply(G, entries(ca.vertcat(*impulses))), strict=True)
    ]
    for i, force in enumerate(forces):
        needed = ca.sqrt(ca.dot(force[1:], force[1:]) + MIN_SQUARE)
        slips = ca.logic_and(pressing[i], needed > edges[i])
        sticks = (
            ca.dot(directions[i], ca.vertcat(*missing[slices[i]])[1:])
            < -p.T_abs * G[3 * i + 1][3 * i + 1]
        )
        directions[i] = ca.if_else(sliding[i], directions[i], force[1:] / needed)
        closes = missing[3 * i] > p.T_abs * G[3 * i][3 * i]
        # decide between stick and slip once friction has converged, or the two alternate forever
        steady = ca.logic_not(has_changed(values["impulse"][slices[i]], impulses[i], p))
        sliding[i] = ca.if_else(sliding[i], ca.logic_not(ca.logic_and(sticks, steady)), slips)
        pressing[i] = ca.if_else(
            pressing[i], force[0] >= -p.T_abs, ca.logic_and(equations.closed[i], closes)
        )
    new = {
        "impulse": ca.vertcat(*impulses),
        "pressing": ca.vertcat(*pressing),
        "sliding": ca.vertcat(*sliding),
    }
    flips = ca.vertcat(*(ca.fabs(new[key] - values[key]) for key in ("pressing", "sliding")))
    unsteady = ca.logic_and(
        ca.sum1(new["sliding"]) > 0, has_changed(values["impulse"], new["impulse"], p)
    )
    more = ca.logic_or(unsteady, ca.sum1(flips) > 0)
    return new | {
        "direction": ca.vertcat(*directions),
        "passes": values["passes"] + 1,
        "moving": more,
    }, more


def solve_coulomb(
    problem: ContactProblem, equations: LinearizedProblem, values: Values, builder: Builder
) -> tuple[Values, SX]:
    """Solve Eqn. (18) with Eqn. (19) and friction that opposes the velocity still missing.

    Used where the direction of friction does not converge by itself: these are the inclusions of
    hard contact, solved by their solver.
    """
    n = len(equations.mu)
    c = triples(-ca.vertcat(*equations.wanted))
    slices = [slice(3 * i, 3 * i + 3) for i in range(n)]
    G = {
        (i, j): ca.vertcat(*(ca.horzcat(*row[slices[j]]) for row in equations.G[slices[i]]))
        for i in range(n)
        for j in range(n)
    }
    active = replace(problem, active=equations.closed, make_delassus=lambda: G)
    active = replace(active, joints=None, make_shared=None, regularized_solver=None)
    hard = HardProblem(active, c, equations.mu, equations.p, builder)
    zeros = [SX.zeros(3)] * n
    method = Exact() if exceeds_dense(hard) else Newton()
    outcome = method.solve(hard, zeros, [SX(0)] * n)
    impulse, passes = ca.vertcat(*outcome.impulses), values["passes"] + outcome.iterations
    moving = ca.logic_not(outcome.converged)
    return values | {"impulse": impulse, "passes": passes, "moving": moving}, SX(0)


def saturate(force: SX, friction: SX, edge: SX) -> SX:
    """Compute the force of Eqns. (19)-(20): no pull, and friction shortened to its disc."""
    return ca.vertcat(
        projections.project_on_half_line(force[0]), projections.project_on_disc(friction, edge)
    )
