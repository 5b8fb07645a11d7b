"""One contact's inclusion solved exactly, and Gauss-Seidel sweeps over all contacts.

With the other impulses constant, one contact is a problem in three unknowns, xi = A L + b:

- b_N >= 0: the contact opens, L = 0;
- else L = -A^-1 b if that lies in the cone: it sticks;
- else it slips: xi_N = 0 and xi_T = -s L_T with s > 0 such that |L_T| = mu L_N. For given s this is
  linear, (S + s 1) L_T = -d with the Schur complement S of A_NN. s is the root of a secular
  equation like that of a trust region, found by Newton's method on 1 / |L_T|, which is nearly
  linear in s.

The root s is carried from sweep to sweep, where one or two Newton steps follow its change. At the
fixed point the inclusions of Gehring 2014, Eqn. (13), hold exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
from casadi import SX

from tarsus.contact.solvers.base import HardProblem, Outcome, iterate, velocity_from_others
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, is_float64

MIN_DIVISOR = 1e-30
MIN_TANGENT_MOBILITY = 1e-9  # relative to the normal: less means that the contact cannot move there
# relative to a tangent's mobility: less of the Schur complement is round-off, of a tangent that
# moves only together with the normal; in float64 and float32
MIN_SCHUR, MIN_SCHUR_FLOAT32 = 1e-10, 1e-5
JAMMED = (
    0.01  # relative to friction: less reserve means that friction presses as much as it carries
)


def tangent_safe_diagonal(A: SX) -> list[SX]:
    """Compute the diagonal of a contact's block, with a minimum mobility of its tangents.

    Along a tangent in which the contact cannot move at all, as on a robot in a plane, it then
    carries nothing.
    """
    return [A[0, 0], *(ca.fmax(A[k, k], MIN_TANGENT_MOBILITY * A[0, 0]) for k in (1, 2))]


@dataclass(frozen=True)
class LocalBlock:
    """One contact's own block A, prepared so that a sweep needs no division by it.

    Attributes
    ----------
    a
        1 / A_NN.
    k
        A_TN / A_NN, shape (2,).
    S
        Entries 11, 12, 22 of the Schur complement of A_NN.
    inverse
        The same entries of its inverse.
    """

    SIZE: ClassVar[int] = 9

    a: SX
    k: SX
    S: SX
    inverse: SX

    @staticmethod
    def prepare(A: SX, least: SX) -> SX:
        """Pack the nine numbers of a prepared block into a column.

        `least` is the least share of a tangent's mobility that remains once the contact does not
        move along its normal and its other tangent. A limb with one joint has none left, and
        without this bound round-off would take its place.
        """
        a, diagonal = 1 / A[0, 0], tangent_safe_diagonal(A)
        k = a * A[1:, 0]
        S11, S12 = (
            ca.fmax(diagonal[1] - k[0] * A[1, 0], least * diagonal[1]),
            A[2, 1] - k[0] * A[2, 0],
        )
        S22 = ca.fmax(diagonal[2] - k[1] * A[2, 0], least * diagonal[2])
        scale = 1 / ca.fmax(S11 * S22 - S12 * S12, least * S11 * diagonal[2])
        return ca.vertcat(a, k, S11, S12, S22, scale * S22, -scale * S12, scale * S11)

    @staticmethod
    def of(v: SX) -> LocalBlock:
        """Restore a block from the column of `prepare`."""
        return LocalBlock(v[0], v[1:3], v[3:6], v[6:9])

    def solve_sticking(self, b: SX) -> SX:
        """Solve for L with xi = 0."""
        d, (i11, i12, i22) = b[1:] - b[0] * self.k, entries(self.inverse)
        tangent = -ca.vertcat(i11 * d[0] + i12 * d[1], i12 * d[0] + i22 * d[1])
        return ca.vertcat(self._normal(b, tangent), tangent)

    def solve_slipping(self, b: SX, mu: SX, s: SX) -> tuple[SX, SX]:
        """Solve for L on the cone's edge with xi_N = 0 and xi_T = -s L_T, and improve s."""
        d = b[1:] - b[0] * self.k
        tangent, _ = self._tangent(d, s)
        trial = ca.vertcat(self._normal(b, tangent), tangent)
        length = ca.sqrt(ca.dot(tangent, tangent) + MIN_DIVISOR)
        s = self.improve_root(trial, length, mu, s)
        tangent, length = self._tangent(d, s)
        # radial return with the matching normal impulse: t L_T with |t L_T| = mu L_N(t L_T)
        push, pull = -self.a * b[0], ca.dot(self.k, tangent)
        reserve = length + mu * pull
        t = mu * push / ca.fmax(reserve, MIN_DIVISOR)
        # friction that presses about as much as it may carry has no such t: the tangent stays as it
        # is, and inside the cone the root is halved
        jammed = reserve < JAMMED * length
        inside = ca.logic_and(jammed, length < mu * (push - pull))
        t = ca.if_else(jammed, 1, t)
        return ca.vertcat(push - t * pull, t * tangent), ca.if_else(inside, 0.5 * s, s)

    def sliding_root(self, b: SX, mu: SX) -> SX:
        """Compute a first guess of s from the contact alone; not positive if it would stick."""
        d, push = b[1:] - b[0] * self.k, -self.a * b[0]
        return ca.sqrt(ca.dot(d, d)) / ca.fmax(mu * push, MIN_DIVISOR) - ca.fmax(
            self.S[0], self.S[2]
        )

    def improve_root(self, impulse: SX, length: SX, mu: SX, s: SX) -> SX:
        """Take one Newton step on 1 / |L_T| towards |L_T| = mu L_N; length = |L_T| at the root s.

        With t = (S + s 1)^-1 L_T: d|L_T|/ds = -L_T^T t / |L_T| and dL_N/ds = k^T t.
        """
        m11, m22, m12 = self.S[0] + s, self.S[2] + s, self.S[1]
        scale = 1 / (m11 * m22 - m12 * m12)
        t1 = scale * (m22 * impulse[1] - m12 * impulse[2])
        t2 = scale * (m11 * impulse[2] - m12 * impulse[1])
        shrink = ca.fmax((impulse[1] * t1 + impulse[2] * t2) / length, MIN_DIVISOR)
        ratio = -mu * (self.k[0] * t1 + self.k[1] * t2) / shrink
        target = (mu * impulse[0] - ratio * length) / ca.fmax(1 - ratio, 1e-3)
        target = ca.fmax(target, 1e-3 * length)
        return ca.fmax(s + (length / target - 1) * length / shrink, 0)

    def _tangent(self, d: SX, s: SX) -> tuple[SX, SX]:
        """Compute L_T = -(S + s 1)^-1 d and its length."""
        m11, m22, m12 = self.S[0] + s, self.S[2] + s, self.S[1]
        scale = 1 / (m11 * m22 - m12 * m12)
        x, y = -scale * (m22 * d[0] - m12 * d[1]), -scale * (m11 * d[1] - m12 * d[0])
        return ca.vertcat(x, y), ca.sqrt(x * x + y * y + MIN_DIVISOR)

    def _normal(self, b: SX, tangent: SX) -> SX:
        return -self.a * b[0] - ca.dot(self.k, tangent)


def prepare_blocks(hard: HardProblem) -> list[LocalBlock]:
    """Prepare and store the block of every contact."""
    n, size = hard.problem.n, LocalBlock.SIZE
    least = ca.if_else(is_float64(hard.problem.dt), MIN_SCHUR, MIN_SCHUR_FLOAT32)
    columns = [LocalBlock.prepare(hard.problem.G[i, i], least) for i in range(n)]
    stored = hard.builder.store("local", ca.vertcat(*columns))
    return [LocalBlock.of(stored[size * i : size * (i + 1)]) for i in range(n)]


def gauss_seidel(
    hard: HardProblem,
    local: list[LocalBlock],
    start: list[SX],
    roots: list[SX],
    maximum: int,
    enters: SX | None = None,
) -> Outcome:
    """Repeat Gauss-Seidel sweeps from `start`; worlds where `enters` is 0 skip them."""

    def sweep(old: list[SX], carried: Values) -> tuple[list[SX], Values]:
        new, root = list(old), entries(carried["root"])
        for i in range(len(old)):
            b = velocity_from_others(hard, i, new)
            new[i], root[i] = solve_contact(local[i], b, hard.mu[i], root[i])
            new[i] = ca.if_else(hard.problem.active[i], new[i], 0)
        return new, {"root": ca.vertcat(*root)}

    return iterate(hard, start, sweep, maximum, {"root": ca.vertcat(*roots)}, enters)


def solve_contact(local: LocalBlock, b: SX, mu: SX, s: SX) -> tuple[SX, SX]:
    """Solve for the impulse (3,) of one contact with xi = A L + b, and its sliding root s."""
    stick = local.solve_sticking(b)
    slip, s_slip = local.solve_slipping(b, mu, s)
    edge = mu * stick[0]
    inside = ca.logic_and(edge >= 0, ca.dot(stick[1:], stick[1:]) <= edge * edge)
    opens = b[0] >= 0
    impulse = ca.if_else(opens, 0, ca.if_else(inside, stick, slip))
    return impulse, ca.if_else(ca.logic_or(opens, inside), 0, s_slip)
