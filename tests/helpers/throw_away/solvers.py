"""Temporary solver: projected Gauss-Seidel from the last contact to the first."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.contact.solvers._prox import project_contact
from tarsus.contact.solvers.base import (
    HardProblem,
    Outcome,
    Solver,
    iterate,
    residual_velocity,
    step_sizes,
)
from tarsus.program.ir.loops import Values


@dataclass(frozen=True)
class Backwards(Solver):
    """Prox with G, the last contact first."""

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        steps = [step_sizes(hard.problem.G[i, i], hard.p.alpha) for i in range(len(start))]

        def sweep(old: list[SX], carried: Values) -> tuple[list[SX], Values]:
            new = list(old)
            for i in reversed(range(len(old))):
                xi = residual_velocity(hard, i, new)
                new[i] = project_contact(hard, i, old[i], xi, steps[i])
            return new, carried

        return iterate(hard, start, sweep, self.maximum)
