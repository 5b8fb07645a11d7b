"""Newton steps on the edges of the friction cones, solved through the bodies of the contacts.

A step of `_cone_edges` is (G + E) dL = r with G = A M A^T: A maps the twists of the bodies to the
velocities of the contacts, M is the mobility of the bodies, and E is what each contact adds, a
block of its own. With E^-1 known contact by contact, the twists due to the step, t = M A^T dL,
follow from

    (M^-1 + N) t = A^T E^-1 r,    N = A^T E^-1 A,    and then    dL = E^-1 (r - A t):

as many equations as the bodies have degrees of freedom. Along the normal, the sliding direction and
across it, E is lower triangular: d_N and d_T regularize the load, k keeps it on the edge, and s is
the root,

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
from tarsus.contact.solvers._cone_edges import EDGE_COMPLIANCE, MIN_SHARE, ContactStatus
from tarsus.contact.solvers._standing import TWIST_SIZE, velocities
from tarsus.contact.solvers.base import HardProblem
from tarsus.program.ir.symbolic import entries, value_or_zero

LOAD_REGULARIZATION = 1e-4  # of the diagonal: keeps loads that no velocity determines


@dataclass(frozen=True, eq=False)
class Edge:
    """Terms that one contact adds, along its normal, its sliding direction and across it.

    Attributes
    ----------
    directions
        Rows (3, 6) that map the body's twist to the velocities in these directions.
    weights
        Inverse diagonal (3,) of E, zero for an unloaded contact.
    tie
        Share of the normal's response that is added along the sliding direction: mu k / (k + d_T)
        if the contact slides.
    target
        E^-1 r (3,); an open contact releases its load.
    load
        Impulse (3,) before the step.
    turn
        Rotation (3, 3) from these directions to the contact frame.
    presses
        1 if the contact presses, else 0.
    """

    directions: Matrix
    weights: list[SX]
    tie: SX
    target: list[SX]
    load: list[SX]
    turn: SX
    presses: SX

    @staticmethod
    def of(
        status: ContactStatus, mu: SX, arms: SX, sizes: tuple[SX, SX], L: SX, xi: SX, scale: SX
    ) -> Edge:
        """Compute the terms of a contact with this status, impulse L (3,) and velocity xi (3,).

        `sizes` are r_N and r_T, which `scale` multiplies in status.r. E is written in terms of
        these, d = LOAD_REGULARIZATION / r and k = 1 / (EDGE_COMPLIANCE status.r), and of the share,
        so that one division is left.
        """
        slides, (r_N, r_T) = status.slides, sizes
        along = status.slip_direction
        t = ca.vertcat(ca.if_else(slides, along[0], 1), value_or_zero(slides, along[1], -1))
        turn = ca.blockcat([[SX(1), SX(1, 2)], [SX(2, 1), ca.horzcat(t, ca.vertcat(-t[1], t[0]))]])
        load, velocity = (entries(ca.mtimes(turn.T, x)) for x in (L, xi))
        # inverses of k + d_T and of s + d_T
        inverse_k = 1 / (1 + LOAD_REGULARIZATION * EDGE_COMPLIANCE * scale)
        share = status.bounded_share(MIN_SHARE)
        inverse_s = 1 / ((1 - share) + LOAD_REGULARIZATION * scale * share)
        sliding = EDGE_COMPLIANCE * scale * inverse_k
        along_weight = r_T * ca.if_else(slides, sliding, 1 / LOAD_REGULARIZATION)
        weights = [r_N / LOAD_REGULARIZATION, along_weight, status.r * share * inverse_s]
        # towards the edge where it slides, and towards rest
        tie, normal = value_or_zero(slides, mu * inverse_k), -weights[0] * velocity[0]
        beyond = inverse_k * (load[1] - mu * load[0])
        along_change = ca.if_else(slides, beyond, along_weight * velocity[1])
        across_change = weights[2] * velocity[2] + (1 - share) * inverse_s * load[2]
        target = [normal, tie * normal - along_change, -across_change]
        rows = ca.mtimes(turn.T, arms)
        return Edge(
            [entries(rows[r, :]) for r in range(3)],
            [value_or_zero(status.presses, weight) for weight in weights],
            tie,
            [ca.if_else(status.presses, t, -old) for t, old in zip(target, load, strict=True)],
            load,
            turn,
            status.presses,
        )

    def response(self, x: list[SX]) -> list[SX]:
        """Compute E^-1 x (3,)."""
        normal = self.weights[0] * x[0]
        return [normal, self.weights[1] * x[1] + self.tie * normal, self.weights[2] * x[2]]

    def add_to(self, K: Matrix, tied: Matrix, right: list[SX], first: int) -> None:
        """Add the terms to the rows of the contact's body, the first of which is `first`.

        N without its tie is added to the lower half of K, the tie's part to `tied`, and A^T E^-1 r
        to `right`.
        """
        pairs = zip(self.weights, self.directions, strict=True)
        weighted = [[weight * x for x in direction] for weight, direction in pairs]
        tied_row = [self.tie * x for x in weighted[0]]
        for r, column in enumerate(zip(*self.directions, strict=True)):
            right[first + r] = dot(list(column), self.target, right[first + r])
            for c in range(TWIST_SIZE):
                if c <= r:
                    weighted_column = [row[c] for row in weighted]
                    K[first + r][first + c] = dot(
                        list(column), weighted_column, K[first + r][first + c]
                    )
                tied[first + r][first + c] += column[1] * tied_row[c]

    def impulse_with(self, twist: list[SX]) -> SX:
        """Compute the impulse (3,) for a twist (6,) of the body, in the contact frame."""
        responses = self.response([dot(direction, twist) for direction in self.directions])
        parts = zip(self.load, self.target, responses, strict=True)
        impulse = ca.vertcat(*(old + target - response for old, target, response in parts))
        return ca.if_else(self.presses, ca.mtimes(self.turn, impulse), 0)


@dataclass(frozen=True, eq=False)
class BodySteps:
    """Steps of contacts on shared bodies (`_cone_edges.EdgeSteps`).

    Attributes
    ----------
    inverse_diagonals
        Inverse diagonal (3,) of each block G_ii (`inverse_diagonals`).
    inertia
        Lower half of M^-1 (6m, 6m).
    """

    hard: HardProblem
    shared: SharedBodies
    inverse_diagonals: list[SX]
    inertia: Matrix

    @staticmethod
    def of(hard: HardProblem, shared: SharedBodies, inverse_diagonals: list[SX]) -> BodySteps:
        """Prepare what does not change from step to step."""
        size = range(len(shared.mobility))
        factor = factorize_dense(shared.mobility)
        columns = [factor.solve([SX(float(r == c)) for r in size]) for c in size]
        inertia = [[columns[c][r] for c in range(r + 1)] for r in size]
        return BodySteps(
            hard, shared, inverse_diagonals, hard.builder.store_all("inertia", inertia)
        )

    def sizes(self, i: int) -> tuple[SX, SX]:
        """Compute r_N and r_T of contact i (`step_sizes`)."""
        r = self.inverse_diagonals[i]
        return r[0], ca.fmin(r[1], r[2])

    def velocities(self, impulses: list[SX]) -> list[SX]:
        """Compute xi (3,) of each contact."""
        return velocities(self.hard, self.shared, impulses)

    def next_impulses(self, impulses: list[SX], xi: list[SX], scale: SX) -> SX:
        """Compute L (3n,) after a step from these impulses and velocities; `scale` multiplies r."""
        # terms of each contact
        hard, shared, edges = self.hard, self.shared, list[Edge]()
        size = range(len(self.inertia))
        K, tied = [list(row) for row in self.inertia], [[SX(0) for _ in size] for _ in size]
        right = [SX(0)] * len(size)
        for i, L in enumerate(impulses):
            sizes = self.sizes(i)
            status = ContactStatus.of(hard, i, sizes, L, xi[i], scale)
            edge = Edge.of(status, hard.mu[i], shared.arms[i], sizes, L, xi[i], scale)
            edge.add_to(K, tied, right, TWIST_SIZE * shared.body[i])
            edges.append(edge)
        # twists of the bodies, then the impulse of each contact
        whole = [[K[max(r, c)][min(r, c)] + tied[r][c] for c in size] for r in size]
        twists = solve_tree(ca.vertcat(*(ca.horzcat(*row) for row in whole)), right)
        pairs = zip(edges, (TWIST_SIZE * body for body in shared.body), strict=True)
        return ca.vertcat(
            *(edge.impulse_with(twists[first : first + TWIST_SIZE]) for edge, first in pairs)
        )
