"""Where a robot's bodies are at given coordinates, in numbers."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]


def poses(mechanism: Mechanism, q: Array) -> tuple[Array, Array]:
    """Positions (n, bodies + 1, 3), m, and rotations (n, bodies + 1, 3, 3) of all bodies in the
    world at q (n, nq); the last one, number WORLD, is the world itself.
    """
    given = np.asarray(q, float).reshape(-1, mechanism.nq)
    found = np.array(_poses(mechanism).map(len(given))(ca.DM(given.T)))
    columns = found.reshape(3, len(given), -1, 4).transpose(1, 2, 0, 3)
    world = np.broadcast_to(np.eye(3, 4, 1), (len(given), 1, 3, 4))
    columns = np.concatenate([columns, world], axis=1)
    return columns[..., 0], columns[..., 1:]


@lru_cache(maxsize=8)
def _poses(mechanism: Mechanism) -> ca.Function:
    """Found once for each robot object: pictures ask for every frame."""
    at = SX.sym("q", mechanism.nq)
    kin = kinematics(mechanism, at)
    columns = [
        ca.horzcat(position, turn)
        for position, turn in zip(kin.world_position, kin.world_rotation, strict=True)
    ]
    return ca.Function("poses", [at], [ca.horzcat(*columns)])
