"""Spans between contact candidates, which may touch uneven ground too.

These are segments between the ends of a capsule, the rims of a cylinder or the corners at an edge
of a box, arcs of rims, flat ends and faces.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, product

import numpy as np

from tarsus.model.joint import Vector, freeze_array
from tarsus.model.mechanism import Candidate, Mechanism

MAX_LENGTH = 0.25  # m; a longer segment is divided
ARCS = 4  # per rim
END_NUMBER = ARCS + 1  # in the name of the flat end at a rim
CORNERS = 8  # of a box
MIN_HALF_WIDTH = 0.03  # m, half the width of a face, or a radius; edges suffice for narrower ones
MAX_TOP_EDGES = 16  # of the ground, per face: if it has more, they share contact numbers


@dataclass(frozen=True, eq=False)
class Span:
    """Segment, arc or face with one contact, at its point closest to the ground.

    A segment between two candidates may touch if the ground is not closest at an end. The ground
    there is parallel to the segment, so that a ball around the point touches where the side of a
    cylinder does, and does not reach beyond a flat end. An arc of a rim may touch if its candidate
    does not touch at the same point. A face of a box, or the flat end of a cylinder, may touch
    where the ground is closest inside it.

    Attributes
    ----------
    name
        Unique among spans.
    body
        Number of the body.
    middle, half
        The segment runs from middle - half to middle + half, in the body's frame, shape (3,) each,
        in m. For an arc, `middle` is the rim's center, and `half` has the direction of the rim in
        the arc's middle and the length of the rim's radius.
    radius
        Radius of the capsule or cylinder, in m; 0 for an edge.
    friction
        As of `Candidate`.
    ends
        Names of both candidates; for a rim, twice the same.
    part
        Start and end of the segment between the candidates, 0 to 1.
    out
        From an arc's center to its middle, shape (3,), in m, otherwise 0.
    across
        From a face's middle to that of a longer side, shape (3,), in m; half x across points out.
    opposite_ends
        For a box's face, the ends of the side opposite to that of `ends`.
    round
        Whether a face is a disc, with `half` and `across` as radii.
    normals
        Outward normals of the flat faces that meet at an edge or rim, shape (2, 3), otherwise 0.
    depth
        Half the thickness of the body behind a face, in m.
    row
        Number of the contact among those of a face with edges of the ground; -1 for a span that
        touches where the ground is closest.
    """

    name: str
    body: int
    middle: Vector
    half: Vector
    radius: float
    friction: float
    ends: tuple[str, str]
    part: tuple[float, float]
    out: Vector = field(default_factory=lambda: np.zeros(3))
    across: Vector = field(default_factory=lambda: np.zeros(3))
    opposite_ends: tuple[str, str] = ("", "")
    round: bool = False
    normals: Vector = field(default_factory=lambda: np.zeros((2, 3)))
    depth: float = 0.0
    row: int = -1

    def __post_init__(self) -> None:
        for name in ("middle", "half", "out", "across", "normals"):
            what, shape = f"span {self.name!r}: {name}", (2, 3) if name == "normals" else (3,)
            array = freeze_array(getattr(self, name), shape, what, self.name)
            object.__setattr__(self, name, array)

    @property
    def is_arc(self) -> bool:
        """Whether the span is an arc."""
        return bool(np.any(self.out))

    @property
    def is_face(self) -> bool:
        """Whether the span is a face."""
        return bool(np.any(self.across))

    @property
    def outward(self) -> Vector:
        """Outward normal of a face, shape (3,)."""
        normal = np.cross(self.half, self.across)
        return normal / np.linalg.norm(normal)


def has_arcs(spans: Collection[Span]) -> bool:
    """Return whether any span is an arc."""
    return any(span.is_arc for span in spans)


def has_faces(spans: Collection[Span]) -> bool:
    """Return whether any span is a face."""
    return any(span.is_face for span in spans)


def select_searched(spans: Collection[Span]) -> tuple[Span, ...]:
    """Select the spans that touch where the ground is closest."""
    return tuple(span for span in spans if span.row < 0)


def create_spans(
    mechanism: Mechanism, touching: Collection[str], top_edges: int = 0
) -> tuple[Span, ...]:
    """Create the spans of a mechanism.

    These are the segments between candidates of `touching`; a long one is divided into an odd
    number of spans, so that one contains the middle. Every rim whose first candidate is in
    `touching` has ARCS arcs: NAME+1, ... Faces and flat ends count if they are wide enough: faces
    of boxes whose corners are all in `touching`, named after two opposite corners, and ends of
    cylinders, NAME+END_NUMBER.

    On ground with edges around level tops every face counts, however narrow. It may touch both ends
    of what it shares with each of these edges: FACE/0, FACE/1, ... These spans are the last ones,
    ordered by face.

    Parameters
    ----------
    mechanism
        A robot.
    touching
        Names of the candidates that may touch the ground.
    top_edges
        Number of edges around level tops of the ground (`Terrain.top_edges`).
    """
    by_name = {c.name: c for c in mechanism.candidates if c.name in touching}
    result = []
    for ends in mechanism.edges:
        if not by_name.keys() >= set(ends):
            continue
        first, second = by_name[ends[0]], by_name[ends[1]]
        along = second.position - first.position
        count = int(np.ceil(np.linalg.norm(along) / MAX_LENGTH)) // 2 * 2 + 1
        for k in range(count):
            name = "-".join(ends) + (f"_{k}" if count > 1 else "")
            middle, half = first.position + (k + 0.5) / count * along, along / (2 * count)
            radius = first.radius + (first.outline.size if first.outline else 0.0)
            part = k / count, (k + 1) / count
            result.append(Span(name, first.body, middle, half, radius, first.friction, ends, part))
    discs = [
        c for c in by_name.values() if c.outline and not c.outline.is_ellipsoid and not c.radius
    ]
    rims = [c for c in discs if c.outline and c.outline.first]
    pairs = [(by_name[a], by_name[b]) for a, b in mechanism.edges if by_name.keys() >= {a, b}]
    faces = [end for pair in pairs if pair[0].outline for end in _flat_ends(*pair)]
    faces += [face for corners in _find_boxes(by_name, mechanism.edges) for face in _faces(corners)]
    arcs = [arc for rim in rims for arc in _create_arcs(rim)]
    if not top_edges:
        return (*result, *filter(_is_wide, faces), *arcs)
    result, arcs = _with_normals(result, faces), _with_normals(arcs, faces)
    count = 2 * min(top_edges, MAX_TOP_EDGES)
    at_edges = [replace(f, name=f"{f.name}/{k}", row=k) for f in faces for k in range(count)]
    return (*result, *faces, *arcs, *at_edges)


def _is_wide(face: Span) -> bool:
    return float(np.linalg.norm(face.across)) >= MIN_HALF_WIDTH


def _with_normals(spans: Collection[Span], faces: Collection[Span]) -> list[Span]:
    """Add the normals of the faces that meet at edges or arcs."""
    normals: dict[frozenset[str], list[Vector]] = {}
    for face in faces:
        corners = dict.fromkeys((*face.ends, *filter(None, face.opposite_ends)))
        for ends in combinations_with_replacement(corners, 2):
            normals.setdefault(frozenset(ends), []).append(face.outward)
    result = []
    for span in spans:
        its_normals = normals.get(frozenset(span.ends), [])
        result.append(
            replace(span, normals=np.vstack([*its_normals, np.zeros((2 - len(its_normals), 3))]))
        )
    return result


def _find_boxes(
    by_name: Mapping[str, Candidate], edges: Collection[tuple[str, str]]
) -> list[dict[tuple[int, ...], Candidate]]:
    """Find the corners of every box by their signs along its axes, the longest axis first."""
    # a box has eight corners that are connected by edges
    connected: dict[str, tuple[str, ...]] = {}
    for ends in edges:
        if by_name.keys() >= set(ends):
            group = tuple(dict.fromkeys(n for end in ends for n in connected.get(end, (end,))))
            connected.update(dict.fromkeys(group, group))
    boxes = []
    for names in dict.fromkeys(connected.values()):
        if len(names) != CORNERS:
            continue
        first, corners = names[0], [by_name[name] for name in names]
        adjacent = [by_name[a if b == first else b] for a, b in edges if first in (a, b)]
        axes = [c.position - by_name[first].position for c in adjacent]
        axes.sort(key=lambda axis: -float(np.linalg.norm(axis)))
        middle = np.mean([c.position for c in corners], axis=0)
        signs = np.sign([[np.dot(c.position - middle, axis) for axis in axes] for c in corners])
        rows = (tuple(row) for row in signs.astype(int).tolist())
        boxes.append(dict(zip(rows, corners, strict=True)))
    return boxes


def _faces(corners: Mapping[tuple[int, ...], Candidate]) -> Iterator[Span]:
    """Yield the faces of a box."""
    for normal, side in product(range(3), (-1, 1)):
        # corners of the face, by their signs along the longer and the shorter side
        long, short = (axis for axis in range(3) if axis != normal)
        face: dict[tuple[int, int], Candidate] = {}
        for along, aside in product((-1, 1), repeat=2):
            signs = {long: along, short: aside, normal: side}
            face[along, aside] = corners[signs[0], signs[1], signs[2]]
        middle = np.mean([c.position for c in face.values()], axis=0)
        half = (face[1, 1].position - face[-1, 1].position) / 2
        across = (face[1, 1].position - face[1, -1].position) / 2
        out = middle - np.mean([c.position for c in corners.values()], axis=0)
        across = across * np.sign(np.dot(np.cross(half, across), out))
        ends, opposite_ends = ((face[-1, k].name, face[1, k].name) for k in (-1, 1))
        name, first = f"{ends[0]}-{opposite_ends[1]}", face[1, 1]
        yield Span(
            *(name, first.body, middle, half, 0.0, first.friction, ends, (0.0, 1.0)),
            across=across,
            opposite_ends=opposite_ends,
            depth=float(np.linalg.norm(out)),
        )


def _flat_ends(first: Candidate, second: Candidate) -> Iterator[Span]:
    """Yield the flat ends of a cylinder with these rims."""
    for rim, other in ((first, second), (second, first)):
        assert rim.outline is not None
        axes = rim.outline.size * rim.outline.half_axes()[1]
        half, across = axes[:, 0], axes[:, 1]
        across = across * np.sign(np.dot(np.cross(half, across), rim.position - other.position))
        name, ends = f"{rim.name}+{END_NUMBER}", (rim.name, rim.name)
        fields = rim.body, rim.position, half, 0.0, rim.friction, ends, (0.0, 1.0)
        depth = float(np.linalg.norm(rim.position - other.position)) / 2
        yield Span(name, *fields, across=across, round=True, depth=depth)


def _create_arcs(rim: Candidate) -> list[Span]:
    """Create the arcs of the rim whose first candidate is `rim`."""
    assert rim.outline is not None
    across = rim.outline.size * rim.outline.half_axes()[1]
    arcs = []
    for k in range(ARCS):
        turn = 2 * np.pi * k / ARCS
        out, half = (
            np.cos(angle) * across[:, 0] + np.sin(angle) * across[:, 1]
            for angle in (turn, turn + np.pi / 2)
        )
        ends, part, name = (rim.name, rim.name), (0.0, 1.0), f"{rim.name}+{k + 1}"
        arcs.append(Span(name, rim.body, rim.position, half, 0.0, rim.friction, ends, part, out))
    return arcs
