"""Where a robot's bodies are at given coordinates, for pictures."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]


class Places:
    """Poses of all bodies in the world; the last one, number -1, is the world itself."""

    def __init__(self, robot: Mechanism) -> None:
        at = SX.sym("q", robot.nq)
        kin = kinematics(robot, at)
        columns = [
            ca.horzcat(position, turn)
            for position, turn in zip(kin.world_position, kin.world_rotation, strict=True)
        ]
        self._function = ca.Function("poses", [at], [ca.horzcat(*columns)])
        self._size = robot.nq

    def __call__(self, q: Array) -> tuple[Array, Array]:
        """Positions (n, bodies + 1, 3), m, and rotations (n, bodies + 1, 3, 3) at q (n, nq)."""
        given = np.asarray(q, float).reshape(-1, self._size)
        found = np.array(self._function.map(len(given))(ca.DM(given.T)))
        poses = found.reshape(3, len(given), -1, 4).transpose(1, 2, 0, 3)
        world = np.broadcast_to(np.eye(3, 4, 1), (len(given), 1, 3, 4))
        poses = np.concatenate([poses, world], axis=1)
        return poses[..., 0], poses[..., 1:]


def quaternions(rotations: Array) -> Array:
    """Unit quaternions (..., 4), w first, of rotations (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    flat = rotations.reshape(-1, 3, 3)
    found = Rotation.from_matrix(flat).as_quat(scalar_first=True)
    return found.reshape(*rotations.shape[:-2], 4)
