"""Follow a velocity: forwards, sideways and turning, on four legs that trot by a clock."""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.tasks._trot import TrotTask


@dataclass(frozen=True, kw_only=True)
class Velocity(TrotTask):
    """Follow a commanded velocity of the base; a clock says which diagonal shall be on the ground.

    Commands:
    speed: m/s along the heading
    sideways: m/s to the left
    turn: rad/s to the left
    """
