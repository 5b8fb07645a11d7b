"""One contact's own inclusion solved exactly, and Gauss-Seidel sweeps over all contacts.

With the others' impulses fixed, one contact is a problem in three unknowns, xi = A L + b:
- b_N >= 0: the contact opens, L = 0;
- else L = -A^-1 b if that lies in the cone: it sticks;
- else it slips: xi_N = 0 and xi_T = -s L_T with s > 0 such that |L_T| = mu L_N. For given s this is
  linear, (S + s 1) L_T = -d with the Schur complement S of A_NN; s is the root of a secular
  equation like that of a trust region, found by Newton's method on 1 / |L_T|, which is nearly
  linear in s.
The root s is carried from sweep to sweep, so that a Newton step or two a sweep follow it. At the
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

TINY = 1e-30
FIXED = 1e-9  # of the normal's mobility: a tangent along which a contact cannot move
# of a tangent's mobility: what round-off may leave of one that moves only together with the normal
LEAST, LEAST_SINGLE = 1e-10, 1e-5  # in float64, float32
JAMMED = 0.01  # of a friction impulse: what it may carry beyond what it presses itself


def mobile(A: SX) -> list[SX]:
    """The diagonal of a contact's block, its tangents no less mobile than `FIXED` says: along one
    in which it cannot move at all, as on a robot in a plane, it shall carry nothing.
    """
    return [A[0, 0], *(ca.fmax(A[k, k], FIXED * A[0, 0]) for k in (1, 2))]


@dataclass(frozen=True)
class Local:
    """One contact's own block A, prepared: everything a sweep needs without a division by it.

    a: 1 / A_NN
    k (2,): A_TN / A_NN
    S (3,): entries 11, 12, 22 of the Schur complement of A_NN
    inverse (3,): the same of its inverse
    """

    SIZE: ClassVar[int] = 9

    a: SX
    k: SX
    S: SX
    inverse: SX

    @staticmethod
    def prepare(A: SX, least: SX) -> SX:
        """The nine numbers of a prepared block as a column.

        least: the share of a tangent's mobility that is taken to be left, at least, once the
        contact does not move along its normal and its other tangent; a limb with one joint has none
        left, and round-off would stand in for it.
        """
        a, own = 1 / A[0, 0], mobile(A)
        k = a * A[1:, 0]
        S11, S12 = ca.fmax(own[1] - k[0] * A[1, 0], least * own[1]), A[2, 1] - k[0] * A[2, 0]
        S22 = ca.fmax(own[2] - k[1] * A[2, 0], least * own[2])
        scale = 1 / ca.fmax(S11 * S22 - S12 * S12, least * S11 * own[2])
        return ca.vertcat(a, k, S11, S12, S22, scale * S22, -scale * S12, scale * S11)

    @staticmethod
    def of(v: SX) -> Local:
        """From the column that `prepare` made."""
        return Local(v[0], v[1:3], v[3:6], v[6:9])

    def sticking(self, b: SX) -> SX:
        """L with xi = 0."""
        d, (i11, i12, i22) = b[1:] - b[0] * self.k, entries(self.inverse)
        tangent = -ca.vertcat(i11 * d[0] + i12 * d[1], i12 * d[0] + i22 * d[1])
        return ca.vertcat(self._normal(b, tangent), tangent)

    def slipping(self, b: SX, mu: SX, s: SX) -> tuple[SX, SX]:
        """L on the cone's edge with xi_N = 0, xi_T = -s L_T, and the improved s."""
        d = b[1:] - b[0] * self.k
        tangent, _ = self._tangent(d, s)
        trial = ca.vertcat(self._normal(b, tangent), tangent)
        length = ca.sqrt(ca.dot(tangent, tangent) + TINY)
        s = self.improved_root(trial, length, mu, s)
        tangent, length = self._tangent(d, s)
        # radial return with the normal impulse that goes with it: t L_T with |t L_T| = mu L_N(t
        # L_T)
        push, pull = -self.a * b[0], ca.dot(self.k, tangent)
        room = length + mu * pull
        t = mu * push / ca.fmax(room, TINY)
        # friction that presses about as much as it may carry has no such t: the tangent stays as it
        # is, and inside the cone the root is searched below
        jammed = room < JAMMED * length
        inside = ca.logic_and(jammed, length < mu * (push - pull))
        t = ca.if_else(jammed, 1, t)
        return ca.vertcat(push - t * pull, t * tangent), ca.if_else(inside, 0.5 * s, s)

    def sliding_root(self, b: SX, mu: SX) -> SX:
        """A first guess of s from the contact alone; not positive if it would stick."""
        d, push = b[1:] - b[0] * self.k, -self.a * b[0]
        return ca.sqrt(ca.dot(d, d)) / ca.fmax(mu * push, TINY) - ca.fmax(self.S[0], self.S[2])

    def improved_root(self, impulse: SX, length: SX, mu: SX, s: SX) -> SX:
        """One Newton step on 1 / |L_T| towards |L_T| = mu L_N; length = |L_T| at the root s.

        With t = (S + s 1)^-1 L_T: d|L_T|/ds = -L_T^T t / |L_T| and dL_N/ds = k^T t.
        """
        m11, m22, m12 = self.S[0] + s, self.S[2] + s, self.S[1]
        scale = 1 / (m11 * m22 - m12 * m12)
        t1 = scale * (m22 * impulse[1] - m12 * impulse[2])
        t2 = scale * (m11 * impulse[2] - m12 * impulse[1])
        shrink = ca.fmax((impulse[1] * t1 + impulse[2] * t2) / length, TINY)
        ratio = -mu * (self.k[0] * t1 + self.k[1] * t2) / shrink
        target = (mu * impulse[0] - ratio * length) / ca.fmax(1 - ratio, 1e-3)
        target = ca.fmax(target, 1e-3 * length)
        return ca.fmax(s + (length / target - 1) * length / shrink, 0)

    def _tangent(self, d: SX, s: SX) -> tuple[SX, SX]:
        """L_T = -(S + s 1)^-1 d and its length."""
        m11, m22, m12 = self.S[0] + s, self.S[2] + s, self.S[1]
        scale = 1 / (m11 * m22 - m12 * m12)
        x, y = -scale * (m22 * d[0] - m12 * d[1]), -scale * (m11 * d[1] - m12 * d[0])
        return ca.vertcat(x, y), ca.sqrt(x * x + y * y + TINY)

    def _normal(self, b: SX, tangent: SX) -> SX:
        return -self.a * b[0] - ca.dot(self.k, tangent)


def prepared(hard: HardProblem) -> list[Local]:
    """Every contact's own block, prepared and kept."""
    n, size = hard.problem.n, Local.SIZE
    least = ca.if_else(is_float64(hard.problem.dt), LEAST, LEAST_SINGLE)
    columns = [Local.prepare(hard.problem.G[i, i], least) for i in range(n)]
    kept = hard.builder.store("local", ca.vertcat(*columns))
    return [Local.of(kept[size * i : size * (i + 1)]) for i in range(n)]


def sweeps(
    hard: HardProblem,
    local: list[Local],
    start: list[SX],
    roots: list[SX],
    maximum: int,
    first: SX | None = None,
) -> Outcome:
    """Gauss-Seidel sweeps from `start`; worlds where `first` is 0 keep it."""

    def sweep(old: list[SX], carried: Values) -> tuple[list[SX], Values]:
        new, root = list(old), entries(carried["root"])
        for i in range(len(old)):
            b = velocity_from_others(hard, i, new)
            new[i], root[i] = solve_one(local[i], b, hard.mu[i], root[i])
            new[i] = ca.if_else(hard.problem.active[i], new[i], 0)
        return new, {"root": ca.vertcat(*root)}

    return iterate(hard, start, sweep, maximum, {"root": ca.vertcat(*roots)}, first)


def solve_one(local: Local, b: SX, mu: SX, s: SX) -> tuple[SX, SX]:
    """The impulse (3,) of one contact with xi = A L + b, and its sliding root s (0: no slip)."""
    stick = local.sticking(b)
    slip, s_slip = local.slipping(b, mu, s)
    edge = mu * stick[0]
    inside = ca.logic_and(edge >= 0, ca.dot(stick[1:], stick[1:]) <= edge * edge)
    opens = b[0] >= 0
    impulse = ca.if_else(opens, 0, ca.if_else(inside, stick, slip))
    return impulse, ca.if_else(ca.logic_or(opens, inside), 0, s_slip)
