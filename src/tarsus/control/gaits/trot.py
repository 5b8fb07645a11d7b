"""Trot: diagonal legs step together, driven by a pattern generator and Bezier foot paths.

Document 003, section 6.2: a central pattern generator drives the stance and swing curves of each
foot, closed-form inverse kinematics turns them into joint angles, a PD servo (kp = 40, kd = 1,
Table I) follows them. It is open loop: nothing but joint angles and rates is fed back.

Two things are ours. The paper keeps the abad joints at zero; here the feet are also placed sideways,
so that they move on circles about the body's centre when turning. And a loaded leg of so soft a servo
sags, which also pushes its foot forwards against the body and shortens the stride: Mini Cheetah told
to trot at 0.4 m/s makes 0.27 m/s (MuJoCo, friction 0.8). So each stance leg gets, besides the servo,
the joint torques that carry half the weight, rising and falling over the stance (`support`; zero is
the paper's law alone), which makes it 0.40 m/s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.control import bezier, cpg
from tarsus.control.base import Controller
from tarsus.control.legs import Leg, find_legs, foot_jacobian, leg_inverse_kinematics, leg_joint_rates
from tarsus.control.pd import actuated_posture, joint_state, pd_torque, places
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism


@dataclass(frozen=True)
class Trot(Controller):
    """An open-loop trot for four three-joint legs; the defaults are tuned on Mini Cheetah.

    frequency: steps of a leg per second, Hz; duty: part of a step in stance; step_height: m;
    body_height: m, of the base's origin above the ground (None: that of the posture "stand");
    support: torque fed forward in mid-stance, in parts of what carries half the weight statically;
    kp: N m/rad, kd: N m s/rad; coupling: of the oscillators, 1/s; ramp: s, time to full stride.
    commands: speed m/s forwards, turn rad/s to the left.
    """

    frequency: float = 2.5
    duty: float = 0.55
    step_height: float = 0.06
    body_height: float | None = None
    support: float = 1.4
    kp: float = 40.0
    kd: float = 1.0
    coupling: float = 10.0
    ramp: float = 1.0

    commands: ClassVar[Mapping[str, float]] = {"speed": 0.4, "turn": 0.0}

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """The phase of each leg's oscillator, turns: the gait's offsets."""
        return np.array(trot_offsets(find_legs(mechanism)))

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
        """Torques (n_actuators,) N m; memory: phases (4,), turns."""
        legs = find_legs(mechanism)
        turns = cpg.phase_rates(memory, trot_offsets(legs), self.frequency, self.coupling)
        ramp = ca.fmin(t / self.ramp, 1.0)
        weight = -mechanism.mass * mechanism.gravity_acceleration[2]
        desired = actuated_posture(mechanism, self.initial_coordinates(mechanism))
        desired_rate, carrying = ca.SX.zeros(desired.shape), ca.SX.zeros(desired.shape)
        for i, leg in enumerate(legs):
            path = bezier.foot_path(memory[i], self.duty)
            foot, velocity = self._foot(leg, path, turns[i], command, ramp)
            at = places(mechanism, leg.joints)
            carrying[at] = path.load * (self.support * carrying_torques(leg, weight / 2))
            desired[at] = leg_inverse_kinematics(leg, foot)
            desired_rate[at] = leg_joint_rates(leg, foot, velocity)
        angles, rates = joint_state(mechanism, q, u)
        tau = pd_torque(desired, desired_rate, angles, rates, (self.kp, self.kd))
        return tau + carrying, cpg.advance(memory, turns, dt)

    def _foot(self, leg: Leg, path: bezier.FootPath, turns: ca.SX, command: ca.SX, ramp: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Desired foot (3,) m and its velocity (3,) m/s in the hip frame; `ramp` held constant."""
        nominal = leg.standing_foot
        if self.body_height is not None:
            nominal[2] = leg.radius - self.body_height - leg.hip[2]
        x, y, _ = leg.hip + nominal
        speed, turn = command[0], command[1]
        held = ramp * (self.duty / self.frequency)  # s in stance
        stride = ca.vertcat((speed - turn * y) * held, turn * x * held)
        height = ramp * self.step_height
        foot = ca.vertcat(
            nominal[0] + stride[0] * path.x,
            nominal[1] + stride[1] * path.x,
            nominal[2] + height * path.z,
        )
        forward = path.dx * turns
        return foot, ca.vertcat(stride * forward, height * turns * path.dz)


def trot_offsets(legs: tuple[Leg, ...]) -> tuple[float, ...]:
    """Phase offset of each leg, turns: 0 for front left and hind right, 1/2 for the other diagonal."""
    if len(legs) != 4:
        raise TarsusError(f"a trot needs four legs, this robot has {len(legs)}.")
    middle = np.mean([leg.hip for leg in legs], axis=0)
    signs = [np.sign(leg.hip - middle) for leg in legs]
    return tuple(0.0 if x * y > 0 else 0.5 for x, y, _ in signs)


def carrying_torques(leg: Leg, load: float) -> NDArray[np.float64]:
    """Joint torques (3,) N m with which the standing leg carries a vertical load (N) on its foot."""
    return -foot_jacobian(leg, leg.posture).T @ np.array([0.0, 0.0, load])
