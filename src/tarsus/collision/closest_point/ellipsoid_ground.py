"""Closest points of an ellipsoid with uneven ground.

In a hollow that is rounder than the ellipsoid there are two or more, and the point that a single
normal gives is not among them.

A point of an ellipsoid is c + M s with |s| = 1. Where the distance is a local minimum, s = -M^T n /
|M^T n| with the ground's normal n there. That equation is solved from several starts, with the step
lengths of Barzilai and Borwein (1988), shortened where the distance has grown. Where several starts
end at one point, only the first of them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.collision.distance_bounds import EdgeBounds
from tarsus.collision.geometry import Geometry
from tarsus.dynamics import jacobian
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.ellipsoid_starts import MAX_GAP_RATIO, STARTS_PER_ELLIPSOID
from tarsus.model.mechanism import Candidate
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.spatial.rotation import constant

ROUNDS = 16  # evaluations of the ground after the first
START_ANGLE = 1.4  # rad: angle of s between the lowest point and the other starts
MAX_STEP = 0.6  # of s, for all starts but the lowest, so that they end near where they began
MIN_CURVATURE = 0.25  # limits a step to the inverse of this times the step on a plane
SHRINK = 0.5  # factor on a step after which the distance had grown
TOLERANCE = 1e-8  # residual of the equation for s
SAME_POINT = 0.2  # distance in s below which two starts have ended at the same point
MIN_SQUARE = 1e-24


@dataclass(frozen=True, eq=False)
class EllipsoidPoint:
    """Closest point on an ellipsoid.

    Attributes
    ----------
    arm
        Vector (3,) from the center, world, m.
    is_distinct
        1 unless an earlier start ended at the same point.
    max_gap
        Gap, m, above which the contact is open although it pressed in the last step.
    """

    arm: SX
    is_distinct: SX
    max_gap: float | SX


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Ellipsoid in the world.

    Attributes
    ----------
    center
        Center (3,), m.
    shape
        Matrix M (3, 3), m, that maps unit vectors to points of the surface.
    """

    center: SX
    shape: SX

    def at(self, s: SX) -> SX:
        """Compute the point (3,), world, m, of a unit vector s (3,)."""
        return self.center + ca.mtimes(self.shape, s)

    def support(self, normal: SX) -> SX:
        """Compute the unit vector s (3,) of the lowest point along a normal (3,)."""
        return -_unit(ca.mtimes(self.shape.T, normal))

    def starts(self, frame: SX) -> list[SX]:
        """Compute STARTS_PER_ELLIPSOID starting values of s (3,) over ground with frame (3, 3).

        They lie around the lowest point, which is the last of them: in a hollow the ground is not
        nearest there.
        """
        low = self.support(frame[0, :].T)
        side = ca.mtimes(self.shape.T, frame[1, :].T)
        ahead = _unit(side - low * ca.dot(low, side))
        left = ca.cross(low, ahead)
        turns = 2 * np.pi * np.arange(STARTS_PER_ELLIPSOID - 1) / (STARTS_PER_ELLIPSOID - 1)
        around = [np.cos(a) * ahead + np.sin(a) * left for a in turns]
        cos, sin = np.cos(START_ANGLE), np.sin(START_ANGLE)
        return [cos * low + sin * direction for direction in around] + [low]


@dataclass(frozen=True, eq=False)
class Search:
    """State of the search from one start; the fields name registers of the loop.

    Attributes
    ----------
    s
        Unit vector (3,).
    residual
        Residual (3,) of its equation.
    distance
        Distance to the ground, m.
    step
        Factor on the residual that gives the next step.
    """

    s: SX
    residual: SX
    distance: SX
    step: SX

    def next_point(self, max_step: float) -> SX:
        """Compute the next s to evaluate, at most `max_step` away."""
        length = ca.sqrt(ca.sumsqr(self.residual) + MIN_SQUARE)
        return _unit(self.s + ca.fmin(self.step, max_step / length) * self.residual)

    def select_better(self, s: SX, missed: SX, distance: SX) -> Search:
        """Select the evaluation at `s` if the ground is closer there, else shorten the step."""
        move, change = s - self.s, missed - self.residual
        squared, curvature = ca.sumsqr(move), -ca.dot(move, change)
        is_valid = ca.logic_and(curvature > MIN_CURVATURE * squared, squared > MIN_SQUARE)
        step = ca.if_else(is_valid, squared / ca.fmax(curvature, MIN_SQUARE), 1)
        last_step = ca.sqrt(squared / (ca.sumsqr(self.residual) + MIN_SQUARE))
        shorter = ca.fmin(SHRINK * last_step, step)
        pairs = zip(
            (self.s, self.residual, self.distance, shorter),
            (s, missed, distance, step),
            strict=True,
        )
        return Search(*(ca.if_else(distance > self.distance, old, new) for old, new in pairs))


EllipsoidPoints = dict[str, EllipsoidPoint]


def closest_points(
    geometry: Geometry,
    kin: Kinematics,
    terrain: object,
    candidates: Sequence[Candidate],
    builder: Builder | None = None,
) -> EllipsoidPoints:
    """Find the closest points of the candidates that belong to ellipsoids, by name.

    Without a builder the rounds are unrolled, for programs without loops.
    """
    # the ellipsoids to which they belong
    groups: dict[tuple[object, ...], list[tuple[int, Candidate]]] = {}
    ellipsoids: list[Ellipsoid] = []
    sizes: list[float] = []
    for c in candidates:
        if c.start is None or c.outline is None:
            continue
        key = c.body, c.outline.numbers.tobytes(), c.position.tobytes()
        if key not in groups:
            shape = ca.mtimes(kin.world_rotation[c.body], constant(c.outline.spread))
            ellipsoids.append(
                Ellipsoid(jacobian.position(kin, c.body, constant(c.position)), shape)
            )
            sizes.append(c.outline.size)
        groups.setdefault(key, []).append((c.start, c))
    if not ellipsoids:
        return {}
    # the points at which their starts end
    if builder is not None:
        ellipsoids = builder.store_all("ellipsoids", ellipsoids)
    ends = _search_all(geometry, terrain, ellipsoids, sizes, builder)
    points: EllipsoidPoints = {}
    for ellipsoid, size, vectors, group in zip(
        ellipsoids, sizes, ends, groups.values(), strict=True
    ):
        for start, c in group:
            same = [ca.sumsqr(vectors[start] - s) < SAME_POINT**2 for s in vectors[:start]]
            distinct = ca.logic_not(reduce(ca.logic_or, same, SX(0)))
            arm = ca.mtimes(ellipsoid.shape, vectors[start])
            points[c.name] = EllipsoidPoint(arm, distinct, MAX_GAP_RATIO * size)
    return points


def _search_all(
    geometry: Geometry,
    terrain: object,
    ellipsoids: list[Ellipsoid],
    sizes: list[float],
    builder: Builder | None,
) -> list[list[SX]]:
    """Search for the closest points of each ellipsoid, as unit vectors s (3,), from all starts.

    They are the starts themselves in worlds where no ellipsoid is near the ground.
    """
    # ellipsoids near the ground
    below = geometry.terrain.surfaces([ellipsoid.center for ellipsoid in ellipsoids], terrain)
    bounds = EdgeBounds.of(geometry, terrain)
    is_near = [
        bounds.may_touch_ball(bounds.height_and_z(ellipsoid.center, *ground)[0], size)
        for ellipsoid, ground, size in zip(ellipsoids, below, sizes, strict=True)
    ]
    # all starts at once
    owners = [ellipsoid for ellipsoid in ellipsoids for _ in range(STARTS_PER_ELLIPSOID)]
    max_steps = ([MAX_STEP] * (STARTS_PER_ELLIPSOID - 1) + [np.inf]) * len(ellipsoids)

    def evaluate(vectors: list[SX]) -> list[tuple[SX, SX, SX]]:
        points = [ellipsoid.at(s) for ellipsoid, s in zip(owners, vectors, strict=True)]
        grounds = zip(owners, vectors, geometry.terrain.surfaces(points, terrain), strict=True)
        return [(s, body.support(frame[0, :].T) - s, d) for body, s, (d, frame) in grounds]

    def one_round(values: Values) -> tuple[Values, SX]:
        searches = _searches(values)
        vectors = [search.next_point(far) for search, far in zip(searches, max_steps, strict=True)]
        pairs = zip(searches, evaluate(vectors), strict=True)
        searches = [search.select_better(*new) for search, new in pairs]
        return _values(searches), _has_open(searches)

    begin = [
        s
        for ellipsoid, (_, frame) in zip(ellipsoids, below, strict=True)
        for s in ellipsoid.starts(frame)
    ]
    searches = [Search(*values, SX(1)) for values in evaluate(begin)]
    more = ca.logic_and(reduce(ca.logic_or, is_near), _has_open(searches))
    last = run_rounds(_values(searches), one_round, ROUNDS, more, builder)
    ends = [search.s for search in _searches(last)]
    return [ends[k : k + STARTS_PER_ELLIPSOID] for k in range(0, len(ends), STARTS_PER_ELLIPSOID)]


def run_rounds(
    start: Values,
    body: Callable[[Values], tuple[Values, SX]],
    rounds: int,
    more: SX,
    builder: Builder | None,
) -> Values:
    """Run the rounds of a loop; without a builder unroll them, with the same result."""
    if builder is not None:
        return builder.loop(start, body, rounds, more)
    now = start
    for _ in range(rounds):
        after, again = body(now)
        now = {name: ca.if_else(more, after[name], value) for name, value in now.items()}
        more = ca.logic_and(more, again)
    return now


def _values(searches: list[Search]) -> Values:
    names = vars(searches[0])
    return {name: ca.vertcat(*(getattr(search, name) for search in searches)) for name in names}


def _searches(values: Values) -> list[Search]:
    count = values["step"].numel()
    parts = {name: value.numel() // count for name, value in values.items()}
    return [
        Search(**{name: values[name][k * n : (k + 1) * n] for name, n in parts.items()})
        for k in range(count)
    ]


def _has_open(searches: list[Search]) -> SX:
    """Return 1 while one of the searches has not converged."""
    return reduce(ca.fmax, (ca.sumsqr(search.residual) for search in searches)) > TOLERANCE**2


def _unit(vector: SX) -> SX:
    return vector / ca.sqrt(ca.dot(vector, vector))
