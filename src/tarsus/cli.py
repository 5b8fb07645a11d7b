"""The command line: `tarsus COMMAND`, one command a file in `commands/`."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, Union

import tyro

from tarsus import registry
from tarsus.commands.base import Command
from tarsus.errors import TarsusError

COMMANDS = "tarsus.commands"
BAD_INPUT, INTERRUPTED = 2, 130


def parsed(arguments: list[str] | None = None) -> Command:
    """The command that the arguments (by default the process's own) ask for; exits on bad usage."""
    kinds: list[Any] = []
    for name in registry.names(COMMANDS):
        kinds.append(
            Annotated[
                registry.member(COMMANDS, "command", name, Command), tyro.conf.subcommand(name)
            ]
        )
    union: Any = Union[tuple(kinds)]  # noqa: UP007  built from the files
    return tyro.cli(
        union,
        prog="tarsus",
        description="Legged robots in contact with the ground.",
        args=arguments,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def main(arguments: list[str] | None = None) -> int:
    """The entry point; exit code 2 with one sentence on bad input, 1 for a run that failed."""
    given = parsed(arguments)
    try:
        return given.execute()
    except TarsusError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
