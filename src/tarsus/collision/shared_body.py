"""Bodies with several contacts, which all move with the twist of their body.

Six rows per body replace three rows per contact in everything that grows with the robot: Jacobians,
solves with the mass matrix, velocity changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
from casadi import SX

from tarsus.algebra.products import dot
from tarsus.dynamics import rnea, tree
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.program.ir.symbolic import entries
from tarsus.spatial.rotation import constant, skew

MIN_CONTACTS = 3  # per body: fewer have no more rows than its twist


@dataclass(frozen=True, eq=False)
class SharedBody:
    """A body at an instant.

    Its twist consists of the velocity of its origin and its angular velocity, both in world axes.
    `number` is the index of the body.
    """

    kin: Kinematics
    number: int
    motion: tuple[SX, SX, SX]
    """Entry of the body in `rnea.world_motions`."""

    def position(self, point: SX) -> SX:
        """Compute the world position (3,), m, of a point (3,) in its frame."""
        return self.kin.world_position[self.number] + self._from_origin(point)

    @cached_property
    def rows(self) -> list[list[SX]]:
        """Rows (6, nu) with twist = rows u."""
        kin, columns = self.kin, [SX(6, 1)] * self.kin.mechanism.nu
        for i in tree.support_path(kin.mechanism, self.number):
            joint, first = kin.mechanism.bodies[i].joint, kin.mechanism.u_slices[i].start
            R = kin.world_rotation[i]
            arm = kin.world_position[self.number] - kin.world_position[i]
            if joint.kind == "slide":
                columns[first] = ca.vertcat(ca.mtimes(R, constant(joint.axis)), SX(3, 1))
                continue
            if joint.kind == "free":
                for k in range(3):
                    columns[first + k] = ca.vertcat(SX.eye(3)[:, k], SX(3, 1))
                first += 3
            hinge = joint.kind == "hinge"
            axes = [constant(joint.axis)] if hinge else [SX.eye(3)[:, k] for k in range(3)]
            for k, axis in enumerate(axes):
                turning = ca.mtimes(R, axis)
                columns[first + k] = ca.vertcat(ca.cross(turning, arm), turning)
        return [[column[k] for column in columns] for k in range(6)]

    @cached_property
    def twist(self) -> SX:
        """(6,), m/s and rad/s."""
        return ca.vertcat(*(dot(row, entries(self.kin.u)) for row in self.rows))

    def arms(self, center: SX, arm: SX, frame: SX) -> SX:
        """Build A (3, 6) such that a point moves with A times the twist, in a frame (3, 3).

        The point is at `center` (3,) in the body's frame and `arm` (3,) further in world axes.
        """
        return ca.horzcat(frame, -ca.mtimes(frame, skew(self._from_origin(center) + arm)))

    def velocity_product(self, center: SX, arm: SX) -> SX:
        """Compute dJ/dt u (3,), m/s^2, of that point, as `rnea.velocity_products` does."""
        return rnea.velocity_product(self.motion, self._from_origin(center), arm)

    def _from_origin(self, point: SX) -> SX:
        return ca.mtimes(self.kin.world_rotation[self.number], point)


def shared_bodies(kin: Kinematics, candidates: Sequence[Candidate]) -> dict[int, SharedBody]:
    """Collect the bodies with at least MIN_CONTACTS of the candidates, by number.

    There are none on a robot with closed loops or cut joints, whose constraints are solved contact
    by contact.
    """
    if kin.mechanism.loops:
        return {}
    counts = Counter(candidate.body for candidate in candidates)
    numbers = sorted(number for number, count in counts.items() if count >= MIN_CONTACTS)
    if not numbers:
        return {}
    motions = rnea.world_motions(kin)
    return {number: SharedBody(kin, number, motions[number]) for number in numbers}
