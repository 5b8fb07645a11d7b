"""A controller of ours as a function of time and state, for a simulator that is not ours."""

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
from tarsus.errors import InvalidValue, Unsupported, unknown_name
from tarsus.simulation.setting_groups import SPEED, check_speed
from tarsus.simulation.step_program import limit_torques

Array = NDArray[np.float64]
Feedback = Callable[[float, Array, Array], ArrayLike]
INPUTS = ("t", "q", "u", "command", "memory", "dt")


class ClosedLoop:
    """Torques from a Controller, which keeps its memory here, or from a function (t, q, u).

    robot: whose motors they drive, and whose torque limits hold
    dt: from one call to the next, s
    """

    def __init__(self, robot: Robot, controller: Controller | Feedback | None, dt: float) -> None:
        self._robot, self.controller = robot, controller
        self._torque = np.zeros(len(robot.actuators))
        limits = [(actuator.lower, actuator.upper) for actuator in robot.actuators]
        self._limits = np.array(limits).reshape(-1, 2).T
        if isinstance(controller, Controller):
            self._compile(controller, dt)

    def _compile(self, controller: Controller, dt: float) -> None:
        """The controller's expressions as a function on arrays that stay where they are."""
        start = checked_outputs.memory(controller, self._robot)
        values = (np.zeros(1), np.zeros(self._robot.nq), np.zeros(self._robot.nu))
        values += (checked_outputs.commands(controller), start, np.full(1, dt))
        self._inputs = dict(zip(INPUTS, (np.array(value, float) for value in values), strict=True))
        self._next, self._start = np.array(start), np.array(start)
        # one expression for torques and memory
        symbols = {name: SX.sym(name, value.size) for name, value in self._inputs.items()}
        torque, memory = checked_outputs.torque(controller, ControlInputs(self._robot, **symbols))
        results = [ca.densify(limit_torques(self._robot, torque)), ca.densify(memory)]
        function: Any = ca.Function("control", list(symbols.values()), results, {"cse": True})
        self._buffer, self._evaluate = function.buffer()
        # where it reads and writes; an empty array has no place
        for k, value in enumerate(self._inputs.values()):
            if value.size:
                self._buffer.set_arg(k, value.data)
        for k, value in enumerate((self._torque, self._next)):
            if value.size:
                self._buffer.set_res(k, value.data)

    def reset(self) -> None:
        """Forget all: the memory is again that of the start."""
        if isinstance(self.controller, Controller):
            self._inputs["memory"][:] = self._start

    def told(self) -> dict[str, float]:
        """The commands by name."""
        if not isinstance(self.controller, Controller):
            return {}
        return dict(zip(self.controller.commands, self._inputs["command"].tolist(), strict=True))

    def tell(self, command: Mapping[str, float]) -> None:
        """Set the commands named; TarsusError with near names for an unknown one."""
        known = list(self.told())
        if not known:
            raise Unsupported("this controller takes no commands.", next(iter(command), "command"))
        for name, value in command.items():
            if name not in known:
                raise unknown_name("command", name, known)
            if not np.isfinite(value):
                raise InvalidValue(f"the command {name!r} must be finite, not {value}.", name)
            if name == SPEED and isinstance(self.controller, Controller):
                check_speed(abs(value), self.controller.max_speed(self._robot))
            self._inputs["command"][known.index(name)] = value

    def __call__(self, t: float, q: Array, u: Array) -> Array:
        """Torques (actuators,), N m, within the motors' limits; in place until the next call."""
        if isinstance(self.controller, Controller):
            given = self._inputs
            given["t"][0], given["q"][:], given["u"][:] = t, q, u
            self._evaluate()
            given["memory"][:] = self._next
        elif self.controller is not None:
            self._torque[:] = np.clip(self._answer(self.controller(t, q, u)), *self._limits)
        return self._torque

    def _answer(self, torques: Any) -> Array:
        """A function's answer, checked."""
        value = np.asarray(torques, float)
        if value.shape != self._torque.shape or not np.isfinite(value).all():
            raise InvalidValue(
                f"the controller must return {self._torque.size} finite torques, not {torques!r}.",
                "controller",
            )
        return value
