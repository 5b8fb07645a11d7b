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
from tarsus.contact.solvers._cone_edges import EDGE, FAR, HELD, SLOWEST, Touch
from tarsus.contact.solvers._standing import SIX, mobilities, velocities
from tarsus.contact.solvers.base import HardProblem
from tarsus.program.ir.symbolic import entries


@dataclass(frozen=True, eq=False)
class Edge:
    """What one contact adds, along its normal, the way it slides and across.

    ways (3, 6): its velocities in these directions by its body's twist
    weights (3,): one over the diagonal of E, next to nothing where it does not press
    tie: k mu
    rest (3,): r
    load (3,): the impulse before
    turn (3, 3): from these directions to the contact's frame
    presses: 1 or 0
    """

    ways: Matrix
    weights: list[SX]
    tie: SX
    rest: list[SX]
    load: list[SX]
    turn: SX
    presses: SX

    @staticmethod
    def of(touch: Touch, mu: SX, arms: SX, own: SX, L: SX, xi: SX) -> Edge:
        """Of a contact that does so, with an impulse L (3,) and velocity xi (3,); own (3,): the
        diagonal of G_ii.
        """
        t = ca.if_else(touch.slides, touch.along, ca.vertcat(1, 0))
        turn = ca.blockcat([[SX(1), SX(1, 2)], [SX(2, 1), ca.horzcat(t, ca.vertcat(-t[1], t[0]))]])
        load, velocity = (entries(ca.mtimes(turn.T, x)) for x in (L, xi))
        # how it is held, and drawn to the edge
        d_N, d_T = HELD * own[0], HELD * ca.fmax(own[1], own[2])
        k, s = ca.if_else(touch.slides, 1 / (EDGE * touch.r), 0), touch.root(SLOWEST)
        weights = [1 / ca.if_else(touch.presses, d, FAR) for d in (d_N, k + d_T, s + d_T)]
        beyond = ca.if_else(touch.slides, k * (load[1] - mu * load[0]), velocity[1])
        rest = [-velocity[0], -beyond, -(velocity[2] + s * load[2])]
        rows = ca.mtimes(turn.T, arms)
        ways = [entries(rows[r, :]) for r in range(3)]
        return Edge(ways, weights, k * mu, rest, load, turn, touch.presses)

    def answer(self, x: list[SX]) -> list[SX]:
        """E^-1 x (3,)."""
        normal = self.weights[0] * x[0]
        return [normal, self.weights[1] * (x[1] + self.tie * normal), self.weights[2] * x[2]]

    def add_to(self, K: Matrix, asked: list[SX], first: int) -> None:
        """What it adds to the rows of its body, the first of which is `first`: to N and A^T E^-1 r.
        An open contact gives back its load.
        """
        columns = zip(*self.ways, strict=True)
        answers = [self.answer(list(column)) for column in columns]
        given = [
            ca.if_else(self.presses, new, -old)
            for new, old in zip(self.answer(self.rest), self.load, strict=True)
        ]
        for r, way in enumerate(zip(*self.ways, strict=True), first):
            asked[r] = dot(list(way), given, asked[r])
            for c, answer in enumerate(answers, first):
                K[r][c] = dot(list(way), answer, K[r][c])

    def after(self, twist: list[SX]) -> SX:
        """The impulse (3,) with this twist (6,) of its body, in the contact's frame."""
        left = [r - dot(way, twist) for r, way in zip(self.rest, self.ways, strict=True)]
        moved = [old + new for old, new in zip(self.load, self.answer(left), strict=True)]
        return ca.if_else(self.presses, ca.mtimes(self.turn, ca.vertcat(*moved)), 0)


@dataclass(frozen=True, eq=False)
class ByBodies:
    """The steps of contacts on shared bodies (`_cone_edges.EdgeSteps`).

    own[i] (3,): the diagonal of G_ii
    inertia (6m, 6m): M^-1
    """

    hard: HardProblem
    shared: SharedBodies
    own: list[SX]
    inertia: Matrix

    @staticmethod
    def of(hard: HardProblem, shared: SharedBodies) -> ByBodies:
        """With what does not change from step to step."""
        own = [mobilities(shared, i) for i in range(len(shared.body))]
        size = range(len(shared.mobility))
        factor = factorize_dense(shared.mobility)
        inertia = [factor.solve([SX(float(r == c)) for r in size]) for c in size]
        return ByBodies(hard, shared, *hard.builder.hold("inertia", (own, inertia)))

    def sizes(self, i: int) -> tuple[SX, SX]:
        """r_N and r_T of contact i (`step_sizes`)."""
        own = self.own[i]
        return 1 / own[0], 1 / ca.fmax(own[1], own[2])

    def velocities(self, impulses: list[SX]) -> list[SX]:
        """xi (3,) of each contact."""
        return velocities(self.hard, self.shared, impulses)

    def next_impulses(self, impulses: list[SX], xi: list[SX], scale: SX) -> SX:
        """L (3n,) after a step from these impulses and their velocities; scale: of r."""
        # what each contact adds, and asks for
        hard, shared, edges = self.hard, self.shared, list[Edge]()
        K, asked = [list(row) for row in self.inertia], [SX(0)] * len(self.inertia)
        for i, (L, own) in enumerate(zip(impulses, self.own, strict=True)):
            touch = Touch.of(hard, i, self.sizes(i), L, xi[i], scale)
            edge = Edge.of(touch, hard.mu[i], shared.arms[i], own, L, xi[i])
            edge.add_to(K, asked, SIX * shared.body[i])
            edges.append(edge)
        # the bodies' twists, and what follows for each contact
        twists = solve_tree(ca.vertcat(*(ca.horzcat(*row) for row in K)), asked)
        firsts = [SIX * body for body in shared.body]
        return ca.vertcat(
            *(edge.after(twists[at : at + SIX]) for edge, at in zip(edges, firsts, strict=True))
        )
