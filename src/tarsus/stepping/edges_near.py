"""Which edges and faces of a body may touch uneven ground between their ends, by bounds on how far
it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.model.spans import Span
from tarsus.stepping.base import Scene
from tarsus.stepping.closed import closes

NEAR = 1e-3  # m: what may be nearer than that to closing is looked at
TINY = 1e-12


def way(span: Span) -> tuple[float, float]:
    """From one end to the other, m, and the radius around it, m."""
    begin, end = span.part
    return 2 * float(np.linalg.norm(span.half)) / (end - begin), span.radius


def side_by_side(
    scene: Scene,
) -> list[tuple[list[tuple[str, str]], tuple[float, float], float, float]]:
    """Ends of edges of one body that lie side by side, as those of a box do, the whole of them, how
    long they are and the radius around them, m.
    """
    found: dict[tuple[float, ...], list[Span]] = {}
    for span in scene.spans:
        if span.bent or span.wide:
            continue
        length, radius = way(span)
        along = np.round(span.half / np.linalg.norm(span.half), 6) + 0.0
        found.setdefault((span.body, length, radius, *along), []).append(span)
    ends = [list(dict.fromkeys(span.ends for span in side)) for side in found.values()]
    ways = [way(side[0]) for side in found.values()]
    return [(own, (0.0, 1.0), *way) for own, way in zip(ends, ways, strict=True)]


@dataclass(frozen=True, eq=False)
class EdgeBounds:
    """How far the ground is from what lies between two ends, at least.

    The distance from a solid changes by no more than the way. Above ground that is a height, a way
    up that is steeper than all of it leads away from it; else the height above it is bounded.

    scene: whose law says what closes
    rate: how much of its height a way of 1 m may take [1]
    shrunk: the least distance by the height [1]
    solid: whether the ground is a solid
    """

    scene: Scene
    rate: SX
    shrunk: SX
    solid: bool

    @staticmethod
    def of(scene: Scene, terrain: object) -> EdgeBounds:
        """That of a scene's ground."""
        steepest = scene.terrain.steepest(terrain)
        if steepest is None:
            return EdgeBounds(scene, SX(1), SX(1), solid=True)
        return EdgeBounds(scene, steepest, 1 / ca.sqrt(1 + steepest**2), solid=False)

    def seen(self, center: SX, distance: SX, frame: SX) -> tuple[SX, SX]:
        """How high an end is above the ground, or how far from a solid, and its z, m."""
        return distance if self.solid else distance / frame[0, 2], center[2]

    def closes(self, seen: SX, radius: float | SX) -> SX:
        """1 if what is within a radius, m, of a point may touch; seen: of `seen`."""
        return closes(self.scene.law, self.shrunk * seen - radius - NEAR)

    def any_near(self, seen: Mapping[str, tuple[SX, SX]]) -> list[SX]:
        """Of edges side by side, rims and faces: 1 if any may touch; seen: of `seen`, by name."""
        rims = {span.ends[0]: span for span in self.scene.spans if span.bent}
        found = [self.may_touch(*side, seen) for side in side_by_side(self.scene)]
        found += [self.may_touch_span(span, seen) for span in rims.values()]
        faces = [span for span in self.scene.spans if span.wide and not span.round]
        return found + [self.may_touch_span(span, seen) for span in faces]

    def may_touch_span(self, span: Span, seen: Mapping[str, tuple[SX, SX]]) -> SX:
        """1 if a span may touch; seen: of `seen`, by name."""
        if span.bent:
            return self.closes(seen[span.ends[0]][0], float(np.linalg.norm(span.out)))
        if span.round:
            return self.closes(seen[span.ends[0]][0], float(np.linalg.norm(span.half)))
        if span.wide:
            aside = self.shrunk * self.rate * float(np.linalg.norm(span.across))
            return self.may_touch([span.ends, span.beside], span.part, way(span)[0], aside, seen)
        return self.may_touch([span.ends], span.part, *way(span), seen)

    def may_touch(
        self,
        ends: Sequence[tuple[str, str]],
        part: tuple[float, float],
        length: float,
        radius: float | SX,
        seen: Mapping[str, tuple[SX, SX]],
    ) -> SX:
        """1 if what lies in a part of the way between ends may touch, of several pairs of ends one
        beside the other, `length` (m) apart; seen: of `seen`, by name.
        """
        one, other = (reduce(ca.fmin, (seen[pair[k]][0] for pair in ends)) for k in (0, 1))
        climb = seen[ends[0][1]][1] - seen[ends[0][0]][1]
        most, slope = self.rate * length, SX(0) if self.solid else climb
        # where the bounds from both ends meet
        share = 0.5 + (one - other + slope) * (0.5 / ca.fmax(self.rate, TINY) / length)
        share = ca.fmin(ca.fmax(share, part[0]), part[1])
        least = ca.fmax(one - (most - slope) * share, other - (most + slope) * (1 - share))
        closed = self.closes(least, radius)
        return closed if self.solid else ca.logic_and(ca.fabs(climb) < most, closed)
