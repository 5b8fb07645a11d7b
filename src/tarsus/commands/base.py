"""What every command shares.

To add a command: one file here with one frozen dataclass that derives from `Command`; its fields
are its arguments, explained by the strings under them, its docstring is its help, its name is the
file's.
"""

from __future__ import annotations

import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FAILED = 1


@dataclass(frozen=True)
class Command(ABC):
    """A command with its arguments."""

    @abstractmethod
    def execute(self) -> int:
        """Do it; returns the exit code. TarsusError for bad input."""


def print_json(value: Any) -> None:
    """One JSON document on standard output; what is not finite becomes null, as JSON has no word
    for it.
    """
    print(json_text(value))


def json_text(value: Any) -> str:
    """The JSON document that `print_json` prints."""
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    try:
        number = float(value)
    except (
        TypeError,
        ValueError,
    ):  # measured once, perhaps for minutes: a strange value must not cost the others
        return str(value)
    return number if math.isfinite(number) else None


def teller(quiet: bool) -> Callable[[str], None]:
    """Says on standard error what is being done, unless quiet or nobody watches."""
    if quiet or not sys.stderr.isatty():
        return lambda text: None
    from rich.console import Console

    console = Console(stderr=True)
    return lambda text: console.print(text, style="dim")
