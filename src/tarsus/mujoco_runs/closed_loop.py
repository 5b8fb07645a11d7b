"""Controllers of Tarsus as functions of time and state, for use in another simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.control import checked_outputs
from tarsus.control.base import ControlInputs, Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, Unsupported, unknown_name_error
from tarsus.simulation.setting_groups import SPEED, check_speed
from tarsus.simulation.step_program import limit_torques

Array = NDArray[np.float64]
Feedback = Callable[[float, Array, Array], ArrayLike]
INPUTS = ("t", "q", "u", "command", "memory", "dt")


class ClosedLoop:
    """Motor torques from a controller, whose memory is stored here.

    Parameters
    ----------
    robot
        Robot whose motors are driven and whose torque limits apply.
    controller
        A Controller, a function (t, q, u) that returns torques, or None for zero torques.
    dt
        Time between two calls, in s.
    """

    def __init__(self, robot: Robot, controller: Controller | Feedback | None, dt: float) -> None:
        self._robot, self.controller = robot, controller
        self._torque = np.zeros(len(robot.actuators))
        limits = [(actuator.lower, actuator.upper) for actuator in robot.actuators]
        self._limits = np.array(limits).reshape(-1, 2).T
        if isinstance(controller, Controller):
            self._compile(controller, dt)

    def _compile(self, controller: Controller, dt: float) -> None:
        """Compile the controller's expressions to a function that works on fixed buffers."""
        start = checked_outputs.call_initial_memory(controller, self._robot)
        values = (np.zeros(1), np.zeros(self._robot.nq), np.zeros(self._robot.nu))
        values += (checked_outputs.check_commands(controller), start, np.full(1, dt))
        self._inputs = dict(zip(INPUTS, (np.array(value, float) for value in values), strict=True))
        self._next, self._start = np.array(start), np.array(start)
        # one expression for torques and memory
        symbols = {name: SX.sym(name, value.size) for name, value in self._inputs.items()}
        torque, memory = checked_outputs.call_torque(
            controller, ControlInputs(self._robot, **symbols)
        )
        results = [ca.densify(limit_torques(self._robot, torque)), ca.densify(memory)]
        function: Any = ca.Function("control", list(symbols.values()), results, {"cse": True})
        self._buffer, self._evaluate = function.buffer()
        # bind inputs and outputs; an empty array has no address
        for k, value in enumerate(self._inputs.values()):
            if value.size:
                self._buffer.set_arg(k, value.data)
        for k, value in enumerate((self._torque, self._next)):
            if value.size:
                self._buffer.set_res(k, value.data)

    def reset(self) -> None:
        """Restore the controller's initial memory."""
        if isinstance(self.controller, Controller):
            self._inputs["memory"][:] = self._start

    def commands(self) -> dict[str, float]:
        """Return the current commands by name."""
        if not isinstance(self.controller, Controller):
            return {}
        return dict(zip(self.controller.commands, self._inputs["command"].tolist(), strict=True))

    def set_commands(self, command: Mapping[str, float]) -> None:
        """Set commands by name.

        Raises
        ------
        Unsupported
            If the controller takes no commands.
        UnknownName
            If a command is unknown; the message suggests similar names.
        InvalidValue
            If a value is not finite, or a speed is out of the gait's reach.
        """
        known = list(self.commands())
        if not known:
            raise Unsupported("this controller takes no commands.", next(iter(command), "command"))
        for name, value in command.items():
            if name not in known:
                raise unknown_name_error("command", name, known)
            if not np.isfinite(value):
                raise InvalidValue(f"the command {name!r} must be finite, not {value}.", name)
            if name == SPEED and isinstance(self.controller, Controller):
                check_speed(abs(value), self.controller.max_speed(self._robot))
            self._inputs["command"][known.index(name)] = value

    def __call__(self, t: float, q: Array, u: Array) -> Array:
        """Compute the torques (actuators,) in N m, clipped to the motors' limits.

        The next call overwrites the returned array.
        """
        if isinstance(self.controller, Controller):
            inputs = self._inputs
            inputs["t"][0], inputs["q"][:], inputs["u"][:] = t, q, u
            self._evaluate()
            inputs["memory"][:] = self._next
        elif self.controller is not None:
            torques = self._check_torques(self.controller(t, q, u))
            self._torque[:] = np.clip(torques, *self._limits)
        return self._torque

    def _check_torques(self, torques: Any) -> Array:
        """Convert what a Python function returned to torques, and check them."""
        value = np.asarray(torques, float)
        if value.shape != self._torque.shape or not np.isfinite(value).all():
            raise InvalidValue(
                f"the controller must return {self._torque.size} finite torques, not {torques!r}.",
                "controller",
            )
        return value
