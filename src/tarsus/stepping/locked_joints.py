"""Joints within a step: locked at limits or by dry friction, or bounded by rows of their own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca
from casadi import SX

from tarsus.program.ir.symbolic import entries


@dataclass(frozen=True, eq=False)
class LockedJoints:
    """Inertia and impulses that lock or brake m joints in a step. Joints of the tree come first.

    Parameters
    ----------
    indices : list of int
        Entries of u of the joints in the tree.
    inertia_factor : SX
        Shape (m,): multiple of a joint's own inertia that is added to it, so that it ends the step
        with `velocity`; 0 for a free joint.
    added_inertia : SX
        Shape (m,): inertia that is added in the same way by dry friction, kg m^2 or kg.
    velocity : SX
        Shape (m,): rate of a locked joint at the end of the step, rad/s or m/s.
    friction : SX
        Shape (m,): impulse of dry friction on joints that slide, N m s or N s.
    at_limit : SX
        Shape (m,): 1 where a limit locks the joint, else 0.
    with_friction : list of int
        Indices, among the m joints, of those with dry friction.
    dependent_directions : list
        Directions (nu,) of the dependent coordinates.
    """

    indices: list[int]
    inertia_factor: SX
    added_inertia: SX
    velocity: SX
    friction: SX
    at_limit: SX
    with_friction: list[int]
    dependent_directions: list[list[SX]] = field(default_factory=list)

    @property
    def tree_joints(self) -> LockedJoints | None:
        """The joints of the tree; None if there are none."""
        n = len(self.indices)
        if not n:
            return None
        names = "inertia_factor", "added_inertia", "velocity", "friction", "at_limit"
        in_tree = {name: getattr(self, name)[:n] for name in names}
        return replace(self, dependent_directions=[], **in_tree)


@dataclass(frozen=True, eq=False)
class BoundedJoints:
    """Joints as m rows of the contact problem (`ContactProblem.joints`); none of them is locked.

    Parameters
    ----------
    directions : list
        Directions (nu,) with rate = direction . u.
    lower, upper : list of SX or None
        Least and greatest rates, rad/s or m/s; None if unbounded.
    friction : list of SX
        Largest impulses of dry friction, N m s or N s.
    with_friction : list of int
        Indices of the joints with dry friction.
    """

    directions: list[list[SX]]
    lower: list[SX | None]
    upper: list[SX | None]
    friction: list[SX]
    with_friction: list[int]

    def limits_and_friction(self, impulses: SX) -> SX:
        """Split impulses (m,) into those of limits (m,), followed by those of dry friction.

        The result is `StepOutputs.joints`.
        """
        friction = [
            ca.fmin(ca.fmax(impulse, -limit), limit)
            for impulse, limit in zip(entries(impulses), self.friction, strict=True)
        ]
        limits = impulses - ca.vertcat(*friction)
        return ca.vertcat(limits, *(friction[k] for k in self.with_friction))
