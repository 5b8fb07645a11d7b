"""What is wrong with a command's arguments, in a sentence, where its parser would draw a box."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Sequence
from typing import Any

from tarsus.commands._options import Argument, options
from tarsus.commands.base import BAD_INPUT, Command
from tarsus.errors import InvalidValue, TarsusError, UnknownName, near_names, shortened

LETTERED = re.compile(r"--?[A-Za-z]")  # an option, where -5 and - are values
FRAME, RULE = "│|", "─-"  # of a box, where there are such signs, or are not
WHOLE = re.compile(r"invalid literal for int\(\) with base 10: (.*)")  # Python's own words


def parsed(name: str, parse: Callable[[], Any]) -> Any:
    """What the parser makes of a command's arguments; TarsusError for what it does not take."""
    drawn = io.StringIO()
    try:
        with contextlib.redirect_stderr(drawn):
            return parse()
    except SystemExit as end:
        if end.code != BAD_INPUT:
            raise
        raise _refusal(name, drawn.getvalue()) from None


def check(name: str, kind: type[Command], given: Sequence[str]) -> None:
    """UnknownName, with near names, for an unknown option, and for a value that is not one of the
    few allowed.
    """
    found = options(kind)
    known = {flag: option for option in found for flag in option.flags}
    for word, after in zip(given, (*given[1:], ""), strict=False):
        flag, equals, value = word.partition("=")
        flag = flag.replace("_", "-")
        if not LETTERED.match(flag) or _number(word):
            continue
        if flag not in known:
            near = near_names(flag, [f for f in known if f.startswith("--")])
            hint = f"did you mean {' or '.join(near)}?" if near else _explains(name)
            raise UnknownName(f"tarsus {name} has no option {shortened(flag)}; {hint}", flag)
        _check_choice(flag, known[flag], value if equals else after)
    # the first argument that goes by its place
    first = next((option for option in found if not option.flags), None)
    if first is not None and given and not given[0].startswith("-"):
        _check_choice(f"tarsus {name}", first, given[0])


def _check_choice(where: str, option: Argument, value: str) -> None:
    if option.fixed and value and value not in option.choices:
        near = near_names(value, option.choices)
        every = f"choose one of: {', '.join(option.choices)}."
        known = f"did you mean {' or '.join(near)}?" if near else every
        raise UnknownName(f"{where} does not accept {shortened(value)}; {known}", value)


def _refusal(name: str, box: str) -> TarsusError:
    """Return what the parser's box says above its rule as an error."""
    # its lines between the title, which may have a rule of its own, and the next rule
    body = list[str]()
    for line in box.strip().splitlines()[1:]:
        inside = line.strip("\n").strip(FRAME).rstrip()
        if inside.strip(f" {RULE}"):
            body.append(inside)
        elif body:
            break
    text = " ".join(" ".join(body).split())
    # what they say
    if text.startswith("Missing from"):
        first, *others = (len(line) - len(line.lstrip()) for line in body)
        needed = [
            line.strip() for line, by in zip(body[1:], others, strict=True) if by - first == 4
        ]
        text = f"tarsus {name} needs {', '.join(needed)}; {_explains(name)}"
        return InvalidValue(text, needed[0].partition(" ")[0])
    what, _, rest = text.removeprefix("Error parsing ").partition(": ")
    if what == "Unrecognized options":
        return UnknownName(
            f"tarsus {name} does not accept {shortened(rest)}; {_explains(name)}", rest
        )
    if value := re.match(r"Missing value for argument '(\S+)'", text):
        return InvalidValue(f"{value[1]} needs a value; {_explains(name)}", value[1])
    text = WHOLE.sub(r"\1 is not a whole number", text.removeprefix("Error parsing "))
    return InvalidValue(f"{text.rstrip('.')}.", what.partition(" ")[0])


def _explains(name: str) -> str:
    return f"see `tarsus {name} --help`."


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
