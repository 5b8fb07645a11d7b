"""What lies between the ends of a capsule, the rims of a cylinder, the corners at an edge of a box:
on uneven ground it touches, too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from tarsus.model.joint import Vector, frozen_array
from tarsus.model.mechanism import Mechanism

LONGEST = 0.25  # m: of a span; what is longer is several


@dataclass(frozen=True, eq=False)
class Span:
    """A part of the segment between two candidates: of its points that where the ground is nearest
    may touch, if the ground is not nearest at an end.

    There the ground is parallel to the segment, so that a ball around the point touches where the
    mantle of a cylinder does, and sticks out of no flat end.

    middle (3,), half (3,): the segment from middle - half to middle + half, body frame, m
    radius: of the capsule or cylinder, m, 0 of an edge; friction: of `Candidate`
    ends, part: names of both candidates; where between them it begins and ends, 0 to 1 [1]
    """

    name: str
    body: int
    middle: Vector
    half: Vector
    radius: float
    friction: float
    ends: tuple[str, str]
    part: tuple[float, float]

    def __post_init__(self) -> None:
        for name in ("middle", "half"):
            array = frozen_array(getattr(self, name), (3,), f"span {self.name!r}: {name}")
            object.__setattr__(self, name, array)


def spans(mechanism: Mechanism, touching: Collection[str]) -> tuple[Span, ...]:
    """All of those edges whose candidates are both named; of a long one an odd number, so that one
    span holds its middle.
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
    return tuple(found)
