"""What every command shares.

To add a command: one file here with one frozen dataclass that derives from `Command`; its fields
are its arguments, explained by the strings under them, its docstring is its help, its name is the
file's.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tarsus.files import json_text

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


def teller(quiet: bool) -> Callable[[str], None]:
    """Says on standard error what is being done, unless quiet or nobody watches."""
    if quiet or not sys.stderr.isatty():
        return lambda text: None
    from rich.console import Console

    console = Console(stderr=True)
    return lambda text: console.print(text, style="dim")
