"""Stand: hold the posture of the start by a joint servo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from tarsus.control.base import Controller
from tarsus.control.pd import Gain, actuated_posture, joint_state, pd_torque
from tarsus.model.mechanism import Mechanism
from tarsus.references.books import SICILIANO_2009
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Stand(Controller):
    """Hold `initial_coordinates`; kp: N m/rad, kd: N m s/rad (Teixeira de Paula 2024, Table I).

    Each is one number, or one an actuator.
    """

    citation: ClassVar[Citation] = (SICILIANO_2009.at("chapter 8"),)
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
