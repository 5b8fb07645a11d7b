"""Put a floating robot on the ground before it starts."""

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

TOUCHING = 1e-9  # m


def on_ground(scene: Scene, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """q (nq,) with the base moved vertically until the lowest candidate just touches; a fixed base stays."""
    mechanism = scene.mechanism
    values = scene.terrain.parameters()
    if not mechanism.floating or not scene.candidates or any(v.ndim > 1 for v in values.values()):
        return q
    height, kin = SX.sym("height"), kinematics(mechanism, SX(q))
    gaps = []
    for candidate in scene.candidates:
        centre = jacobian.position(kin, candidate.body, constant(candidate.position))
        distance, _ = scene.terrain.surface(
            centre + ca.vertcat(0, 0, height), symbols({k: SX(v) for k, v in values.items()})
        )
        gaps.append(distance - candidate.radius)
    lowest = ca.Function("lowest", [height], [ca.mmin(ca.vertcat(*gaps))])
    lift = 0.0
    for _ in range(20):
        gap = float(lowest(lift))
        if abs(gap) < TOUCHING:
            break
        lift -= gap
    placed = np.array(q, dtype=float)
    placed[2] += lift
    return placed
