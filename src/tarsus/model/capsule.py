"""Capsules fixed to bodies, and pairs of them that may touch each other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tarsus.errors import TarsusError
from tarsus.model.joint import Vector, frozen_array


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points nearer than `radius`, m, to a segment fixed to a body; a ball where half is zero.

    middle (3,), half (3,): the segment from middle - half to middle + half, in the body's frame, m
    friction: factor on the law's friction coefficients [1]
    bits: two touch if the first number of one and the second of the other share a bit (MJCF's
        contype and conaffinity)
    """

    name: str
    body: int
    middle: Vector
    half: Vector = field(default_factory=lambda: np.zeros(3))
    radius: float = 0.0
    friction: float = 1.0
    bits: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        for name in ("middle", "half"):
            array = frozen_array(getattr(self, name), (3,), f"capsule {self.name!r}: {name}")
            object.__setattr__(self, name, array)
        if not self.radius > 0:
            raise TarsusError(f"capsule {self.name!r}: the radius must be > 0, not {self.radius}.")

    @property
    def ball(self) -> bool:
        """Whether it is one."""
        return not self.half.any()

    @property
    def reach(self) -> float:
        """The radius of the ball around it, m."""
        return float(np.linalg.norm(self.half)) + self.radius


@dataclass(frozen=True)
class Pair:
    """Two capsules of different bodies that may touch; the second stands in for the ground."""

    first: Capsule
    second: Capsule

    @property
    def name(self) -> str:
        """FIRST:SECOND."""
        return f"{self.first.name}:{self.second.name}"

    @property
    def friction(self) -> float:
        """Factor on the law's friction coefficients [1]: the larger of both, as in MuJoCo."""
        return max(self.first.friction, self.second.friction)
