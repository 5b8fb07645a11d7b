"""Base class of the commands, and the arguments that several commands share.

To add a command, add a file to this folder with one frozen dataclass that derives from `Command`.
The file's name is the command's name. The docstring is its help, and the first sentence is its line
in `tarsus --help`. The fields are its arguments; the string under each field is the help text.
Every command has the flags of `OutputFlags`: with `--json` it prints one JSON document and nothing
else, and `progress` respects `--quiet`.

The types below are shared arguments. Each has its placeholder in the help (`ROBOT`, `NAME`,
`SECONDS`, ...), and its help text where that is the same for all commands.
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
from tarsus.errors import IncompatibleOptions, unknown_name_error
from tarsus.files import json_text

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

typed_arguments: ContextVar[Sequence[str]] = ContextVar("typed_arguments", default=())
"""The arguments of the command line as the user typed them."""


def _format_default(value: str) -> str:
    """Format a default for the help: empty for a flag and for None."""
    return "" if value in ("None", "True", "False", "", "''") else f"(default: {value})"


def argument(name: str | None, help: str | None = None, short: str | None = None) -> Any:
    """Create the annotation that describes an argument in the help.

    Parameters
    ----------
    name
        Placeholder of the value, such as "SECONDS"; None for a flag, which has no value.
    help
        Help text; None to use the string under the field.
    short
        Short option name, such as "-q".
    """
    aliases = (short,) if short else None
    return tyro.conf.arg(
        metavar=name, help=help, help_behavior_hint=_format_default, aliases=aliases
    )


@dataclass(frozen=True)
class ArgumentCheck:
    """Annotation that checks an argument early, before any slow import.

    Attributes
    ----------
    check
        Function that raises TarsusError for an invalid value.
    names
        Function that returns the known values, for shell completion.
    """

    check: Callable[[Any], None]
    names: Callable[[], Sequence[str]] = tuple


def name_check(kind: str, package: str, *also: str) -> ArgumentCheck:
    """Create a check that a name is a member of `package`, one of `also`, or a path.

    A path to a Python file is accepted for every kind, and the file is trusted from then on. A
    terrain may also be a path to an MJCF file.
    """

    def check(name: str) -> None:
        if name.endswith(registry.PYTHON_SUFFIX):
            registry.trust(name)
        elif not (package == TERRAINS and name.endswith(".xml")):
            registry.check_name(package, kind, name, also)

    return ArgumentCheck(check, lambda: (*registry.names(package), *also))


def name_list_check(kind: str, package: str, *also: str) -> ArgumentCheck:
    """Create the check of `name_check` for several names separated by commas."""
    one = name_check(kind, package, *also)

    def check(names: str) -> None:
        for name in registry.split_names(names):
            one.check(name)

    return ArgumentCheck(check, one.names)


def actuators_check() -> ArgumentCheck:
    """Create the check of "motor", "file", or "file" and names of actuator models."""
    one = name_check("actuator model", ACTUATORS)

    def check(given: str) -> None:
        first, *models = given.split("+")
        if first not in ("motor", "file"):
            raise unknown_name_error("kind of actuators", first, ("motor", "file"))
        if models and first != "file":
            raise IncompatibleOptions(
                "models of real motors change the actuators of a file: use --actuators"
                f" {'+'.join(['file', *models])}.",
                "--actuators",
            )
        for name in models:
            one.check(name)

    return ArgumentCheck(check, lambda: ("motor", "file", *(f"file+{n}" for n in one.names())))


def _number(words: list[str]) -> float:
    try:
        value = float(words[0])
    except ValueError:
        raise ValueError(f"{words[0]!r} is not a number") from None
    if not isfinite(value):
        raise ValueError(f"{words[0]!r} is not a finite number")
    return value


def number_argument(name: str) -> Any:
    """Create the annotation of a finite number whose placeholder in the help is `name`.

    The field's default may be None, which means that the option is not set.
    """
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=name,
        instance_from_str=_number,
        is_instance=lambda value: value is None or isinstance(value, float | int),
        str_from_instance=lambda value: [str(value)],
    )


LAWS, STEPPERS = "tarsus.contact.laws", "tarsus.stepping.methods"
GAITS, TERRAINS = "tarsus.control.gaits", "tarsus.terrain"
ACTUATORS = "tarsus.control.actuators"
AUTO = "auto"  # choose the gait from the robot
OWN_FILE = "or path to your own Python file"

RobotName = Annotated[
    tyro.conf.Positional[str],
    argument(
        "ROBOT",
        "Built-in robot (`tarsus list robots`), robot of the package example-robot-data (such as"
        " go2), or path to an MJCF, URDF or SDF file.",
    ),
    ArgumentCheck(robots.require, lambda: registry.names("tarsus.robots")),
]
LawName = Annotated[
    str,
    argument("NAME", f"Contact law (`tarsus list laws`), {OWN_FILE}."),
    name_check("law", LAWS),
]
ActuatorNames = Annotated[str, argument("motor|file[+NAME...]"), actuators_check()]
StepperName = Annotated[
    str,
    argument("NAME", f"Time-stepping method (`tarsus list steppers`), {OWN_FILE}."),
    name_check("stepper", STEPPERS),
]
TerrainName = Annotated[
    str,
    argument(
        "NAME",
        "Terrain (`tarsus list terrains`), path to your own Python file, or path to an MJCF file,"
        " whose fixed shapes become the terrain.",
    ),
    name_check("terrain", TERRAINS),
]
GaitName = Annotated[
    str,
    argument(
        "NAME",
        "Gait (`tarsus list gaits`), path to your own Python file, or auto: trot if the robot can"
        " trot, else stand.",
    ),
    name_check("gait", GAITS, AUTO),
]
Trust = Annotated[
    tyro.conf.UseAppendAction[tuple[Path, ...]],
    argument(
        "FILE",
        "Python file that may run if the data refers to it, such as your own law or terrain; may be"
        " repeated.",
    ),
    ArgumentCheck(lambda files: registry.trust(*files)),
]
Settings = Annotated[
    tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]],
    argument("NAME=VALUE ..."),
]
"""Values of an option such as `--set`, which may be repeated: one tuple per use."""


def collect_settings(groups: tuple[tuple[str, ...], ...]) -> list[str]:
    """Collect every NAME=VALUE of an option that may be repeated."""
    return [setting for group in groups for setting in group]


Seconds = Annotated[float, number_argument("SECONDS"), argument("SECONDS")]
OptionalSeconds = Annotated[float | None, number_argument("SECONDS"), argument("SECONDS")]
Number = Annotated[float | None, number_argument("NUMBER"), argument("NUMBER")]
Folder = Annotated[Path | None, argument("FOLDER")]
File = Annotated[Path | None, argument("FILE")]
Flag = Annotated[bool, argument(None)]


class Group:
    """Base class of options that several commands share; the help lists them under one heading.

    Subclasses are frozen dataclasses.
    """

    def check(self) -> None:
        """Raise TarsusError for a value that no command accepts."""


@dataclass(frozen=True)
class OutputFlags(Group):
    """Options for what a command prints besides its result."""

    json: Flag = False
    """Print one JSON document and nothing else."""
    quiet: Annotated[bool, argument(None, short="-q")] = False
    """Print only the result and errors: no progress, no warnings."""
    verbose: Annotated[bool, argument(None, short="-v")] = False
    """Print each stage with its time to standard error, even if that is not a terminal."""

    def check(self) -> None:
        if self.quiet and self.verbose:
            raise IncompatibleOptions(
                "--quiet cannot be combined with --verbose: give one of them.", "--quiet"
            )


@dataclass(frozen=True)
class Command(ABC):
    """Base class of a command with its arguments.

    Attributes
    ----------
    position
        Position in `tarsus --help`; smaller numbers come first.
    topic
        Heading in `tarsus --help`.
    examples
        Example command lines, each with a description of what it does.
    groups
        Headings of the command's help, each with the names of its fields separated by spaces.
    """

    position: ClassVar[int] = 100
    topic: ClassVar[str] = "More"
    examples: ClassVar[Mapping[str, str]] = {}
    groups: ClassVar[Mapping[str, str]] = {}
    output: Annotated[OutputFlags, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="Output")] = field(
        default_factory=OutputFlags, kw_only=True
    )

    @classmethod
    def summary(cls) -> str:
        """Return the first sentence of the docstring, which is the line in `tarsus --help`."""
        return (cls.__doc__ or "").partition("\n\n")[0]

    @property
    def json(self) -> bool:
        """Whether to print one JSON document and nothing else."""
        return self.output.json

    def progress(self) -> Progress:
        """Create the progress display that the flags ask for; it writes to standard error."""
        return Progress(quiet=self.output.quiet or self.json, verbose=self.output.verbose)

    def check_names(self) -> None:
        """Raise TarsusError for an unknown name or invalid value, before any slow import."""
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            value = getattr(self, name, None)
            if isinstance(value, Group):
                value.check()
                continue
            for annotation in getattr(hint, "__metadata__", ()):
                if isinstance(annotation, ArgumentCheck) and value is not None:
                    annotation.check(value)

    @abstractmethod
    def execute(self) -> int:
        """Run the command and return the exit code.

        Raises
        ------
        TarsusError
            If the input is invalid.
        """


def print_json(value: Any) -> None:
    """Print one JSON document to standard output; null represents NaN and infinity."""
    print(json_text(value))


def file_record(path: Path) -> dict[str, Any]:
    """Create the entry of a JSON document for a file that was written."""
    return {"file": str(path), "bytes": path.stat().st_size}
