"""Projected over-relaxed Jacobi, JOR (Gehring 2014, Eqn. (16))."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.contact.solvers import _prox, _prox_constraints
from tarsus.contact.solvers.base import ConstraintSolver, HardProblem, Outcome


@dataclass(frozen=True)
class Jor(ConstraintSolver):
    """Project all contacts at once, with the impulses of the last sweep."""

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        return _prox.iterate_impulses(hard, start, successive=False, maximum=self.maximum)

    def solve_with_constraints(self, hard: HardProblem, start: list[SX]) -> Outcome:
        return _prox_constraints.iterate_with_constraints(hard, start, successive=False)
