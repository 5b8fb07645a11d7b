"""Contact table: constants of what a slot holds, looked up by contact number.

A compiled step addresses contacts by number. Each contact has one row of constants in the table; a
row has the columns that any contact of the geometry needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.collision.closest_point.ellipsoid_ground import EllipsoidPoint, EllipsoidPoints
from tarsus.collision.deepest import DeepestContacts
from tarsus.collision.geometry import EMPTY, Geometry
from tarsus.model.solids import Cuboid, Pair
from tarsus.model.spans import has_arcs, has_faces
from tarsus.program.ir.trace import Builder


@dataclass(frozen=True, eq=False)
class SecondSolid:
    """Second solid of a pair.

    Attributes
    ----------
    body
        Number of its body.
    center, half
        Center (3,) and half extents (3,) in the frame of the body, m.
    radius
        Radius of a capsule, m.
    """

    body: SX
    center: SX
    half: SX
    radius: SX


@dataclass(frozen=True, eq=False)
class BoxPair:
    """Pair with boxes.

    Attributes
    ----------
    count
        Number of boxes in the pair, 0 to 2.
    row
        Index of the contact among those of the pair.
    first, second
        Rotations (3, 3) of both solids in their bodies.
    """

    count: SX
    row: SX
    first: SX
    second: SX


@dataclass(frozen=True, eq=False)
class SlotContact:
    """Constants of the contact that a slot holds; an empty slot has those of any contact.

    Parameters
    ----------
    number : SX
        Contact number; EMPTY if the slot holds none.
    body : SX
        Number of its body.
    center, radius : SX
        Center (3,) in the frame of the body, and radius, m.
    outline : SX or None
        `Outline.numbers` (22,), if the geometry has outlines.
    half, second : SX, SecondSolid or None
        If the geometry has pairs: half (3,) of a capsule's segment or half edges of a box, m; and
        the second solid, whose body number is negative if the slot holds no pair.
    boxes : BoxPair or None
        Boxes of the pair, if the geometry has pairs with boxes.
    along, position : SX or None
        If the geometry has spans: half (3,) of one, m, and the position along it at which the
        ground is nearest, -1 to 1.
    out : SX or None
        `Span.out`, if the geometry has arcs.
    across, cross_position : SX or None
        If the geometry has faces: `Span.across`, and the position across it at which the ground is
        closest.
    normal, edge_gap : SX or None
        If the ground has edges around level tops: normal (3,) and gap, m, of a face's contact with
        one; a zero normal for every other contact.
    ellipsoid_point : EllipsoidPoint or None
        If the geometry has ellipsoids with several closest points.
    """

    number: SX
    body: SX
    center: SX
    radius: SX
    outline: SX | None = None
    half: SX | None = None
    second: SecondSolid | None = None
    boxes: BoxPair | None = None
    along: SX | None = None
    position: SX | None = None
    out: SX | None = None
    across: SX | None = None
    cross_position: SX | None = None
    normal: SX | None = None
    edge_gap: SX | None = None
    ellipsoid_point: EllipsoidPoint | None = None


@dataclass(frozen=True, eq=False)
class SecondaryGaps:
    """Gaps of the secondary contacts.

    Parameters
    ----------
    candidates : list of SX
        Gaps of the secondary candidates, m.
    min_gap : SX
        Least gap of all secondary contacts, m.
    pairs, spans : DeepestContacts or None
        The deepest pairs and spans, if the geometry has any.
    ellipsoid_points : dict
        Closest points of ellipsoids, by name of their candidate.
    """

    candidates: list[SX]
    min_gap: SX
    pairs: DeepestContacts | None = None
    spans: DeepestContacts | None = None
    ellipsoid_points: EllipsoidPoints = field(default_factory=dict)

    @property
    def pairs_and_spans(self) -> list[DeepestContacts]:
        """The deepest pairs and spans, whichever exist."""
        return [deepest for deepest in (self.pairs, self.spans) if deepest is not None]


def column_widths(geometry: Geometry) -> dict[str, int]:
    """Return the width of each column, by name and in order.

    Columns that no contact of the geometry needs are omitted. `SlotContact`, `SecondSolid` and
    `BoxPair` describe the others.
    """
    widths = {"body": 1, "center": 3, "radius": 1}
    if geometry.pairs:
        widths |= {"half": 3, "other": 1, "other_center": 3, "other_half": 3, "other_radius": 1}
    if any(pair.boxes for pair in geometry.pairs):
        widths |= {"boxes": 1, "row": 1, "turn": 9, "other_turn": 9}
    if geometry.spans:
        widths |= {"along": 3}
    if has_arcs(geometry.spans):
        widths |= {"out": 3}
    if has_faces(geometry.spans):
        widths |= {"across": 3}
    if geometry.outlines:
        widths |= {"outline": len(geometry.outlines[0])}
    return widths


def build_rows(geometry: Geometry) -> list[tuple[float, ...]]:
    """Build the table, one row for each contact number.

    Columns that a contact does not use are zero; the second body of a contact with the ground is
    EMPTY.
    """
    # values of each contact
    candidates = [geometry.candidates[i] for i in geometry.order[: len(geometry.candidates)]]
    contacts: list[dict[str, Any]] = [
        {"body": c.body, "center": c.position, "radius": c.radius} for c in candidates
    ]
    for s in geometry.spans:
        values = {"body": s.body, "center": s.middle, "radius": s.radius}
        contacts.append(values | {"along": s.half, "out": s.out, "across": s.across})
    contacts += [_pair_values(pair) for pair in geometry.pairs]
    if geometry.outlines:
        for row, outline in zip(contacts, geometry.outlines, strict=True):
            row["outline"] = outline
    # as rows of the table
    widths = column_widths(geometry)
    default = {name: np.zeros(size) for name, size in widths.items()} | {"other": EMPTY}
    return [
        tuple(float(x) for name in widths for x in np.ravel(row.get(name, default[name])))
        for row in contacts
    ]


def _pair_values(pair: Pair) -> dict[str, Any]:
    first, second = pair.first, pair.second
    turn, other_turn = (
        solid.rotation if isinstance(solid, Cuboid) else np.eye(3) for solid in (first, second)
    )
    return {
        "body": first.body,
        "center": first.middle,
        "radius": first.radius,
        "half": first.half,
        "other": second.body,
        "other_center": second.middle,
        "other_half": second.half,
        "other_radius": second.radius,
        "boxes": pair.boxes,
        "row": pair.row,
        "turn": turn,
        "other_turn": other_turn,
    }


def split_row(row: SX, widths: Mapping[str, int]) -> dict[str, SX]:
    """Split a row (n,) into its columns."""
    ends = np.cumsum([0, *widths.values()]).tolist()
    return {name: row[a:b] for name, a, b in zip(widths, ends, ends[1:], strict=False)}


def look_up(
    geometry: Geometry, numbers: list[SX], gaps: SecondaryGaps, j: SX, builder: Builder
) -> SlotContact:
    """Look up the contact in slot j; an empty slot j gets the constants of contact number j."""
    # its row of the table
    table = np.array(build_rows(geometry))
    number, width = numbers[0], table.shape[1]
    for k, other in enumerate(numbers[1:], 1):
        number = ca.if_else(j == k, other, number)
    row_index = builder.store("row", ca.if_else(number >= 0, number, j))
    index = ca.vertcat(*(width * row_index + k for k in range(width)))
    row = split_row(builder.lookup("candidates", table, index), column_widths(geometry))
    # the contact
    slot = SlotContact(
        number,
        row["body"],
        row["center"],
        row["radius"],
        outline=row.get("outline"),
        half=row.get("half"),
        along=row.get("along"),
        out=row.get("out"),
        across=row.get("across"),
    )
    if gaps.ellipsoid_points:
        points = gaps.ellipsoid_points
        slot = replace(slot, ellipsoid_point=_find_ellipsoid_point(geometry, number, points))
    if gaps.spans is not None:
        position = ca.if_else(geometry.is_span(number), gaps.spans.position(number), 0)
        cross_position = gaps.spans.cross_position(number) if has_faces(geometry.spans) else None
        slot = replace(slot, position=position, cross_position=cross_position)
        if gaps.spans.normals:
            normal, edge_gap = gaps.spans.edge_contact(number)
            slot = replace(slot, normal=normal, edge_gap=edge_gap)
    if geometry.pairs:
        second = (row[f"other{suffix}"] for suffix in ("", "_center", "_half", "_radius"))
        slot = replace(slot, second=SecondSolid(*second))
    if "boxes" in row:
        rotations = (ca.reshape(row[name], 3, 3).T for name in ("turn", "other_turn"))
        slot = replace(slot, boxes=BoxPair(row["boxes"], row["row"], *rotations))
    return slot


def _find_ellipsoid_point(
    geometry: Geometry, number: SX, points: EllipsoidPoints
) -> EllipsoidPoint:
    """Find the closest point of the contact with that number, if it belongs to an ellipsoid."""
    arm, is_distinct, max_gap = SX.zeros(3), SX(EMPTY), SX.inf()
    for k, i in enumerate(geometry.order[: len(geometry.candidates)]):
        point, matches = points.get(geometry.candidates[i].name), number == k
        if point is not None:
            arm = ca.if_else(matches, point.arm, arm)
            is_distinct = ca.if_else(matches, point.is_distinct, is_distinct)
            max_gap = ca.if_else(matches, point.max_gap, max_gap)
    return EllipsoidPoint(arm, is_distinct, max_gap)
