"""Lower bounds on distances: candidates for contact at a fraction of the cost of closest points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import casadi as ca
import numpy as np
from casadi import DM, SX

from tarsus.collision.closest_point.capsule_box import Block
from tarsus.collision.closest_point.segments import Segment, closest_offset, length
from tarsus.collision.closest_point.shapes import Shape, place_shapes
from tarsus.collision.geometry import Geometry
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.model.solids import Pair
from tarsus.model.spans import Span, select_searched

NEAR_GAP = 1e-3  # m: what may be nearer than that to closing is looked at
START_SEPARATION = 0.02  # m: a bound above this at the start is the only one used for its pair
MIN_RATE = 1e-12  # keeps level ground from dividing by zero


def length_and_radius(span: Span) -> tuple[float, float]:
    """Compute the length between the ends of a span, and its radius, m."""
    begin, end = span.part
    return 2 * float(np.linalg.norm(span.half)) / (end - begin), span.radius


def parallel_edges(
    geometry: Geometry,
) -> list[tuple[list[tuple[str, str]], tuple[float, float], float, float]]:
    """Group parallel edges of one body, such as those of a box.

    Returns the ends of the edges, the part of their length that counts (all of it), their length
    and radius in m, for each group: the arguments of `EdgeBounds.may_touch`.
    """
    groups: dict[tuple[float, ...], list[Span]] = {}
    for span in select_searched(geometry.spans):
        if span.is_arc or span.is_face:
            continue
        length, radius = length_and_radius(span)
        along = np.round(span.half / np.linalg.norm(span.half), 6) + 0.0
        groups.setdefault((span.body, length, radius, *along), []).append(span)
    ends = [list(dict.fromkeys(span.ends for span in side)) for side in groups.values()]
    sizes = [length_and_radius(side[0]) for side in groups.values()]
    return [
        (ends_of_edge, (0.0, 1.0), *size) for ends_of_edge, size in zip(ends, sizes, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class EdgeBounds:
    """Lower bounds on the distance of edges and faces from uneven ground.

    The distance from a solid changes by no more than the distance traveled. Over a height field the
    height above ground is bounded by its steepest slope, and a segment that rises more steeply than
    any slope leaves the ground.

    Parameters
    ----------
    geometry : Geometry
        Decides which gaps close.
    rate : SX
        Largest change of the height above ground per distance traveled.
    min_distance_ratio : SX
        Least distance divided by the height above ground.
    solid : bool
        Whether the ground is a solid rather than a height field.
    """

    geometry: Geometry
    rate: SX
    min_distance_ratio: SX
    solid: bool

    @staticmethod
    def of(geometry: Geometry, terrain: object) -> EdgeBounds:
        """Compute the bounds of a geometry's ground."""
        steepest = geometry.terrain.steepest(terrain)
        if steepest is None:
            return EdgeBounds(geometry, SX(1), SX(1), solid=True)
        return EdgeBounds(geometry, steepest, 1 / ca.sqrt(1 + steepest**2), solid=False)

    def height_and_z(self, center: SX, distance: SX, frame: SX) -> tuple[SX, SX]:
        """Return the height of a point above ground, or its distance from a solid, and its z, m."""
        return distance if self.solid else distance / frame[0, 2], center[2]

    def may_touch_ball(self, height: SX, radius: float | SX) -> SX:
        """Return 1 if a ball of this radius, m, at a height from `height_and_z` may touch."""
        return self.geometry.closes(self.min_distance_ratio * height - radius - NEAR_GAP)

    def near_flags(self, heights: Mapping[str, tuple[SX, SX]]) -> list[SX]:
        """Return a flag for each group of edges, rim and face: 1 if any of it may touch.

        `heights` has `height_and_z` of each candidate, by name.
        """
        spans = select_searched(self.geometry.spans)
        rims = {span.ends[0]: span for span in spans if span.is_arc}
        may_touch = [self.may_touch(*side, heights) for side in parallel_edges(self.geometry)]
        may_touch += [self.may_touch_span(span, heights) for span in rims.values()]
        faces = [span for span in spans if span.is_face and not span.round]
        return may_touch + [self.may_touch_span(span, heights) for span in faces]

    def may_touch_span(self, span: Span, heights: Mapping[str, tuple[SX, SX]]) -> SX:
        """Return 1 if a span may touch; `heights` has `height_and_z` of each candidate, by name."""
        if span.is_arc:
            return self.may_touch_ball(heights[span.ends[0]][0], float(np.linalg.norm(span.out)))
        if span.round:
            return self.may_touch_ball(heights[span.ends[0]][0], float(np.linalg.norm(span.half)))
        if span.is_face:
            half_width = self.min_distance_ratio * self.rate * float(np.linalg.norm(span.across))
            return self.may_touch(
                [span.ends, span.opposite_ends],
                span.part,
                length_and_radius(span)[0],
                half_width,
                heights,
            )
        return self.may_touch([span.ends], span.part, *length_and_radius(span), heights)

    def may_touch(
        self,
        ends: Sequence[tuple[str, str]],
        part: tuple[float, float],
        length: float,
        radius: float | SX,
        heights: Mapping[str, tuple[SX, SX]],
    ) -> SX:
        """Return 1 if the part between two ends may touch.

        Parameters
        ----------
        ends : sequence of pairs of str
            Names of the candidates at both ends, of one edge or of several parallel ones.
        part : tuple of float
            Start and end of the part between the ends, 0 to 1.
        length : float
            Distance between the ends, m.
        radius : float or SX
            Radius around the edges, m.
        heights : mapping
            `heights` of each candidate, by name.
        """
        one, other = (reduce(ca.fmin, (heights[pair[k]][0] for pair in ends)) for k in (0, 1))
        climb = heights[ends[0][1]][1] - heights[ends[0][0]][1]
        max_change, slope = self.rate * length, SX(0) if self.solid else climb
        # where the bounds from both ends meet
        share = 0.5 + (one - other + slope) * (0.5 / ca.fmax(self.rate, MIN_RATE) / length)
        share = ca.fmin(ca.fmax(share, part[0]), part[1])
        least = ca.fmax(
            one - (max_change - slope) * share, other - (max_change + slope) * (1 - share)
        )
        closed = self.may_touch_ball(least, radius)
        return closed if self.solid else ca.logic_and(ca.fabs(climb) < max_change, closed)


def pair_distance_bounds(kin: Kinematics, pairs: list[Pair]) -> list[SX]:
    """Compute a lower bound on the distance of each pair's solids, m; not positive if they touch.

    Two convex bodies are apart if any direction separates them, or if the balls around them are
    apart. For each pair one bound, along a face normal of a box or of the balls, is chosen in
    advance: the largest in the initial posture. If no bound separates the pair there, the largest
    of all bounds is used.
    """
    start = kinematics(kin.mechanism, SX(DM(_start_coordinates(kin.mechanism))))
    now, then = place_shapes(kin, pairs), place_shapes(start, pairs)
    bounds = []
    for pair in pairs:
        current, at_start = separations(pair, now), [float(DM(x)) for x in separations(pair, then)]
        best = int(np.argmax(at_start))
        separated = at_start[best] > START_SEPARATION
        bounds.append(current[best] if separated else reduce(ca.fmax, current))
    return bounds


def separations(pair: Pair, shapes: Mapping[str, Shape]) -> list[SX]:
    """Compute the separation of two solids in several directions, m.

    The balls around them, the face normals of boxes, and the exact distance of two capsules.
    """
    one, other = (shapes[solid.name] for solid in (pair.first, pair.second))
    between_both = one.middle - other.middle
    gaps = [length(between_both) - (pair.first.reach + pair.second.reach)]
    if isinstance(one, Segment) and isinstance(other, Segment):
        offset, _ = closest_offset(one, other)
        return [*gaps, length(offset) - (pair.first.radius + pair.second.radius)]
    for box in (one, other):
        if isinstance(box, Block):
            for k in range(3):
                normal = box.rotation[:, k]
                reach = (
                    _extent_along(one, normal) + _extent_along(other, normal) + pair.first.radius
                )
                gaps.append(ca.fabs(ca.dot(normal, between_both)) - reach)
    return gaps


def _extent_along(shape: Shape, normal: SX) -> SX:
    """Compute the extent of a solid, without its rounding, along a direction (3,), m."""
    if isinstance(shape, Segment):
        return SX(0) if shape.half is None else ca.fabs(ca.dot(normal, shape.half))
    return ca.dot(ca.fabs(ca.mtimes(shape.rotation.T, normal)), shape.half)


def _start_coordinates(mechanism: Mechanism) -> np.ndarray:
    """Choose coordinates (nq,) near those of the start, with cut joints at zero."""
    q = mechanism.keyframes.get("stand")
    return mechanism.neutral() if q is None or len(q) != mechanism.nq else np.asarray(q)
