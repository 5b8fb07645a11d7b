"""All contacts at once: an active-set Newton method on the sliding roots.

A solution of the inclusions (12)-(13) of document 000 is a linear system once it is known who presses and who
slides how fast: (G + S) L = -c over the pressing contacts, with S = s_i on both tangents of contact i, because
xi_T = -s L_T. Sticking is s = 0. What remains are n scalars, s_i >= 0 with |L_T| <= mu L_N, and the set of
pressing contacts. Each iteration factors G + S (symmetric, positive definite), then corrects every s_i by
Newton's method on 1 / |L_T| (as for a trust region) and the set by signs: L_N < 0 releases, xi_N < 0 presses.
While feet stick, one factorisation gives the exact answer. Worlds that do not settle within a few iterations go on
with the block Gauss-Seidel method from where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.contact.solvers.base import HardProblem, Outcome, Solver, residual_velocity
from tarsus.contact.solvers.exact import Exact
from tarsus.program.trace import Values

FAR = 1e20  # added to the diagonal of a contact that does not press: its percussion vanishes
SPREAD = 1e-12  # of the diagonal: shares the load of redundant contacts evenly
TINY = 1e-30


@dataclass(frozen=True)
class Newton(Solver):
    """Active-set Newton; `patience` iterations, then block Gauss-Seidel for the worlds that need it."""

    patience: int = 12

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        n, active = len(start), hard.problem.active
        _ = hard.problem.G  # formed once, before the loop begins
        pressing = [
            ca.logic_and(active[i], ca.logic_or(start[i][0] > 0, hard.c[i][0] < 0)) for i in range(n)
        ]
        begin = {
            "impulse": SX.zeros(3 * n),
            "pressing": ca.vertcat(*pressing),
            "root": ca.vertcat(*roots),
            "sweeps": SX(0),
            "unsettled": SX(1),
        }
        last = hard.builder.loop(begin, lambda values: self._iterate(hard, values), self.patience)
        impulses = [last["impulse"][3 * i : 3 * i + 3] for i in range(n)]
        finished = Exact().solve(hard, impulses, last["root"].elements(), last["unsettled"])
        return Outcome(
            finished.impulses, last["sweeps"] + finished.iterations, finished.converged, finished.roots
        )

    def _iterate(self, hard: HardProblem, values: Values) -> tuple[Values, SX]:
        n = len(hard.c)
        pressing, roots = values["pressing"].elements(), values["root"].elements()
        solved = self._linear(hard, pressing, roots)
        impulses = [ca.if_else(pressing[i], solved[3 * i : 3 * i + 3], 0) for i in range(n)]
        press, slide, unsettled = [], [], SX(0)
        for i in range(n):
            pushes, root, off = self._corrected(hard, i, pressing[i], roots[i], impulses)
            press.append(pushes)
            slide.append(root)
            unsettled = ca.logic_or(unsettled, off)
        new = {
            "impulse": ca.vertcat(*impulses),
            "pressing": ca.vertcat(*press),
            "root": ca.vertcat(*slide),
            "sweeps": values["sweeps"] + 1,
            "unsettled": unsettled,
        }
        return new, unsettled

    def _linear(self, hard: HardProblem, pressing: list[SX], roots: list[SX]) -> SX:
        """L = -(G + S)^-1 c by L D L^T, contacts that do not press held at zero."""
        n, G = len(hard.c), hard.problem.G
        size = 3 * n
        K = [[G[i // 3, j // 3][i % 3, j % 3] for j in range(i + 1)] for i in range(size)]
        for i in range(n):
            far = ca.if_else(pressing[i], 0, FAR)
            for k in range(3):
                at = 3 * i + k
                K[at][at] = K[at][at] * (1 + SPREAD) + (far + roots[i] if k else far)
        x = [-entry for c in hard.c for entry in c.elements()]
        inverse = []
        for k in range(size):
            inverse.append(1 / K[k][k])
            for i in range(k + 1, size):
                factor = K[i][k] * inverse[k]
                for j in range(k + 1, i + 1):
                    K[i][j] = K[i][j] - factor * K[j][k]
                x[i] = x[i] - factor * x[k]
        for k in reversed(range(size)):
            rest = x[k]
            for i in range(k + 1, size):
                rest = rest - K[i][k] * x[i]
            x[k] = rest * inverse[k]
        return ca.vertcat(*x)

    def _corrected(
        self, hard: HardProblem, i: int, pressing: SX, root: SX, impulses: list[SX]
    ) -> tuple[SX, SX, SX]:
        """Whether contact i presses, its sliding root, and 1 if either was wrong."""
        p, block, impulse = hard.p, hard.problem.G[i, i], impulses[i]
        tolerance = p.T_abs
        separation = residual_velocity(hard, i, impulses)[0]
        pull = ca.logic_and(pressing, impulse[0] < -tolerance)
        push = ca.logic_and(ca.logic_not(pressing), separation < -tolerance * block[0, 0])
        push = ca.logic_and(push, hard.problem.active[i])
        presses = ca.if_else(pressing, ca.logic_not(pull), push)

        squared = ca.dot(impulse[1:], impulse[1:]) + TINY
        length = ca.sqrt(squared)
        radius = ca.fmax(hard.mu * impulse[0], 1e-3 * length)
        m11, m22, m12 = block[1, 1] + root, block[2, 2] + root, block[1, 2]
        x, y = impulse[1], impulse[2]
        growth = (m22 * x * x - 2 * m12 * x * y + m11 * y * y) / (m11 * m22 - m12 * m12)
        slid = ca.fmax(root + (length - radius) * squared / (radius * growth + TINY), 0)
        beyond = length - hard.mu * impulse[0]
        allowed = length * p.T_rel + tolerance
        off = ca.logic_or(beyond > allowed, ca.logic_and(root > 0, beyond < -allowed))
        off = ca.logic_and(presses, off)
        changed = ca.logic_or(ca.logic_or(pull, push), off)
        return presses, ca.if_else(presses, ca.if_else(off, slid, root), 0), changed
