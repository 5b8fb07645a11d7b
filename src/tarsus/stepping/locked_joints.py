"""What holds joints within a step, as numbers of the step: at limits, and by dry friction; and what
bounds them where they are solved for together with the contacts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca
from casadi import SX

from tarsus.program.ir.symbolic import entries


@dataclass(frozen=True, eq=False)
class LockedJoints:
    """What acts in joints beside motors within a step (`stepping/joints.py`): m of them, those of
    the tree first.

    places: entries of u of those in the tree
    weight (m,): how often its inertia is added to a joint's, so that it ends the step with its
        `velocity` (m,), rad/s or m/s; 0: it is free
    drag (m,): inertia that is added so, kg m^2 or kg
    friction (m,): impulse of dry friction on those that slide, N m s or N s
    limited (m,): 1 where a limit holds the joint, 0 where it slides, is free, or friction holds it
    rubbing: which of them have dry friction
    loops: directions (nu,) of those that close loops
    """

    places: list[int]
    weight: SX
    drag: SX
    velocity: SX
    friction: SX
    limited: SX
    rubbing: list[int]
    loops: list[list[SX]] = field(default_factory=list)

    @property
    def in_tree(self) -> LockedJoints | None:
        """Those in the tree alone; None if there are none."""
        n = len(self.places)
        if not n:
            return None
        names = "weight", "drag", "velocity", "friction", "limited"
        own = {name: getattr(self, name)[:n] for name in names}
        return replace(self, loops=[], **own)


@dataclass(frozen=True, eq=False)
class BoundedJoints:
    """Joints that are rows of the contact problem (`ContactProblem.joints`), m of them, those of
    the tree first: none of them is held.

    ways: directions (nu,) with rate = way . u
    lower, upper: least and greatest rates, rad/s or m/s; None: any
    friction: largest impulses of dry friction, N m s or N s
    rubbing: which of them have dry friction
    """

    ways: list[list[SX]]
    lower: list[SX | None]
    upper: list[SX | None]
    friction: list[SX]
    rubbing: list[int]

    def limits_and_friction(self, impulses: SX) -> SX:
        """`StepOutputs.joints`: impulses of the limits (m,), then of dry friction in those that
        have it, from those of both (m,).
        """
        rubbed = [
            ca.fmin(ca.fmax(own, -most), most)
            for own, most in zip(entries(impulses), self.friction, strict=True)
        ]
        return ca.vertcat(impulses - ca.vertcat(*rubbed), *(rubbed[k] for k in self.rubbing))
