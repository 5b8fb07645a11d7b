"""Shared by the iterative methods: the loop, its stopping test, step sizes and linear solves.

To add a method, write one file here with one frozen dataclass that derives from `Solver` (or from
`ConstraintSolver`) and has a one-line docstring. The file's name is the method's name, by which
`moreau` and the contract tests find it. Files with a leading underscore hold what methods share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.algebra.elimination import eliminate_dense, solve_tree
from tarsus.algebra.projections import TINY, radial_return
from tarsus.contact.problem import ContactProblem
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

STAGES = ("none", "standing", "edges", "roots", "refinement", "interior points", "joint rows")
"""Stages of the solvers `newton` and `exact` in their order; a log names the one that ended each
step's solve."""
MAX_DENSE = 12  # contacts that are solved all at once by their Delassus matrix; as many as slots
MAX_DENSE_COLD = 24  # the same in cold code, for a robot that lies on the ground
OVERFLOW = 1e30  # N s or m/s: larger values have overflowed, in either precision


@dataclass(frozen=True)
class HardProblem:
    """Inclusions (12)-(13) of Gehring 2014 for the active contacts.

    xi = G L + c, xi_N in N(-L_N), xi_T in N_disc(-L_T).

    Attributes
    ----------
    problem
        Contact problem.
    c
        Free velocity + restitution * velocity before, (3,) of each contact, Eqn. (15).
    mu
        Friction coefficient of each contact.
    p
        Parameters of the law, among them T_rel and T_abs.
    builder
        Traces loops.
    """

    problem: ContactProblem
    c: list[SX]
    mu: list[SX]
    p: Any
    builder: Builder


@dataclass(frozen=True)
class Outcome:
    """Result of a method.

    Attributes
    ----------
    impulses
        Impulse (3,) of each contact, N s.
    iterations
        Number of sweeps or Newton steps.
    converged
        1 if the tolerance was met, else 0.
    roots
        Sliding root s of each contact with xi_T = -s L_T, 0 where it sticks; empty if unknown.
    bilateral
        Impulses (nb,) of the constraints; None if they were eliminated.
    joints
        Impulses (m,) of the problem's joint rows; None without any.
    stage
        Index in `STAGES` of the stage that ended the solve; 0 for a method without stages.
    """

    impulses: list[SX]
    iterations: SX
    converged: SX
    roots: list[SX] = field(default_factory=list)
    bilateral: SX | None = None
    joints: SX | None = None
    stage: SX = field(default_factory=lambda: SX(0))

    def select(self, other: Outcome, where: SX) -> Outcome:
        """Return the other outcome in worlds where `where` is 1, else this one."""
        pairs = zip(self.impulses, other.impulses, strict=True)
        return Outcome(
            [ca.if_else(where, b, a) for a, b in pairs],
            ca.if_else(where, other.iterations, self.iterations),
            ca.if_else(where, other.converged, self.converged),
            [ca.if_else(where, b, a) for a, b in zip(self.roots, other.roots, strict=True)],
            stage=ca.if_else(where, other.stage, self.stage),
        )

    def with_stage(self, name: str) -> Outcome:
        """Return the outcome, marked as ended by the stage with that name."""
        return replace(self, stage=SX(STAGES.index(name)))

    def to_registers(self) -> Values:
        """Return the registers from which the next method continues."""
        return {
            "impulse": ca.vertcat(*self.impulses),
            "root": ca.vertcat(*self.roots),
            "sweeps": self.iterations,
            "unsettled": ca.logic_not(self.converged),
            "stage": self.stage,
        }

    @staticmethod
    def from_registers(values: Values) -> Outcome:
        """Restore the outcome from its registers."""
        return Outcome(
            triples(values["impulse"]),
            values["sweeps"],
            ca.logic_not(values["unsettled"]),
            entries(values["root"]),
            stage=values["stage"],
        )


class Solver(ABC):
    """Iterative method for a hard contact problem.

    Attributes
    ----------
    maximum
        Largest number of sweeps.
    """

    maximum: int = 200

    @abstractmethod
    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        """Solve from impulses `start` and the sliding roots of the last step (0 where it stuck)."""


class ConstraintSolver(Solver):
    """Method that can also iterate over the bilateral constraints of cut joints and loops."""

    @abstractmethod
    def solve_with_constraints(self, hard: HardProblem, start: list[SX]) -> Outcome:
        """Iterate over contacts and constraints together, from the contacts' impulses `start`."""


def iterate(
    hard: HardProblem,
    start: list[SX],
    sweep: Callable[[list[SX], Values], tuple[list[SX], Values]],
    maximum: int,
    extra: Values | None = None,
    enters: SX | None = None,
) -> Outcome:
    """Repeat `sweep` until every component changes by at most |L| T_rel + T_abs.

    This is the stopping test of Gehring 2014, after Eqn. (16). Worlds where `enters` is 0 skip
    the loop.

    Parameters
    ----------
    hard : HardProblem
        Problem to solve.
    start : list of SX
        Impulse (3,) of each contact to start from.
    sweep : callable
        Returns new impulses and values, given the old ones.
    maximum : int
        Largest number of sweeps.
    extra : dict, optional
        Further values of the solver that are passed from sweep to sweep.
    enters : SX, optional
        1 in worlds that enter the loop; by default all do.
    """
    n = len(start)

    # one sweep: the method's own values are carried along with the counters
    def body(values: Values) -> tuple[Values, SX]:
        old = triples(values["impulse"])
        carried = {
            key: value
            for key, value in values.items()
            if key not in ("impulse", "sweeps", "moving")
        }
        new, carried = sweep(old, carried)
        moving = has_changed(ca.vertcat(*old), ca.vertcat(*new), hard.p)
        return {
            "impulse": ca.vertcat(*new),
            "sweeps": values["sweeps"] + 1,
            "moving": moving,
            **carried,
        }, moving

    # repeat it
    begin = {"impulse": ca.vertcat(*start), "sweeps": SX(0), "moving": SX(0), **(extra or {})}
    last = hard.builder.loop(begin, body, maximum, enters)
    # read the result off
    impulses = triples(last["impulse"])
    roots = entries(last["root"]) if "root" in last else [SX(0)] * n
    return Outcome(impulses, last["sweeps"], ca.logic_not(last["moving"]), roots)


def has_changed(old: SX, new: SX, p: Any) -> SX:
    """Return 1 if any component changed by more than |old| T_rel + T_abs.

    NaN ends a loop, see `is_finite`.
    """
    excess = [
        ca.fabs(b - a) - (ca.fabs(a) * p.T_rel + p.T_abs)
        for a, b in zip(entries(old), entries(new), strict=True)
    ]
    while len(excess) > 1:
        excess = [ca.fmax(a, b) for a, b in zip(excess[::2], excess[1::2], strict=False)] + (
            [excess[-1]] if len(excess) % 2 else []
        )
    return excess[0] > 0


def is_finite(values: list[SX]) -> SX:
    """Return 1 if no value is NaN or has overflowed, else 0; a solution must satisfy this."""
    return ca.fabs(sum(values, SX(0))) < OVERFLOW


def project_into_cones(hard: HardProblem, impulses: list[SX]) -> list[SX]:
    """Shorten the impulses (3,) into their friction cones."""
    return [radial_return(L, mu) for L, mu in zip(impulses, hard.mu, strict=True)]


def exceeds_dense(hard: HardProblem) -> bool:
    """Return whether there are more contacts than are solved all at once."""
    return hard.problem.n > (MAX_DENSE_COLD if hard.builder.is_tracing_cold else MAX_DENSE)


def solve_dense(hard: HardProblem, K: SX, rest: list[SX]) -> list[SX]:
    """Solve K x = rest for x (3n,), with K (3n, 3n) close to positive definite.

    Many contacts are solved by loops.
    """
    if hard.problem.n <= MAX_DENSE:
        return solve_tree(K, rest)
    rows = [ca.horzsplit(row) for row in ca.vertsplit(ca.densify(K))]
    return eliminate_dense(rows, hard.builder).solve(rest)


def residual_velocity(hard: HardProblem, i: int, impulses: list[SX]) -> SX:
    """Compute xi_i = c_i + sum_j G_ij L_j (Eqn. (12))."""
    xi = hard.c[i]
    for j, impulse in enumerate(impulses):
        xi = xi + ca.mtimes(hard.problem.G[i, j], impulse)
    return xi


def velocity_from_others(hard: HardProblem, i: int, impulses: list[SX]) -> SX:
    """Compute b_i = c_i + sum over j != i of G_ij L_j: the velocity without its own impulse."""
    b = hard.c[i]
    for j, impulse in enumerate(impulses):
        if j != i:
            b = b + ca.mtimes(hard.problem.G[i, j], impulse)
    return b


def without_energy_gain(hard: HardProblem, outcome: Outcome) -> Outcome:
    """Shorten an unsolved outcome until its impulses do no work.

    The result of an unsolved step may be wrong, but it cannot throw the robot.
    """

    def shortened(values: Values) -> tuple[Values, SX]:
        impulses, linear, square = triples(values["impulse"]), SX(0), SX(0)
        for i, L in enumerate(impulses):
            linear += ca.dot(L, hard.problem.free[i])
            square += ca.dot(L, residual_velocity(hard, i, impulses) - hard.c[i])
        share = workless_share(linear, square)
        return {"impulse": values["impulse"] * ca.fmin(share, 1)}, SX(0)

    begin = {"impulse": ca.vertcat(*outcome.impulses)}
    last = hard.builder.loop(begin, shortened, 1, ca.logic_not(outcome.converged))
    return replace(outcome, impulses=triples(last["impulse"]))


def workless_share(linear: SX, square: SX) -> SX:
    """Compute the share of impulses L that does no work; more than 1 if they dissipate energy.

    Their work is L . free + L . G L / 2: kinetic energy with them less that without them.

    Parameters
    ----------
    linear, square : SX
        L . free and L . G L.
    """
    return ca.fmax(-2 * linear / ca.fmax(square, TINY), 0)


def step_sizes(G_ii: SX, alpha: float | SX = 1) -> tuple[SX, SX]:
    """Compute r_N = alpha / G_NN and r_T = alpha / max(G_T1T1, G_T2T2).

    See Gehring 2014, after Eqn. (16).
    """
    return alpha / G_ii[0, 0], alpha / ca.fmax(G_ii[1, 1], G_ii[2, 2])
