"""Declare fields of frozen dataclasses with default, unit, meaning, range, symbol and role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.parameters.range import ANY, Range
from tarsus.plugins import find_by_module

Value = float | NDArray[np.float64]
"""A number, or an array, shape (worlds,), with one number per world."""

Role = Literal[
    "",
    "friction",
    "kinetic_ratio",
    "kinetic_friction",
    "restitution_normal",
    "restitution_tangential",
    "stiffness",
    "damping",
    "relative_tolerance",
    "absolute_tolerance",
    "weight",
]
"""Roles that other code looks up: the ground scales friction, stiffness and damping; and so on."""

METADATA_KEY = "declared parameter"  # in the metadata of dataclass fields
SCALAR_TYPES = (
    "float",
    "int",
    "float | None",
    float,
    int,
    float | None,
)  # annotations of a single number


@dataclass(frozen=True)
class Parameter:
    """Declaration of one field.

    Attributes
    ----------
    default
        A number, several (a tuple), a word, or None if the field may be left out.
    unit
        SI unit; "[1]" for a dimensionless number, "" if the field is not numeric.
    meaning
        Meaning of the field, in a few words.
    range
        Allowed numbers.
    symbol
        Symbol in the source, where it differs from the name.
    role
        Role by which other code finds the field.
    choices
        Allowed words, each with its meaning.
    name
        Name of the field.
    any_shape
        Whether an array of any shape is allowed, though the default is a tuple.
    scalar
        Whether the field is a single number for all worlds, annotated `float` or `int`.
    """

    default: Any
    unit: str
    meaning: str
    range: Range = ANY
    symbol: str = ""
    role: Role = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    any_shape: bool = False
    scalar: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether the field holds one or more numbers."""
        return bool(self.unit)

    @property
    def is_integer(self) -> bool:
        """Whether the field holds an integer."""
        return type(self.default) is int

    @property
    def kind(self) -> str:
        """Requirement on a value, in words."""
        if isinstance(self.default, tuple) and not self.any_shape:
            return f"{len(self.default)} numbers"
        return "a whole number" if self.is_integer else "a number"

    def check(self, owner: str, value: Any) -> None:
        """Raise an error that names the owner unless a value is allowed."""
        if self.choices:
            if value not in self.choices:
                raise unknown_name_error(f"{self.name} of {owner}", str(value), self.choices)
        elif self.is_numeric and not (value is None and self.default is None):
            self._check_numbers(owner, value)

    def _check_numbers(self, owner: str, value: Any) -> None:
        try:
            values = np.asarray(value)
        except ValueError:
            values = np.asarray("ragged")
        if values.dtype.kind not in ("iu" if self.is_integer else "iuf"):
            raise InvalidValue(
                f"{owner}: {self.name} must be {self.kind}, not {value!r}.", self.name
            )
        fixed = isinstance(self.default, tuple) or self.scalar
        if fixed and not self.any_shape and values.shape != np.shape(self.default):
            raise InvalidValue(
                f"{owner}: {self.name} must be {self.kind}, not {_describe_shape(values)}.",
                self.name,
            )
        wrong = values[~self.range.contains(values)]
        if wrong.size:
            worst = wrong.ravel()[0]
            shown = "NaN" if np.isnan(worst) else f"{worst:g}"
            raise InvalidValue(
                f"{owner}: {self.name} must {self.range.rule(worst)}, not {shown}.", self.name
            )


def _describe_shape(values: NDArray[Any]) -> str:
    """Describe the number of values, or their shape."""
    shape = values.shape
    return f"an array of shape {shape}" if len(shape) > 1 else f"{values.size} of them"


# ---------------------------------------------------------------- declarations


def parameter(
    default: Any,
    unit: str,
    meaning: str,
    within: str = "(-inf, inf)",
    symbol: str = "",
    role: Role = "",
) -> Any:
    """Declare a number.

    Parameters
    ----------
    default
        Default value. A tuple accepts as many numbers, an int accepts integers, None makes the
        field optional.
    unit
        SI unit; "[1]" for a dimensionless number.
    meaning
        Meaning of the field, in a few words.
    within
        Allowed range, such as "[0, 1]" or "(0, inf)".
    symbol
        Symbol in the source, where it differs from the name.
    role
        Role by which other code finds the field.
    """
    return _field(Parameter(default, unit, meaning, Range.read(within), symbol, role))


def array(default: Any, unit: str, meaning: str, within: str = "(-inf, inf)") -> Any:
    """Declare a number or an array whose shape the owner checks."""
    return _field(Parameter(default, unit, meaning, Range.read(within), any_shape=True))


def choice(default: str, meaning: str, **choices: str) -> Any:
    """Declare a choice between words, each with its meaning."""
    return _field(Parameter(default, "", meaning, choices=choices))


def component(default: Any, meaning: str) -> Any:
    """Declare a field that is not a number: an object, a function, or an array its owner checks."""
    return _field(Parameter(default, "", meaning))


def friction(default: float, meaning: str = "friction coefficient", symbol: str = "mu") -> Any:
    """Declare a friction coefficient; the ground's own friction scales it."""
    return parameter(default, "[1]", meaning, "[0, inf)", symbol, "friction")


def kinetic_ratio(default: float) -> Any:
    """Declare mu_K / mu_S, the kinetic over the static friction coefficient."""
    meaning = "kinetic over static friction coefficient; 1: Coulomb friction"
    return parameter(default, "[1]", meaning, "[0, 1]", "mu_K / mu_S", "kinetic_ratio")


def kinetic_friction() -> Any:
    """Declare mu_K, which may exceed mu_S; None: mu_K = mu_S."""
    meaning = "kinetic friction coefficient; none: equal to mu, Coulomb friction"
    return parameter(None, "[1]", meaning, "[0, inf)", "mu_K", "kinetic_friction")


def restitution(
    default: float, direction: Literal["normal", "tangential"], meaning: str = ""
) -> Any:
    """Declare a coefficient of restitution, 0 (no rebound) to 1 (no loss)."""
    role: Role = "restitution_normal" if direction == "normal" else "restitution_tangential"
    text = meaning or f"Newton's coefficient of restitution, {direction}"
    symbol = "e_N" if direction == "normal" else "e_T"
    return parameter(default, "[1]", text, "[0, 1]", symbol, role)


def stiffness(
    default: float, unit: str, meaning: str, within: str = "(0, inf)", symbol: str = ""
) -> Any:
    """Declare a spring constant; the ground's own stiffness scales it."""
    return parameter(default, unit, meaning, within, symbol, "stiffness")


def damping(default: float, unit: str, meaning: str, symbol: str = "") -> Any:
    """Declare a damping constant; the ground's own stiffness scales it."""
    return parameter(default, unit, meaning, "[0, inf)", symbol, "damping")


def relative_tolerance(default: float) -> Any:
    """Declare a relative solver tolerance; it is raised where float32 cannot resolve it."""
    meaning = "stop when |dL| <= |L| T_rel + T_abs"
    return parameter(default, "[1]", meaning, "[0, inf)", role="relative_tolerance")


def absolute_tolerance(default: float) -> Any:
    """Declare an absolute solver tolerance in N s; it is raised where float32 cannot resolve it."""
    meaning = "stop when |dL| <= |L| T_rel + T_abs"
    return parameter(default, "N s", meaning, "[0, inf)", role="absolute_tolerance")


def weight(default: float, meaning: str) -> Any:
    """Declare a weight in the cost of a planner's goal, per second."""
    return parameter(default, "[1]", meaning, "[0, inf)", role="weight")


def _field(declaration: Parameter) -> Any:
    return field(default=declaration.default, metadata={METADATA_KEY: declaration})


# ---------------------------------------------------------------- look-up and checks


@cache
def declared_fields(owner: type) -> Mapping[str, Parameter]:
    """Collect the declared fields of a dataclass by name, in order."""
    return MappingProxyType(
        {
            f.name: replace(f.metadata[METADATA_KEY], name=f.name, scalar=f.type in SCALAR_TYPES)
            for f in fields(owner)
            if METADATA_KEY in f.metadata
        }
    )


@cache
def roles(owner: type) -> Mapping[str, Role]:
    """Collect the role of every declared field that has one."""
    return MappingProxyType({n: p.role for n, p in declared_fields(owner).items() if p.role})


def names_with_role(owner: type, *wanted: Role) -> tuple[str, ...]:
    """Collect the names of the fields with one of these roles."""
    return tuple(name for name, role in roles(owner).items() if role in wanted)


def check(owner: Any) -> None:
    """Raise an error unless every declared field of a dataclass has an allowed value."""
    for name, declaration in declared_fields(type(owner)).items():
        declaration.check(name_of(owner), getattr(owner, name))


def name_of(owner: object) -> str:
    """Return the name of a law, stepper, terrain or gait in lists.

    That is the name of its file or plug-in; for other objects the name of the class.
    """
    if plugin := find_by_module(type(owner).__module__):
        return plugin.name
    name, file = type(owner).__name__, type(owner).__module__.rpartition(".")[2]
    return file if file.replace("_", "") == name.lower() else name


def check_all_declared(owner: Any) -> None:
    """Raise InvalidValue if a field of a dataclass is not declared."""
    for f in fields(owner):
        if METADATA_KEY not in f.metadata:
            raise InvalidValue(
                f"{name_of(owner)}: declare the field {f.name} with its default, unit and meaning,"
                f" such as {f.name}: Value = parameter(1.0, 'N/m', 'meaning'); see"
                " docs/add_a_law.md.",
                f.name,
            )
