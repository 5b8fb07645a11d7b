"""Broad phase: the gaps of secondary contacts, without examining those that are far away.

Bodies far from uneven ground are bounded by a ball and skipped. Edges, faces and pairs of solids
are examined only where a lower bound on their distance (`distance_bounds`) allows contact.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.collision.closest_point.curve_ground import deepest_spans
from tarsus.collision.closest_point.ellipsoid_ground import EllipsoidPoints, closest_points
from tarsus.collision.closest_point.shapes import place_shapes
from tarsus.collision.closest_point.solids import pair_gaps
from tarsus.collision.contact_point import OPEN_GAP
from tarsus.collision.contact_table import SecondaryGaps
from tarsus.collision.deepest import DeepestContacts, deepest_touching
from tarsus.collision.distance_bounds import EdgeBounds, pair_distance_bounds
from tarsus.collision.geometry import Geometry
from tarsus.collision.ground import PlacedOutline, ground_below_lowest
from tarsus.dynamics import support_points
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.spatial.rotation import constant

MIN_GROUP = 4  # number of candidates on a body from which the ball around them is examined first
FAR_HEIGHT = 1e3  # m: height above ground that is reported of candidates in a skipped group


def secondary_gaps(
    geometry: Geometry,
    kin: Kinematics,
    terrain: object,
    builder: Builder,
    known_points: EllipsoidPoints | None = None,
    ahead: SX | None = None,
) -> SecondaryGaps:
    """Compute the gaps of all contacts that are not primary.

    Parameters
    ----------
    geometry : Geometry
        Contacts of the robot.
    kin : Kinematics
        Pose and velocity of the robot.
    terrain : object
        Parameters of the terrain, as symbols.
    builder : Builder
        Traces the loops.
    known_points : dict or None
        Closest points of ellipsoids, if already computed.
    ahead : SX or None
        Time, s, by which to extrapolate the gaps of approaching candidates; None for the current
        gaps.
    """
    # bodies that are far from uneven ground are skipped
    secondary = [geometry.candidates[i] for i in geometry.secondary]
    if known_points is None:
        known_points = closest_points(geometry, kin, terrain, secondary, builder)
    grouped = [] if geometry.terrain.flat else group_candidates(geometry, known_points)
    skipped = gaps_of_groups(geometry, kin, terrain, grouped, builder) if grouped else {}
    # the ground below all other centers at once, and below primary ends of spans
    ends = {name for span in geometry.spans for name in span.ends}
    primary_ends = [
        geometry.candidates[i] for i in geometry.primary if geometry.candidates[i].name in ends
    ]
    others = [c for c in secondary if c.name not in skipped]
    centers = [
        kin.world_position[c.body] + ca.mtimes(kin.world_rotation[c.body], constant(c.position))
        for c in (*others, *primary_ends)
    ]
    at_centers = geometry.terrain.surfaces(centers, terrain)
    count = len(others)
    turned = [PlacedOutline.of(kin, c, known_points) for c in others]
    radii = [c.radius for c in others]
    grounds = ground_below_lowest(
        geometry, terrain, centers[:count], radii, turned, at_centers[:count]
    )
    gap_of = {}
    for c, (_, distance, frame) in zip(others, grounds, strict=True):
        gap_of[c.name] = distance - c.radius
        if ahead is not None:
            gap_of[c.name] += ahead * ca.fmin(_approach_velocity(kin, c, frame[0, :].T), 0)
    gap_of |= {name: gap for name, (gap, _) in skipped.items()}
    gaps = [gap_of[c.name] for c in secondary]
    # spans between candidates, and pairs
    spans = None
    if geometry.spans:
        gaps = builder.store_all("secondary_gaps", gaps)
        bounds = EdgeBounds.of(geometry, terrain)
        heights = {name: height for name, (_, height) in skipped.items()}
        for c, center, ground in zip((*others, *primary_ends), centers, at_centers, strict=True):
            heights[c.name] = bounds.height_and_z(center, *ground)
        spans = deepest_spans(geometry, kin, terrain, heights, builder)
    pairs = deepest_pairs(geometry, kin, builder) if geometry.pairs else None
    all_gaps = [*gaps, *(deepest.min_gap for deepest in (spans, pairs) if deepest is not None)]
    return SecondaryGaps(gaps, minimum(all_gaps), pairs, spans, known_points)


def _approach_velocity(kin: Kinematics, candidate: Candidate, normal: SX) -> SX:
    """Compute the velocity of a candidate's center along the ground's normal (3,), m/s."""
    body = candidate.body
    spin = ca.cross(kin.omega[body], constant(candidate.position))
    return ca.dot(normal, ca.mtimes(kin.world_rotation[body], kin.velocity[body] + spin))


def deepest_pairs(geometry: Geometry, kin: Kinematics, builder: Builder) -> DeepestContacts:
    """Find the deepest contacts of pairs, computed only if a bound allows any to touch."""
    firsts = {(pair.first.name, pair.second.name): pair for pair in geometry.pairs}
    bound = minimum(pair_distance_bounds(kin, list(firsts.values())))
    any_near = builder.store("pairs_near", geometry.closes(bound))
    count = min(geometry.slots, len(geometry.pairs))

    def exact(_: Values) -> tuple[Values, SX]:
        shapes = place_shapes(kin, geometry.pairs)
        gaps_of = {
            names: pair_gaps(pair, *(shapes[name] for name in names))
            for names, pair in firsts.items()
        }
        gaps = [gaps_of[pair.first.name, pair.second.name][pair.row] for pair in geometry.pairs]
        touch = [geometry.closes(gap) for gap in gaps]
        first = len(geometry.candidates) + len(geometry.spans)
        return deepest_touching(gaps, touch, first, count, builder).to_registers(), SX(0)

    return DeepestContacts.from_registers(
        builder.cold_loop(
            DeepestContacts.empty(count, spans=False).to_registers(), exact, 1, any_near
        )
    )


def minimum(values: list[SX]) -> SX:
    """Compute the smallest value, reduced pair by pair rather than in one long chain."""
    while len(values) > 1:
        halves = [ca.fmin(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = halves + ([values[-1]] if len(values) % 2 else [])
    return values[0]


@dataclass(frozen=True, eq=False)
class BodyPoints:
    """Candidates of one body, and the ball around them.

    Attributes
    ----------
    candidates
        Candidates of the body.
    center
        Center (3,) of the ball in the frame of the body, m.
    radius
        Its radius, m.
    """

    candidates: list[Candidate]
    center: NDArray[np.float64]
    radius: float

    @staticmethod
    def of(candidates: list[Candidate]) -> BodyPoints:
        """Bound candidates by the ball around the middle of their bounding box."""
        points = np.array([candidate.position for candidate in candidates])
        center = (points.min(0) + points.max(0)) / 2
        sizes = [c.radius + (0 if c.outline is None else c.outline.size) for c in candidates]
        return BodyPoints(
            candidates, center, float(np.max(np.linalg.norm(points - center, axis=1) + sizes))
        )


def group_candidates(geometry: Geometry, separate: Collection[str]) -> list[BodyPoints]:
    """Group the secondary candidates by body, where a body has at least MIN_GROUP of them.

    The ball of a group must contain all edges and faces between its candidates. Candidates with
    separate closest points (`separate`), and those that an edge or face joins to a primary
    candidate, are therefore in no group.
    """
    # a candidate joined to one in no group is in none either
    secondary = [geometry.candidates[i] for i in geometry.secondary]
    alone = {geometry.candidates[i].name for i in geometry.primary} | set(separate)
    joined = [{*span.ends, *filter(None, span.opposite_ends)} for span in geometry.spans]
    while more := {n for names in joined if names & alone for n in names} - alone:
        alone |= more
    # the others, body by body
    by_body: dict[int, list[Candidate]] = {}
    for candidate in secondary:
        if candidate.name not in alone:
            by_body.setdefault(candidate.body, []).append(candidate)
    return [BodyPoints.of(group) for group in by_body.values() if len(group) >= MIN_GROUP]


def gaps_of_groups(
    geometry: Geometry,
    kin: Kinematics,
    terrain: object,
    grouped: Sequence[BodyPoints],
    builder: Builder,
) -> dict[str, tuple[SX, tuple[SX, SX]]]:
    """Compute the gap, m, and `EdgeBounds.height_and_z` of every candidate in groups, by name.

    They are OPEN_GAP and FAR_HEIGHT in worlds where the ball around the group does not touch.
    """
    # the ground below the middle of each ball
    bounds = EdgeBounds.of(geometry, terrain)
    bodies = [group.candidates[0].body for group in grouped]
    poses = builder.store_all(
        "poses", [(kin.world_rotation[b], kin.world_position[b]) for b in bodies]
    )
    balls = [
        position + ca.mtimes(R, constant(group.center))
        for group, (R, position) in zip(grouped, poses, strict=True)
    ]
    grounds = geometry.terrain.surfaces(balls, terrain)
    # in worlds where one is near, below all that is in it
    gaps_by_name = {}
    for group, pose, ball, ground in zip(grouped, poses, balls, grounds, strict=True):
        count = len(group.candidates)
        is_near = bounds.may_touch_ball(bounds.height_and_z(ball, *ground)[0], group.radius)

        def examined(
            _: Values, group: BodyPoints = group, pose: tuple[SX, SX] = pose
        ) -> tuple[Values, SX]:
            return _examine_group(geometry, terrain, bounds, group, pose), SX(0)

        far = {"gap": SX(np.full(count, OPEN_GAP)), "height": SX(np.full(count, FAR_HEIGHT))}
        now = builder.loop(far, examined, 1, is_near)
        for k, candidate in enumerate(group.candidates):
            z = pose[1][2] + ca.dot(pose[0][2, :].T, constant(candidate.position))
            gaps_by_name[candidate.name] = now["gap"][k], (now["height"][k], z)
    return gaps_by_name


def _examine_group(
    geometry: Geometry,
    terrain: object,
    bounds: EdgeBounds,
    group: BodyPoints,
    pose: tuple[SX, SX],
) -> Values:
    """Compute the gaps of a group, m, and the heights of its centers above the ground, m."""
    R, position = pose
    members = group.candidates
    centers = [position + ca.mtimes(R, constant(c.position)) for c in members]
    turned = [
        None if c.outline is None else PlacedOutline(support_points.parameters(c.outline), R)
        for c in members
    ]
    at_centers = geometry.terrain.surfaces(centers, terrain)
    lowest = ground_below_lowest(
        geometry, terrain, centers, [c.radius for c in members], turned, at_centers
    )
    gaps = [distance - c.radius for c, (_, distance, _) in zip(members, lowest, strict=True)]
    heights = [
        bounds.height_and_z(c, *ground)[0] for c, ground in zip(centers, at_centers, strict=True)
    ]
    return {"gap": ca.vertcat(*gaps), "height": ca.vertcat(*heights)}
