"""Newton steps on the edges of the friction cones, solved through the few rigid bodies that share
the contacts.

A step of `_cone_edges` is (G + E) dL = r with G = A M A^T, A the velocities of the contacts by the
twists of their bodies, M the mobility of these, and E what each contact adds, a block of its own.
With E^-1 known contact by contact, the twists that the step brings, t = M A^T dL, follow from

    (M^-1 + N) t = A^T E^-1 r,    N = A^T E^-1 A,    and then    dL = E^-1 (r - A t):

as many equations as the bodies have freedoms. Along the normal, along the way it slides and across,
E is lower triangular: d_N and d_T hold the load, k keeps it to the edge, s is the root,

    E = [[d_N, 0, 0], [-k mu, k + d_T, 0], [0, 0, s + d_T]].
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.elimination import solve_tree
from tarsus.algebra.ldl import factorize_dense
from tarsus.algebra.products import Matrix, dot
from tarsus.contact.problem import SharedBodies
from tarsus.contact.solvers._cone_edges import EDGE, SLOWEST, Touch
from tarsus.contact.solvers._standing import SIX, velocities
from tarsus.contact.solvers.base import HardProblem
from tarsus.program.ir.symbolic import entries, masked

HELD = 1e-4  # of the diagonal: what holds a load that is not determined


@dataclass(frozen=True, eq=False)
class Edge:
    """What one contact adds, along its normal, the way it slides and across.

    ways (3, 6): its velocities in these directions by its body's twist
    weights (3,): one over the diagonal of E, zero where it does not press
    tie: what the normal's answer adds along the way, mu k / (k + d_T) where it slides
    given (3,): E^-1 r; an open contact gives back its load
    load (3,): the impulse before
    turn (3, 3): from these directions to the contact's frame
    presses: 1 or 0
    """

    ways: Matrix
    weights: list[SX]
    tie: SX
    given: list[SX]
    load: list[SX]
    turn: SX
    presses: SX

    @staticmethod
    def of(touch: Touch, mu: SX, arms: SX, sizes: tuple[SX, SX], L: SX, xi: SX, scale: SX) -> Edge:
        """Of a contact that does so, with an impulse L (3,) and velocity xi (3,).

        sizes: r_N and r_T, of which touch.r is `scale`; E is written by them, d = HELD / r and k =
        1 / (EDGE touch.r), and by the share, so that one division is left
        """
        slides, (r_N, r_T) = touch.slides, sizes
        along = touch.along
        t = ca.vertcat(ca.if_else(slides, along[0], 1), masked(slides, along[1], -1))
        turn = ca.blockcat([[SX(1), SX(1, 2)], [SX(2, 1), ca.horzcat(t, ca.vertcat(-t[1], t[0]))]])
        load, velocity = (entries(ca.mtimes(turn.T, x)) for x in (L, xi))
        # one over k + d_T, and over s + d_T
        held = 1 / (1 + HELD * EDGE * scale)
        share = touch.kept_share(SLOWEST)
        loose = 1 / ((1 - share) + HELD * scale * share)
        onward = r_T * ca.if_else(slides, EDGE * scale * held, 1 / HELD)
        weights = [r_N / HELD, onward, touch.r * share * loose]
        # drawn to the edge where it slides, and to rest
        tie, normal = masked(slides, mu * held), -weights[0] * velocity[0]
        beyond = held * (load[1] - mu * load[0])
        drawn = ca.if_else(slides, beyond, onward * velocity[1])
        braked = weights[2] * velocity[2] + (1 - share) * loose * load[2]
        given = [normal, tie * normal - drawn, -braked]
        rows = ca.mtimes(turn.T, arms)
        return Edge(
            [entries(rows[r, :]) for r in range(3)],
            [masked(touch.presses, weight) for weight in weights],
            tie,
            [ca.if_else(touch.presses, g, -old) for g, old in zip(given, load, strict=True)],
            load,
            turn,
            touch.presses,
        )

    def answer(self, x: list[SX]) -> list[SX]:
        """E^-1 x (3,)."""
        normal = self.weights[0] * x[0]
        return [normal, self.weights[1] * x[1] + self.tie * normal, self.weights[2] * x[2]]

    def add_to(self, K: Matrix, tied: Matrix, asked: list[SX], first: int) -> None:
        """What it adds to the rows of its body, the first of which is `first`: to the lower half of
        N without its tie, to what the tie adds, and to A^T E^-1 r.
        """
        weighed = [[w * x for x in way] for w, way in zip(self.weights, self.ways, strict=True)]
        leaning = [self.tie * x for x in weighed[0]]
        for r, way in enumerate(zip(*self.ways, strict=True)):
            asked[first + r] = dot(list(way), self.given, asked[first + r])
            for c in range(SIX):
                if c <= r:
                    own = [row[c] for row in weighed]
                    K[first + r][first + c] = dot(list(way), own, K[first + r][first + c])
                tied[first + r][first + c] += way[1] * leaning[c]

    def after(self, twist: list[SX]) -> SX:
        """The impulse (3,) with this twist (6,) of its body, in the contact's frame."""
        answers = self.answer([dot(way, twist) for way in self.ways])
        parts = zip(self.load, self.given, answers, strict=True)
        moved = ca.vertcat(*(old + given - answer for old, given, answer in parts))
        return ca.if_else(self.presses, ca.mtimes(self.turn, moved), 0)


@dataclass(frozen=True, eq=False)
class ByBodies:
    """The steps of contacts on shared bodies (`_cone_edges.EdgeSteps`).

    own[i] (3,): one over the diagonal of G_ii (`own_sizes`)
    inertia (6m, 6m): M^-1, its lower half
    """

    hard: HardProblem
    shared: SharedBodies
    own: list[SX]
    inertia: Matrix

    @staticmethod
    def of(hard: HardProblem, shared: SharedBodies, own: list[SX]) -> ByBodies:
        """With what does not change from step to step."""
        size = range(len(shared.mobility))
        factor = factorize_dense(shared.mobility)
        columns = [factor.solve([SX(float(r == c)) for r in size]) for c in size]
        inertia = [[columns[c][r] for c in range(r + 1)] for r in size]
        return ByBodies(hard, shared, own, hard.builder.store_all("inertia", inertia))

    def sizes(self, i: int) -> tuple[SX, SX]:
        """r_N and r_T of contact i (`step_sizes`)."""
        r = self.own[i]
        return r[0], ca.fmin(r[1], r[2])

    def velocities(self, impulses: list[SX]) -> list[SX]:
        """xi (3,) of each contact."""
        return velocities(self.hard, self.shared, impulses)

    def next_impulses(self, impulses: list[SX], xi: list[SX], scale: SX) -> SX:
        """L (3n,) after a step from these impulses and their velocities; scale: of r."""
        # what each contact adds, and asks for
        hard, shared, edges = self.hard, self.shared, list[Edge]()
        size = range(len(self.inertia))
        K, tied = [list(row) for row in self.inertia], [[SX(0) for _ in size] for _ in size]
        asked = [SX(0)] * len(size)
        for i, L in enumerate(impulses):
            sizes = self.sizes(i)
            touch = Touch.of(hard, i, sizes, L, xi[i], scale)
            edge = Edge.of(touch, hard.mu[i], shared.arms[i], sizes, L, xi[i], scale)
            edge.add_to(K, tied, asked, SIX * shared.body[i])
            edges.append(edge)
        # the bodies' twists, and what follows for each contact
        whole = [[K[max(r, c)][min(r, c)] + tied[r][c] for c in size] for r in size]
        twists = solve_tree(ca.vertcat(*(ca.horzcat(*row) for row in whole)), asked)
        firsts = [SIX * body for body in shared.body]
        return ca.vertcat(
            *(edge.after(twists[at : at + SIX]) for edge, at in zip(edges, firsts, strict=True))
        )
