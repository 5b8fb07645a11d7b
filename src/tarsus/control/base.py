"""Base class of controllers: torques from time, state, commands and the controller's own memory."""

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
    """Inputs of a controller at the start of a step, as CasADi symbols.

    Attributes
    ----------
    mechanism
        The robot.
    t
        Time, in s.
    q
        Coordinates, shape (nq,).
    u
        Velocities, shape (nu,).
    command
        Commands, shape (n_commands,), in the order of the controller's `commands`.
    memory
        The controller's memory, shape (m,).
    dt
        Step size by which the memory advances, in s.
    """

    mechanism: Mechanism
    t: ca.SX
    q: ca.SX
    u: ca.SX
    command: ca.SX
    memory: ca.SX
    dt: ca.SX


class Controller(ABC):
    """Control law written as CasADi expressions; implementations are frozen dataclasses.

    To add a gait:

    1. Create a file in ``tarsus/control/gaits``. Its name is the name of the gait.
    2. Write one frozen dataclass in it that inherits from `Controller`. Its fields are the
       constants that a user may change with ``dataclasses.replace`` (gains, frequency, step
       height), each declared in one line (`tarsus.parameters`).
    3. List in `commands` the inputs that may differ between worlds and change during a run (name:
       default, in SI units). Everything else is a constant and costs nothing at run time.
    4. If the controller needs a memory (phases, an integral), return its initial value from
       `initial_memory`. There is no other state: a controller is a pure function.
    5. Write `torque` with symbols: no Python branch on a symbol (use ``ca.if_else``) and no loop
       over time. The expression is compiled into the simulation step, so avoid unnecessary
       trigonometric calls. ``morphology.legs`` finds the legs of a robot, ``control.pd`` turns
       joint targets into torques.
    6. Return the torques in the order of ``mechanism.actuators``, without limits: the simulation
       applies the torque limits.
    7. Cite the source of the method in `citation`, and reject the robots that the gait cannot move
       in `why_unsuitable`.
    8. Register it nowhere: the contract tests find it by its file.

    Attributes
    ----------
    citation
        Source of the method.
    commands
        Names and default values of the commands, in SI units.

    Examples
    --------
    >>> import casadi as ca
    >>> import tarsus
    >>> class Limp(tarsus.Controller):
    ...     def torque(self, now):
    ...         return ca.SX.zeros(len(now.mechanism.actuators)), now.memory
    >>> simulation = tarsus.Simulation("mini_cheetah", controller=Limp())
    >>> log = simulation.run(0.1)
    """

    citation: ClassVar[Citation] = ""
    commands: ClassVar[Mapping[str, float]] = {}

    def __post_init__(self) -> None:
        check(self)

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Return None, or one sentence that says why this controller cannot move the robot."""
        return None

    def max_speed(self, mechanism: Mechanism) -> float:
        """Return the highest forward speed that may be commanded, in m/s; infinite by default."""
        return float("inf")

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Return the memory at time zero, shape (m,); empty by default."""
        return np.zeros(0)

    def initial_coordinates(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Return the coordinates to start from, shape (nq,).

        The default is the keyframe "stand" if there is one, else the neutral posture.
        """
        if "stand" in mechanism.keyframes:
            return np.array(mechanism.keyframes["stand"], dtype=float)
        return mechanism.neutral()

    @abstractmethod
    def torque(self, inputs: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Compute the torques of this step and the memory after it.

        Parameters
        ----------
        inputs
            Time, state, commands and memory at the start of the step, as symbols.

        Returns
        -------
        tuple of casadi.SX
            Torques, shape (n_actuators,), in N m or N, and the next memory, shape (m,).
        """


def require_suitable(controller: Controller, mechanism: Mechanism) -> None:
    """Raise Unsupported unless the controller suits the robot."""
    if reason := controller.why_unsuitable(mechanism):
        raise Unsupported(reason, name_of(controller))
