"""The base class of controllers: torques from time, state, commands and their own memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.errors import Unsupported
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import check, name_of
from tarsus.references.reference import Citation


@dataclass(frozen=True, eq=False)
class ControlInputs:
    """The inputs of a controller at the start of a step, as symbols.

    mechanism: the robot
    t: s
    q: coordinates (nq,)
    u: velocities (nu,)
    command: (len(commands),), in the order of the controller's `commands`
    memory: (m,), the controller's
    dt: the step that the memory is advanced by, s
    """

    mechanism: Mechanism
    t: ca.SX
    q: ca.SX
    u: ca.SX
    command: ca.SX
    memory: ca.SX
    dt: ca.SX


class Controller(ABC):
    """A control law as CasADi expressions; implementations are frozen dataclasses.

    To add a gait:

    1. Make a file in ``tarsus/control/gaits``; its name is the gait's name.
    2. Write one frozen dataclass in it that inherits from `Controller`; its fields are the
       constants that a user may change with ``dataclasses.replace`` (gains, frequency, step height,
       ...), each declared in one line (`tarsus.parameters`).
    3. Name the inputs that may differ from world to world and change while running in `commands`
       (name: default, SI units). Everything else is a constant and costs nothing at run time.
    4. If it remembers something (phases, an integral), give its start in `initial_memory`; there is
       no other state: a controller is a pure function.
    5. Write `torque`, symbolically: no Python branch on a symbol (use ``ca.if_else``), no loop over
       time. The result is compiled into the simulation step, so count trigonometric calls.
       ``morphology.legs`` finds the legs of a robot, ``control.pd`` turns joint targets into
       torques.
    6. Return the torques in the order of ``mechanism.actuators`` and leave them unbounded: the
       simulation applies the torque limits.
    7. Say in `citation` where the method comes from, and in `suits` which robots it cannot move.
    8. Add it to nothing: the contract tests find it by its file.
    """

    citation: ClassVar[Citation] = ""
    commands: ClassVar[Mapping[str, float]] = {}

    def __post_init__(self) -> None:
        check(self)

    def suits(self, mechanism: Mechanism) -> str | None:
        """None, or in one sentence why it cannot move this robot."""
        return None

    def fastest(self, mechanism: Mechanism) -> float:
        """The forward speed, m/s, that no command may exceed on this robot; infinite by default."""
        return float("inf")

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """The memory (m,) at time zero; empty by default."""
        return np.zeros(0)

    def initial_coordinates(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Coordinates (nq,) to start from: the keyframe "stand" if there is one, else neutral."""
        if "stand" in mechanism.keyframes:
            return np.array(mechanism.keyframes["stand"], dtype=float)
        return mechanism.neutral()

    @abstractmethod
    def torque(self, now: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Torques (n_actuators,) N m, or N, for this step and the memory (m,) after it."""


def require(controller: Controller, mechanism: Mechanism) -> None:
    """Raise Unsupported unless the controller suits the robot."""
    if reason := controller.suits(mechanism):
        raise Unsupported(reason, name_of(controller))
