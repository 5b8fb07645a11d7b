"""The point where a robot may touch: gap, frame, material and Jacobian rows of one contact."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.dynamics import tree
from tarsus.model.mechanism import WORLD, Mechanism

OPEN_GAP = 1.0  # m: gap of an empty slot


@dataclass(frozen=True, eq=False)
class Attachment:
    """Attachment of a contact to the robot: velocity in the contact frame = rows times u.

    Contacts of one body may share the six rows of its twist: then their velocity is `arms` times
    the twist, and only the body's rows enter the mass matrix solve.

    Parameters
    ----------
    rows : list of list of SX
        Rows (3, nu) of the contact, or (6, nu) of the body's twist.
    body : int
        Number of the body whose twist it shares; -1 if the rows are its own.
    arms : SX or None
        (3, 6): contact velocity = arms times the body's twist.
    may_be_blocked : bool
        Whether the contact may be unable to move along its normal (`stepping/blocked.py`).
    """

    rows: list[list[SX]]
    body: int = -1
    arms: SX | None = None
    may_be_blocked: bool = False

    @classmethod
    def from_rows(cls, rows: SX, may_be_blocked: bool = False) -> Attachment:
        """Attach a contact by its own rows (3, nu)."""
        return cls([ca.horzsplit(rows[k, :]) for k in range(3)], may_be_blocked=may_be_blocked)

    @property
    def contact_rows(self) -> list[list[SX]]:
        """Rows (3, nu) with contact velocity = rows u, also where it shares a body's twist."""
        if self.arms is None:
            return self.rows
        rows = ca.mtimes(self.arms, ca.vertcat(*(ca.horzcat(*row) for row in self.rows)))
        return [[rows[k, j] for j in range(rows.shape[1])] for k in range(3)]


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """Point of a robot that may touch the ground or another body.

    Vectors in the contact frame are ordered normal, tangent 1, tangent 2.

    Parameters
    ----------
    gap : SX
        Distance to the ground, m; negative inside it.
    velocity, velocity_product : SX
        (3,), contact frame: velocity in m/s, and its rate at u' = 0 in m/s^2.
    point : SX
        Position (3,), world, m; for a pair, in the frame of its second body.
    frame : SX
        Contact frame (3, 3), rows normal, tangent 1, tangent 2, world axes.
    material : tuple of SX
        Factors on the law's friction coefficient and on its stiffness.
    radius : float or SX
        Radius of the ball that touches, m.
    rotation : SX
        Rotation (3, 3) of the body, from its frame to the world.
    attachment : Attachment
        Linear map from u to the contact velocity.
    arm : SX or None
        Vector (3,) from `tracked` to the contact point, m; None for a ball.
    tracked : SX or None
        Point (3,) of the body whose displacement measures sliding, m; None: `point`.
    max_gap : float, SX or None
        Gap, m, above which the contact opens even if it pressed in the last step; None: no limit.
    """

    gap: SX
    velocity: SX
    point: SX
    frame: SX
    material: tuple[SX, SX]
    radius: float | SX
    rotation: SX
    velocity_product: SX
    attachment: Attachment
    arm: SX | None = None
    tracked: SX | None = None
    max_gap: float | SX | None = None


def may_be_blocked(mechanism: Mechanism, body: int) -> bool:
    """Return whether contacts of a body with the ground may be unable to move along their normal.

    They may if the body hangs on no free joint, or if a constraint ties something to the world.
    """
    root = tree.support_path(mechanism, body)[-1]
    tied = any(WORLD in (loop.parent, loop.child) for loop in mechanism.loops)
    segments = [segment for tendon in mechanism.tendons for segment in tendon.segments]
    tied |= any(WORLD in (segment.start[0], segment.end[0]) for segment in segments)
    return tied or mechanism.bodies[root].joint.kind != "free"
