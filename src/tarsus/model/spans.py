"""What lies between the ends of a capsule, the rims of a cylinder, the corners at an edge of a box,
and arcs of the rims: on uneven ground it touches, too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from tarsus.model.joint import Vector, frozen_array
from tarsus.model.mechanism import Candidate, Mechanism

LONGEST = 0.25  # m: of a span; what is longer is several
ARCS = 4  # of a rim


@dataclass(frozen=True, eq=False)
class Span:
    """A part of the segment between two candidates: of its points that where the ground is nearest
    may touch, if the ground is not nearest at an end.

    There the ground is parallel to the segment, so that a ball around the point touches where the
    mantle of a cylinder does, and sticks out of no flat end.

    Or an arc of a rim, if its own candidate does not touch at the same place.

    middle (3,), half (3,): the segment from middle - half to middle + half, body frame, m; of an
        arc the rim's center, and along the rim in the arc's middle, as long as the rim's radius
    radius: of the capsule or cylinder, m, 0 of an edge; friction: of `Candidate`
    ends, part: names of both candidates, of a rim's twice; where between them it begins and ends,
        0 to 1 [1]
    out (3,): of an arc, from the center to its middle, m, else 0
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

    def __post_init__(self) -> None:
        for name in ("middle", "half", "out"):
            array = frozen_array(getattr(self, name), (3,), f"span {self.name!r}: {name}")
            object.__setattr__(self, name, array)

    @property
    def bent(self) -> bool:
        """Whether it is an arc."""
        return bool(np.any(self.out))


def arcs(spans: Collection[Span]) -> bool:
    """Whether any of them is an arc."""
    return any(span.bent for span in spans)


def spans(mechanism: Mechanism, touching: Collection[str]) -> tuple[Span, ...]:
    """All of those edges whose candidates are both named, of a long one an odd number, so that one
    span holds its middle; and ARCS of every rim whose first candidate is named: NAME+1, ...
    """
    own = {c.name: c for c in mechanism.candidates if c.name in touching}
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
    rims = [c for c in own.values() if c.outline and c.outline.first and not c.outline.solid]
    return (*found, *(arc for rim in rims for arc in _arcs(rim)))


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
