"""Temporary terrain: level ground 1 mm below zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX

from tarsus.terrain.base import Terrain

FRAME = SX(ca.DM([[0, 0, 1], [1, 0, 0], [0, 1, 0]]))


@dataclass(frozen=True)
class ThrowAway(Terrain):
    """Level ground at z = -1 mm."""

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        return point[2] + 0.001, FRAME
