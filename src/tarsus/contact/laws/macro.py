"""Rigid contact by minimising the error of velocity and the norm of the percussion (document 001, macro model)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import Law
from tarsus.contact.problem import ContactProblem, ContactSolution
from tarsus.contact.solvers.ldl import Matrix
from tarsus.contact.solvers.pivoting import Complementarity, pivot
from tarsus.errors import TarsusError
from tarsus.program.symbolic import entries
from tarsus.program.trace import Builder

TOLERANCE, SPREAD = 1e-12, 1e-10
TINY = 1e-30


@dataclass(frozen=True)
class Macro(Law):
    """Document 001, Eqns. (16)-(36), without the membrane (micro model) that covers the ground there.

    A closed contact that moves by v_0 at most sticks: its velocity shall become zero (25). A faster one slides: its
    normal velocity shall be -e_N times the one before (29), and its friction is mu_K times the normal percussion
    against its slip (26). That makes A df = v, Eqns. (30)-(32); df minimises |A df - v|^2 + damping |df|^2 with no
    normal percussion below zero (33), solved exactly by principal pivoting. Where friction then exceeds mu of the
    normal percussion, it is cut to the kinetic one (35)-(36); normal percussions are not solved again.

    mu: coefficient of static friction mu_S, -; kinetic: mu_K / mu_S, 0 to 1, -; e_N: rebound coefficient, 0 to 1, -;
    v_0: speed up to which a contact sticks, m/s; damping: the document's lambda, 1/kg^2.

    A standing robot sinks at about damping m g dt / (an eigenvalue of A): slow for the default; the document's
    values of 0.01 to 4 need its membrane. v_0 must exceed what friction changes in one step, mu g dt, or a sliding
    contact passes zero and friction turns about in every step. The sticking of a contact that separates (25) would
    pull and is left out by (33); e_N counts for approach only. Friction against the slip *before* (26) may reverse the
    slip within an impact and then adds energy (a fast spinning box, mu_K near 1): such a step has `converged` 0.
    """

    citation: ClassVar[str] = (
        "Sugihara, Nakamura: Balanced micro/macro contact model for forward dynamics of rigid multibody. "
        "IEEE ICRA 2006, Eqns. (16)-(36)"
    )

    mu: float | NDArray[np.float64] = 0.8
    kinetic: float | NDArray[np.float64] = 0.4
    e_N: float | NDArray[np.float64] = 0.0
    v_0: float | NDArray[np.float64] = 0.03
    damping: float | NDArray[np.float64] = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("kinetic", "v_0", "damping"):
            if (np.asarray(getattr(self, name)) < 0).any():
                raise TarsusError(f"Macro: {name} must not be negative, not {np.min(getattr(self, name)):g}.")
        if (np.asarray(self.kinetic) > 1).any():
            raise TarsusError(f"Macro: kinetic must not exceed 1, not {np.max(self.kinetic):g}.")

    def solve(self, problem: ContactProblem, p: Any, memory: SX, builder: Builder) -> ContactSolution:
        n = problem.n
        if n == 0:
            return ContactSolution([], SX(0, 1), SX(0), SX(1))
        slips, sticks = zip(*(slip(problem, i, p.v_0) for i in range(n)), strict=True)
        ways = builder.keep("ways", ca.vertcat(*slips))
        A, v, used = equations(problem, [ways[2 * i : 2 * i + 2] for i in range(n)], list(sticks), p)
        H, c = normal_equations(A, v, p.damping, used, builder)
        allowed = entries(builder.keep("used", ca.vertcat(*used)))
        free = tuple(k % 3 > 0 for k in range(3 * n))
        found = pivot(Complementarity(H, c, allowed, SX(TOLERANCE), SX(SPREAD), free), [SX(1)] * (3 * n), builder)
        impulses = []
        for i in range(n):
            normal, tangent = found.x[3 * i], ca.vertcat(*found.x[3 * i + 1 : 3 * i + 3])
            tangent = tangent - p.mu * p.kinetic * normal * ways[2 * i : 2 * i + 2]
            impulses.append(with_friction_cut(normal, tangent, p))
        good = ca.logic_and(found.settled, ca.logic_not(reversed_slip(problem, impulses, ways, p.v_0)))
        return ContactSolution(impulses, SX(0, 1), found.iterations, good)


def slip(problem: ContactProblem, i: int, v_0: SX) -> tuple[SX, SX]:
    """Slip vector sigma (2,) of Eqn. (7), zero if the contact sticks or does not slip, and 1 if it sticks."""
    v = problem.contacts[i].velocity
    speed = ca.sqrt(ca.dot(v[1:], v[1:]) + TINY)
    sticks = ca.dot(v, v) <= v_0 * v_0
    return ca.if_else(speed > v_0, v[1:] / speed, 0), sticks


def equations(problem: ContactProblem, ways: list[SX], sticks: list[SX], p: Any) -> tuple[Matrix, list[SX], list[SX]]:
    """A and v of Eqn. (32) from Eqns. (30)-(31), and which of the 3n unknowns there are: a sliding contact has one."""
    n = problem.n
    used, v = [], []
    for i in range(n):
        active, contact = problem.active[i], problem.contacts[i]
        used += [active] + [ca.logic_and(active, sticks[i])] * 2
        rebound = ca.if_else(sticks[i], 0, p.e_N * ca.fmin(contact.velocity[0], 0))
        v += [-(problem.free[i][0] + rebound), -problem.free[i][1], -problem.free[i][2]]
    A: Matrix = [[SX(0)] * (3 * n) for _ in range(3 * n)]
    for i in range(n):
        for j in range(n):
            block = problem.G[i, j]
            normal = block[:, 0] - p.mu * p.kinetic * ca.mtimes(block[:, 1:], ways[j])
            columns = ca.horzcat(normal, block[:, 1:])
            for a in range(3):
                for b in range(3):
                    both = ca.logic_and(used[3 * i + a], used[3 * j + b])
                    A[3 * i + a][3 * j + b] = ca.if_else(both, columns[a, b], 0)
    return A, [ca.if_else(u, value, 0) for u, value in zip(used, v, strict=True)], used


def normal_equations(A: Matrix, v: list[SX], damping: SX, used: list[SX], builder: Builder) -> tuple[Matrix, list[SX]]:
    """H = A^T A + damping 1 and c = -A^T v, kept; 1 on the diagonal of what is not used."""
    size = range(len(v))
    kept = builder.keep("A", ca.vertcat(*(entry for row in A for entry in row)))
    rows = [[kept[len(v) * i + j] for j in size] for i in size]
    lower = []
    for i in size:
        for j in range(i + 1):
            inner = sum((rows[k][i] * rows[k][j] for k in size), SX(0))
            lower.append(inner + (damping + ca.if_else(used[i], 0, 1) if i == j else 0))
    held = builder.keep("H", ca.vertcat(*lower))
    H = [[held[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in size] for i in size]
    c = [-sum((rows[k][i] * v[k] for k in size), SX(0)) for i in size]
    return H, entries(builder.keep("c", ca.vertcat(*c)))


def reversed_slip(problem: ContactProblem, impulses: list[SX], ways: SX, v_0: SX) -> SX:
    """1 if friction left a sliding contact slipping the other way by more than v_0."""
    wrong = SX(0)
    for i in range(problem.n):
        after = problem.free[i][1:]
        for j, impulse in enumerate(impulses):
            after = after + ca.mtimes(problem.G[i, j][1:, :], impulse)
        back = ca.dot(after, ways[2 * i : 2 * i + 2]) < -v_0
        wrong = ca.logic_or(wrong, ca.logic_and(impulses[i][0] > 0, back))
    return wrong


def with_friction_cut(normal: SX, tangent: SX, p: Any) -> SX:
    """Eqns. (35)-(36): beyond static friction, kinetic friction in the same direction."""
    length, edge = ca.sqrt(ca.dot(tangent, tangent) + TINY), p.mu * normal
    excess = ca.dot(tangent, tangent) > edge * edge
    return ca.vertcat(normal, ca.if_else(excess, p.kinetic * edge / length, 1) * tangent)
