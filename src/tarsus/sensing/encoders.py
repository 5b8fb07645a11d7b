"""Joint encoders: angles and rates of hinges, positions and speeds of slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import component
from tarsus.sensing.base import Sensor, SensorInput


@dataclass(frozen=True)
class Encoders(Sensor):
    """Positions, then rates, of all hinges and slides or of named ones."""

    joints: str | tuple[str, ...] = component(
        (), "names of joints; all hinges and slides by default"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.joints
        names = (given,) if isinstance(given, str) else given
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            raise InvalidValue(
                f"Encoders: joints must be names of joints, not {given!r}.", "joints"
            )
        object.__setattr__(self, "joints", tuple(names))

    def _bodies(self, mechanism: Mechanism) -> list[int]:
        """Find the bodies that the joints move."""
        known = [b.joint.name for b in mechanism.bodies if b.joint.kind in ("hinge", "slide")]
        for name in self.joints:
            if name not in known:
                raise unknown_name_error("hinge or slide", name, known)
            if self.joints.count(name) > 1:
                raise InvalidValue(f"Encoders: joint {name!r} is listed twice in joints.", "joints")
        return [mechanism.joint_index(name) for name in self.joints or known]

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Name a position and a rate for every joint."""
        joints = [mechanism.bodies[i].joint for i in self._bodies(mechanism)]
        units = ["rad" if joint.kind == "hinge" else "m" for joint in joints]
        positions = {j.name: unit for j, unit in zip(joints, units, strict=True)}
        return positions | {f"{name}_rate": f"{unit}/s" for name, unit in positions.items()}

    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        mechanism, kin = inputs.after.mechanism, inputs.after
        bodies = self._bodies(mechanism)
        angles = [kin.q[mechanism.q_slices[i].start] for i in bodies]
        rates = [kin.u[mechanism.u_slices[i].start] for i in bodies]
        return ca.vertcat(SX(0, 1), *angles, *rates), inputs.memory
