"""Where inside a flat face the ground is nearest: a peak below it that no edge of it meets.

From the nearest of a few places the way goes down the slope of the distance, in steps that Barzilai
and Borwein (1988) make as long as the last two looks say, shorter where the distance has grown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import Scene
from tarsus.stepping.closed import closes
from tarsus.stepping.lowest import NOWHERE, Lowest
from tarsus.stepping.spots import repeated

KNOTS = np.linspace(-0.8, 0.8, 5)  # along either side, where the ground is looked at first
ROUNDS = 16  # looks after them
FIRST = 0.5  # of the face's half width: how far a slope of 1 leads at first
FARTHEST = 0.5  # of it: no step is longer
SHORTER = 0.5  # of the step behind which the distance had grown
FOUND, ENDED = 1e-8, 1e-3  # [1]: slopes that are none: no more rounds, and good enough
WITHIN = 0.98  # of the way to a side: what is beyond is the edge's
FACING = 0.5  # [1]: at least so far the ground there looks at the face
ROUND = 0.02  # by the half width, 1/m: ground that is less round, and a ridge, is left to the edges
BESIDE = 0.1  # of the half width: how far from the place its roundness is looked at
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Face:
    """A face in the world: middle (3,), from there to two of its sides (3,), m.

    half x across points out of the body; round: 1 of a disc, 0 of a rectangle
    """

    middle: SX
    half: SX
    across: SX
    round: SX

    @property
    def sizes(self) -> SX:
        """Half its length and width (2,), m."""
        return ca.vertcat(*(ca.sqrt(ca.sumsqr(own) + TINY**2) for own in (self.half, self.across)))

    @property
    def ways(self) -> SX:
        """Unit vectors (2, 3) along both."""
        return ca.vertcat(self.half.T, self.across.T) / ca.repmat(self.sizes, 1, 3)

    def at(self, place: SX) -> SX:
        """The point (3,) that many meters (2,) along both from the middle."""
        return self.middle + ca.mtimes(self.ways.T, place)


@dataclass(frozen=True, eq=False)
class Sight:
    """At the ground from a place (2,) of a face, m: its distance, m, how steeply that falls along
    both ways (2,), none where it would lead outside, and how far a slope of 1 leads, m.
    """

    place: SX
    falls: SX
    distance: SX
    step: SX

    def closer(self, other: Sight) -> Sight:
        """The other, where the ground is nearer, or this one with a shorter step."""
        way, change = other.place - self.place, self.falls - other.falls
        squared, turned = ca.sumsqr(way), ca.dot(way, change)
        known = ca.logic_and(turned > 0, squared > TINY**2)
        longer = ca.if_else(known, squared / ca.fmax(turned, TINY), 2 * self.step)
        gone = ca.sqrt(squared / (ca.sumsqr(self.falls) + TINY**2))
        onward = replace(other, step=longer), replace(self, step=SHORTER * gone)
        both = zip(*(vars(own).values() for own in onward), strict=True)
        return Sight(*(ca.if_else(other.distance > self.distance, b, a) for a, b in both))


def nearest_inside(
    scene: Scene, terrain: object, face: Face, builder: Builder | None = None
) -> tuple[SX, SX]:
    """How far (2,) from a face's middle to its sides, -1 to 1, the ground is nearest, NOWHERE and 0
    if that is at a side or along a line; and its distance there, m.

    Without a builder all rounds in one piece, for programs without loops.
    """
    # the nearest of the knots
    sizes = face.sizes
    places = [ca.vertcat(a, b) * sizes for a in KNOTS for b in KNOTS]
    found = scene.terrain.surfaces([face.at(place) for place in places], terrain)
    place, least = places[0], found[0][0]
    for own, (distance, _) in zip(places[1:], found[1:], strict=True):
        place = ca.if_else(distance < least, own, place)
        least = ca.fmin(least, distance)
    # from there down
    begin = _seen(scene, terrain, face, place, FIRST * sizes[1])

    def down(now: Values) -> tuple[Values, SX]:
        last = Sight(**now)
        far = ca.sqrt(ca.sumsqr(last.falls) + TINY**2)
        way = ca.fmin(last.step, FARTHEST * sizes[1] / far) * last.falls
        inside = ca.fmax(-sizes, ca.fmin(last.place + way, sizes))
        new = last.closer(_seen(scene, terrain, face, inside, last.step))
        return vars(new), ca.sumsqr(new.falls) > FOUND**2

    end = Sight(**repeated(vars(begin), down, ROUNDS, SX(1), builder))
    there = _is_peak(scene, terrain, face, end)
    nowhere = ca.vertcat(NOWHERE, 0)
    return ca.if_else(there, end.place / sizes, nowhere), end.distance


def with_face(
    scene: Scene, terrain: object, number: SX, face: Face, builder: Builder
) -> Callable[[Values], tuple[Values, SX]]:
    """A loop's body: the lowest spans, and one more, the face of that number, if it is inside."""

    def found(before: Values) -> tuple[Values, SX]:
        place, distance = nearest_inside(scene, terrain, face, builder)
        gap = ca.if_else(place[0] < NOWHERE, distance, SX.inf())
        touches = closes(scene.law, gap)
        new = Lowest.of(before).with_one(number, gap, place[0], touches, place[1])
        return new.values(), SX(0)

    return found


def _seen(scene: Scene, terrain: object, face: Face, place: SX, step: SX) -> Sight:
    [(distance, frame)] = scene.terrain.surfaces([face.at(place)], terrain)
    falls = -ca.mtimes(face.ways, frame[0, :].T)
    # not out of the face
    inner = [
        ca.if_else(ca.logic_and(ca.fabs(x) >= size, x * fall > 0), 0, fall)
        for x, size, fall in zip(*map(entries, (place, face.sizes, falls)), strict=True)
    ]
    return Sight(place, ca.vertcat(*inner), distance, step)


def _is_peak(scene: Scene, terrain: object, face: Face, end: Sight) -> SX:
    """1 if there, inside the face, the ground is round both ways and looks at the face."""
    sizes = face.sizes
    aside = BESIDE * sizes[1]
    beside = [end.place, end.place + ca.vertcat(aside, 0), end.place + ca.vertcat(0, aside)]
    normals = [
        frame[0, :].T
        for _, frame in scene.terrain.surfaces([face.at(place) for place in beside], terrain)
    ]
    first, *others = (ca.mtimes(face.ways, normal) for normal in normals)
    (a, b), (c, d) = (entries((other - first) / aside) for other in others)
    # the smaller of the two ways' roundness
    mean, cross = (a + d) / 2, (b + c) / 2
    least = mean - ca.sqrt(((a - d) / 2) ** 2 + cross**2 + TINY**2)
    out = ca.cross(face.half, face.across)
    facing = -ca.dot(normals[0], out) > FACING * ca.sqrt(ca.sumsqr(out) + TINY**2)
    flat = ca.sumsqr(end.falls) < ENDED**2
    way = ca.fabs(end.place) / sizes
    within = ca.if_else(face.round, ca.sumsqr(way) < WITHIN**2, ca.fmax(way[0], way[1]) < WITHIN)
    curved = least * sizes[1] > ROUND
    return ca.logic_and(ca.logic_and(facing, flat), ca.logic_and(within, curved))
