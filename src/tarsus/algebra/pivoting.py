"""Linear complementarity problems solved exactly, by principal pivoting.

w = K x + c, x >= 0, w >= 0, x w = 0 for every unknown that is allowed; the others are zero. A set
of unknowns is assumed to be basic (w = 0), the others have x = 0; all unknowns of the wrong sign
change sides together. If their number has not decreased within a few tries, only the one of largest
index changes, which terminates for every positive definite K (Murty 1974; the combination is that
of Júdice and Pires 1994). A regularization of the diagonal (`spread`) makes a singular K definite
during the search; iterative refinement removes it again.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.ldl import ZERO_IMPULSE_DIAGONAL, factorize_dense
from tarsus.algebra.products import Matrix, multiply
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

TRIES = 3  # exchanges of all unknowns without fewer wrong signs
MAX_PIVOTS = 60
REFINEMENTS = 2


@dataclass(frozen=True)
class ComplementarityProblem:
    """Linear complementarity problem.

    Attributes
    ----------
    K
        Symmetric positive semidefinite matrix.
    c
        Constant.
    allowed
        1 where x_i may be above zero.
    tolerance
        Relative size below which a wrong sign is round-off.
    spread
        Relative regularization of the diagonal.
    free
        True where x_i may have either sign, and w_i = 0; nowhere by default.
    """

    K: Matrix
    c: list[SX]
    allowed: list[SX]
    tolerance: SX
    spread: SX
    free: tuple[bool, ...] = ()

    def is_signed(self, i: int) -> bool:
        """Return whether x_i must be non-negative."""
        return not (self.free and self.free[i])


@dataclass(frozen=True)
class PivotResult:
    """Solution x, number of factorizations, and 1 if all signs are correct."""

    x: list[SX]
    iterations: SX
    converged: SX


def pivot(
    problem: ComplementarityProblem, basic: list[SX], builder: Builder, first: SX | None = None
) -> PivotResult:
    """Solve from the set `basic`; worlds where `first` is 0 return x = 0."""
    n = len(basic)
    begin = {
        "x": SX.zeros(n),
        "basic": ca.vertcat(
            *(ca.logic_and(a, b) for a, b in zip(problem.allowed, basic, strict=True))
        ),
        "fewest": SX(n + 1),
        "tries": SX(TRIES),
        "pivots": SX(0),
        "wrong": SX(0),
    }
    last = builder.loop(begin, lambda values: exchange(problem, values), MAX_PIVOTS, first)
    return PivotResult(entries(last["x"]), last["pivots"], ca.logic_not(last["wrong"]))


def exchange(problem: ComplementarityProblem, values: Values) -> tuple[Values, SX]:
    """Solve for the basic unknowns, and exchange those with the wrong sign."""
    # solve, and find the size of the unknowns: a wrong sign below round-off does not count
    basic, size = entries(values["basic"]), range(len(problem.c))
    refined, x = basic_solution(problem, basic)
    w = [a + c for a, c in zip(multiply(problem.K, x), problem.c, strict=True)]
    largest = SX(0)
    for i in size:
        alone = ca.if_else(problem.allowed[i], ca.fabs(problem.c[i]) / problem.K[i][i], 0)
        largest = ca.fmax(largest, ca.fmax(ca.fabs(x[i]), alone))
    # unknowns of the wrong sign
    flips, count = [], SX(0)
    for i in size:
        pulls = x[i] < -problem.tolerance * largest
        closes = ca.logic_and(
            problem.allowed[i], w[i] < -problem.tolerance * largest * problem.K[i][i]
        )
        flips.append(ca.if_else(basic[i], pulls, closes) if problem.is_signed(i) else SX(0))
        count = count + flips[i]

    # all of them change sides, or only one if their number has not decreased for some tries
    better = count < values["fewest"]
    tries = ca.if_else(better, TRIES, values["tries"] - 1)
    together = tries >= 0
    highest = SX(-1)
    for i in size:
        highest = ca.if_else(flips[i], i, highest)
    chosen = [ca.logic_and(flips[i], ca.logic_or(together, highest == i)) for i in size]
    more = count > 0
    new = {
        "x": ca.vertcat(
            *(ca.fmax(x, 0) if problem.is_signed(i) else x for i, x in enumerate(refined))
        ),
        "basic": ca.vertcat(
            *(ca.if_else(chosen[i], ca.logic_not(basic[i]), basic[i]) for i in size)
        ),
        "fewest": ca.fmin(count, values["fewest"]),
        "tries": tries,
        "pivots": values["pivots"] + 1,
        "wrong": more,
    }
    return new, more


def basic_solution(problem: ComplementarityProblem, basic: list[SX]) -> tuple[list[SX], list[SX]]:
    """Compute x with w = 0 on the basic set, of K itself and of the regularized K."""
    rows = list(zip(basic, problem.K, strict=True))
    diagonal = [
        ca.if_else(b, row[i] * (1 + problem.spread), ZERO_IMPULSE_DIAGONAL)
        for i, (b, row) in enumerate(rows)
    ]
    factor = factorize_dense(
        [[*row[:i], pivot] for i, ((_, row), pivot) in enumerate(zip(rows, diagonal, strict=True))]
    )

    def solution(right: list[SX]) -> list[SX]:
        # 0 and 1 as factors: the tracer would move a selection out of every product and add what is
        # left
        basic_values = factor.solve([b * r for b, r in zip(basic, right, strict=True)])
        return [b * x for b, x in zip(basic, basic_values, strict=True)]

    first = x = solution([-c for c in problem.c])
    for _ in range(REFINEMENTS):
        left = [-a - c for a, c in zip(multiply(problem.K, x), problem.c, strict=True)]
        x = [a + b for a, b in zip(x, solution(left), strict=True)]
    return x, first
