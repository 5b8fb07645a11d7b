"""Joint servos: proportional-derivative control with feedforward of the desired rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import array

Gain = float | tuple[float, ...]  # or symbols, shape (n,), where gains differ between worlds


def proportional_gain(default: float) -> Any:
    """Declare the field `kp` of a gait: one gain for all joint servos, or one per motor."""
    return array(
        default,
        "N m/rad",
        "proportional gain of the joint servos, one or one per motor",
        "[0, 1e7]",
    )


def derivative_gain(default: float) -> Any:
    """Declare the field `kd` of a gait: one gain for all joint servos, or one per motor."""
    return array(
        default,
        "N m s/rad",
        "derivative gain of the joint servos, one or one per motor",
        "[0, 1e7]",
    )


def pd_torque(
    desired: ca.SX,
    desired_rate: ca.SX,
    q: ca.SX,
    u: ca.SX,
    gains: tuple[Gain | ca.SX, Gain | ca.SX],
) -> ca.SX:
    """Compute the PD torque tau = kp (q_d - q) + kd (dq_d - u), in N m.

    Teixeira de Paula 2024, Eqn. (44), prints tau = kp (q - q_d) + kd dq. With that sign the error
    grows, so the sign is reversed here. The desired rate is the feedforward that the text of the
    paper mentions.

    Parameters
    ----------
    desired, desired_rate
        Desired angles and rates, shape (n,), in rad and rad/s.
    q, u
        Measured angles and rates, shape (n,).
    gains
        kp in N m/rad and kd in N m s/rad, each one number for all joints or n numbers.

    Raises
    ------
    InvalidValue
        If a gain is neither one number nor n numbers.
    """
    kp, kd = (
        per_motor(name, gain, q.numel()) for name, gain in zip(("kp", "kd"), gains, strict=True)
    )
    return kp * (desired - q) + kd * (desired_rate - u)


def per_motor(name: str, gain: Gain | ca.SX, motors: int) -> float | ca.SX:
    """Expand a gait's numbers, one or one per motor, to shape (motors,).

    Raises
    ------
    InvalidValue
        For any other number of values.
    """
    if isinstance(gain, float | int | ca.SX):
        return gain
    if np.shape(gain) != (motors,):
        raise InvalidValue(
            f"{name} of the gait must be one number or {motors} numbers (one per motor), not"
            f" {np.size(gain)}.",
            name,
        )
    return ca.SX(ca.DM(gain))


def actuated_indices(mechanism: Mechanism) -> tuple[list[int], list[int]]:
    """Return the indices of the actuated joints in q and in u, in the order of the actuators."""
    bodies = [mechanism.joint_index(actuator.joint) for actuator in mechanism.actuators]
    return [mechanism.q_slices[b].start for b in bodies], [
        mechanism.u_slices[b].start for b in bodies
    ]


def joint_state(mechanism: Mechanism, q: ca.SX, u: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the angles and rates of the actuated joints, in the order of the actuators."""
    q_indices, u_indices = actuated_indices(mechanism)
    return ca.vec(q[q_indices]), ca.vec(u[u_indices])


def actuator_indices(mechanism: Mechanism, joints: Sequence[str]) -> list[int]:
    """Return the indices of the actuators that drive these joints.

    Raises
    ------
    UnknownName
        For a joint without an actuator.
    """
    driven = [actuator.joint for actuator in mechanism.actuators]
    for joint in joints:
        if joint not in driven:
            raise unknown_name_error("actuator on a joint", joint, driven)
    return [driven.index(joint) for joint in joints]


def actuated_posture(mechanism: Mechanism, coordinates: np.ndarray) -> ca.SX:
    """Return the actuated joints' part of coordinates, shape (nq,), as constants (n_actuators,)."""
    return ca.SX(ca.DM(coordinates[actuated_indices(mechanism)[0]]))
