"""Base class of actuator models: what real motors, sensors and gears change in a file's actuators.

To add a model, write one file in `tarsus/control/actuators` with one frozen dataclass that derives
from `ActuatorModel`; the file's name is the model's name. Declare each number with its unit and
range (`tarsus.parameters.array`). A number may differ by actuator and by world, and
`Simulation.set` changes it. `apply` returns what the model changes in a step, `advance` its memory
after the step. A model is compiled into the step of simulations that use it, and costs nothing in
others.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.actuator_force import MotorEffects
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import check, declared_fields
from tarsus.references.reference import Citation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ActuatorInputs:
    """Inputs of actuator models at the start of a step, as symbols of shape (n,).

    Attributes
    ----------
    signal
        Control signals or activations of the actuators.
    q, u
        Coordinates and rates of their joints as measured, with the errors of the models before, in
        rad and rad/s, or m and m/s.
    dt
        Step size, in s.
    memory
        Memory of the model, by the names of `ActuatorModel.initial_memory`.
    """

    signal: SX
    q: SX
    u: SX
    dt: SX
    memory: Mapping[str, SX]


@dataclass(frozen=True, eq=False)
class ActuatorModel:
    """Model of real motors; implementations are frozen dataclasses.

    Within `apply` and `advance`, the numbers of the model are symbols of shape (n,), one for each
    of the n actuators of the file.

    Attributes
    ----------
    citation
        Source of the model and of its default numbers.

    Examples
    --------
    >>> from dataclasses import dataclass, replace
    >>> from tarsus.control.actuators.base import ActuatorModel
    >>> @dataclass(frozen=True, eq=False)
    ... class BentEncoder(ActuatorModel):
    ...     def apply(self, inputs, motor):
    ...         return replace(motor, position_error=0.01 * inputs.q)
    """

    citation: ClassVar[Citation] = ""

    def __post_init__(self) -> None:
        check(self)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numbers that may differ by actuator and world."""
        return tuple(name for name, p in declared_fields(type(self)).items() if p.is_numeric)

    @property
    def compiled(self) -> Self:
        """The model without its numbers, which are parameters of the compiled step."""
        return self.with_values(dict.fromkeys(self.numbers, 0.0))

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Copy the model with symbols or arrays as its numbers, without checks."""
        model = copy.copy(self)
        for name, value in values.items():
            object.__setattr__(model, name, value)
        return model

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Return None, or one sentence that says why the robot's actuators cannot have the model.

        The default demands one actuator per joint.
        """
        joints = [actuator.joint for actuator in mechanism.file_actuators]
        shared = next((joint for joint in joints if joints.count(joint) > 1), None)
        return f"several actuators drive the joint {shared}" if shared else None

    def initial_memory(self, actuators: int) -> Mapping[str, Array]:
        """Return the memory at time zero by name, shape (size,) or (worlds, size); none by default.

        Here the numbers of the model are arrays of shape (actuators,) or (worlds, actuators), or 0.
        """
        return {}

    def apply(self, inputs: ActuatorInputs, motor: MotorEffects) -> MotorEffects:
        """Add what this model changes in a step to the changes by the models before it."""
        return motor

    def advance(self, inputs: ActuatorInputs, torque: SX) -> Mapping[str, SX]:
        """Compute the memory after the step, given the joint torques (n,) at its end, in N m."""
        return {}
