"""Snapshots: the whole state of a simulation as numbers, put back bit for bit.

State is what evolves: coordinates, velocities, the memory of the law, the controller and the
stepper, the steps done, what the last step reported, and the torques held between two control
instants. What `Simulation.set` writes is not in it: commands, pushes, mu and other parameters.
A snapshot begins with a header that identifies the kind of simulation it came from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tarsus.errors import InvalidValue
from tarsus.program.run.backend import Array, Backend
from tarsus.sensing.base import Sensor
from tarsus.simulation.recording.part_serialization import class_of, field_values, name_of
from tarsus.simulation.step_program import Plan

ACTION = "action"  # the only parameter in the state: torques between control instants
REGISTERS = "registers"  # header entry for the names and sizes of the registers


@dataclass(frozen=True)
class HeaderEntry:
    """One number of a snapshot's header.

    Attributes
    ----------
    number
        Number in the header.
    meaning
        Meaning of the number, for messages.
    plain
        Whether the number is the value itself instead of a hash of names and choices.
    """

    number: float
    meaning: str
    plain: bool = False

    def describe(self, number: float) -> str:
        """Describe another number for messages."""
        return str(bool(number)) if self.meaning in ("True", "False") else f"{number:g}"


@dataclass(frozen=True)
class SnapshotFormat:
    """Columns of a simulation's snapshots.

    Attributes
    ----------
    header
        Entries by the option that they describe.
    registers
        Names and sizes of the registers, in order.
    """

    header: Mapping[str, HeaderEntry]
    registers: Mapping[str, int]

    @classmethod
    def of(cls, plan: Plan, dt: float, worlds: Backend) -> SnapshotFormat:
        """Create the snapshot format of a plan at a time step dt, in s."""
        program = worlds.program
        saved = (*program.of_kind("state"), *program.of_kind("report"))
        registers = {register.name: register.size for register in saved}
        if ACTION in worlds:
            registers[ACTION] = program.sizes[ACTION]
        return cls(_create_header(plan, dt, registers), registers)

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self.header) + sum(self.registers.values())

    def read(self, worlds: Backend) -> Array:
        """Copy the state, (worlds, size), float64, on the device of the worlds."""
        arrays = worlds.arrays
        registers = [worlds.output(name) for name in self.registers]
        header = arrays.asarray([entry.number for entry in self.header.values()])
        headers = arrays.broadcast_to(header, (worlds.count, len(header)))
        return arrays.concatenate([headers, *registers], axis=1)

    def write(self, worlds: Backend, state: ArrayLike, mask: Any) -> None:
        """Write a snapshot into the registers of all worlds, or of those in the mask (worlds,)."""
        rows = self._check_rows(worlds, state, worlds.count if mask is None else int(mask.sum()))
        # expand to one row per world; rows outside the mask are ignored
        arrays = worlds.arrays
        if mask is not None and len(rows) != worlds.count:
            full = arrays.zeros((worlds.count, rows.shape[1]))
            full[arrays.flatnonzero(mask)] = rows
            rows = full
        # write the registers
        start = len(self.header)
        for name, size in self.registers.items():
            worlds.set(name, rows[:, start : start + size], mask)
            start += size

    def _check_rows(self, worlds: Backend, state: ArrayLike, chosen: int) -> Any:
        """Check a snapshot; return it as (worlds, n) or (chosen, n), on the worlds' device.

        Raises
        ------
        InvalidValue
            If it does not have this format.
        """
        arrays, size = worlds.arrays, self.size
        try:
            given = arrays.asarray(state)
        except (TypeError, ValueError):
            given = arrays.zeros(0)
        # check the header
        if given.ndim in (1, 2) and given.size and given.shape[-1] > len(self.header):
            if given.dtype != float:
                raise InvalidValue(
                    f"state must contain float64 numbers, not {given.dtype}.", "state"
                )
            _check_header(given, self.header, arrays)
        # check the shape
        if given.shape not in ((size,), (chosen, size), (worlds.count, size)):
            shapes = sorted({chosen, worlds.count} - {0})
            allowed = "".join(f" or ({count}, {size})" for count in shapes)
            raise InvalidValue(
                f"state must have shape ({size},){allowed}, not {given.shape}: one row for all"
                " worlds, or one row per world.",
                "state",
            )
        return given if given.ndim == 2 else arrays.broadcast_to(given, (worlds.count, size))


def _create_header(plan: Plan, dt: float, registers: Mapping[str, int]) -> dict[str, HeaderEntry]:
    """Create the header of a simulation's snapshots, in order.

    It does not depend on what `Simulation.set` changes, nor on the robot's numbers, the terrain
    and the gains of a gait.
    """
    scene, mechanism = plan.scene, plan.scene.mechanism
    joints = [(body.joint.name, body.joint.kind) for body in mechanism.bodies]
    first = mechanism.base_name
    # identify parts by what cannot be set
    contacts = scene.geometry.contact_names, scene.secondary, scene.slots
    law = {k: v for k, v in field_values(scene.law).items() if k not in scene.law.parameters()}
    law_identity = class_of(scene.law), sorted(scene.law.parameters()), law
    stepper = field_values(plan.stepper)
    sensors = [(name, class_of(s), _collect_reading(s, first)) for name, s in plan.sensing.sensors]
    # one number per entry
    moved = "motor" if plan.actuation is None else "file"
    return {
        "robot": _hash_entry((mechanism.name, joints), mechanism.name),
        "contacts": _hash_entry(contacts, f"{len(scene.geometry.contact_names)} candidates"),
        "law": _hash_entry(law_identity, _format_with_options(scene.law, law)),
        "stepper": _hash_entry(
            (class_of(plan.stepper), stepper), _format_with_options(plan.stepper, stepper)
        ),
        "controller": _hash_entry(type(plan.controller).__qualname__, name_of(plan.controller)),
        "actuators": _hash_entry((moved, plan.actuation), moved),
        "sensors": _hash_entry(sensors, ", ".join(name for name, *_ in sensors) or "none"),
        REGISTERS: _hash_entry(list(registers.items()), f"{len(registers)} registers"),
        "dt": _create_plain_entry(dt),
        "limits": _create_plain_entry(scene.limits),
        "bounce": _create_plain_entry(scene.bounce),
        "stiction": _create_plain_entry(scene.stiction),
        "stabilization": _create_plain_entry(scene.stabilization),
    }


def _hash_entry(identity: object, meaning: str) -> HeaderEntry:
    """Create an entry with a hash of 48 bits."""
    digest = hashlib.sha256(repr(identity).encode()).digest()
    return HeaderEntry(float(int.from_bytes(digest[:6], "big")), meaning)


def _create_plain_entry(value: float | bool) -> HeaderEntry:
    meaning = str(bool(value)) if isinstance(value, bool | np.bool_) else f"{value:g}"
    return HeaderEntry(float(value), meaning, plain=True)


def _format_with_options(part: Any, chosen: Mapping[str, Any]) -> str:
    """Format a part's name with its options."""
    options = ", ".join(f"{name}={value}" for name, value in chosen.items())
    return f"{name_of(part)}({options})" if options else name_of(part)


def _collect_reading(sensor: Sensor, first: str) -> dict[str, Any]:
    """Collect the parameters that determine a reading; `first` is the frame if none is set."""
    disturbance = ("noise", "bias", "seed")
    fields = {k: v for k, v in field_values(sensor).items() if k not in disturbance}
    return fields | ({"frame": fields["frame"] or first} if "frame" in fields else {})


def _check_header(given_header: Any, header: Mapping[str, HeaderEntry], arrays: Any) -> None:
    """Raise InvalidValue, naming the differences, unless the snapshots (..., n) fit."""
    # find the first row with a different header
    here = arrays.asarray([entry.number for entry in header.values()])
    rows = given_header[..., : len(header)].reshape(-1, len(header))
    if bool((rows == here).all()):
        return
    wrong = rows[int(arrays.argmax((rows != here).any(1)))]
    other = [float(number) for number in wrong]
    # list the differences
    differs = {
        name: f"{name} = {entry.describe(number)} instead of {entry.meaning}"
        if entry.plain
        else f"different {name} (here {entry.meaning})"
        for (name, entry), number in zip(header.items(), other, strict=True)
        if number != entry.number
    }
    if all(name in differs for name, entry in header.items() if not entry.plain):
        raise InvalidValue(
            "not a snapshot of this version; pass the array that `sim.state()` returned.", "state"
        )
    if len(differs) > 1:
        differs.pop(REGISTERS, None)  # a consequence of the others
    raise InvalidValue(
        "the state comes from a simulation with other settings:"
        f" {', '.join(differs.values())}; restore it in one that was created the same way.",
        "state",
    )
