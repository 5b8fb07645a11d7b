"""Solve for many regularized contacts through the robot's joints rather than contact by contact."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.elimination import (
    DenseFactor,
    TreeFactor,
    eliminate,
    eliminate_dense,
    eliminate_tree,
)
from tarsus.algebra.products import Matrix, dot
from tarsus.contact.problem import RegularizedSolve
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.coupling import Coupling
from tarsus.stepping.delassus import half_solved_mobility


def regularized_solver(
    coupling: Coupling, builder: Builder, compliance: list[SX]
) -> RegularizedSolve:
    """Create a function that maps r to z[i] (3,) with (G + B^-1) z = r.

    With half-solved directions G = H^T P H, the velocities v = P H z solve (P^-1 + H B H^T) v = H B
    r, which couples a joint to its ancestors only. The cost grows with the number of contacts, not
    with its square. Constraints are included (`ConstraintResponse`).

    Parameters
    ----------
    coupling : Coupling
        How impulses move the robot.
    builder : Builder
        Traces the loops.
    compliance : list of SX
        Blocks B[i] (3, 3) of each contact, impulse per velocity.
    """
    M, half = coupling.factor, coupling.vectors_per_contact(coupling.W_half)
    halves = [half[3 * i : 3 * i + 3] for i in range(len(compliance))]

    # the left side, contact by contact
    def added(K: list[SX], contact: tuple[Matrix, SX]) -> list[SX]:
        rows, B = contact
        columns, K = _collect_columns(rows), list(K)
        products = {j: ca.mtimes(B, column) for j, column in columns.items()}
        for j in columns:
            for k in columns:
                K[M.size * j + k] += ca.dot(columns[j], products[k])
        return K

    begin = [
        1 / M.inverse_pivots[j] if j == k else SX(0) for j in range(M.size) for k in range(M.size)
    ]
    K = builder.fold("K", begin, list(zip(halves, compliance, strict=True)), added)
    if builder.is_tracing_cold:
        rows = [K[M.size * j : M.size * (j + 1)] for j in range(M.size)]
        factored = eliminate_dense(rows, builder)
    else:
        indices = ((j, k) for j in range(M.size) for k in range(M.size))
        H = {index: entry for index, entry in zip(indices, K, strict=True) if not entry.is_zero()}
        factored = builder.store_all("K_factor", eliminate_tree(H, M.size))

    constraints = ConstraintResponse.of(coupling, factored, builder)

    # velocities, then impulses
    def solve(r: list[SX]) -> list[SX]:
        load = [SX(0)] * M.size
        for rows, B, right in zip(halves, compliance, r, strict=True):
            impulse = ca.mtimes(B, right)
            for j, column in _collect_columns(rows).items():
                load[j] += ca.dot(column, impulse)
        v = factored.solve(load)
        v = v if constraints is None else constraints.apply(v)
        return [
            ca.mtimes(B, right - ca.vertcat(*(dot(row, v) for row in rows)))
            for rows, B, right in zip(halves, compliance, r, strict=True)
        ]

    return solve


def _collect_columns(rows: Matrix) -> dict[int, SX]:
    """Collect the columns (3,) of three rows that are not zero."""
    columns = enumerate(zip(*rows, strict=True))
    return {j: ca.vertcat(*column) for j, column in columns if not all(x.is_zero() for x in column)}


@dataclass(frozen=True, eq=False)
class ConstraintResponse:
    """Effect of the constraints on velocities v that solve K v = load.

    They become v + X y with y = -S^-1 H^T v, X = K^-1 H and S = H^T X + D, where D is the
    compliance of lockable joints.

    Attributes
    ----------
    half
        Columns of H, half-solved.
    responses
        Columns of X.
    factor
        Factored S, which is as little symmetric as B.
    """

    half: Matrix
    responses: Matrix
    factor: DenseFactor

    @staticmethod
    def of(coupling: Coupling, K: TreeFactor, builder: Builder) -> ConstraintResponse | None:
        """Compute the response for a coupling; None without constraints."""
        constraints = coupling.constraints
        if constraints is None:
            return None
        half, size = constraints.half, coupling.factor.size
        if builder.is_tracing_cold:
            # with their zeros, so that rows look alike and one loop solves them all
            cached = entries(
                builder.store("constraint_half", ca.vertcat(*(x for row in half for x in row)))
            )
            half = [cached[size * b : size * (b + 1)] for b in range(len(half))]
        responses = builder.map_items("constraint_response", half, K.solve)
        S = [[dot(row, column) for column in responses] for row in half]
        added = constraints.regularization(S)
        for b, row in enumerate(constraints.half):
            compliance = constraints.G[b][b] - half_solved_mobility(coupling.factor, row)
            S[b][b] += ca.fmax(compliance, 0) + added
        return ConstraintResponse(half, responses, builder.store_all("S_factor", eliminate(S)))

    def apply(self, v: list[SX]) -> list[SX]:
        """Compute the velocities v (n,) with the constraints acting."""
        y = self.factor.solve([-dot(row, v) for row in self.half])
        return [
            rate + dot(list(row), y)
            for rate, row in zip(v, zip(*self.responses, strict=True), strict=True)
        ]
