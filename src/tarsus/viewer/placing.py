"""Where many robots stand on a page, and where their bodies are, by one native call: a page cannot
wait for symbols.
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
NOWHERE, UNTURNED = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
ALIKE = 8  # so many worlds are ghosts in one place; more stand apart, as solid as the first
APART = 1.6  # of a robot's length: how far apart they stand


def square(count: int) -> Array:
    """Where so many robots stand (count, 3), in units of their distance: the first at the origin,
    the others beside it (along y) and behind it, row by row.
    """
    row, column = np.divmod(np.arange(count), int(np.ceil(np.sqrt(count))))
    return np.column_stack([-row, column, 0 * row]).astype(float)


class Placing:
    """Places and turns of all bodies of a robot in so many worlds."""

    def __init__(self, robot: Mechanism, worlds: int) -> None:
        b = Builder(f"{robot.name}_places")
        seen = kinematics(robot, b.parameter("q", robot.nq))
        program = b.program(
            place=ca.vertcat(*seen.world_position),
            turn=ca.vertcat(*(quaternion(turn) for turn in seen.world_rotation)),
        )
        self._worlds = Worlds(program, worlds)

    def at(self, q: Array) -> tuple[Array, Array]:
        """Positions (worlds, bodies + 1, 3), m, and unit quaternions (worlds, bodies + 1, 4), w
        first, at q (worlds, nq); the last one, number WORLD, is the world itself.
        """
        self._worlds.set("q", q)
        self._worlds.advance()
        found = []
        for name, still in (("place", NOWHERE), ("turn", UNTURNED)):
            moving = self._worlds.get(name).reshape(len(q), -1, len(still))
            world = np.broadcast_to(still, (len(q), 1, len(still)))
            found.append(np.concatenate([moving, world], axis=1))
        return found[0], found[1]


def quaternion(R: SX) -> SX:
    """The unit quaternion (4,), w first, of a rotation (3, 3).

    Of w, x, y and z times the quaternion, which the rotation holds without a root, the longest is
    taken: it is not lost in round-off whatever the angle.
    """
    # four times w q, x q, y q, z q
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
