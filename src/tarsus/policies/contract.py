"""A policy's contract: everything besides the weights that makes a network drive a robot.

A network maps observations to actions. Which observations, in which order and units, how often, and
what an action means to a motor is agreed upon between training and deployment, and usually written
down in part only. A `Contract` has all of it as data; every value remembers where it came from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from tarsus.errors import InvalidFile, InvalidValue, quoted, unknown_name

Numbers = float | tuple[float, ...]  # one for all joints, or one for each in the policy's order
ACTION_KINDS = ("position", "torque", "velocity")
ORDERS = ("listed", "alphabetical")
LAYOUTS = ("by term", "by sample")
NEWEST_CHOICES = ("last", "first")
FIRST_CHOICES = ("repeat", "zero")
DEFAULT_OFFSET = "default"  # in place of the actions' offset: the default positions
ASSUMED = "assumed"
COMMANDS = ("lin_vel_x", "lin_vel_y", "ang_vel_z")


@dataclass(frozen=True)
class Term:
    """A part of the observation.

    Parameters
    ----------
    name : str
        One of `terms.TERMS`.
    scale : float or tuple of float
        Factor on the term, or on each of its numbers.
    clip : tuple of float or None
        Least and greatest value before scaling.
    history : int
        How many control periods the policy sees of it.
    options : mapping
        What the term needs, such as the period of a gait.
    label : str
        The name in the source, by which terms are sorted where their order is alphabetical.
    """

    name: str
    scale: Numbers = 1.0
    clip: tuple[float, float] | None = None
    history: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    @property
    def key(self) -> str:
        """The name in the source."""
        return self.label or self.name


@dataclass(frozen=True)
class Question:
    """A value that a contract lacks.

    Parameters
    ----------
    name : str
        Of the field.
    meaning : str
        What is asked, with its unit.
    choices : tuple of str
        Likely answers, the likeliest first.
    """

    name: str
    meaning: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contract:
    """What a network sees, how often, and what its actions do.

    Parameters
    ----------
    network : str
        Path of the network's file.
    rate : float or None
        Control periods per second, Hz.
    joints : tuple of str or int, or None
        Joints in the policy's order; a number counts the robot's actuators from zero.
    kind : str
        What an action becomes: the target of a position or velocity servo, or a torque.
    scale, offset : numbers
        The target is offset + scale * action; the offset "default" is the default positions.
    clip : tuple of float or None
        Least and greatest action before scaling.
    filter : float or None
        Cut-off frequency, Hz, of a first-order low-pass filter on the actions.
    delay : float
        From the observation to the action that it causes, s.
    kp, kd : numbers or None
        Gains of the servos, N m/rad and N m s/rad.
    torque_limit : numbers or None
        Largest torque, N m; None: the robot's.
    armature : numbers or None
        Inertia of the motors at the joints, kg m^2; None: the robot's.
    positions : numbers or None
        Default joint positions, rad, from which the robot starts.
    terms : tuple of Term or None
        The parts of the observation.
    order : str
        Whether terms stand in the order listed or sorted by their names in the source.
    layout : str
        With history, whether all samples of a term stand together, or all terms of a sample.
    newest : str
        Whether the newest sample of a history stands last or first.
    first : str
        Whether a history begins as the first sample repeated, or as zeros.
    height : float or None
        Of the base at the start, m; None: as the feet touch the ground.
    settle : float
        For which the default positions are held before the policy begins, s.
    ranges : mapping
        Least and greatest command by name: `COMMANDS`, m/s and rad/s.
    states : tuple of pairs
        Inputs and outputs of the network that carry its memory from period to period.
    input, output : str
        Of the network, for observation and action; empty: the only ones that are no states.
    motion : str
        Path of a reference motion, for the terms that follow one.
    robot : str
        Robot that the policy controls unless another is given: a built-in one, or path of a file.
    origins : mapping
        Where each value came from, by the name of the field or term.
    doubts : tuple of str
        What was concluded from hints, and may be wrong.
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
    doubts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise unknown_name(name, str(getattr(self, name)), choices)
        for name, (low, high) in RANGES.items():
            for value in numbers(getattr(self, name)):
                if not low <= value <= high:
                    raise InvalidValue(
                        f"{name} of a policy must be from {low:g} to {high:g}, not {value:g}.", name
                    )
        if self.joints is not None and len(set(self.joints)) < len(self.joints):
            twice = next(j for j in self.joints if self.joints.count(j) > 1)
            raise InvalidValue(f"joints of a policy name {twice!r} twice.", "joints")
        for term in self.terms or ():
            if not 1 <= term.history <= MAX_HISTORY:
                raise InvalidValue(
                    f"history of the term {term.key!r} must be from 1 to {MAX_HISTORY}, not"
                    f" {term.history}.",
                    term.key,
                )
        for name, (low, high) in self.ranges.items():
            if not low <= high:
                raise InvalidValue(f"the range of the command {name!r} is reversed.", name)

    @property
    def ordered_terms(self) -> tuple[Term, ...]:
        """The terms as the network sees them, one after the other."""
        terms = self.terms or ()
        return terms if self.order == "listed" else tuple(sorted(terms, key=lambda t: t.key))

    def missing(self) -> list[Question]:
        """Return what has to be answered before the policy can run."""
        return [q for q in QUESTIONS if q.needed(self)]

    def origin(self, name: str) -> str:
        """Return where a value came from."""
        return self.origins.get(name, "default")

    def with_values(self, origin: str, **values: Any) -> Contract:
        """Return the contract with other values, which came from `origin`."""
        known = [f.name for f in fields(Contract)]
        for name in values:
            if name not in known:
                raise unknown_name("value of a policy's contract", name, known)
        return replace(self, **values, origins={**self.origins, **dict.fromkeys(values, origin)})


@dataclass(frozen=True)
class _ConditionalQuestion(Question):
    """A question that is asked unless one of several fields is set."""

    kinds: tuple[str, ...] = ACTION_KINDS

    def needed(self, contract: Contract) -> bool:
        """Whether the contract lacks it."""
        return getattr(contract, self.name) is None and contract.kind in self.kinds


QUESTIONS = (
    _ConditionalQuestion("rate", "control periods per second, Hz", ("50", "100", "30")),
    _ConditionalQuestion("joints", "names of the joints in the policy's order"),
    _ConditionalQuestion(
        "scale", "factor from an action to the servo's target, rad", ("0.25", "0.5", "1.0")
    ),
    _ConditionalQuestion("positions", "default joint positions in the policy's order, rad"),
    _ConditionalQuestion("terms", "the parts of the observation in their order"),
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
    """Return one number or several as a tuple; empty for none and for names."""
    if value is None or isinstance(value, str):
        return ()
    return tuple(value) if isinstance(value, tuple) else (float(value),)


def as_numbers(name: str, value: Any) -> Numbers:
    """Return data as one finite number or several; InvalidFile, naming it, for anything else."""
    items = value if isinstance(value, list | tuple) else [value]
    if not items:
        raise InvalidFile(f"{name} must not be an empty list.", name)
    values = []
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | float) or not math.isfinite(item):
            raise InvalidFile(
                f"{name} must be a finite number, or a list of them, not {quoted(str(item))}.",
                name,
            )
        values.append(float(item))
    return tuple(values) if isinstance(value, list | tuple) else values[0]
