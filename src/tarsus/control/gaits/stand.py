"""Stand: hold the posture of the start by a joint servo."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from tarsus.control.base import Controller
from tarsus.control.pd import Gain, actuated_posture, joint_state, pd_torque
from tarsus.model.mechanism import Mechanism


@dataclass(frozen=True)
class Stand(Controller):
    """Hold `initial_coordinates`; kp: N m/rad, kd: N m s/rad (Teixeira de Paula 2024, Table I).

    Each is one number, or one an actuator.
    """

    kp: Gain = 40.0
    kd: Gain = 1.0

    def torque(
        self,
        mechanism: Mechanism,
        t: ca.SX,
        q: ca.SX,
        u: ca.SX,
        command: ca.SX,
        memory: ca.SX,
        dt: ca.SX,
    ) -> tuple[ca.SX, ca.SX]:
        """Torques (n_actuators,) N m; no memory."""
        desired = actuated_posture(mechanism, self.initial_coordinates(mechanism))
        angles, rates = joint_state(mechanism, q, u)
        return pd_torque(
            desired, ca.SX.zeros(desired.shape), angles, rates, (self.kp, self.kd)
        ), memory
