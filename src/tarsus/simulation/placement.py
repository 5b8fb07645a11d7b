"""Put a floating robot on the ground before it starts: parallel to it, the lowest candidate just touching."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import symbols
from tarsus.dynamics import jacobian
from tarsus.dynamics.kinematics import kinematics
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene

Array = NDArray[np.float64]
TOUCHING = 1e-9  # m


def on_ground(scene: Scene, q: Array) -> Array:
    """Coordinates (nq,), or (worlds, nq) on terrain that differs by world; a robot with a fixed base stays."""
    mechanism, values = scene.mechanism, scene.terrain.parameters()
    if not mechanism.floating or not scene.candidates:
        return q
    coordinates = SX.sym("q", mechanism.nq)
    terrain = {name: SX.sym(name, value.shape[-1]) for name, value in values.items()}
    kin, gaps = kinematics(mechanism, coordinates), []
    for candidate in scene.candidates:
        centre = jacobian.position(kin, candidate.body, constant(candidate.position))
        gaps.append(scene.terrain.surface(centre, symbols(terrain))[0] - candidate.radius)
    _, frame = scene.terrain.surface(coordinates[:3], symbols(terrain))
    look = ca.Function("look", [coordinates, *terrain.values()], [ca.mmin(ca.vertcat(*gaps)), frame[0, :].T])

    worlds = max((value.shape[0] for value in values.values() if value.ndim > 1), default=0)
    placed = [
        _placed(look, q, [value[k] if value.ndim > 1 else value for value in values.values()])
        for k in range(max(worlds, 1))
    ]
    return np.stack(placed) if worlds else placed[0]


def _placed(look: ca.Function, q: Array, terrain: list[Array]) -> Array:
    placed = np.array(q, dtype=float)
    normal = np.asarray(look(placed, *terrain)[1]).ravel()
    placed[3:7] = _product(_from_vertical(normal), placed[3:7])
    for _ in range(50):
        gap = float(look(placed, *terrain)[0])
        if abs(gap) < TOUCHING:
            break
        placed[2] -= gap
    return placed


def _from_vertical(normal: Array) -> Array:
    """The unit quaternion (w, x, y, z) that turns z into `normal` (3,) the shortest way."""
    p = np.array([1 + normal[2], -normal[1], normal[0], 0.0])
    return p / np.linalg.norm(p)


def _product(a: Array, b: Array) -> Array:
    """Quaternion product: first b, then a."""
    w, v = a[0] * b[0] - a[1:] @ b[1:], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.array([w, *v])
