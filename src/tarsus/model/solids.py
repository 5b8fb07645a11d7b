"""Capsules and boxes fixed to bodies, and pairs of them that may collide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tarsus.errors import InvalidModel
from tarsus.model.joint import Vector, freeze_array

FIRST_PAIR_BIT = 1 << 32  # of the bits of explicit pairs of a file, which no filter applies to
CAPSULE_BOX_CONTACTS = 3  # the closest point, and the ends above the box's face
BOX_BOX_CONTACTS = 12  # both ends of each edge of a face, and the corners of the other box's face


@dataclass(frozen=True, eq=False)
class Capsule:
    """Capsule fixed to a body: all points within `radius` of a segment.

    Attributes
    ----------
    name
        Unique among solids.
    body
        Number of the body.
    middle, half
        The segment runs from middle - half to middle + half, shape (3,) each, in the body's frame,
        in m. A zero `half` makes a ball.
    radius
        In m.
    friction
        Factor on the law's friction coefficients.
    bits
        Two solids may collide if the first number of one and the second of the other share a bit
        (MJCF's contype and conaffinity). Each bit from `FIRST_PAIR_BIT` on belongs to one pair.
    priority
        In a pair, the friction of the higher priority counts, or the larger one at equal priority.
    paired
        Friction factors of explicit pairs of the file, by pair number; they count in these pairs.
    max_deviation
        Largest distance of the surface from that of the shape it stands in for, in m.
    """

    name: str
    body: int
    middle: Vector
    half: Vector = field(default_factory=lambda: np.zeros(3))
    radius: float = 0.0
    friction: float = 1.0
    bits: tuple[int, int] = (1, 1)
    priority: int = 0
    paired: Mapping[int, float] = field(default_factory=dict)
    max_deviation: float = 0.0

    def __post_init__(self) -> None:
        for name in ("middle", "half"):
            what = f"capsule {self.name!r}: {name}"
            array = freeze_array(getattr(self, name), (3,), what, self.name)
            object.__setattr__(self, name, array)
        if not self.radius > 0:
            raise InvalidModel(
                f"capsule {self.name!r}: the radius must be > 0, not {self.radius}.", self.name
            )

    @property
    def ball(self) -> bool:
        """Whether the capsule is a ball."""
        return not self.half.any()

    @property
    def reach(self) -> float:
        """Radius of the ball around it, m."""
        return float(np.linalg.norm(self.half)) + self.radius


@dataclass(frozen=True, eq=False)
class Cuboid:
    """Box fixed to a body.

    Attributes
    ----------
    name, body
        As of `Capsule`.
    middle
        Center, shape (3,), in the body's frame, in m.
    half
        Half edges, shape (3,), in m.
    rotation
        From the box's axes to the body's, shape (3, 3).
    friction, bits, priority, paired, max_deviation
        As of `Capsule`.
    """

    name: str
    body: int
    middle: Vector
    half: Vector
    rotation: Vector = field(default_factory=lambda: np.eye(3))
    friction: float = 1.0
    bits: tuple[int, int] = (1, 1)
    priority: int = 0
    paired: Mapping[int, float] = field(default_factory=dict)
    max_deviation: float = 0.0

    def __post_init__(self) -> None:
        for name, shape in {"middle": (3,), "half": (3,), "rotation": (3, 3)}.items():
            what = f"box {self.name!r}: {name}"
            array = freeze_array(getattr(self, name), shape, what, self.name)
            object.__setattr__(self, name, array)
        if not (self.half > 0).all():
            raise InvalidModel(
                f"box {self.name!r}: the half sizes must be > 0, not {self.half}.", self.name
            )

    @property
    def radius(self) -> float:
        """Radius of the rounding of its edges: 0."""
        return 0.0

    @property
    def reach(self) -> float:
        """Radius of the ball around it, m."""
        return float(np.linalg.norm(self.half))


Solid = Capsule | Cuboid


@dataclass(frozen=True)
class Pair:
    """One of the contacts that two solids of different bodies may have.

    The second solid plays the part of the ground; in a mixed pair it is the box.

    Attributes
    ----------
    first, second
        The solids.
    row
        Number of the contact, from 0.
    """

    first: Solid
    second: Solid
    row: int = 0

    @property
    def name(self) -> str:
        """FIRST:SECOND, with the number of the contact if there may be several."""
        both = f"{self.first.name}:{self.second.name}"
        return f"{both}_{self.row}" if self.count > 1 else both

    @property
    def friction(self) -> float:
        """Factor on the law's friction coefficients, mixed as in MuJoCo.

        It is that of an explicit pair in the file, or that of the solid with the higher priority,
        or the larger of both.
        """
        for number, factor in self.first.paired.items():
            if number in self.second.paired:
                return factor
        return max((solid.priority, solid.friction) for solid in (self.first, self.second))[1]

    @property
    def boxes(self) -> int:
        """Number of boxes, 0 to 2."""
        return isinstance(self.first, Cuboid) + isinstance(self.second, Cuboid)

    @property
    def count(self) -> int:
        """Number of contacts that the two solids may have."""
        if self.boxes == 0 or (isinstance(self.first, Capsule) and self.first.ball):
            return 1
        return BOX_BOX_CONTACTS if self.boxes == 2 else CAPSULE_BOX_CONTACTS


def create_contacts(one: Solid, other: Solid) -> tuple[Pair, ...]:
    """Create all contacts that two solids may have."""
    box_first = isinstance(one, Cuboid) and isinstance(other, Capsule)
    first, second = (other, one) if box_first else (one, other)
    return tuple(Pair(first, second, row) for row in range(Pair(first, second).count))
