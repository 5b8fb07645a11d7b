"""Capsules and boxes fixed to bodies, and pairs of them that may touch each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tarsus.errors import InvalidModel
from tarsus.model.joint import Vector, frozen_array

MEANT = 1 << 32  # bits of pairs that a file names: no filter keeps these apart
ENDS = 3  # contacts of a capsule and a box: the nearest point, the ends above its face
CORNERS = 12  # of two boxes: each edge of a face where it begins and ends, corners of the other's


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points nearer than `radius`, m, to a segment fixed to a body; a ball where half is zero.

    middle (3,), half (3,): the segment from middle - half to middle + half, in the body's frame, m
    friction: factor on the law's friction coefficients [1]
    bits: two touch if the first number of one and the second of the other share a bit (MJCF's
        contype and conaffinity); one of `MEANT` and above is of these two alone
    priority: of two whose friction differs that of the higher one counts, else the larger
    paired: such a factor of pairs that a file names, by their number: where both have it, it counts
    off: how far at most its surface is from that of the shape in whose place it stands, m
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
    off: float = 0.0

    def __post_init__(self) -> None:
        for name in ("middle", "half"):
            what = f"capsule {self.name!r}: {name}"
            array = frozen_array(getattr(self, name), (3,), what, self.name)
            object.__setattr__(self, name, array)
        if not self.radius > 0:
            raise InvalidModel(
                f"capsule {self.name!r}: the radius must be > 0, not {self.radius}.", self.name
            )

    @property
    def ball(self) -> bool:
        """Whether it is one."""
        return not self.half.any()

    @property
    def reach(self) -> float:
        """The radius of the ball around it, m."""
        return float(np.linalg.norm(self.half)) + self.radius


@dataclass(frozen=True, eq=False)
class Cuboid:
    """A box fixed to a body: its middle (3,), m, and rotation (3, 3) there, half edges (3,), m.

    friction, bits, priority, paired, off: of `Capsule`
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
    off: float = 0.0

    def __post_init__(self) -> None:
        for name, shape in {"middle": (3,), "half": (3,), "rotation": (3, 3)}.items():
            what = f"box {self.name!r}: {name}"
            array = frozen_array(getattr(self, name), shape, what, self.name)
            object.__setattr__(self, name, array)
        if not (self.half > 0).all():
            raise InvalidModel(
                f"box {self.name!r}: the half sizes must be > 0, not {self.half}.", self.name
            )

    @property
    def radius(self) -> float:
        """By which it is rounded, m: not at all."""
        return 0.0

    @property
    def reach(self) -> float:
        """The radius of the ball around it, m."""
        return float(np.linalg.norm(self.half))


Solid = Capsule | Cuboid


@dataclass(frozen=True)
class Pair:
    """One of the contacts that two solids of different bodies may have; the second stands in for
    the ground, in a mixed pair the box.

    row: which of them
    """

    first: Solid
    second: Solid
    row: int = 0

    @property
    def name(self) -> str:
        """FIRST:SECOND, and the contact's number if there may be several."""
        both = f"{self.first.name}:{self.second.name}"
        return f"{both}_{self.row}" if self.count > 1 else both

    @property
    def friction(self) -> float:
        """Factor on the law's friction coefficients [1]: that which a file gives the two, else that
        of the higher priority, else the larger of both, as in MuJoCo.
        """
        for number, factor in self.first.paired.items():
            if number in self.second.paired:
                return factor
        most = max((own.priority, own.friction) for own in (self.first, self.second))
        return most[1]

    @property
    def boxes(self) -> int:
        """How many of the two are boxes."""
        return isinstance(self.first, Cuboid) + isinstance(self.second, Cuboid)

    @property
    def count(self) -> int:
        """How many contacts they may have."""
        if self.boxes == 0 or (isinstance(self.first, Capsule) and self.first.ball):
            return 1
        return CORNERS if self.boxes == 2 else ENDS


def contacts_of(one: Solid, other: Solid) -> tuple[Pair, ...]:
    """All contacts that two solids may have."""
    box_first = isinstance(one, Cuboid) and isinstance(other, Capsule)
    first, second = (other, one) if box_first else (one, other)
    return tuple(Pair(first, second, row) for row in range(Pair(first, second).count))
