"""The base class of the commands.

To add a command: one file here with one frozen dataclass that derives from `Command`. Its name is
the file's, its docstring its help (the first sentence is its line in `tarsus --help`), its fields
are its arguments, explained by the strings under them. The types below name an argument's
value in the help: `ROBOT`, `NAME`, `SECONDS`, ...
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from tarsus.files import json_text

FAILED = 1


def _default(value: str) -> str:
    """A default as the help shows it: empty for a flag and for "not given"."""
    return "" if value in ("None", "True", "False", "", "''") else f"(default: {value})"


def called(name: str | None) -> Any:
    """How the help calls an argument's value; None for a flag, which has none."""
    return tyro.conf.arg(metavar=name, help_behavior_hint=_default)


RobotName = Annotated[str, called("ROBOT")]
Name = Annotated[str, called("NAME")]
Seconds = Annotated[float, called("SECONDS")]
Folder = Annotated[Path | None, called("FOLDER")]
File = Annotated[Path | None, called("FILE")]
Flag = Annotated[bool, called(None)]


@dataclass(frozen=True)
class Command(ABC):
    """A command with its arguments.

    place: where `tarsus --help` lists it, smaller first
    """

    place: ClassVar[int] = 100

    @abstractmethod
    def execute(self) -> int:
        """Do it; returns the exit code. TarsusError for bad input."""


def print_json(value: Any) -> None:
    """One JSON document on standard output; null stands for what is not finite."""
    print(json_text(value))


def teller(quiet: bool) -> Callable[[str], None]:
    """Prints progress on standard error, unless quiet or not a terminal."""
    if quiet or not sys.stderr.isatty():
        return lambda text: None
    from rich.console import Console

    console = Console(stderr=True)
    return lambda text: console.print(text, style="dim")
