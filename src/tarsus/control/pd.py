"""Joint servo: proportional-derivative with the desired rate fed forward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from tarsus.errors import InvalidValue, unknown_name
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import array

Gain = float | tuple[float, ...]  # or symbols (n,), where gains differ by world


def proportional_gain(default: float) -> Any:
    """The field `kp` of a gait: of its joint servos, one number or one for each motor."""
    return array(
        default, "N m/rad", "proportional gain of the joint servos, one or one a motor", "[0, 1e7]"
    )


def derivative_gain(default: float) -> Any:
    """The field `kd` of a gait: of its joint servos, one number or one for each motor."""
    return array(
        default, "N m s/rad", "derivative gain of the joint servos, one or one a motor", "[0, 1e7]"
    )


def pd_torque(
    desired: ca.SX,
    desired_rate: ca.SX,
    q: ca.SX,
    u: ca.SX,
    gains: tuple[Gain | ca.SX, Gain | ca.SX],
) -> ca.SX:
    """tau = kp (q_d - q) + kd (dq_d - u), N m; gains: kp N m/rad, kd N m s/rad; all vectors (n,).

    A gain is one number for all joints or n of them; InvalidValue for any other number of them.

    Teixeira de Paula 2024, Eqn. (44), which prints tau = kp (q - q_d) + kd dq: with that sign the
    error grows, so it is turned here; the desired rate is the feed-forward the paper's text speaks
    of.
    """
    kp, kd = (each(name, gain, q.numel()) for name, gain in zip(("kp", "kd"), gains, strict=True))
    return kp * (desired - q) + kd * (desired_rate - u)


def each(name: str, gain: Gain | ca.SX, motors: int) -> float | ca.SX:
    """Return a gait's numbers, one or one per motor (n,); InvalidValue for any other number."""
    if isinstance(gain, float | int | ca.SX):
        return gain
    if np.shape(gain) != (motors,):
        raise InvalidValue(
            f"{name} of the gait must be one number or {motors} numbers (one per motor), not"
            f" {np.size(gain)}.",
            name,
        )
    return ca.SX(ca.DM(gain))


def actuated(mechanism: Mechanism) -> tuple[list[int], list[int]]:
    """Where the actuated joints stand in q and in u, in the order of the actuators."""
    bodies = [mechanism.joint_index(actuator.joint) for actuator in mechanism.actuators]
    return [mechanism.q_slices[b].start for b in bodies], [
        mechanism.u_slices[b].start for b in bodies
    ]


def joint_state(mechanism: Mechanism, q: ca.SX, u: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Angles and rates (n_actuators,) of the actuated joints, in the order of the actuators."""
    in_q, in_u = actuated(mechanism)
    return ca.vec(q[in_q]), ca.vec(u[in_u])


def places(mechanism: Mechanism, joints: Sequence[str]) -> list[int]:
    """The numbers of the actuators that drive some joints; TarsusError for a joint without one."""
    driven = [actuator.joint for actuator in mechanism.actuators]
    for joint in joints:
        if joint not in driven:
            raise unknown_name("actuator on a joint", joint, driven)
    return [driven.index(joint) for joint in joints]


def actuated_posture(mechanism: Mechanism, coordinates: np.ndarray) -> ca.SX:
    """The actuated joints' part (n_actuators,) of coordinates (nq,), as constants."""
    return ca.SX(ca.DM(coordinates[actuated(mechanism)[0]]))
