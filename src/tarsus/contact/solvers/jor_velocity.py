"""Jacobi iteration (JOR) in velocities, without forming G (Gehring 2014, Eqns. (17)-(18))."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.contact.solvers import _prox
from tarsus.contact.solvers.base import HardProblem, Outcome, Solver


@dataclass(frozen=True)
class JorVelocity(Solver):
    """Like jor, in velocities and without forming G."""

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        return _prox.iterate_velocities(hard, start, successive=False, maximum=self.maximum)
