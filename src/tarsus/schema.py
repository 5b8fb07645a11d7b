"""Check data from files: types and ranges, once, when the file is opened.

A rule checks one value and raises InvalidFile with the name of the value as the subject. Code that
uses the values afterwards need not check them again.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile, TarsusError, quote

MAX_TEXT_LENGTH = 1_000_000  # characters
MAX_JSON_LENGTH = 100_000_000  # characters
MAX_DEPTH = 30  # levels of nesting
MAX_INTEGER = 2**63 - 1
MAX_ITEMS = 10_000_000


class Rule(ABC):
    """Requirement on a value."""

    @abstractmethod
    def check(self, name: str, value: Any) -> None:
        """Raise InvalidFile, naming the value, unless the value satisfies the rule."""


@dataclass(frozen=True)
class NumberRule(Rule):
    """A finite number in a closed range; an integer if `integer`."""

    low: float = -math.inf
    high: float = math.inf
    integer: bool = False

    def check(self, name: str, value: Any) -> None:
        number = hasattr(value, "__float__") and not hasattr(value, "__len__")
        if isinstance(value, str | bool) or not number:
            raise invalid_entry(name, "a number", value)
        try:
            exact = float(value)
        except (OverflowError, TypeError, ValueError):
            raise invalid_entry(name, "a number", value) from None
        whole = not self.integer or (exact.is_integer() and abs(exact) <= MAX_INTEGER)
        if not (math.isfinite(exact) and whole and self.low <= exact <= self.high):
            kind = "a whole number" if self.integer else "a finite number"
            ends = f" from {self.low:g} to {self.high:g}" if self.low > -math.inf else ""
            raise invalid_entry(name, f"{kind}{ends}", value)


@dataclass(frozen=True)
class TextRule(Rule):
    """Text without null characters; one of `choices` if there are any."""

    choices: tuple[str, ...] = ()
    longest: int = MAX_TEXT_LENGTH

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, str) or len(value) > self.longest or "\0" in value:
            raise invalid_entry(name, "text", value)
        if self.choices and value not in self.choices:
            raise invalid_entry(name, f"one of {', '.join(map(repr, self.choices))}", value)


@dataclass(frozen=True)
class FlagRule(Rule):
    """True or false."""

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, bool):
            raise invalid_entry(name, "true or false", value)


@dataclass(frozen=True)
class ListRule(Rule):
    """A list whose items obey one rule."""

    item: Rule
    max_items: int = MAX_ITEMS
    min_items: int = 0

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise invalid_entry(name, "a list", value)
        if not self.min_items <= len(value) <= self.max_items:
            raise invalid_entry(
                name, f"a list of {self.min_items} to {self.max_items} items", value
            )
        for k, item in enumerate(value):
            self.item.check(f"{name}[{k}]", item)


@dataclass(frozen=True)
class TableRule(Rule):
    """A table of named values.

    Attributes
    ----------
    entries
        Rules by name; a name may be a pattern such as "mean_*".
    required
        Names that must be present.
    others
        Rule of all other names; None allows anything.
    """

    entries: Mapping[str, Rule] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    others: Rule | None = None

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise invalid_entry(name, "a table of named values", value)
        inside = f"{name}." if name else ""
        for key in self.required:
            if key not in value:
                raise InvalidFile(f"{inside}{key} is missing.", f"{inside}{key}")
        for key, entry in value.items():
            if not isinstance(key, str):
                raise invalid_entry(name, "a table of named values", value)
            if (rule := self._rule(key)) is not None:
                rule.check(f"{inside}{key}", entry)

    def _rule(self, key: str) -> Rule | None:
        if key in self.entries:
            return self.entries[key]
        patterns = (rule for name, rule in self.entries.items() if fnmatchcase(key, name))
        return next(patterns, self.others)


@dataclass(frozen=True)
class AnyOf(Rule):
    """A value that obeys one of several rules, or None if `or_none`."""

    rules: tuple[Rule, ...]
    or_none: bool = False

    def check(self, name: str, value: Any) -> None:
        if value is None and self.or_none:
            return
        for rule in self.rules[:-1]:
            with suppress(TarsusError):
                return rule.check(name, value)
        self.rules[-1].check(name, value)


@dataclass(frozen=True)
class NumbersRule(Rule):
    """A number or nested lists of numbers; null and "inf" are allowed."""

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self.check(name, item)
        elif value is not None and value not in ("inf", "-inf") and not isinstance(value, bool):
            NumberRule().check(name, value)


@dataclass(frozen=True)
class JsonValueRule(Rule):
    """Any JSON value of limited depth whose numbers fit into 64 bits."""

    def check(self, name: str, value: Any) -> None:
        self._check(name, value, 0)

    def _check(self, name: str, value: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise InvalidFile(f"{name} must not be nested deeper than {MAX_DEPTH} levels.", name)
        if isinstance(value, Mapping):
            for key, part in value.items():
                self._check(f"{name}.{key}" if depth < 2 else name, part, depth + 1)
        elif isinstance(value, list):
            for part in value:
                self._check(name, part, depth + 1)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            NumberRule(-1e300, 1e300).check(name, value)
            if isinstance(value, int):
                NumberRule(-MAX_INTEGER, MAX_INTEGER).check(name, value)
        elif isinstance(value, str):
            TextRule().check(name, value)


@dataclass(frozen=True)
class JsonRule(Rule):
    """JSON text whose value obeys a rule as well as `JsonValueRule`."""

    content: Rule

    def check(self, name: str, value: Any) -> None:
        content = parse_json(name, value)
        JsonValueRule().check(name, content)
        self.content.check(name, content)


def parse_json(name: str, text: Any) -> Any:
    """Parse a JSON text; raise InvalidFile, naming it, if it is not valid JSON."""
    if not isinstance(text, str | bytes) or len(text) > MAX_JSON_LENGTH:
        raise invalid_entry(name, "JSON text", text)
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise invalid_entry(name, "JSON text", text) from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that contains an object; raise InvalidFile, with its path, for any other."""
    if not path.is_file():
        raise InvalidFile(f"there is no file {path}.", path)
    content = parse_json(str(path), path.read_bytes())
    if not isinstance(content, dict):
        raise invalid_entry(str(path), "a JSON object", content)
    JsonValueRule().check(str(path), content)
    return content


def _reject_constant(word: str) -> None:
    """Reject NaN and Infinity, which JSON does not have."""
    raise ValueError(word)


def invalid_entry(name: str, wanted: str, value: Any) -> InvalidFile:
    """Create an error for a value that violates the rule."""
    kind = type(value).__name__
    text = value if isinstance(value, str) else re.sub(r"\s+", " ", f"{value!r:.200}")
    shown = quote(text) if isinstance(value, str) else f"{text[:80]} ({kind})"
    return InvalidFile(f"{name} must be {wanted}, not {shown}.", name)


@contextmanager
def error_context(what: object) -> Iterator[None]:
    """Prefix errors in the `with` block by the name of what was opened: "run.nc: dt must ..."."""
    try:
        yield
    except TarsusError as error:
        raise error.with_context(str(what)) from None
