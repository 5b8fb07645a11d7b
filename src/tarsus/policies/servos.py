"""The servos that carry out a policy's actions: torques from targets, computed at every step.

As on most robots the torque is held over a step: tau = kp (target - q) - kd u within the motor's
limits.
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
GAIN_COMMAND = "gains"  # the command that scales stiffness and damping


@dataclass(frozen=True)
class Servo:
    """What one motor does with its signal.

    Parameters
    ----------
    joint : str
        That it moves.
    kind : str
        Whether the signal is a position, rad, a velocity, rad/s, or a torque, N m.
    kp, kd : float
        Stiffness, N m/rad, and damping, N m s/rad.
    lower, upper : float
        Of the torque, N m.
    min_signal, max_signal : float
        Of the signal.
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
    """One servo for each motor of the robot; their signals are its commands, by joint."""

    servos: tuple[Servo, ...] = component((), "one for each motor")
    start: tuple[float, ...] = component((), "coordinates to start from (nq,)")

    @property
    def commands(self) -> Mapping[str, float]:  # type: ignore[override]
        """The signals, and the factor on all gains."""
        return {servo.joint: 0.0 for servo in self.servos} | {GAIN_COMMAND: 1.0}

    def initial_coordinates(self, mechanism: Mechanism) -> Array:
        """Coordinates (nq,) of the policy's start."""
        return np.array(self.start, float)

    def torque(self, now: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Torques (n,), N m, as `torques` computes them."""
        mechanism, torques = now.mechanism, []
        for k, servo in enumerate(self.servos):
            i = mechanism.joint_index(servo.joint)
            q, u = now.q[mechanism.q_slices[i].start], now.u[mechanism.u_slices[i].start]
            signal = ca.fmin(ca.fmax(now.command[k], servo.min_signal), servo.max_signal)
            if servo.kind == "torque":
                torque = signal
            elif servo.kind == "velocity":
                torque = now.command[-1] * servo.kd * (signal - u)
            else:
                torque = now.command[-1] * (servo.kp * (signal - q) - servo.kd * u)
            torques.append(ca.fmin(ca.fmax(torque, servo.min_torque), servo.max_torque))
        return ca.vertcat(*torques), now.memory


@dataclass(frozen=True, eq=False)
class ServoArrays:
    """The same servos on arrays, for simulators that are not ours."""

    kp: Array
    kd: Array
    is_torque: NDArray[np.bool_]
    is_velocity: NDArray[np.bool_]
    signal_limits: Array
    torque_limits: Array

    @staticmethod
    def of(servos: tuple[Servo, ...]) -> ServoArrays:
        """Gather the numbers of all servos."""
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
        """Return the torques that the signals demand, N m, before the motors' limits.

        Parameters
        ----------
        signal, q, u : ndarray
            Signals, positions and velocities of the motors, shape (..., n).
        gains : float or ndarray
            Factor on stiffness and damping: a number, or shape (..., 1).
        """
        signal = np.clip(signal, *self.signal_limits)
        servo = np.where(self.is_velocity, self.kd * signal, self.kp * (signal - q)) - self.kd * u
        return np.where(self.is_torque, signal, gains * servo)

    def torques(self, signal: Array, q: Array, u: Array, gains: float | Array = 1.0) -> Array:
        """Return the torques of the motors, N m; the arguments are those of `demanded_torques`."""
        return np.clip(self.demanded_torques(signal, q, u, gains), *self.torque_limits)
