"""Projected over-relaxed Jacobi (JOR) and Gauss-Seidel (SOR), in impulses or in velocities.

See Gehring 2014, Eqns. (12)-(18).
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.algebra import projections
from tarsus.contact.solvers.base import (
    HardProblem,
    Outcome,
    iterate,
    residual_velocity,
    step_sizes,
)
from tarsus.program.ir.loops import Values


def iterate_impulses(
    hard: HardProblem, start: list[SX], *, successive: bool, maximum: int
) -> Outcome:
    """Iterate Eqn. (16) with xi from Eqn. (12).

    If `successive`, new impulses are used at once (SOR), else all together in the next sweep (JOR).
    """
    n = len(start)
    form, G = hard.problem.bilateral, hard.problem.G  # computed here, not in every sweep
    whole = G if form is None else form.G  # r is that of the matrix with its constraints
    steps = [step_sizes(whole[i, i], hard.p.alpha) for i in range(n)]
    r = hard.builder.store("r", ca.vertcat(*(ca.vertcat(*pair) for pair in steps)))

    def sweep(old: list[SX], carried: Values) -> tuple[list[SX], Values]:
        new = list(old)
        for i in range(n):
            xi = residual_velocity(hard, i, new if successive else old)
            new[i] = project_contact(hard, i, old[i], xi, (r[2 * i], r[2 * i + 1]))
        return new, carried

    return iterate(hard, start, sweep, maximum)


def iterate_velocities(
    hard: HardProblem, start: list[SX], *, successive: bool, maximum: int
) -> Outcome:
    """Iterate Eqns. (17)-(18).

    The velocity is updated along with the impulses, and only the diagonal of G is formed.

    If `successive`, new impulses are used at once (SOR), else all together in the next sweep (JOR).
    """
    form, n = hard.problem.velocity_form, len(start)
    columns = [slice(3 * i, 3 * i + 3) for i in range(n)]
    blocks = [
        ca.mtimes(form.W[:, columns_of_contact].T, form.response[:, columns_of_contact])
        for columns_of_contact in columns
    ]
    steps = [step_sizes(block, hard.p.alpha) for block in blocks]
    r = hard.builder.store("r", ca.vertcat(*(ca.vertcat(*pair) for pair in steps)))
    u = form.u_free + ca.mtimes(form.response, ca.vertcat(*start))

    def sweep(old: list[SX], carried: Values) -> tuple[list[SX], Values]:
        new, u = list(old), carried["u"]
        for i, columns_of_contact in enumerate(columns):
            xi = ca.mtimes(
                form.W[:, columns_of_contact].T, u if successive else carried["u"]
            ) + _velocity_offset(hard, i)
            new[i] = project_contact(hard, i, old[i], xi, (r[2 * i], r[2 * i + 1]))
            u = u + ca.mtimes(form.response[:, columns_of_contact], new[i] - old[i])
        return new, {"u": u}

    return iterate(hard, start, sweep, maximum, {"u": u})


def _velocity_offset(hard: HardProblem, i: int) -> SX:
    """Return b_i = epsilon_i W_i^T u^S, which c_i adds to the free velocity."""
    return hard.c[i] - hard.problem.free[i]


def project_contact(hard: HardProblem, i: int, old: SX, xi: SX, r: tuple[SX, SX]) -> SX:
    """Project one contact (Eqn. (13)); the radius of its disc is the new normal impulse."""
    normal = projections.project_on_half_line(old[0] - r[0] * xi[0])
    tangent = projections.project_on_disc(old[1:] - r[1] * xi[1:], hard.mu[i] * normal)
    return ca.if_else(hard.problem.active[i], ca.vertcat(normal, tangent), 0)
