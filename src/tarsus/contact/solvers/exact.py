"""Each contact solved exactly, one after the other (block Gauss-Seidel)."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.contact.solvers._exact_blocks import prepared, sweeps
from tarsus.contact.solvers.base import HardProblem, Outcome, Solver


@dataclass(frozen=True)
class Exact(Solver):
    """Each contact exactly, block by block."""

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        return sweeps(hard, prepared(hard), start, roots, self.maximum)
