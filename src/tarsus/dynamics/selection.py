"""Bodies that are known only as a step runs: poses, motions and Jacobians selected by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import casadi as ca
from casadi import SX

from tarsus.dynamics import rnea, tree
from tarsus.dynamics.kinematics import Kinematics
from tarsus.spatial.rotation import constant


@dataclass(frozen=True, eq=False)
class Selected:
    """One of some bodies, in world axes.

    number: the body's
    rotation (3, 3), origin (3,): its pose, m
    spin, turning (3,): angular velocity, rad/s, and acceleration at u' = 0, rad/s^2
    pull (3,): acceleration of its origin at u' = 0, m/s^2
    """

    number: SX
    rotation: SX
    origin: SX
    spin: SX
    turning: SX
    pull: SX

    def velocity_product(self, center: SX, arm: SX) -> SX:
        """dJ/dt u (3,), m/s^2, of the body's point at center + arm (3,), both from its origin; the
        center moves with the body, the arm stays as it is: as `rnea.velocity_products`.
        """
        return rnea.velocity_product((self.spin, self.turning, self.pull), center, arm)


class Selection:
    """Looks among some bodies, all of whose poses are known."""

    def __init__(self, kin: Kinematics, bodies: Sequence[int]) -> None:
        self.kin, self.bodies = kin, sorted(set(bodies))
        motions = rnea.world_motions(kin)
        self._of = {
            b: (kin.world_rotation[b], kin.world_position[b], *motions[b]) for b in self.bodies
        }

    def body(self, number: SX) -> Selected:
        """The body of that number; of another than these, the first of them."""
        first, *others = self.bodies
        parts = list(self._of[first])
        for b in others:
            parts = [
                ca.if_else(number == b, new, old)
                for new, old in zip(self._of[b], parts, strict=True)
            ]
        return Selected(number, *parts)

    def columns(self, body: Selected, point: SX) -> SX:
        """J (3, nu), dense: the world velocity of the body's material at a world point (3,)."""
        kin, found = self.kin, []
        for i, above in enumerate(kin.mechanism.bodies):
            # what the joint would do to every point, and whether it carries the body
            R, arm = kin.world_rotation[i], point - kin.world_position[i]
            kind = above.joint.kind
            if kind == "hinge":
                own = [ca.cross(ca.mtimes(R, constant(above.joint.axis)), arm)]
            elif kind == "slide":
                own = [ca.mtimes(R, constant(above.joint.axis))]
            else:
                own = [ca.cross(R[:, k], arm) for k in range(3)]
                own = [*(SX.eye(3)[:, k] for k in range(3)), *own] if kind == "free" else own
            carries = self._carries(i, body.number)
            found += own if carries.is_one() else [ca.if_else(carries, c, 0) for c in own]
        return ca.horzcat(*found)

    def _carries(self, joint: int, number: SX) -> SX:
        """1 where the body of that number hangs on the joint above body `joint`, else 0."""
        hanging = [joint in tree.path(self.kin.mechanism, b) for b in self.bodies]
        if all(hanging):
            return SX(1)
        # the bodies that hang on it stand in a row, as a rule, for a tree is depth-first
        flags, first = [], None
        for k, hangs in enumerate([*hanging, False]):
            if hangs and first is None:
                first = k
            elif not hangs and first is not None:
                low, high = self.bodies[first], self.bodies[k - 1]
                flags.append(
                    number == low if low == high else ca.logic_and(number >= low, number <= high)
                )
                first = None
        return reduce(ca.logic_or, flags, SX(0))
