"""The base class of the commands.

To add a command: one file here with one frozen dataclass that derives from `Command`. Its name is
the file's, its docstring its help (the first sentence is its line in `tarsus --help`), its fields
are its arguments, explained by the strings under them. `place` and `topic` say where `tarsus
--help` has it, `examples` end its own help, `groups` head its options there. Every command has the
flags of `OutputFlags`: with `json` it prints one JSON document and nothing else, and `progress` is
quiet if it shall be.

The types below are the arguments that several commands share, each with its word in the help,
`ROBOT`, `NAME`, `SECONDS`, ..., and with its explanation where that is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import tyro

from tarsus import registry, robots
from tarsus.commands._progress import Progress
from tarsus.errors import IncompatibleOptions
from tarsus.files import json_text

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

typed: ContextVar[Sequence[str]] = ContextVar("typed", default=())
"""The command line's arguments as they were typed."""


def _default(value: str) -> str:
    """A default as the help shows it: empty for a flag and for "not given"."""
    return "" if value in ("None", "True", "False", "", "''") else f"(default: {value})"


def called(name: str | None, help: str | None = None, short: str | None = None) -> Any:
    """How the help calls an argument's value, None for a flag, which has none; and what it says of
    it, where the string under the field does not.

    short: a second name, such as "-q"
    """
    aliases = (short,) if short else None
    return tyro.conf.arg(metavar=name, help=help, help_behavior_hint=_default, aliases=aliases)


@dataclass(frozen=True)
class Checked:
    """Marks an argument whose value is checked at once, before anything heavy is imported.

    check: raises TarsusError; names: gives the values that are known, for completion
    """

    check: Callable[[Any], None]
    names: Callable[[], Sequence[str]] = tuple


def name_of(kind: str, package: str, *also: str) -> Checked:
    """The name of a file in a folder, or one of `also`; or the path of a Python file, which is
    trusted from here on, of a terrain also of an MJCF file.
    """

    def check(name: str) -> None:
        if name.endswith(registry.PYTHON_SUFFIX):
            registry.trust(name)
        elif not (package == TERRAINS and name.endswith(".xml")):
            registry.check_name(package, kind, name, also)

    return Checked(check, lambda: (*registry.names(package), *also))


def names_of(kind: str, package: str, *also: str) -> Checked:
    """The same for several names with commas between them."""
    one = name_of(kind, package, *also)

    def check(names: str) -> None:
        for name in registry.split_names(names):
            one.check(name)

    return Checked(check, one.names)


def _number(words: list[str]) -> float:
    try:
        found = float(words[0])
    except ValueError:
        raise ValueError(f"{words[0]!r} is not a number") from None
    if not isfinite(found):
        raise ValueError(f"{words[0]!r} is not a finite number")
    return found


def number(called: str) -> Any:
    """A number with this word for it in the help; None stands for "not given"."""
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=called,
        instance_from_str=_number,
        is_instance=lambda value: value is None or isinstance(value, float | int),
        str_from_instance=lambda value: [str(value)],
    )


LAWS, STEPPERS = "tarsus.contact.laws", "tarsus.stepping.methods"
GAITS, TERRAINS = "tarsus.control.gaits", "tarsus.terrain"
AUTO = "auto"  # in place of a gait's name
OWN = "or path to a Python file with your own"

RobotName = Annotated[
    tyro.conf.Positional[str],
    called(
        "ROBOT",
        "Built-in robot (`tarsus list robots`), one of example-robot-data (go2), or path to an"
        " MJCF, URDF or SDF file.",
    ),
    Checked(robots.require, lambda: registry.names("tarsus.robots")),
]
LawName = Annotated[
    str, called("NAME", f"Contact law (`tarsus list laws`), {OWN}."), name_of("law", LAWS)
]
StepperName = Annotated[
    str,
    called("NAME", f"Time-stepping method (`tarsus list steppers`), {OWN}."),
    name_of("stepper", STEPPERS),
]
TerrainName = Annotated[
    str,
    called(
        "NAME",
        f"Terrain (`tarsus list terrains`), {OWN}, or to an MJCF file: its fixed shapes.",
    ),
    name_of("terrain", TERRAINS),
]
GaitName = Annotated[
    str,
    called(
        "NAME",
        f"Gait (`tarsus list gaits`), {OWN}, or auto: trot if the robot can, else stand.",
    ),
    name_of("gait", GAITS, AUTO),
]
Trust = Annotated[
    tyro.conf.UseAppendAction[tuple[Path, ...]],
    called(
        "FILE",
        "Python file with a law, terrain, ... of your own, which may run if the data names it.",
    ),
    Checked(lambda files: registry.trust(*files)),
]
Settings = Annotated[
    tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]],
    called("NAME=VALUE ..."),
]
"""What `--set` was given, each time."""


def each_setting(given: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return every NAME=VALUE of a flag that may be given several times."""
    return [setting for group in given for setting in group]


Seconds = Annotated[float, number("SECONDS"), called("SECONDS")]
Number = Annotated[float | None, number("NUMBER"), called("NUMBER")]
Folder = Annotated[Path | None, called("FOLDER")]
File = Annotated[Path | None, called("FILE")]
Flag = Annotated[bool, called(None)]


class Group:
    """Flags that several commands share, a frozen dataclass; the help shows them together."""

    def check(self) -> None:
        """Raise TarsusError for a value that none of the commands takes."""


@dataclass(frozen=True)
class OutputFlags(Group):
    """What a command prints besides its result."""

    json: Flag = False
    """Print one JSON document and nothing else."""
    quiet: Annotated[bool, called(None, short="-q")] = False
    """Print the result and errors alone: no progress, no warnings."""
    verbose: Annotated[bool, called(None, short="-v")] = False
    """Tell on standard error what is done, with times, also where that is no terminal."""

    def check(self) -> None:
        if self.quiet and self.verbose:
            raise IncompatibleOptions(
                "--quiet cannot be combined with --verbose: give one of them.", "--quiet"
            )


@dataclass(frozen=True)
class Command(ABC):
    """A command with its arguments.

    place: where `tarsus --help` lists it, smaller first; topic: under which heading
    examples: command lines and what each of them does; groups: headings of its help, and the
    names of the fields under each, with blanks between them
    """

    place: ClassVar[int] = 100
    topic: ClassVar[str] = "More"
    examples: ClassVar[Mapping[str, str]] = {}
    groups: ClassVar[Mapping[str, str]] = {}
    output: Annotated[OutputFlags, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="Output")] = field(
        default_factory=OutputFlags, kw_only=True
    )

    @classmethod
    def summary(cls) -> str:
        """Return the first sentence of the docstring, its line in `tarsus --help`."""
        return (cls.__doc__ or "").partition("\n\n")[0]

    @property
    def json(self) -> bool:
        """Whether one JSON document is printed and nothing else."""
        return self.output.json

    def progress(self) -> Progress:
        """Tells on standard error what is being done, as the flags want it."""
        return Progress(quiet=self.output.quiet or self.json, verbose=self.output.verbose)

    def check_names(self) -> None:
        """TarsusError for a name that is not there, before anything heavy is imported."""
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            given = getattr(self, name, None)
            if isinstance(given, Group):
                given.check()
                continue
            for mark in getattr(hint, "__metadata__", ()):
                if isinstance(mark, Checked) and given is not None:
                    mark.check(given)

    @abstractmethod
    def execute(self) -> int:
        """Do it; returns the exit code. TarsusError for bad input."""


def print_json(value: Any) -> None:
    """One JSON document on standard output; null stands for what is not finite."""
    print(json_text(value))


def written(path: Path) -> dict[str, Any]:
    """What a JSON document says of a file that was written."""
    return {"file": str(path), "bytes": path.stat().st_size}
