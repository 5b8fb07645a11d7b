"""Grid positions of many robots, and the poses of their bodies from one compiled call.

A page of many robots cannot evaluate symbolic expressions in time.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds

Array = NDArray[Any]
ORIGIN, IDENTITY = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
MAX_OVERLAID = 8  # worlds that are overlaid and transparent; more stand on a grid and are solid
GRID_SPACING = 1.6  # between robots on a grid, in robot lengths


def grid_positions(count: int) -> Array:
    """Arrange robots on a square grid: positions (count, 3), in units of their spacing.

    The first stands at the origin, the others to its left (along y) and behind it, row by row.
    """
    row, column = np.divmod(np.arange(count), int(np.ceil(np.sqrt(count))))
    return np.column_stack([-row, column, 0 * row]).astype(float)


class BodyPoses:
    """Compiled poses of all bodies of a robot in many worlds."""

    def __init__(self, robot: Mechanism, worlds: int) -> None:
        b = Builder(f"{robot.name}_poses")
        frames = kinematics(robot, b.parameter("q", robot.nq))
        program = b.program(
            positions=ca.vertcat(*frames.world_position),
            quaternions=ca.vertcat(*(quaternion(rotation) for rotation in frames.world_rotation)),
        )
        self._worlds = Worlds(program, worlds)

    def at(self, q: Array) -> tuple[Array, Array]:
        """Compute the poses of the bodies at the coordinates q.

        Parameters
        ----------
        q
            Coordinates, shape (worlds, nq).

        Returns
        -------
        positions : array
            Shape (worlds, bodies + 1, 3), in m; the last one, number WORLD, is the world itself.
        quaternions : array
            Unit quaternions, w first, shape (worlds, bodies + 1, 4).
        """
        self._worlds.set("q", q)
        self._worlds.advance()
        poses = []
        for name, world in (("positions", ORIGIN), ("quaternions", IDENTITY)):
            bodies = self._worlds.get(name).reshape(len(q), -1, len(world))
            fixed = np.broadcast_to(world, (len(q), 1, len(world)))
            poses.append(np.concatenate([bodies, fixed], axis=1))
        return poses[0], poses[1]


def quaternion(R: SX) -> SX:
    """Convert a rotation matrix (3, 3) to a unit quaternion (4,), w first.

    The rotation matrix contains the products of the quaternion with each of its components, without
    a square root. The longest of these four vectors is normalized, which is accurate at any angle.
    """
    # 4 w q, 4 x q, 4 y q, 4 z q
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, xz, yz = R[1, 0] + R[0, 1], R[2, 0] + R[0, 2], R[2, 1] + R[1, 2]
    x, y, z = R[0, 0], R[1, 1], R[2, 2]
    best = ca.vertcat(1 + x + y + z, a, b, c)
    largest = best[0]
    for k, other in enumerate(
        (
            ca.vertcat(a, 1 + x - y - z, xy, xz),
            ca.vertcat(b, xy, 1 - x + y - z, yz),
            ca.vertcat(c, xz, yz, 1 - x - y + z),
        )
    ):
        size = other[k + 1]
        better = size > largest
        best, largest = ca.if_else(better, other, best), ca.if_else(better, size, largest)
    return best / ca.norm_2(best)
