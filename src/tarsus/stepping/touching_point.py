"""A point of a robot at the ground, or of a pair of solids, as the mechanics wing hands it over."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.stepping.coupling import Attached

OPEN_GAP = 1.0  # m: the gap of an empty slot


@dataclass(frozen=True, eq=False)
class TouchingPoint:
    """A point of a robot at the ground, as a contact will have it; the frame is the ground's.

    gap: m
    velocity (3,), velocity_product (3,): in the frame, m/s, m/s^2
    point (3,): world, m
    frame (3, 3): rows normal, tangent 1, tangent 2
    material: factors on friction, the ground's and the robot's, and on stiffness [1]
    radius, rotation (3, 3): of the ball that touches, m, and of its body
    arm (3,), told (3,): of `Roundness`
    away: of `Contact`
    attached: rows (3, nu) with velocity = rows u, sparse, or the body that it shares with others
    """

    gap: SX
    velocity: SX
    point: SX
    frame: SX
    material: tuple[SX, SX]
    radius: float | SX
    rotation: SX
    velocity_product: SX
    attached: Attached
    arm: SX | None = None
    told: SX | None = None
    away: float | SX | None = None

    @property
    def place(self) -> tuple[SX, SX, SX, SX]:
        """Gap, velocity, point and frame."""
        return self.gap, self.velocity, self.point, self.frame
