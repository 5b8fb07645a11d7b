"""Unknowns of an identification: numbers by name, each with a range.

- law.NAME, terrain.NAME: parameters of the law and the terrain
- mass.BODY: mass, in kg; the inertia is proportional to it
- com.BODY.x, .y, .z: center of mass in the body's frame, in m; com.BODY: all three
- inertia.BODY: six numbers U, 0 in the model, with which the second moments of mass S about the
  center of mass become U S U^T; the result is always physical (Rucker 2022)
- armature.JOINT, damping.JOINT, dry_friction.JOINT, stiffness.JOINT, rest.JOINT
- friction_slope.JOINT, friction_curvature.JOINT, stribeck.JOINT, stribeck_rate.JOINT,
  load_friction.JOINT, back_load_friction.JOINT: `tarsus.model.friction`
- JOINT may be a pattern, such as *_calf_joint, for one value in several joints, or "all"
- strength.JOINT or .all: factor on the torque of motors
- delay: delay of all torques or control signals, in s; delay.JOINT: of that joint's
- lag.JOINT: time constant of the torque of an actuator of a file, in s
- encoder_offset.JOINT: measured minus true coordinate, in rad or m
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.identification.ranges import SearchRange
from tarsus.model.file_actuators import MOTOR_NUMBERS
from tarsus.simulation.varied import FRICTION_FIELDS

AXES = ("x", "y", "z")
PAIRS = ("xx", "yy", "zz", "xy", "xz", "yz")
ALL = "all"
FRICTION_KINDS = tuple(FRICTION_FIELDS)
SPRING_KINDS = ("stiffness", "rest")
MOTOR_KINDS = MOTOR_NUMBERS  # delay, lag, encoder_offset
JOINT_KINDS = ("armature", "damping", "dry_friction", *SPRING_KINDS, *FRICTION_KINDS, "strength")
SIGNED_KINDS = ("rest", "friction_slope", "friction_curvature", "encoder_offset")
BODY_KINDS = ("mass", "com", "inertia")
KINDS = ("law", "terrain", *BODY_KINDS, *JOINT_KINDS, *MOTOR_KINDS)
ENTRIES = ("low", "high", "start", "log", "true", "prior")
INERTIA_RANGE = 1.0  # of the six numbers of an inertia: a factor e on the root of a moment
UNITS = {"mass": "kg", "com": "m", "inertia": "1", "strength": "1", "delay": "s", "lag": "s"}


@dataclass(frozen=True)
class Unknown:
    """Number to be identified.

    Attributes
    ----------
    name
        Dotted name.
    range
        Range of the search.
    start
        First guess; None: the value of the model.
    true
        True value, known in an experiment, for comparison only.
    prior
        Mean and standard deviation of prior knowledge.
    """

    name: str
    range: SearchRange
    start: float | None = None
    true: float | None = None
    prior: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        low, high = self.range.low, self.range.high
        if not (np.isfinite([low, high]).all() and low < high):
            raise InvalidValue(
                f"{self.name}: low must be below high, and both finite, not {low:g} and {high:g}.",
                self.name,
            )
        if self.range.log and low <= 0:
            raise InvalidValue(
                f"{self.name}: low must be above 0 where log = true, not {low:g}.", self.name
            )
        if self.start is not None and not low <= self.start <= high:
            raise InvalidValue(
                f"{self.name}: start must be from {low:g} to {high:g}, not {self.start:g}.",
                self.name,
            )
        if self.prior is not None and not self.prior[1] > 0:
            raise InvalidValue(
                f"{self.name}: prior = [mean, deviation] needs a positive deviation, not"
                f" {self.prior[1]:g}.",
                self.name,
            )

    @property
    def part(self) -> str:
        """Kind of the unknown: "law", "mass", ..."""
        return self.name.partition(".")[0]

    @property
    def parameter(self) -> str:
        """Name of the parameter, the part after the first dot; "all" without one."""
        return self.name.partition(".")[2] or ALL


def read_unknowns(free: Mapping[str, Any]) -> tuple[Unknown, ...]:
    """Read the unknowns of a table: name -> { low, high, start, log, true, prior }.

    com.BODY and inertia.BODY stand for all of their components.
    """
    if not free:
        raise InvalidValue(
            '[free] must list the unknowns, such as "law.mu" = { low = 0.1, high = 1 }.',
            "free",
        )
    unknowns: list[Unknown] = []
    for name, given in free.items():
        if not isinstance(given, Mapping):
            raise InvalidValue(
                f"{name} must be a range, such as {{ low = 0.1, high = 1.0 }}, not {given!r}.", name
            )
        for key in given:
            if key not in ENTRIES:
                raise unknown_name_error(f"entry of the range of {name}", key, ENTRIES)
        unknowns += [_create_unknown(one, given) for one in _expand_name(name)]
    names = [one.name for one in unknowns]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue(f"{name} is listed twice under [free]: remove one.", name)
    return tuple(unknowns)


def _expand_name(name: str) -> Iterable[str]:
    part, dot, name_in_part = name.partition(".")
    if part not in KINDS:
        raise unknown_name_error("kind of parameter that can be identified", part, KINDS)
    if not dot and part != "delay":
        raise InvalidValue(f"[free] must list {part}.NAME, not {name}.", name)
    if part == "com" and name_in_part.rpartition(".")[2] not in AXES:
        return [f"{name}.{axis}" for axis in AXES]
    if part == "inertia" and name_in_part.rpartition(".")[2] not in PAIRS:
        return [f"{name}.{pair}" for pair in PAIRS]
    return [name]


def _create_unknown(name: str, table: Mapping[str, Any]) -> Unknown:
    known: dict[str, Any] = dict(table)
    if name.startswith("inertia."):
        known = {"low": -INERTIA_RANGE, "high": INERTIA_RANGE, **known}
    if not {"low", "high"} <= set(known):
        raise InvalidValue(f"{name} must have both low and high, the ends of its range.", name)
    prior = known.pop("prior", None)
    log = known.pop("log", False)
    if not isinstance(log, bool):
        raise InvalidValue(f"{name}: log must be true or false, not {log!r}.", name)
    for key, value in known.items():
        if type(value) not in (int, float):
            raise InvalidValue(f"{name}: {key} must be a number, not {value!r}.", name)
    if prior is not None and (
        not isinstance(prior, list | tuple)
        or len(prior) != 2
        or any(type(v) not in (int, float) for v in prior)
    ):
        raise InvalidValue(
            f"{name}: prior must be two numbers, the mean and the deviation, not {prior!r}.", name
        )
    numbers = {key: float(value) for key, value in known.items()}
    within = SearchRange(numbers.pop("low"), numbers.pop("high"), log)
    return Unknown(name, within, prior=None if prior is None else (prior[0], prior[1]), **numbers)
