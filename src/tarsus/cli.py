"""Run the command line: `tarsus COMMAND`, with one command per file in `commands/`."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from typing import Any

from tarsus import registry
from tarsus.commands._parser import HELP, parse
from tarsus.commands.base import BAD_INPUT, INTERRUPTED, Command, typed_arguments
from tarsus.errors import InvalidValue, TarsusError, TarsusWarning

COMMAND_PACKAGE = "tarsus.commands"
VERSION_FLAGS = ("-V", "--version")


def parse_command(arguments: list[str]) -> Command:
    """Parse the arguments to a command; exit after printing help.

    Only the module of the named command is imported.

    Raises
    ------
    TarsusError
        If the arguments are not valid.
    """
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    if not arguments or arguments[0] in HELP:
        from tarsus.commands._overview import print_overview

        print_overview(commands())
        raise SystemExit(0)
    name, *words = arguments
    if name.startswith("-"):
        raise InvalidValue(f"name a command before its options: tarsus COMMAND {name}.", name)
    kind: Any = registry.member_class(COMMAND_PACKAGE, "command", name, Command)
    return parse(name, kind, words)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Returns
    -------
    int
        0; 1 if the run failed; 2 for bad input, with one sentence on standard error; 130 after
        Ctrl-C. If the reader of a pipe closes it, the command ends quietly.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    _replace_unencodable()
    try:
        code = _execute(arguments)
        sys.stdout.flush()  # flush here, where a closed pipe can be caught
        return code
    except BrokenPipeError:
        return _end_quietly()
    except SystemExit as end:
        if isinstance(
            end.__context__, BrokenPipeError
        ):  # rich exits this way when the pipe is closed
            return _end_quietly()
        raise


def _execute(arguments: list[str]) -> int:
    """Run a command, print its errors, and return the exit code."""
    if len(arguments) == 1 and arguments[0] in VERSION_FLAGS:
        from tarsus import __version__

        print(f"tarsus {__version__}")
        return 0
    # parse and run the command
    typed_arguments.set(arguments)
    try:
        with warnings.catch_warnings():
            _print_warnings(quiet=False)
            given = parse_command(arguments)
            _print_warnings(given.output.quiet)
            given.check_names()
            _set_log_level(given.output.verbose)
            return given.execute()
    except TarsusError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:  # such as a full disk or a folder without write access
        if os.name == "nt" and error.errno == errno.EINVAL and error.filename is None:
            return 0  # Windows reports a closed pipe this way
        print(f"error: {error.filename or 'a file'}: {error.strerror or error}.", file=sys.stderr)
        return BAD_INPUT


def _end_quietly() -> int:
    """Discard the remaining output after the reader of a pipe closed it; return exit code 0."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    try:
        sys.stderr.flush()
    except BrokenPipeError:  # the same pipe
        os.dup2(nowhere, sys.stderr.fileno())
    return 0


def commands() -> dict[str, type[Command]]:
    """Collect all commands by name, in the order of the overview."""
    kinds: dict[str, Any] = registry.member_classes(COMMAND_PACKAGE, "command", Command)
    return dict(sorted(kinds.items(), key=lambda item: item[1].position))


def _replace_unencodable() -> None:
    """Print "?" for characters that the console cannot encode, as on Windows."""
    for stream in (sys.stdout, sys.stderr):
        if not (stream.encoding or "").lower().startswith("utf") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _print_warnings(quiet: bool) -> None:
    """Print warnings of Tarsus as one line each on standard error, or hide them if `quiet`."""
    usual = warnings.showwarning

    def show(message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
        if not issubclass(category, TarsusWarning):
            usual(message, category, filename, lineno, *rest)
        elif not quiet:
            print(f"warning: {message}", file=sys.stderr)

    warnings.showwarning = show


def _set_log_level(verbose: bool) -> None:
    """Print log messages of the package on standard error if `verbose`."""
    import logging

    logger = logging.getLogger("tarsus")
    logger.handlers.clear()
    if verbose:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose else logging.WARNING)
