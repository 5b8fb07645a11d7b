"""Contacts of a flat face with narrower ground: a sole on a stepping stone, a crate on a beam.

Only the face of the robot is above such ground, no corner or edge of it. As for two boxes
(`box_box`), each edge around a level top is clipped by the outline of the face, and both ends of
the part inside are contacts. Together with corners of the face that are above the top, they are the
corners of the shared area, so that the face rests on all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.collision.closest_point.face_ground import Face
from tarsus.collision.deepest import DeepestContacts
from tarsus.collision.flags import Flags
from tarsus.collision.geometry import Geometry
from tarsus.model.spans import MAX_TOP_EDGES
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder

LEVEL = 0.97  # cosine of the tilt up to which a face rests on an edge of the ground: 14 degrees


@dataclass(frozen=True, eq=False)
class EdgeContact:
    """Contact of a face with one end of the part of a ground edge below it.

    Parameters
    ----------
    exists : SX
        1 if part of the edge is below the face, and the face is turned towards it.
    position : SX
        Position (2,), m along length and width from the middle of the face.
    gap : SX
        Distance, m.
    """

    exists: SX
    position: SX
    gap: SX


def edge_contacts(
    face: Face, depth: SX | float, edge: tuple[SX, SX], rounding: float
) -> list[EdgeContact]:
    """Compute both contacts that a face may have with an edge of the ground.

    Parameters
    ----------
    face : Face
        Face of the robot.
    depth : SX or float
        Half the thickness of the body behind the face, m; an edge deeper in the body belongs to
        another face.
    edge : tuple of SX
        Start (3,) and vector (3,) to the end of the edge (`Terrain.top_edges`), m.
    rounding : float
        Radius of the edge, m.
    """
    start, along = edge
    out = face.outward
    flat_start, flat_along = (
        ca.mtimes(face.directions, vector) for vector in (start - face.middle, along)
    )
    first, last = face.clip(flat_start, flat_along)
    shared = first <= last
    height, climb = ca.dot(out, start - face.middle), ca.dot(out, along)
    # a level face rests on the whole part below it; an inclined face touches corners of the top, if
    # it is in front of them and they are not closer to one of its sides
    level = -out[2] > LEVEL
    ahead = ca.vertcat(along[1], -along[0], 0)
    in_front = ca.logic_and(
        ca.dot(out, ahead) <= 0, ca.logic_and(ca.dot(out, along) >= 0, out[2] <= 0)
    )
    contacts = []
    for t, is_cut, ends in ((first, first > 0, SX(1)), (last, last < 1, last < 1)):
        position, s = flat_start + t * flat_along, height + t * climb
        corner = ca.logic_and(ca.logic_not(is_cut), in_front)
        corner = ca.logic_and(corner, -s <= face.margin(position))
        faces = ca.logic_and(-s < depth, ca.logic_or(level, corner))
        exists = ca.logic_and(ca.logic_and(shared, ends), faces)
        contacts.append(EdgeContact(exists, position, s - rounding))
    return contacts


def deepest_edge_contact(
    geometry: Geometry, terrain: object, face: Face, depth: float, row: int
) -> tuple[SX, SX]:
    """Find the position (2,), relative to the face's sizes, and the gap, m, of a contact.

    If several edges of the ground share the row, the deepest contact counts. The gap is infinite if
    none exists.
    """
    position, least = SX.zeros(2), SX.inf()
    contacts = _contacts(geometry, terrain, face, depth)
    for contact in contacts[row :: _count(contacts)]:
        gap = ca.if_else(contact.exists, contact.gap, SX.inf())
        position = ca.if_else(gap < least, contact.position / face.sizes, position)
        least = ca.fmin(least, gap)
    return position, least


def with_edge_contacts(
    geometry: Geometry, terrain: object, first: SX, face: Face, depth: SX, builder: Builder
) -> Callable[[Values], tuple[Values, SX]]:
    """Return a loop body that inserts the contacts of a face among the deepest spans.

    Parameters
    ----------
    geometry, terrain
        Geometry of the scene, and symbols of its terrain.
    first : SX
        Number of the face's contact in row 0.
    face, depth
        See `edge_contacts`.
    builder : Builder
        Traces the loop.
    """

    def insert(before: Values) -> tuple[Values, SX]:
        contacts = _contacts(geometry, terrain, face, depth)
        flags = Flags.of([ca.logic_and(c.exists, geometry.closes(c.gap)) for c in contacts])
        placed = [(contact.position, contact.gap) for contact in contacts]
        flags, placed = builder.store_all("placed", (flags, placed))

        # the touching ones, one after the other
        def add_next(values: Values) -> tuple[Values, SX]:
            k, others = builder.store_all("contact", Flags(values["flags"]).first())
            position, gap = placed[0]
            for j, (position_j, gap_j) in enumerate(placed[1:], 1):
                position, gap = (
                    ca.if_else(k == j, position_j, position),
                    ca.if_else(k == j, gap_j, gap),
                )
            count = _count(contacts)
            number = first + k - count * ca.floor((k + 0.5) / count)
            x, y = ca.vertsplit(position / face.sizes)
            values = {name: values[name] for name in before}
            new = DeepestContacts.from_registers(values).with_contact(
                number, gap, x, SX(1), y, -face.outward
            )
            return new.to_registers() | {"flags": others.words}, others.any

        begin = before | {"flags": flags.words}
        last = builder.loop(begin, add_next, len(contacts), flags.any)
        return {name: last[name] for name in before}, SX(0)

    return insert


def _contacts(
    geometry: Geometry, terrain: object, face: Face, depth: SX | float
) -> list[EdgeContact]:
    edges, rounding = geometry.terrain.top_edges(terrain), geometry.terrain.edge_rounding
    return [c for edge in edges for c in edge_contacts(face, depth, edge, rounding)]


def _count(contacts: list[EdgeContact]) -> int:
    """Count the rows of a face."""
    return min(len(contacts), 2 * MAX_TOP_EDGES)
