"""Follow a velocity: forwards, sideways and turning, on legs that take turns by a clock."""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.tasks._gait import GaitTask


@dataclass(frozen=True, kw_only=True)
class Velocity(GaitTask):
    """Follow a commanded velocity of the base; a clock says which of two feet, or which diagonal
    of four, shall be on the ground. On two feet an action moves the joints of the legs alone.

    Commands:
    speed: m/s along the heading
    sideways: m/s to the left
    turn: rad/s to the left
    """
