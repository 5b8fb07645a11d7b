"""The command line: `tarsus COMMAND`, one command per file in `commands/`."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, Union

import tyro

from tarsus import registry
from tarsus.commands.base import INTERRUPTED, Command, typed
from tarsus.errors import TarsusError

COMMANDS = "tarsus.commands"
BAD_INPUT = 2
ABOUT = (
    "Simulate legged robots in contact with the ground. "
    "`tarsus COMMAND --help` explains a command, `tarsus --version` prints the version."
)


def parsed(arguments: list[str]) -> Command:
    """The command that the arguments ask for; exits on bad usage, and after help.

    A command's name alone decides which command is imported and explains its errors.
    """
    if not arguments or arguments[0].startswith("-"):
        return _of(_commands(), "tarsus", arguments or ["--help"], ABOUT)
    name, *given = arguments
    kind: Any = registry.member(COMMANDS, "command", name, Command)
    return _of(kind, f"tarsus {name}", given, None)


def _of(kind: Any, program: str, arguments: list[str], about: str | None) -> Command:
    pairs_off = (tyro.conf.FlagCreatePairsOff,)
    return tyro.cli(kind, prog=program, description=about, args=arguments, config=pairs_off)


def main(arguments: list[str] | None = None) -> int:
    """The entry point.

    Returns 0, or 2 with one sentence on standard error for bad input, or 1 for a run that failed.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:
        from tarsus import __version__

        print(f"tarsus {__version__}")
        return 0
    # the command, and what may come between, told in a sentence
    typed.set(arguments)
    try:
        given = parsed(arguments)
        given.check_names()
        return given.execute()
    except TarsusError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, a folder that nobody may write to
        print(f"error: {error.filename or 'a file'}: {error.strerror or error}.", file=sys.stderr)
        return BAD_INPUT


def _commands() -> Any:
    """The union of all commands in the order of their `place`, for the overview: each is described
    by its first sentence alone.
    """
    kinds: dict[str, Any] = {
        name: registry.member(COMMANDS, "command", name, Command)
        for name in registry.names(COMMANDS)
    }
    union = []
    for name, kind in sorted(kinds.items(), key=lambda item: item[1].place):
        summary = (kind.__doc__ or "").partition("\n\n")[0]
        union.append(Annotated[kind, tyro.conf.subcommand(name, description=summary)])
    return Union[tuple(union)]  # noqa: UP007  built from the files
