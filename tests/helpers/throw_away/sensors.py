"""Temporary sensor: the height of the first body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from casadi import SX

from tarsus.model.mechanism import Mechanism
from tarsus.sensing.base import Sensor, SensorInput


@dataclass(frozen=True)
class ThrowAway(Sensor):
    """World z of its origin."""

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        return {"height": "m"}

    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        return inputs.after.world_position[0][2], inputs.memory
