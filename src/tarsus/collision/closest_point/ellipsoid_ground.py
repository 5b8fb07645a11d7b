"""Closest points of an ellipsoid with uneven ground. In a hollow that is rounder than the ellipsoid
there are two or more, and the point that a single normal gives is not among them.

A point of an ellipsoid is c + M s with |s| = 1. Where the distance is a local minimum,
s = -M^T n / |M^T n| with the ground's normal n there. That equation is solved from several starts,
with the step lengths of Barzilai and Borwein (1988), shortened where the distance has grown. Where
several starts end at one place, the first of them counts.
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

ROUNDS = 16  # looks after the first
LEAN = 1.4  # rad: angle of s between the lowest point and the other starts
MAX_STEP = 0.6  # of s, for all starts but the lowest, so that they end near where they began
MIN_CURVATURE = 0.25  # limits a step to the inverse of this times the step on a plane
SHRINK = 0.5  # factor on a step after which the distance had grown
TOLERANCE = 1e-8  # residual of the equation for s
SAME_POINT = 0.2  # distance in s below which two starts have ended at the same point
MIN_SQUARE = 1e-24


@dataclass(frozen=True, eq=False)
class Spot:
    """A closest point on an ellipsoid.

    arm: (3,) from the center, world, m; there: 1 unless an earlier start ended at the same point;
    away: gap, m, above which the contact is open although it pressed in the last step
    """

    arm: SX
    there: SX
    max_gap: float | SX


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """An ellipsoid in the world: center (3,), m; shape M (3, 3), m."""

    center: SX
    shape: SX

    def at(self, s: SX) -> SX:
        """Return the point (3,), world, m, of a unit vector s (3,)."""
        return self.center + ca.mtimes(self.shape, s)

    def asked(self, normal: SX) -> SX:
        """Return the unit vector s (3,) of the point farthest against a normal (3,)."""
        return -_unit(ca.mtimes(self.shape.T, normal))

    def starts(self, frame: SX) -> list[SX]:
        """Return STARTS_PER_ELLIPSOID starting values of s (3,) over ground with frame (3, 3).

        They lie around the lowest point; that point is the last, since in a hollow the ground is
        not nearest there.
        """
        low = self.asked(frame[0, :].T)
        side = ca.mtimes(self.shape.T, frame[1, :].T)
        ahead = _unit(side - low * ca.dot(low, side))
        left = ca.cross(low, ahead)
        turns = 2 * np.pi * np.arange(STARTS_PER_ELLIPSOID - 1) / (STARTS_PER_ELLIPSOID - 1)
        around = [np.cos(a) * ahead + np.sin(a) * left for a in turns]
        return [np.cos(LEAN) * low + np.sin(LEAN) * way for way in around] + [low]


@dataclass(frozen=True, eq=False)
class Search:
    """State of the search from one start.

    s: (3,); missed: (3,), residual of its equation; distance: m; step: factor on the residual that
    gives the next step
    """

    s: SX
    missed: SX
    distance: SX
    step: SX

    def next_one(self, most: float) -> SX:
        """Return where to look next, at most `most` away."""
        far = ca.sqrt(ca.sumsqr(self.missed) + MIN_SQUARE)
        return _unit(self.s + ca.fmin(self.step, most / far) * self.missed)

    def closer(self, s: SX, missed: SX, distance: SX) -> Search:
        """Return the look at `s` if the ground is nearer there, else this with a shorter step."""
        way, change = s - self.s, missed - self.missed
        squared, turned = ca.sumsqr(way), -ca.dot(way, change)
        known = ca.logic_and(turned > MIN_CURVATURE * squared, squared > MIN_SQUARE)
        step = ca.if_else(known, squared / ca.fmax(turned, MIN_SQUARE), 1)
        gone = ca.sqrt(squared / (ca.sumsqr(self.missed) + MIN_SQUARE))
        shorter = ca.fmin(SHRINK * gone, step)
        pairs = zip(
            (self.s, self.missed, self.distance, shorter), (s, missed, distance, step), strict=True
        )
        return Search(*(ca.if_else(distance > self.distance, old, new) for old, new in pairs))


Spots = dict[str, Spot]


def spots(
    geometry: Geometry,
    kin: Kinematics,
    terrain: object,
    candidates: Sequence[Candidate],
    builder: Builder | None = None,
) -> Spots:
    """Return the closest points of those candidates that stand for a start, by name.

    Without a builder the rounds are unrolled, for programs without loops.
    """
    # the ellipsoids that they belong to
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
    # where their starts end
    if builder is not None:
        ellipsoids = builder.store_all("eggs", ellipsoids)
    ends = _searched(geometry, terrain, ellipsoids, sizes, builder)
    points: Spots = {}
    for ellipsoid, size, own, group in zip(ellipsoids, sizes, ends, groups.values(), strict=True):
        for start, c in group:
            same = [ca.sumsqr(own[start] - s) < SAME_POINT**2 for s in own[:start]]
            there = ca.logic_not(reduce(ca.logic_or, same, SX(0)))
            points[c.name] = Spot(
                ca.mtimes(ellipsoid.shape, own[start]), there, MAX_GAP_RATIO * size
            )
    return points


def _searched(
    geometry: Geometry,
    terrain: object,
    ellipsoids: list[Ellipsoid],
    sizes: list[float],
    builder: Builder | None,
) -> list[list[SX]]:
    """Return the unit vectors s (3,) at which the starts of each ellipsoid end.

    They are the starts themselves in worlds where no ellipsoid is near the ground.
    """
    # which are near
    below = geometry.terrain.surfaces([ellipsoid.center for ellipsoid in ellipsoids], terrain)
    bounds = EdgeBounds.of(geometry, terrain)
    near = [
        bounds.closes(bounds.seen(ellipsoid.center, *ground)[0], size)
        for ellipsoid, ground, size in zip(ellipsoids, below, sizes, strict=True)
    ]
    # all starts at once
    owners = [ellipsoid for ellipsoid in ellipsoids for _ in range(STARTS_PER_ELLIPSOID)]
    most = ([MAX_STEP] * (STARTS_PER_ELLIPSOID - 1) + [np.inf]) * len(ellipsoids)

    def seen(places: list[SX]) -> list[tuple[SX, SX, SX]]:
        points = [ellipsoid.at(s) for ellipsoid, s in zip(owners, places, strict=True)]
        grounds = zip(owners, places, geometry.terrain.surfaces(points, terrain), strict=True)
        return [(s, ellipsoid.asked(frame[0, :].T) - s, d) for ellipsoid, s, (d, frame) in grounds]

    def closer(now: Values) -> tuple[Values, SX]:
        looks = _looks(now)
        places = [look.next_one(far) for look, far in zip(looks, most, strict=True)]
        looks = [look.closer(*new) for look, new in zip(looks, seen(places), strict=True)]
        return _values(looks), _open(looks)

    begin = [
        s
        for ellipsoid, (_, frame) in zip(ellipsoids, below, strict=True)
        for s in ellipsoid.starts(frame)
    ]
    looks = [Search(*there, SX(1)) for there in seen(begin)]
    more = ca.logic_and(reduce(ca.logic_or, near), _open(looks))
    ends = [look.s for look in _looks(repeated(_values(looks), closer, ROUNDS, more, builder))]
    return [ends[k : k + STARTS_PER_ELLIPSOID] for k in range(0, len(ends), STARTS_PER_ELLIPSOID)]


def repeated(
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


def _values(looks: list[Search]) -> Values:
    names = vars(looks[0])
    return {name: ca.vertcat(*(getattr(look, name) for look in looks)) for name in names}


def _looks(values: Values) -> list[Search]:
    count = values["step"].numel()
    parts = {name: value.numel() // count for name, value in values.items()}
    return [
        Search(**{name: values[name][k * n : (k + 1) * n] for name, n in parts.items()})
        for k in range(count)
    ]


def _open(looks: list[Search]) -> SX:
    """Return 1 while one of them has not converged."""
    return reduce(ca.fmax, (ca.sumsqr(look.missed) for look in looks)) > TOLERANCE**2


def _unit(vector: SX) -> SX:
    return vector / ca.sqrt(ca.dot(vector, vector))
