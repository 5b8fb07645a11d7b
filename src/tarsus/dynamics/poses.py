"""Numeric poses of all bodies at given coordinates."""

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
    """Compute the poses of all bodies in the world.

    Parameters
    ----------
    mechanism
        Mechanism with `bodies`.
    q
        Coordinates, shape (n, nq) or (nq,).

    Returns
    -------
    positions : Array
        Origins in m, shape (n, bodies + 1, 3); the last one, index WORLD, is the world itself.
    rotations : Array
        Rotations from body to world, shape (n, bodies + 1, 3, 3).
    """
    states = np.asarray(q, float).reshape(-1, mechanism.nq)
    flat = np.array(_build_poses(mechanism).map(len(states))(ca.DM(states.T)))
    columns = flat.reshape(3, len(states), -1, 4).transpose(1, 2, 0, 3)
    world = np.broadcast_to(np.eye(3, 4, 1), (len(states), 1, 3, 4))
    columns = np.concatenate([columns, world], axis=1)
    return columns[..., 0], columns[..., 1:]


@lru_cache(maxsize=8)
def _build_poses(mechanism: Mechanism) -> ca.Function:
    """Build the function once per robot: pictures call it for every frame."""
    q = SX.sym("q", mechanism.nq)
    kin = kinematics(mechanism, q)
    columns = [
        ca.horzcat(position, rotation)
        for position, rotation in zip(kin.world_position, kin.world_rotation, strict=True)
    ]
    return ca.Function("poses", [q], [ca.horzcat(*columns)])
