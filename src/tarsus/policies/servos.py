"""Joint servos that turn a policy's signals into motor torques at every simulation step.

As on most robots, the torque is constant over a step: tau = kp (target - q) - kd u, clipped to the
motor's limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.control.base import ControlInputs, Controller
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import component

Array = NDArray[np.float64]
GAIN_COMMAND = "gains"  # name of the command that scales stiffness and damping


@dataclass(frozen=True)
class Servo:
    """Servo of one motor: signal type, gains and limits.

    Parameters
    ----------
    joint : str
        Name of the joint that the motor drives.
    kind : str
        Type of the signal: "position" (rad), "velocity" (rad/s) or "torque" (N m).
    kp, kd : float
        Stiffness, N m/rad, and damping, N m s/rad.
    min_torque, max_torque : float
        Limits of the torque, N m.
    min_signal, max_signal : float
        Limits of the signal, in its unit.
    """

    joint: str
    kind: str
    kp: float
    kd: float
    min_torque: float = -np.inf
    max_torque: float = np.inf
    min_signal: float = -np.inf
    max_signal: float = np.inf


@dataclass(frozen=True, eq=False)
class PolicyServos(Controller):
    """Controller with one servo per motor; its commands are the signals, by joint."""

    servos: tuple[Servo, ...] = component((), "servo of each motor")
    start: tuple[float, ...] = component((), "initial coordinates (nq,)")

    @property
    def commands(self) -> Mapping[str, float]:  # type: ignore[override]
        """Default signal of each joint, and the factor on all gains."""
        return {servo.joint: 0.0 for servo in self.servos} | {GAIN_COMMAND: 1.0}

    def initial_coordinates(self, mechanism: Mechanism) -> Array:
        """Return the coordinates from which the policy starts, shape (nq,)."""
        return np.array(self.start, float)

    def torque(self, inputs: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Return the torques of the motors, shape (n,), in N m."""
        mechanism, torques = inputs.mechanism, []
        for k, servo in enumerate(self.servos):
            i = mechanism.joint_index(servo.joint)
            q, u = inputs.q[mechanism.q_slices[i].start], inputs.u[mechanism.u_slices[i].start]
            signal = ca.fmin(ca.fmax(inputs.command[k], servo.min_signal), servo.max_signal)
            if servo.kind == "torque":
                torque = signal
            elif servo.kind == "velocity":
                torque = inputs.command[-1] * servo.kd * (signal - u)
            else:
                torque = inputs.command[-1] * (servo.kp * (signal - q) - servo.kd * u)
            torques.append(ca.fmin(ca.fmax(torque, servo.min_torque), servo.max_torque))
        return ca.vertcat(*torques), inputs.memory


@dataclass(frozen=True, eq=False)
class ServoArrays:
    """Servos as NumPy arrays, for engines that take torques from Python.

    Attributes
    ----------
    kp, kd : ndarray
        Stiffness, N m/rad, and damping, N m s/rad, shape (n,).
    is_torque, is_velocity : ndarray
        Masks of the motors with torque and velocity signals, shape (n,).
    signal_limits, torque_limits : ndarray
        Lower and upper limits, shape (2, n).
    """

    kp: Array
    kd: Array
    is_torque: NDArray[np.bool_]
    is_velocity: NDArray[np.bool_]
    signal_limits: Array
    torque_limits: Array

    @staticmethod
    def from_servos(servos: tuple[Servo, ...]) -> ServoArrays:
        """Collect gains and limits of all servos."""
        kinds = np.array([servo.kind for servo in servos])
        return ServoArrays(
            np.array([servo.kp for servo in servos]),
            np.array([servo.kd for servo in servos]),
            kinds == "torque",
            kinds == "velocity",
            np.array([(servo.min_signal, servo.max_signal) for servo in servos]).T,
            np.array([(servo.min_torque, servo.max_torque) for servo in servos]).T,
        )

    def demanded_torques(
        self, signal: Array, q: Array, u: Array, gains: float | Array = 1.0
    ) -> Array:
        """Return the torques that the signals demand, N m, before clipping to the motors' limits.

        Parameters
        ----------
        signal, q, u : ndarray
            Signals, positions and velocities of the motors, shape (..., n).
        gains : float or ndarray
            Factor on stiffness and damping: a number, or an array of shape (..., 1).
        """
        signal = np.clip(signal, *self.signal_limits)
        servo = np.where(self.is_velocity, self.kd * signal, self.kp * (signal - q)) - self.kd * u
        return np.where(self.is_torque, signal, gains * servo)

    def torques(self, signal: Array, q: Array, u: Array, gains: float | Array = 1.0) -> Array:
        """Return the torques of the motors, N m; parameters as in `demanded_torques`."""
        return np.clip(self.demanded_torques(signal, q, u, gains), *self.torque_limits)
