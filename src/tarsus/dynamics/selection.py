"""Bodies selected at run time by their index: pose, motion and Jacobian."""

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
class SelectedBody:
    """Pose and motion of a body whose index is an expression, in world axes.

    Attributes
    ----------
    index
        Index of the body.
    rotation, origin
        Pose, shapes (3, 3) and (3,), in m.
    omega
        Angular velocity (3,), in rad/s.
    alpha
        Angular acceleration (3,) at u' = 0, in rad/s^2.
    acceleration
        Acceleration (3,) of the origin at u' = 0, in m/s^2.
    """

    index: SX
    rotation: SX
    origin: SX
    omega: SX
    alpha: SX
    acceleration: SX

    def velocity_product(self, center: SX, arm: SX) -> SX:
        """Compute dJ/dt u (3,), in m/s^2, of the point at center + arm (3,), both from the origin.

        The center moves with the body; the arm stays fixed in the world (`rnea.velocity_products`).
        """
        return rnea.velocity_product((self.omega, self.alpha, self.acceleration), center, arm)


class BodySelection:
    """Selects among several bodies by index."""

    def __init__(self, kin: Kinematics, bodies: Sequence[int]) -> None:
        self.kin, self.bodies = kin, sorted(set(bodies))
        motions = rnea.world_motions(kin)
        self._of = {
            b: (kin.world_rotation[b], kin.world_position[b], *motions[b]) for b in self.bodies
        }

    def body(self, index: SX) -> SelectedBody:
        """Select the body with an index; the first body if no body has it."""
        first, *others = self.bodies
        values = list(self._of[first])
        for b in others:
            values = [
                ca.if_else(index == b, new, old)
                for new, old in zip(self._of[b], values, strict=True)
            ]
        return SelectedBody(index, *values)

    def columns(self, body: SelectedBody, point: SX) -> SX:
        """Compute J (3, nu), dense: J u is the velocity of the body at a world point (3,)."""
        kin, columns = self.kin, []
        for i, above in enumerate(kin.mechanism.bodies):
            # columns of the joint, where the joint is above the body
            R, arm = kin.world_rotation[i], point - kin.world_position[i]
            kind = above.joint.kind
            if kind == "hinge":
                columns_of_joint = [ca.cross(ca.mtimes(R, constant(above.joint.axis)), arm)]
            elif kind == "slide":
                columns_of_joint = [ca.mtimes(R, constant(above.joint.axis))]
            else:
                columns_of_joint = [ca.cross(R[:, k], arm) for k in range(3)]
                columns_of_joint = (
                    [*(SX.eye(3)[:, k] for k in range(3)), *columns_of_joint]
                    if kind == "free"
                    else columns_of_joint
                )
            carries = self._is_carried(i, body.index)
            columns += (
                columns_of_joint
                if carries.is_one()
                else [ca.if_else(carries, c, 0) for c in columns_of_joint]
            )
        return ca.horzcat(*columns)

    def _is_carried(self, joint: int, index: SX) -> SX:
        """Return 1 if body `joint` is the selected body or one of its ancestors, else 0."""
        descends = [joint in tree.support_path(self.kin.mechanism, b) for b in self.bodies]
        if all(descends):
            return SX(1)
        # indices of a subtree are contiguous, because a tree is stored depth-first
        flags, first = [], None
        for k, inside in enumerate([*descends, False]):
            if inside and first is None:
                first = k
            elif not inside and first is not None:
                low, high = self.bodies[first], self.bodies[k - 1]
                flags.append(
                    index == low if low == high else ca.logic_and(index >= low, index <= high)
                )
                first = None
        return reduce(ca.logic_or, flags, SX(0))
