"""The segments and arcs on which a body touches uneven ground, in the world (`model.spans`)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.model.spans import ARCS

HALF_TURN = np.pi / ARCS  # rad: from an arc's middle to its ends
TINY = 1e-12  # m


@dataclass(frozen=True, eq=False)
class Curve:
    """A span in the world: middle (3,) and half (3,), m.

    out (3,): from a rim's center, its middle, to the middle of an arc, m, 0 of a segment; None
        where no span of the scene is an arc
    """

    middle: SX
    half: SX
    out: SX | None = None

    @property
    def bent(self) -> SX:
        """1 for an arc."""
        return SX(0) if self.out is None else ca.dot(self.out, self.out) > 0

    @property
    def length(self) -> SX:
        """From its middle to an end, m."""
        length = ca.sqrt(ca.dot(self.half, self.half) + TINY**2)
        return length if self.out is None else ca.if_else(self.bent, HALF_TURN, 1) * length

    def arm(self, place: SX | float) -> SX:
        """From `middle` to the point (3,) at a place from -1 to 1, m."""
        if self.out is None:
            return place * self.half
        angle = HALF_TURN * place
        return ca.if_else(self.bent, ca.sin(angle), place) * self.half + ca.cos(angle) * self.out

    def at(self, place: SX | float) -> SX:
        """The point (3,) at a place from -1 to 1."""
        return self.middle + self.arm(place)

    def way(self, place: SX | float) -> SX:
        """How the point moves with the place (3,), m."""
        if self.out is None:
            return self.half
        angle = HALF_TURN * place
        turned = HALF_TURN * (ca.cos(angle) * self.half - ca.sin(angle) * self.out)
        return ca.if_else(self.bent, turned, self.half)

    def lowest(self, normal: SX) -> SX:
        """From the center (3,), m, to the point of an arc's rim farthest against a normal (3,)."""
        assert self.out is not None
        out, ahead = ca.dot(normal, self.out), ca.dot(normal, self.half)
        return -(out * self.out + ahead * self.half) / ca.sqrt(out**2 + ahead**2 + TINY**2)

    def rising(self, place: SX, normal: SX) -> SX:
        """How much an arc bends away from ground with that normal (3,), 1/m: how fast the height
        above it grows faster.
        """
        if self.out is None:
            return SX(0)
        squared = ca.dot(self.out, self.out) + TINY**2
        return ca.if_else(self.bent, -ca.dot(normal, self.arm(place)) / squared, 0)
