"""Many contacts that give way, each by itself: solved through the robot's joints."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.elimination import (
    Eliminated,
    EliminatedTree,
    eliminated,
    eliminated_dense,
    eliminated_tree,
)
from tarsus.algebra.products import Matrix, dot
from tarsus.contact.problem import Solved
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.coupling import Coupling
from tarsus.stepping.delassus import own_mobility


def softened(coupling: Coupling, builder: Builder, give: list[SX]) -> Solved:
    """r -> z[i] (3,) with (G + B^-1) z = r: what contacts bear that give way, B[i] (3, 3) by
    impulse.

    With half-solved directions G = H^T P H, so that v = P H z solves (P^-1 + H B H^T) v = H B r,
    which couples a joint to its ancestors alone. Where there are constraints they act too
    (`ConstraintsAnswer`).
    """
    M, half = coupling.factor, coupling.by_contact(coupling.W_half)
    halves = [half[3 * i : 3 * i + 3] for i in range(len(give))]

    # the left side, contact by contact
    def added(K: list[SX], contact: tuple[Matrix, SX]) -> list[SX]:
        rows, B = contact
        columns, K = _columns(rows), list(K)
        moved = {j: ca.mtimes(B, own) for j, own in columns.items()}
        for j in columns:
            for k in columns:
                K[M.size * j + k] += ca.dot(columns[j], moved[k])
        return K

    begin = [
        1 / M.inverse_pivots[j] if j == k else SX(0) for j in range(M.size) for k in range(M.size)
    ]
    K = builder.fold("given", begin, list(zip(halves, give, strict=True)), added)
    if builder.is_tracing_cold:
        rows = [K[M.size * j : M.size * (j + 1)] for j in range(M.size)]
        factored = eliminated_dense(rows, builder)
    else:
        places = ((j, k) for j in range(M.size) for k in range(M.size))
        H = {place: own for place, own in zip(places, K, strict=True) if not own.is_zero()}
        factored = builder.store_all("given_factor", eliminated_tree(H, M.size))

    bound = ConstraintsAnswer.of(coupling, factored, builder)

    # velocities, then impulses
    def solved(r: list[SX]) -> list[SX]:
        load = [SX(0)] * M.size
        for rows, B, own in zip(halves, give, r, strict=True):
            answer = ca.mtimes(B, own)
            for j, column in _columns(rows).items():
                load[j] += ca.dot(column, answer)
        v = factored.solve(load)
        v = v if bound is None else bound.kept(v)
        return [
            ca.mtimes(B, own - ca.vertcat(*(dot(row, v) for row in rows)))
            for rows, B, own in zip(halves, give, r, strict=True)
        ]

    return solved


def _columns(rows: Matrix) -> dict[int, SX]:
    """The columns (3,) of three rows that are not zero."""
    columns = enumerate(zip(*rows, strict=True))
    return {j: ca.vertcat(*own) for j, own in columns if not all(x.is_zero() for x in own)}


@dataclass(frozen=True, eq=False)
class ConstraintsAnswer:
    """What constraints add to velocities v that solve K v = load: v + X y with y = -S^-1 H^T v, X =
    K^-1 H and S = H^T X + D, D what joints give that may be held.

    half: the columns of H, half-solved
    answers: those of X
    factor: of S, which is no more symmetric than B
    """

    half: Matrix
    answers: Matrix
    factor: Eliminated

    @staticmethod
    def of(coupling: Coupling, K: EliminatedTree, builder: Builder) -> ConstraintsAnswer | None:
        """None without constraints."""
        hold = coupling.constraints
        if hold is None:
            return None
        half, size = hold.half, coupling.factor.size
        if builder.is_tracing_cold:
            # zeros too: rows that look alike are solved by one loop
            kept = entries(builder.store("bound", ca.vertcat(*(x for row in half for x in row))))
            half = [kept[size * b : size * (b + 1)] for b in range(len(half))]
        answers = builder.map_items("answered", half, K.solve)
        S = [[dot(row, column) for column in answers] for row in half]
        more = hold.regularization(S)
        for b, row in enumerate(hold.half):
            S[b][b] += ca.fmax(hold.G[b][b] - own_mobility(coupling.factor, row), 0) + more
        return ConstraintsAnswer(half, answers, builder.store_all("bound_factor", eliminated(S)))

    def kept(self, v: list[SX]) -> list[SX]:
        """v (n,) with the constraints' answer."""
        y = self.factor.solve([-dot(row, v) for row in self.half])
        return [
            own + dot(list(row), y)
            for own, row in zip(v, zip(*self.answers, strict=True), strict=True)
        ]
