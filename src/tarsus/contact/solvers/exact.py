"""Each contact solved exactly, one after the other (block Gauss-Seidel).

Worlds on which the sweeps crawl go on with interior points (`_interior_point.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.contact.solvers._exact_blocks import prepared
from tarsus.contact.solvers._interior_point import settled
from tarsus.contact.solvers.base import HardProblem, Outcome, Solver, without_gain


@dataclass(frozen=True)
class Exact(Solver):
    """Each contact exactly, block by block."""

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        near = Outcome(start, SX(0), SX(0), roots)
        return without_gain(hard, settled(hard, prepared(hard), near, self.maximum))
