"""Contract of a policy: everything besides its weights that is needed to run it on a robot.

A network maps observations to actions. Training and deployment must agree on the observations,
their order and units, the control rate, and the meaning of an action to a motor. Usually only part
of this is written down. A `Contract` holds all of it as data, with the source of every value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from tarsus.errors import InvalidFile, InvalidValue, quote, unknown_name_error

Numbers = float | tuple[float, ...]  # for all joints, or per joint in the policy's order
ACTION_KINDS = ("position", "torque", "velocity")
ORDERS = ("listed", "alphabetical")
LAYOUTS = ("by term", "by sample")
NEWEST_CHOICES = ("last", "first")
FIRST_CHOICES = ("repeat", "zero")
DEFAULT_OFFSET = "default"  # value of `offset` that stands for the default positions
ASSUMED = "assumed"
COMMANDS = ("lin_vel_x", "lin_vel_y", "ang_vel_z")


@dataclass(frozen=True)
class Term:
    """Observation term with its scaling and history.

    Parameters
    ----------
    name : str
        Key of `terms.TERMS`.
    scale : float or tuple of float
        Factor on the term, or on each of its components.
    clip : tuple of float or None
        Minimum and maximum value before scaling.
    history : int
        Number of samples that the policy observes, one per control period.
    options : mapping
        Options of the term, such as the period of a gait.
    label : str
        Name in the source, by which terms are sorted if their order is alphabetical.
    """

    name: str
    scale: Numbers = 1.0
    clip: tuple[float, float] | None = None
    history: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    @property
    def key(self) -> str:
        """Name of the term in the source."""
        return self.label or self.name


@dataclass(frozen=True)
class Question:
    """Value that is missing from a contract.

    Parameters
    ----------
    name : str
        Name of the missing field.
    meaning : str
        Description of the field, with its unit.
    choices : tuple of str
        Common values, the most common first.
    """

    name: str
    meaning: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contract:
    """Observations, control rate and actions of a policy.

    Parameters
    ----------
    network : str
        Path of the network's file.
    rate : float or None
        Control rate, Hz.
    joints : tuple of str or int, or None
        Joints in the policy's order, by name or by zero-based index of the robot's actuators.
    kind : str
        Meaning of an action: "position" or "velocity" for a servo target, or "torque".
    scale, offset : numbers
        Target = offset + scale * action; the offset "default" means the default positions.
    clip : tuple of float or None
        Minimum and maximum action before scaling.
    filter : float or None
        Cut-off frequency of a first-order low-pass filter on the actions, Hz; None for no filter.
    delay : float
        Delay from the observation to the resulting action, s.
    kp, kd : numbers or None
        Gains of the servos, N m/rad and N m s/rad.
    torque_limit : numbers or None
        Torque limit, N m; None for the robot's own.
    armature : numbers or None
        Rotor inertia reflected to the joints, kg m^2; None for the robot's own.
    positions : numbers or None
        Default joint positions, in which the robot also starts, rad.
    terms : tuple of Term or None
        Terms of the observation.
    order : str
        Order of the terms: "listed", or "alphabetical" by their names in the source.
    layout : str
        Layout of histories: "by term" groups the samples of each term, "by sample" groups the
        terms of each sample.
    newest : str
        Position of the newest sample in a history: "last" or "first".
    first : str
        Initial history: "repeat" for copies of the first sample, or "zero".
    height : float or None
        Initial height of the base, m; None to start with the feet on the ground.
    settle : float
        Time in the default positions before the policy starts, s.
    ranges : mapping
        Minimum and maximum of each command in m/s or rad/s, by the names in `COMMANDS`.
    states : tuple of pairs
        Input and output names of each recurrent state of the network.
    input, output : str
        Names of the network's observation input and action output; may be empty if there is only
        one of each besides the states.
    motion : str
        Path of the reference motion, for terms that need one.
    robot : str
        Default robot: the name of a built-in robot, or the path of a file.
    origins : mapping
        Source of each value, by name of the field.
    assumptions : tuple of str
        Assumptions that may be wrong, one sentence each.
    """

    network: str
    rate: float | None = None
    joints: tuple[str | int, ...] | None = None
    kind: str = "position"
    scale: Numbers | None = None
    offset: Numbers | str = DEFAULT_OFFSET
    clip: tuple[float, float] | None = None
    filter: float | None = None
    delay: float = 0.0
    kp: Numbers | None = None
    kd: Numbers | None = None
    torque_limit: Numbers | None = None
    armature: Numbers | None = None
    positions: Numbers | None = None
    terms: tuple[Term, ...] | None = None
    order: str = "listed"
    layout: str = "by term"
    newest: str = "last"
    first: str = "repeat"
    height: float | None = None
    settle: float = 0.0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    states: tuple[tuple[str, str], ...] = ()
    input: str = ""
    output: str = ""
    motion: str = ""
    robot: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise unknown_name_error(name, str(getattr(self, name)), choices)
        for name, (low, high) in RANGES.items():
            for value in numbers(getattr(self, name)):
                if not low <= value <= high:
                    raise InvalidValue(
                        f"{name} of a policy must be from {low:g} to {high:g}, not {value:g}.", name
                    )
        if self.joints is not None and len(set(self.joints)) < len(self.joints):
            twice = next(j for j in self.joints if self.joints.count(j) > 1)
            raise InvalidValue(
                f"joints of a policy must be distinct: {twice!r} is listed twice.", "joints"
            )
        for term in self.terms or ():
            if not 1 <= term.history <= MAX_HISTORY:
                raise InvalidValue(
                    f"history of the term {term.key!r} must be from 1 to {MAX_HISTORY}, not"
                    f" {term.history}.",
                    term.key,
                )
        for name, (low, high) in self.ranges.items():
            if not low <= high:
                raise InvalidValue(
                    f"the range of the command {name!r} is reversed: the minimum must come first.",
                    name,
                )

    @property
    def ordered_terms(self) -> tuple[Term, ...]:
        """Terms in the order in which the network takes them."""
        terms = self.terms or ()
        return terms if self.order == "listed" else tuple(sorted(terms, key=lambda t: t.key))

    def missing(self) -> list[Question]:
        """Return the missing values without which the policy cannot run."""
        return [q for q in QUESTIONS if q.is_needed(self)]

    def origin(self, name: str) -> str:
        """Return the source of a value, by name of its field."""
        return self.origins.get(name, "default")

    def with_values(self, origin: str, **values: Any) -> Contract:
        """Return a copy with other values, whose source is `origin`.

        Raises
        ------
        UnknownName
            If a name is not a field of `Contract`.
        """
        known = [f.name for f in fields(Contract)]
        for name in values:
            if name not in known:
                raise unknown_name_error("value of a policy's contract", name, known)
        return replace(self, **values, origins={**self.origins, **dict.fromkeys(values, origin)})


@dataclass(frozen=True)
class _ConditionalQuestion(Question):
    """Question that applies to some kinds of actions only."""

    kinds: tuple[str, ...] = ACTION_KINDS

    def is_needed(self, contract: Contract) -> bool:
        """Return whether the contract needs the value but lacks it."""
        return getattr(contract, self.name) is None and contract.kind in self.kinds


QUESTIONS = (
    _ConditionalQuestion("rate", "control rate, Hz", ("50", "100", "30")),
    _ConditionalQuestion("joints", "names of the joints in the policy's order"),
    _ConditionalQuestion(
        "scale", "factor from an action to the servo's target, rad", ("0.25", "0.5", "1.0")
    ),
    _ConditionalQuestion("positions", "default joint positions in the policy's order, rad"),
    _ConditionalQuestion("terms", "observation terms in their order"),
    _ConditionalQuestion("kp", "stiffness of the servos, N m/rad", kinds=("position",)),
    _ConditionalQuestion("kd", "damping of the servos, N m s/rad", kinds=("position", "velocity")),
)
CHOICES = {
    "kind": ACTION_KINDS,
    "order": ORDERS,
    "layout": LAYOUTS,
    "newest": NEWEST_CHOICES,
    "first": FIRST_CHOICES,
}
MAX_HISTORY = 1000
RANGES = {
    "rate": (0.1, 10_000.0),
    "scale": (-1e4, 1e4),
    "clip": (-1e9, 1e9),
    "filter": (1e-3, 1e5),
    "delay": (0.0, 10.0),
    "kp": (0.0, 1e6),
    "kd": (0.0, 1e5),
    "torque_limit": (0.0, 1e6),
    "armature": (0.0, 1e3),
    "positions": (-1e3, 1e3),
    "height": (-1e3, 1e3),
    "settle": (0.0, 100.0),
}


def numbers(value: Any) -> tuple[float, ...]:
    """Return the numbers of a field as a tuple; empty for None and text."""
    if value is None or isinstance(value, str):
        return ()
    return tuple(value) if isinstance(value, tuple) else (float(value),)


def as_numbers(name: str, value: Any) -> Numbers:
    """Return a finite number, or a tuple of them for a list.

    Raises
    ------
    InvalidFile
        If `value` is neither; the message contains `name`.
    """
    items = value if isinstance(value, list | tuple) else [value]
    if not items:
        raise InvalidFile(f"{name} must not be an empty list.", name)
    values = []
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | float) or not math.isfinite(item):
            raise InvalidFile(
                f"{name} must be a finite number, or a list of them, not {quote(str(item))}.",
                name,
            )
        values.append(float(item))
    return tuple(values) if isinstance(value, list | tuple) else values[0]
