"""Learned actuator: a network that maps histories of position error and rate to the torque.

The inputs of the network are scaled errors s_e (target - q) and rates s_u u of one joint, now and
at earlier samples, the newest first: all errors, then all rates (or the other way round). Its
output times s_tau is the torque at the joint, which is constant over the step. All joints share the
weights. The network is a chain of dense layers in an ONNX file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.control.actuators.base import ActuatorInputs, ActuatorModel, Array
from tarsus.dynamics.actuator_force import MotorEffects
from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.onnx_files import DenseLayer, read_dense_layers
from tarsus.parameters import array, choice, component, parameter
from tarsus.references.learning import HWANGBO_2019
from tarsus.references.reference import Citation

PURPOSE = "an actuator network"


@dataclass(frozen=True, eq=False)
class ActuatorNetwork(ActuatorModel):
    """Learned actuator of position servos; `network` is the path of an ONNX file."""

    citation: ClassVar[Citation] = (HWANGBO_2019.at("actuator network"),)

    network: str = component("", "path of the network, an ONNX file")
    inputs_begin_with: Literal["errors", "rates"] = choice(
        "errors", "order of the inputs", errors="errors, then rates", rates="rates, then errors"
    )
    history_interval: int = parameter(
        1, "[1]", "steps of the simulation between two samples", "[1, 1000]"
    )
    error_scale: Any = array(1.0, "[1]", "factor s_e on the errors", "[-1e6, 1e6]")
    rate_scale: Any = array(1.0, "[1]", "factor s_u on the rates", "[-1e6, 1e6]")
    torque_scale: Any = array(1.0, "[1]", "factor s_tau on the output", "[-1e6, 1e6]")
    layers: tuple[DenseLayer, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.network:
            return
        layers = read_dense_layers(Path(self.network), PURPOSE)
        inputs, outputs = layers[0].weight.shape[1], len(layers[-1].bias)
        if outputs != 1 or inputs % 2:
            raise InvalidValue(
                f"{self.network}: an actuator network must have as many errors as rates as inputs"
                f" and one output, not {inputs} inputs and {outputs} outputs.",
                "network",
            )
        object.__setattr__(self, "layers", layers)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The scales, which may differ by actuator and world."""
        return ("error_scale", "rate_scale", "torque_scale")

    @property
    def compiled(self) -> Self:
        """The network without scales and path: only the weights are compiled."""
        return self.with_values(dict.fromkeys(self.numbers, 0.0) | {"network": ""})

    @property
    def samples(self) -> int:
        """Number of samples of the error, and of the rate."""
        return self.layers[0].weight.shape[1] // 2 if self.layers else 1

    @property
    def depth(self) -> int:
        """Number of steps that the memory reaches back."""
        return (self.samples - 1) * self.history_interval

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Demand a network, and position servos."""
        if not self.layers:
            return "set network to the path of an ONNX file"
        others = [a.name for a in mechanism.file_actuators if not a.has_kp]
        if others:
            return f"{others[0]} is not a position servo"
        return super().why_unsuitable(mechanism)

    def initial_memory(self, actuators: int) -> Mapping[str, Array]:
        """Return errors and rates before the first step, which are zero."""
        if not self.depth:
            return {}
        return {name: np.zeros(self.depth * actuators) for name in ("past_error", "past_rate")}

    def apply(self, inputs: ActuatorInputs, motor: MotorEffects) -> MotorEffects:
        """Replace the torques of the servos by those of the network."""
        error, rate = self._measure(inputs)
        histories = [
            [s * x for x in self._sample(value, inputs.memory.get(name, SX(0, 1)))]
            for name, value, s in (
                ("past_error", error, self.error_scale),
                ("past_rate", rate, self.rate_scale),
            )
        ]
        if self.inputs_begin_with == "rates":
            histories.reverse()
        samples = [*histories[0], *histories[1]]
        # each row of x has one input of all actuators
        x = ca.horzcat(*samples).T
        for layer in self.layers:
            bias = ca.repmat(SX(layer.bias), 1, x.shape[1])
            x = activate(layer, ca.mtimes(SX(layer.weight), x) + bias)
        return replace(motor, torque=self.torque_scale * ca.vec(x))

    def advance(self, inputs: ActuatorInputs, torque: SX) -> Mapping[str, SX]:
        """Move the histories on by one step."""
        pairs = zip(("past_error", "past_rate"), self._measure(inputs), strict=True)
        n = inputs.signal.numel()
        return {
            name: ca.vertcat(value, inputs.memory[name])[: n * self.depth]
            for name, value in pairs
            if self.depth
        }

    def _measure(self, inputs: ActuatorInputs) -> tuple[SX, SX]:
        return inputs.signal - inputs.q, inputs.u

    def _sample(self, value: SX, past: SX) -> list[SX]:
        """Select the samples (n,) of a history, the newest first."""
        n, line = value.numel(), ca.vertcat(value, past)
        starts = [k * self.history_interval * n for k in range(self.samples)]
        return [line[start : start + n] for start in starts]


def activate(layer: DenseLayer, x: SX) -> SX:
    """Compute the activation of a layer, element by element."""
    match layer.activation:
        case "Relu":
            return ca.fmax(x, 0)
        case "LeakyRelu":
            return ca.if_else(x > 0, x, layer.slope * x)
        case "Elu":
            return ca.if_else(x > 0, x, layer.slope * (ca.exp(ca.fmin(x, 0)) - 1))
        case "Tanh":
            return ca.tanh(x)
        case "Sigmoid":
            return 1 / (1 + ca.exp(-x))
        case "Softsign":
            return x / (1 + ca.fabs(x))
        case _:
            return x
