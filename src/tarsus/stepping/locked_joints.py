"""Joints within a step: locked at limits and by dry friction, or bounded as rows of their own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca
from casadi import SX

from tarsus.program.ir.symbolic import entries


@dataclass(frozen=True, eq=False)
class LockedJoints:
    """What acts in m joints within a step besides motors; those of the tree come first.

    Parameters
    ----------
    places : list of int
        Entries of u of the joints in the tree.
    weight : SX
        (m,): multiple of a joint's inertia that is added to it, so that it ends the step with
        `velocity`; 0 for a free joint.
    drag : SX
        (m,): inertia that is added in the same way, kg m^2 or kg.
    velocity : SX
        (m,): rate of a locked joint at the end of the step, rad/s or m/s.
    friction : SX
        (m,): impulse of dry friction on joints that slide, N m s or N s.
    limited : SX
        (m,): 1 where a limit locks the joint, else 0.
    rubbing : list of int
        Which of them have dry friction.
    loops : list
        Directions (nu,) of the joints that close loops.
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
        """The joints of the tree alone; None if there are none."""
        n = len(self.places)
        if not n:
            return None
        names = "weight", "drag", "velocity", "friction", "limited"
        own = {name: getattr(self, name)[:n] for name in names}
        return replace(self, loops=[], **own)


@dataclass(frozen=True, eq=False)
class BoundedJoints:
    """Joints as m rows of the contact problem (`ContactProblem.joints`); none of them is locked.

    Parameters
    ----------
    ways : list
        Directions (nu,) with rate = way . u.
    lower, upper : list of SX or None
        Least and greatest rates, rad/s or m/s; None: any.
    friction : list of SX
        Largest impulses of dry friction, N m s or N s.
    rubbing : list of int
        Which of them have dry friction.
    """

    ways: list[list[SX]]
    lower: list[SX | None]
    upper: list[SX | None]
    friction: list[SX]
    rubbing: list[int]

    def limits_and_friction(self, impulses: SX) -> SX:
        """Split impulses (m,) into those of limits (m,), then those of dry friction.

        The result is `StepOutputs.joints`.
        """
        rubbed = [
            ca.fmin(ca.fmax(own, -most), most)
            for own, most in zip(entries(impulses), self.friction, strict=True)
        ]
        return ca.vertcat(impulses - ca.vertcat(*rubbed), *(rubbed[k] for k in self.rubbing))
