"""Where on an ellipsoid the ground is nearest, at several places: in a hollow that is rounder than
the body below it touches at two or more, and the point that one normal gives is none of them.

A point of an ellipsoid is c + M s with |s| = 1; where the distance of the ground is least around it
s = -M^T n / |M^T n|, n being the ground's normal there. From each of several starts that equation
is solved by steps that Barzilai and Borwein (1988) make as long as the last two looks say, shorter
where the distance has grown. Where several starts end at one place the first of them counts alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics import jacobian
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.model.spots import AWAY, SPOTS
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder, Values
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene
from tarsus.stepping.edges_near import NEAR, EdgeBounds

ROUNDS = 16  # looks after the first
LEAN = 1.2  # rad: between the first start and the others, of s
FOUND = 1e-8  # [1]: s that misses its equation by less is found
APART = 0.2  # [1]: starts that end nearer to each other, in s, have found the same
LONGEST = 4.0  # of the step that would be right on a plane
CURVED = 0.25  # 1 / LONGEST
SHORTER = 0.5
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
        """SPOTS unit vectors (3,) over the ground with that frame (3, 3): around the lowest point,
        and that last, for in a hollow none is nearest there.
        """
        low = self.asked(frame[0, :].T)
        side = ca.mtimes(self.shape.T, frame[1, :].T)
        ahead = _unit(side - low * ca.dot(low, side))
        left = ca.cross(low, ahead)
        turns = 2 * np.pi * np.arange(SPOTS - 1) / (SPOTS - 1)
        around = [np.cos(a) * ahead + np.sin(a) * left for a in turns]
        return [np.cos(LEAN) * low + np.sin(LEAN) * way for way in around] + [low]


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
    groups: dict[tuple[object, ...], list[Candidate]] = {}
    for candidate in which:
        if candidate.start is not None:
            assert candidate.outline is not None
            own = candidate.outline.numbers.tobytes(), candidate.position.tobytes()
            groups.setdefault((candidate.body, *own), []).append(candidate)
    if not groups:
        return {}
    firsts = [group[0] for group in groups.values()]
    eggs, sizes = [], []
    for c in firsts:
        assert c.outline is not None
        center = jacobian.position(kin, c.body, constant(c.position))
        eggs.append(Egg(center, ca.mtimes(kin.world_rotation[c.body], constant(c.outline.spread))))
        sizes.append(c.outline.size)
    if builder is not None:
        eggs = builder.hold("eggs", eggs)
    ends = _searched(scene, terrain, eggs, sizes, builder)
    found: Spots = {}
    for egg, size, own, group in zip(eggs, sizes, ends, groups.values(), strict=True):
        for c in group:
            assert c.start is not None
            s = own[c.start]
            same = [ca.sumsqr(s - other) < APART**2 for other in own[: c.start]]
            there = ca.logic_not(reduce(ca.logic_or, same, SX(0)))
            found[c.name] = Spot(ca.mtimes(egg.shape, s), there, AWAY * size)
    return found


def _searched(
    scene: Scene,
    terrain: object,
    eggs: list[Egg],
    sizes: list[float],
    builder: Builder | None,
) -> list[list[SX]]:
    """Of each ellipsoid the unit vectors (3,) at which its starts end; the starts where it is far
    from the ground.
    """
    below = scene.terrain.surfaces([egg.center for egg in eggs], terrain)
    reach = EdgeBounds.of(scene, terrain)
    near = [
        reach.closes(reach.seen(egg.center, *ground)[0], size)
        for egg, ground, size in zip(eggs, below, sizes, strict=True)
    ]
    begin = [s for egg, (_, frame) in zip(eggs, below, strict=True) for s in egg.starts(frame)]

    def look(points: list[SX]) -> tuple[SX, SX]:
        places = [eggs[k // SPOTS].at(s) for k, s in enumerate(points)]
        found = scene.terrain.surfaces(places, terrain)
        missed = [
            eggs[k // SPOTS].asked(frame[0, :].T) - s
            for k, (s, (_, frame)) in enumerate(zip(points, found, strict=True))
        ]
        return ca.vertcat(*(distance for distance, _ in found)), ca.horzcat(*missed)

    def closer(now: Values) -> tuple[Values, SX]:
        s, missed = (ca.reshape(now[name], 3, len(begin)) for name in ("s", "missed"))
        step = now["step"]
        new = [_unit(s[:, k] + step[k] * missed[:, k]) for k in range(len(begin))]
        distance, miss = look(new)
        after: list[list[SX]] = []
        for k, point in enumerate(new):
            worse = distance[k] > now["distance"][k]
            length = _length(point - s[:, k], miss[:, k] - missed[:, k])
            shorter = ca.fmin(SHORTER * step[k], length)
            kept = zip((point, miss[:, k], distance[k], length), strict=True)
            old = s[:, k], missed[:, k], now["distance"][k], shorter
            after.append([ca.if_else(worse, a, b) for (b,), a in zip(kept, old, strict=True)])
        columns = [ca.vertcat(*column) for column in zip(*after, strict=True)]
        values = dict(zip(("s", "missed", "distance", "step"), columns, strict=True))
        return values, _most(values["missed"]) > FOUND**2

    distance, missed = look(begin)
    start = {"s": ca.vertcat(*begin), "missed": ca.vec(missed), "distance": distance}
    start |= {"step": SX.ones(len(begin))}
    more = ca.logic_and(reduce(ca.logic_or, near), _most(start["missed"]) > FOUND**2)
    end = _repeated(start, closer, more, builder)
    found = [end["s"][k : k + 3] for k in range(0, 3 * len(begin), 3)]
    return [found[k : k + SPOTS] for k in range(0, len(begin), SPOTS)]


def _repeated(start: Values, body: object, more: SX, builder: Builder | None) -> Values:
    """`Builder.loop` of ROUNDS, in one piece without a builder."""
    assert callable(body)
    if builder is not None:
        return builder.loop(start, body, ROUNDS, more)
    now = start
    for _ in range(ROUNDS):
        after, again = body(now)
        now = {name: ca.if_else(more, after[name], value) for name, value in now.items()}
        more = ca.logic_and(more, again)
    return now


def _length(way: SX, change: SX) -> SX:
    """Of the next step, after a way (3,) of s on which what was missed changed so (3,)."""
    squared, turned = ca.sumsqr(way), -ca.dot(way, change)
    known = ca.logic_and(turned > CURVED * squared, squared > TINY)
    return ca.if_else(known, squared / ca.fmax(turned, TINY), 1)


def _most(missed: SX) -> SX:
    """The largest square of what is missed (3n,)."""
    parts = entries(missed)
    squares = [ca.sumsqr(ca.vertcat(*parts[k : k + 3])) for k in range(0, len(parts), 3)]
    return reduce(ca.fmax, squares)


def _unit(vector: SX) -> SX:
    return vector / ca.sqrt(ca.dot(vector, vector))
