"""Shared by the iterative methods: the loop, its stopping test, and the disc of friction.

To add a method: one file here, with one frozen dataclass that derives from `Solver` (or from
`ConstraintSolver`) and has a one-line docstring. The file's name is the method's name: `moreau`
finds it, as do the contract tests. Files with a leading underscore hold what methods share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.algebra.elimination import eliminated_dense, solve_tree
from tarsus.algebra.projections import TINY, radial_return
from tarsus.contact.problem import ContactProblem
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

STAGES = ("none", "standing", "edges", "roots", "refinement", "interior points", "joint rows")
"""Stages of the solvers `newton` and `exact`, in the order in which they follow each other; logs
name the one that ended each step's solve."""
DENSE = 12  # contacts up to which all are solved at once by their Delassus matrix; as many as slots
CROWD = 24  # up to which those of a robot that lies are
HUGE = 1e30  # N s or m/s: what is larger has overflowed, in either precision


@dataclass(frozen=True)
class HardProblem:
    """Inclusions (12)-(13) of active contacts: xi = G L + c, xi_N in N(-L_N), xi_T in N_disc(-L_T).

    c[i] (3,) = free velocity + restitution * velocity before (Eqn. (15)); mu[i]: friction
    coefficient.
    """

    problem: ContactProblem
    c: list[SX]
    mu: list[SX]
    p: Any
    builder: Builder


@dataclass(frozen=True)
class Outcome:
    """The result of a method."""

    impulses: list[SX]
    """(3,) of each contact, N s."""
    iterations: SX
    """Sweeps or Newton steps done."""
    converged: SX
    """1 if the tolerance was met, else 0."""
    roots: list[SX] = field(default_factory=list)
    """Sliding root s of each contact with xi_T = -s L_T, 0 where it sticks; empty if not known."""
    bilateral: SX | None = None
    """The constraints' impulses (nb,), None if they were solved for."""
    joints: SX | None = None
    """Impulses (m,) of the problem's joint rows, None without any."""
    stage: SX = field(default_factory=lambda: SX(0))
    """Place in `STAGES` of the stage that ended the solve; 0: a method that has none."""

    def replaced(self, other: Outcome, where: SX) -> Outcome:
        """The other one where `where` is 1."""
        pairs = zip(self.impulses, other.impulses, strict=True)
        return Outcome(
            [ca.if_else(where, b, a) for a, b in pairs],
            ca.if_else(where, other.iterations, self.iterations),
            ca.if_else(where, other.converged, self.converged),
            [ca.if_else(where, b, a) for a, b in zip(self.roots, other.roots, strict=True)],
            stage=ca.if_else(where, other.stage, self.stage),
        )

    def at_stage(self, name: str) -> Outcome:
        """Return the same, ended by the stage of that name."""
        return replace(self, stage=SX(STAGES.index(name)))

    def reached(self) -> Values:
        """What the next method goes on from."""
        return {
            "impulse": ca.vertcat(*self.impulses),
            "root": ca.vertcat(*self.roots),
            "sweeps": self.iterations,
            "unsettled": ca.logic_not(self.converged),
            "stage": self.stage,
        }

    @staticmethod
    def of(reached: Values) -> Outcome:
        """The result of a method that went on from `reached`."""
        return Outcome(
            triples(reached["impulse"]),
            reached["sweeps"],
            ca.logic_not(reached["unsettled"]),
            entries(reached["root"]),
            stage=reached["stage"],
        )


class Solver(ABC):
    """An iterative method for a hard contact problem."""

    maximum: int = 200
    """Sweeps."""

    @abstractmethod
    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        """Iterate from impulses `start` and the last step's sliding roots (0 where it stuck)."""


class ConstraintSolver(Solver):
    """A method that can also iterate over the bilateral constraints of cut joints and loops."""

    @abstractmethod
    def solve_with_constraints(self, hard: HardProblem, start: list[SX]) -> Outcome:
        """Iterate over contacts and constraints together, from the contacts' impulses `start`."""


def iterate(
    hard: HardProblem,
    start: list[SX],
    sweep: Callable[[list[SX], Values], tuple[list[SX], Values]],
    maximum: int,
    extra: Values | None = None,
    first: SX | None = None,
) -> Outcome:
    """Repeat `sweep` until every component changes by at most |L| T_rel + T_abs (Gehring 2014,
    after Eqn. (16)).

    Worlds where `first` is 0 do not begin.
    """
    n = len(start)

    # one sweep: the solver's own values pass through beside the counters
    def body(values: Values) -> tuple[Values, SX]:
        old = triples(values["impulse"])
        carried = {
            key: value
            for key, value in values.items()
            if key not in ("impulse", "sweeps", "moving")
        }
        new, carried = sweep(old, carried)
        moving = changes(ca.vertcat(*old), ca.vertcat(*new), hard.p)
        return {
            "impulse": ca.vertcat(*new),
            "sweeps": values["sweeps"] + 1,
            "moving": moving,
            **carried,
        }, moving

    # repeat it
    begin = {"impulse": ca.vertcat(*start), "sweeps": SX(0), "moving": SX(0), **(extra or {})}
    last = hard.builder.loop(begin, body, maximum, first)
    # read the result off
    impulses = triples(last["impulse"])
    roots = entries(last["root"]) if "root" in last else [SX(0)] * n
    return Outcome(impulses, last["sweeps"], ca.logic_not(last["moving"]), roots)


def changes(old: SX, new: SX, p: Any) -> SX:
    """1 if any component moved by more than |old| T_rel + T_abs; NaN ends a loop, see `finite`."""
    excess = [
        ca.fabs(b - a) - (ca.fabs(a) * p.T_rel + p.T_abs)
        for a, b in zip(entries(old), entries(new), strict=True)
    ]
    while len(excess) > 1:
        excess = [ca.fmax(a, b) for a, b in zip(excess[::2], excess[1::2], strict=False)] + (
            [excess[-1]] if len(excess) % 2 else []
        )
    return excess[0] > 0


def finite(values: list[SX]) -> SX:
    """1 if no value is NaN or overflowed, else 0: without this, nothing has converged."""
    return ca.fabs(sum(values, SX(0))) < HUGE


def into_cones(hard: HardProblem, impulses: list[SX]) -> list[SX]:
    """Impulses (3,) shortened into their cones."""
    return [radial_return(L, mu) for L, mu in zip(impulses, hard.mu, strict=True)]


def one_by_one(hard: HardProblem) -> bool:
    """Whether there are more contacts than are solved at once."""
    return hard.problem.n > (CROWD if hard.builder.is_tracing_cold else DENSE)


def at_once(hard: HardProblem, K: SX, rest: list[SX]) -> list[SX]:
    """x (3n,) with K x = rest, K (3n, 3n) close to positive definite; of many contacts by loops."""
    if hard.problem.n <= DENSE:
        return solve_tree(K, rest)
    rows = [ca.horzsplit(row) for row in ca.vertsplit(ca.densify(K))]
    return eliminated_dense(rows, hard.builder).solve(rest)


def residual_velocity(hard: HardProblem, i: int, impulses: list[SX]) -> SX:
    """xi_i = c_i + sum_j G_ij L_j (Eqn. (12))."""
    xi = hard.c[i]
    for j, impulse in enumerate(impulses):
        xi = xi + ca.mtimes(hard.problem.G[i, j], impulse)
    return xi


def velocity_from_others(hard: HardProblem, i: int, impulses: list[SX]) -> SX:
    """b_i = c_i + sum over j != i of G_ij L_j: what contact i would do without its own impulse."""
    b = hard.c[i]
    for j, impulse in enumerate(impulses):
        if j != i:
            b = b + ca.mtimes(hard.problem.G[i, j], impulse)
    return b


def without_gain(hard: HardProblem, found: Outcome) -> Outcome:
    """What was not solved, shortened until its impulses do no work.

    The rest of an unsolved step may be wrong, but it cannot throw the robot.
    """

    def shortened(values: Values) -> tuple[Values, SX]:
        impulses, linear, square = triples(values["impulse"]), SX(0), SX(0)
        for i, L in enumerate(impulses):
            linear += ca.dot(L, hard.problem.free[i])
            square += ca.dot(L, residual_velocity(hard, i, impulses) - hard.c[i])
        most = share_without_gain(linear, square)
        return {"impulse": values["impulse"] * ca.fmin(most, 1)}, SX(0)

    begin = {"impulse": ca.vertcat(*found.impulses)}
    last = hard.builder.loop(begin, shortened, 1, ca.logic_not(found.converged))
    return replace(found, impulses=triples(last["impulse"]))


def share_without_gain(linear: SX, square: SX) -> SX:
    """The part of impulses L that does no work, more than 1 if all of them take energy.

    Their work is L . free + L . G L / 2: kinetic energy with them less that without them.
    linear: L . free
    square: L . G L
    """
    return ca.fmax(-2 * linear / ca.fmax(square, TINY), 0)


def step_sizes(G_ii: SX, alpha: float | SX = 1) -> tuple[SX, SX]:
    """r_N = alpha / G_NN, one r_T = alpha / max(G_T1T1, G_T2T2) (Gehring 2014, after Eqn. (16))."""
    return alpha / G_ii[0, 0], alpha / ca.fmax(G_ii[1, 1], G_ii[2, 2])
