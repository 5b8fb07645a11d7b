"""What lies between the ends of a capsule, the rims of a cylinder, the corners at an edge of a box,
arcs of the rims, flat ends and faces: on uneven ground it touches, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from tarsus.model.joint import Vector, frozen_array
from tarsus.model.mechanism import Candidate, Mechanism

LONGEST = 0.25  # m: of a span; what is longer is several
ARCS = 4  # of a rim
FLAT = ARCS + 1  # what the flat end at a rim is called after
CORNERS = 8  # of a box
NARROW = 0.03  # m: half a face, or a radius; a peak below a narrower one is left to its edges


@dataclass(frozen=True, eq=False)
class Span:
    """A part of the segment between two candidates: of its points that where the ground is nearest
    may touch, if the ground is not nearest at an end.

    There the ground is parallel to the segment, so that a ball around the point touches where the
    mantle of a cylinder does, and sticks out of no flat end.

    Or an arc of a rim, if its own candidate does not touch at the same place; or a face of a box or
    the flat end of a cylinder, where the ground is nearest inside it.

    middle (3,), half (3,): the segment from middle - half to middle + half, body frame, m; of an
        arc the rim's center, and along the rim in the arc's middle, as long as the rim's radius
    radius: of the capsule or cylinder, m, 0 of an edge; friction: of `Candidate`
    ends, part: names of both candidates, of a rim's twice; where between them it begins and ends,
        0 to 1 [1]
    out (3,): of an arc, from the center to its middle, m, else 0
    across (3,): of a face, from its middle to that of a longer side, m; half x across points out
    beside: of a box's face, the ends of the side opposite to that of `ends`
    round: whether a face is a disc, with half and across as radii
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
    beside: tuple[str, str] = ("", "")
    round: bool = False

    def __post_init__(self) -> None:
        for name in ("middle", "half", "out", "across"):
            what = f"span {self.name!r}: {name}"
            array = frozen_array(getattr(self, name), (3,), what, self.name)
            object.__setattr__(self, name, array)

    @property
    def bent(self) -> bool:
        """Whether it is an arc."""
        return bool(np.any(self.out))

    @property
    def wide(self) -> bool:
        """Whether it is a face."""
        return bool(np.any(self.across))


def arcs(spans: Collection[Span]) -> bool:
    """Whether any of them is an arc."""
    return any(span.bent for span in spans)


def faces(spans: Collection[Span]) -> bool:
    """Whether any of them is a face."""
    return any(span.wide for span in spans)


def spans(mechanism: Mechanism, touching: Collection[str]) -> tuple[Span, ...]:
    """All of those edges whose candidates are both named, of a long one an odd number, so that one
    span holds its middle; ARCS of every rim whose first candidate is named: NAME+1, ...; and what
    is flat and not narrow: faces of boxes whose corners are all named, after two opposite ones, and
    ends of cylinders, NAME+FLAT.
    """
    own = {c.name: c for c in mechanism.candidates if c.name in touching}
    # straight ones
    found = []
    for ends in mechanism.edges:
        if not own.keys() >= set(ends):
            continue
        first, second = own[ends[0]], own[ends[1]]
        along = second.position - first.position
        count = int(np.ceil(np.linalg.norm(along) / LONGEST)) // 2 * 2 + 1
        for k in range(count):
            name = "-".join(ends) + (f"_{k}" if count > 1 else "")
            middle, half = first.position + (k + 0.5) / count * along, along / (2 * count)
            radius = first.radius + (first.outline.size if first.outline else 0.0)
            part = k / count, (k + 1) / count
            own_part = Span(name, first.body, middle, half, radius, first.friction, ends, part)
            found.append(own_part)
    # flat ones, and arcs
    rims = [c for c in own.values() if c.outline and c.outline.first and not c.outline.solid]
    flat = [(own[a], own[b]) for a, b in mechanism.edges if own.keys() >= {a, b}]
    found += [end for rims_of in flat if rims_of[0].outline for end in _ends(*rims_of)]
    found += [face for corners in _boxes(own, mechanism.edges) for face in _faces(corners)]
    return (*found, *(arc for rim in rims for arc in _arcs(rim)))


def _boxes(
    own: Mapping[str, Candidate], edges: Collection[tuple[str, str]]
) -> list[dict[tuple[int, ...], Candidate]]:
    """The corners of every box, by their signs along its axes, the longest of them first."""
    # eight that edges join
    joined: dict[str, tuple[str, ...]] = {}
    for ends in edges:
        if own.keys() >= set(ends):
            all_of = tuple(dict.fromkeys(n for end in ends for n in joined.get(end, (end,))))
            joined.update(dict.fromkeys(all_of, all_of))
    found = []
    for names in dict.fromkeys(joined.values()):
        if len(names) != CORNERS:
            continue
        first, corners = names[0], [own[name] for name in names]
        beside = [own[a if b == first else b] for a, b in edges if first in (a, b)]
        axes = [c.position - own[first].position for c in beside]
        axes.sort(key=lambda axis: -float(np.linalg.norm(axis)))
        middle = np.mean([c.position for c in corners], axis=0)
        signs = np.sign([[np.dot(c.position - middle, axis) for axis in axes] for c in corners])
        rows = (tuple(row) for row in signs.astype(int).tolist())
        found.append(dict(zip(rows, corners, strict=True)))
    return found


def _faces(corners: Mapping[tuple[int, ...], Candidate]) -> Iterator[Span]:
    """Of a box with these corners, those that are not narrow."""
    for normal, side in product(range(3), (-1, 1)):
        # its corners: the longer sides' ends, one side beside the other
        long, short = (axis for axis in range(3) if axis != normal)
        at: dict[tuple[int, int], Candidate] = {}
        for along, aside in product((-1, 1), repeat=2):
            signs = {long: along, short: aside, normal: side}
            at[along, aside] = corners[signs[0], signs[1], signs[2]]
        middle = np.mean([c.position for c in at.values()], axis=0)
        half = (at[1, 1].position - at[-1, 1].position) / 2
        across = (at[1, 1].position - at[1, -1].position) / 2
        out = middle - np.mean([c.position for c in corners.values()], axis=0)
        across = across * np.sign(np.dot(np.cross(half, across), out))
        if np.linalg.norm(across) < NARROW:
            continue
        ends, beside = ((at[-1, k].name, at[1, k].name) for k in (-1, 1))
        name, first = f"{ends[0]}-{beside[1]}", at[1, 1]
        yield Span(
            *(name, first.body, middle, half, 0.0, first.friction, ends, (0.0, 1.0)),
            across=across,
            beside=beside,
        )


def _ends(first: Candidate, second: Candidate) -> Iterator[Span]:
    """Of a cylinder with these rims, if they are not narrow."""
    for rim, other in ((first, second), (second, first)):
        assert rim.outline is not None
        axes = rim.outline.size * rim.outline.half_axes()[1]
        half, across = axes[:, 0], axes[:, 1]
        across = across * np.sign(np.dot(np.cross(half, across), rim.position - other.position))
        if rim.outline.size >= NARROW:
            name, ends = f"{rim.name}+{FLAT}", (rim.name, rim.name)
            numbers = rim.body, rim.position, half, 0.0, rim.friction, ends, (0.0, 1.0)
            yield Span(name, *numbers, across=across, round=True)


def _arcs(rim: Candidate) -> list[Span]:
    """Of a rim's first candidate."""
    assert rim.outline is not None
    across = rim.outline.size * rim.outline.half_axes()[1]
    found = []
    for k in range(ARCS):
        turn = 2 * np.pi * k / ARCS
        out, half = (
            np.cos(angle) * across[:, 0] + np.sin(angle) * across[:, 1]
            for angle in (turn, turn + np.pi / 2)
        )
        ends, part, name = (rim.name, rim.name), (0.0, 1.0), f"{rim.name}+{k + 1}"
        found.append(Span(name, rim.body, rim.position, half, 0.0, rim.friction, ends, part, out))
    return found
