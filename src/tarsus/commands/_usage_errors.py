"""Turn tyro's parse errors into TarsusErrors of one sentence each.

tyro describes each error as an event, but only in a private module (docs/decisions/0072).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tyro import _errors as events

from tarsus.commands._options import options
from tarsus.commands.base import Command
from tarsus.errors import InvalidValue, TarsusError, UnknownName, closest_names, quote


@contextmanager
def raise_usage_errors(name: str, kind: type[Command]) -> Iterator[None]:
    """Raise tyro's parse errors inside the `with` block as TarsusErrors."""

    def on_error(event: events.ParseErrorEvent) -> None:
        try:
            error = _create_usage_error(name, kind, event)
        except AttributeError:  # an event of another tyro version, which prints its own box
            return
        if error is not None:
            raise error

    with events.on_parse_error(on_error):
        yield


def _create_usage_error(
    name: str, kind: type[Command], event: events.ParseErrorEvent
) -> TarsusError | None:
    """Create the error for an event; None for an event that no command can cause."""
    see = f"see `tarsus {name} --help`."
    match event:
        case events.UnrecognizedArgs(tokens=[word, *_]):
            return _unknown_word_error(name, kind, word, see)
        case events.MissingArgs(unrecognized_tokens=[word, *_]):  # misspelled, then missing
            return _unknown_word_error(name, kind, word, see)
        case events.MissingArgs(missing_arguments=missing):
            needed = [_display_name(each.arg) for each in missing]
            return InvalidValue(f"tarsus {name} needs {', '.join(needed)}; {see}", needed[0])
        case events.BadValue(argument=argument):
            option = _display_name(argument)
            return InvalidValue(f"{option} needs a value; {see}", option)
        case events.InvalidChoice(argument=argument, value=value, choices=choices):
            where = f"tarsus {name}" if argument.is_positional() else _display_name(argument)
            suggestions = closest_names(value, choices)
            hint = (
                f"did you mean {' or '.join(suggestions)}?"
                if suggestions
                else f"choose one of: {', '.join(choices)}."
            )
            return UnknownName(f"{where} does not accept {quote(value)}; {hint}", value)
        case events.InstantiationFailure(message=message, argument=argument):
            option = _display_name(argument) if argument else f"tarsus {name}"
            return InvalidValue(f"{option}: {message.rstrip('.')}.", option)
    return None


def _unknown_word_error(name: str, kind: type[Command], word: str, see: str) -> UnknownName:
    """Create the error for a word that matches no argument."""
    if not word.startswith("-"):
        return UnknownName(f"tarsus {name} does not accept {quote(word)}; {see}", word)

    flag = word.partition("=")[0].replace("_", "-")
    known = [flag for option in options(kind) for flag in option.flags if flag.startswith("--")]
    suggestions = closest_names(flag, known)
    hint = f"did you mean {' or '.join(suggestions)}?" if suggestions else see
    return UnknownName(f"tarsus {name} has no option {quote(flag)}; {hint}", flag)


def _display_name(argument: Any) -> str:
    """Return an argument's name as the help shows it, such as "ROBOT" or "--dt"."""
    if argument.is_positional():
        return str(argument.lowered.metavar)
    return max(argument.lowered.name_or_flags, key=len)
