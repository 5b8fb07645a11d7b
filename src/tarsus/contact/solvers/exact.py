"""Each contact solved exactly, one after the other (block Gauss-Seidel).

Where the sweeps converge slowly, interior points follow (`_interior_point.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.contact.solvers._exact_blocks import prepare_blocks
from tarsus.contact.solvers._interior_point import sweep_or_interior
from tarsus.contact.solvers.base import HardProblem, Outcome, Solver, without_energy_gain


@dataclass(frozen=True)
class Exact(Solver):
    """Solve each contact exactly, one after the other."""

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        before = Outcome(start, SX(0), SX(0), roots)
        return without_energy_gain(
            hard, sweep_or_interior(hard, prepare_blocks(hard), before, self.maximum)
        )
