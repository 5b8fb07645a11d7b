"""Where on an ellipsoid the ground is nearest, at several places: in a hollow that is rounder than
the body below it touches at two or more, and the point that one normal gives is none of them.

A point of an ellipsoid is c + M s with |s| = 1; where the distance of the ground is least around it
s = -M^T n / |M^T n|, n being the ground's normal there. From each of several starts that equation
is solved by steps that Barzilai and Borwein (1988) make as long as the last two looks say, shorter
where the distance has grown. Where several starts end at one place the first of them counts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics import jacobian
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.model.spots import AWAY, SPOTS
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene
from tarsus.stepping.edges_near import EdgeBounds

ROUNDS = 16  # looks after the first
LEAN = 1.4  # rad: between the lowest point and the other starts, of s
LONGEST = 0.6  # [1]: no step of these is longer, so that they end near; that of the lowest may be
CURVED = 0.25  # [1]: where the ground says so a step is up to 1 / CURVED times that on a plane
SHORTER = 0.5  # of the step behind which the distance had grown
FOUND = 1e-8  # [1]: s that misses its equation by less is found
APART = 0.2  # [1]: starts that end nearer to each other, in s, have found the same
TINY = 1e-24


@dataclass(frozen=True, eq=False)
class Spot:
    """A place on an ellipsoid: from its center (3,), m, world; 1 if no start before has found it;
    and the gap, m, above which it is open although it pressed in the last step.
    """

    arm: SX
    there: SX
    away: float | SX


@dataclass(frozen=True, eq=False)
class Egg:
    """An ellipsoid in the world: center (3,), M (3, 3), m."""

    center: SX
    shape: SX

    def at(self, s: SX) -> SX:
        """The point (3,), m, world, of a unit vector (3,)."""
        return self.center + ca.mtimes(self.shape, s)

    def asked(self, normal: SX) -> SX:
        """The unit vector (3,) of the point farthest against a normal (3,)."""
        return -_unit(ca.mtimes(self.shape.T, normal))

    def starts(self, frame: SX) -> list[SX]:
        """SPOTS unit vectors (3,) over ground with that frame (3, 3): around the lowest point, and
        that last, for in a hollow none is nearest there.
        """
        low = self.asked(frame[0, :].T)
        side = ca.mtimes(self.shape.T, frame[1, :].T)
        ahead = _unit(side - low * ca.dot(low, side))
        left = ca.cross(low, ahead)
        turns = 2 * np.pi * np.arange(SPOTS - 1) / (SPOTS - 1)
        around = [np.cos(a) * ahead + np.sin(a) * left for a in turns]
        return [np.cos(LEAN) * low + np.sin(LEAN) * way for way in around] + [low]


@dataclass(frozen=True, eq=False)
class Ended:
    """At the ground where a start has come to: s (3,), what it misses (3,), the distance, m, and
    how long the next step is, of what is missed.
    """

    s: SX
    missed: SX
    distance: SX
    step: SX

    def next_one(self, most: float) -> SX:
        """Where to look next, no farther than that."""
        far = ca.sqrt(ca.sumsqr(self.missed) + TINY)
        return _unit(self.s + ca.fmin(self.step, most / far) * self.missed)

    def closer(self, s: SX, missed: SX, distance: SX) -> Ended:
        """The look there, where the ground is nearer, or this one with a shorter step."""
        way, change = s - self.s, missed - self.missed
        squared, turned = ca.sumsqr(way), -ca.dot(way, change)
        known = ca.logic_and(turned > CURVED * squared, squared > TINY)
        step = ca.if_else(known, squared / ca.fmax(turned, TINY), 1)
        gone = ca.sqrt(squared / (ca.sumsqr(self.missed) + TINY))
        shorter = ca.fmin(SHORTER * gone, step)
        pairs = zip(
            (self.s, self.missed, self.distance, shorter), (s, missed, distance, step), strict=True
        )
        return Ended(*(ca.if_else(distance > self.distance, old, new) for old, new in pairs))


Spots = dict[str, Spot]


def spots(
    scene: Scene,
    kin: Kinematics,
    terrain: object,
    which: Sequence[Candidate],
    builder: Builder | None = None,
) -> Spots:
    """Of those of the candidates that have a start, by name; without a builder the same in one
    piece, for programs without loops.
    """
    # the ellipsoids that they belong to
    groups: dict[tuple[object, ...], list[tuple[int, Candidate]]] = {}
    eggs: list[Egg] = []
    sizes: list[float] = []
    for c in which:
        if c.start is None or c.outline is None:
            continue
        key = c.body, c.outline.numbers.tobytes(), c.position.tobytes()
        if key not in groups:
            shape = ca.mtimes(kin.world_rotation[c.body], constant(c.outline.spread))
            eggs.append(Egg(jacobian.position(kin, c.body, constant(c.position)), shape))
            sizes.append(c.outline.size)
        groups.setdefault(key, []).append((c.start, c))
    if not eggs:
        return {}
    # where their starts end
    if builder is not None:
        eggs = builder.hold("eggs", eggs)
    ends = _searched(scene, terrain, eggs, sizes, builder)
    found: Spots = {}
    for egg, size, own, group in zip(eggs, sizes, ends, groups.values(), strict=True):
        for start, c in group:
            same = [ca.sumsqr(own[start] - s) < APART**2 for s in own[:start]]
            there = ca.logic_not(reduce(ca.logic_or, same, SX(0)))
            found[c.name] = Spot(ca.mtimes(egg.shape, own[start]), there, AWAY * size)
    return found


def _searched(
    scene: Scene,
    terrain: object,
    eggs: list[Egg],
    sizes: list[float],
    builder: Builder | None,
) -> list[list[SX]]:
    """Of each ellipsoid the unit vectors (3,) at which its starts end; the starts themselves where
    none is near the ground.
    """
    # which are near
    below = scene.terrain.surfaces([egg.center for egg in eggs], terrain)
    reach = EdgeBounds.of(scene, terrain)
    near = [
        reach.closes(reach.seen(egg.center, *ground)[0], size)
        for egg, ground, size in zip(eggs, below, sizes, strict=True)
    ]
    # all starts at once
    owners = [egg for egg in eggs for _ in range(SPOTS)]
    most = ([LONGEST] * (SPOTS - 1) + [np.inf]) * len(eggs)

    def seen(places: list[SX]) -> list[tuple[SX, SX, SX]]:
        points = [egg.at(s) for egg, s in zip(owners, places, strict=True)]
        grounds = zip(owners, places, scene.terrain.surfaces(points, terrain), strict=True)
        return [(s, egg.asked(frame[0, :].T) - s, d) for egg, s, (d, frame) in grounds]

    def closer(now: Values) -> tuple[Values, SX]:
        looks = _looks(now)
        places = [look.next_one(far) for look, far in zip(looks, most, strict=True)]
        looks = [look.closer(*new) for look, new in zip(looks, seen(places), strict=True)]
        return _values(looks), _open(looks)

    begin = [s for egg, (_, frame) in zip(eggs, below, strict=True) for s in egg.starts(frame)]
    looks = [Ended(*there, SX(1)) for there in seen(begin)]
    more = ca.logic_and(reduce(ca.logic_or, near), _open(looks))
    ends = [look.s for look in _looks(repeated(_values(looks), closer, ROUNDS, more, builder))]
    return [ends[k : k + SPOTS] for k in range(0, len(ends), SPOTS)]


def repeated(
    start: Values,
    body: Callable[[Values], tuple[Values, SX]],
    rounds: int,
    more: SX,
    builder: Builder | None,
) -> Values:
    """Rounds of a loop, in one piece without a builder, to the same numbers."""
    if builder is not None:
        return builder.loop(start, body, rounds, more)
    now = start
    for _ in range(rounds):
        after, again = body(now)
        now = {name: ca.if_else(more, after[name], value) for name, value in now.items()}
        more = ca.logic_and(more, again)
    return now


def _values(looks: list[Ended]) -> Values:
    names = vars(looks[0])
    return {name: ca.vertcat(*(getattr(look, name) for look in looks)) for name in names}


def _looks(values: Values) -> list[Ended]:
    count = values["step"].numel()
    parts = {name: value.numel() // count for name, value in values.items()}
    return [
        Ended(**{name: values[name][k * n : (k + 1) * n] for name, n in parts.items()})
        for k in range(count)
    ]


def _open(looks: list[Ended]) -> SX:
    """1 while one of them is not found."""
    return reduce(ca.fmax, (ca.sumsqr(look.missed) for look in looks)) > FOUND**2


def _unit(vector: SX) -> SX:
    return vector / ca.sqrt(ca.dot(vector, vector))
