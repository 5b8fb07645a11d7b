"""What is wrong with a command's arguments, in a sentence, where its parser would draw a box."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Sequence
from typing import Any

from tarsus.commands._options import Argument, options
from tarsus.commands.base import BAD_INPUT, Command
from tarsus.errors import TarsusError, near_names, shortened

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
        raise TarsusError(_sentence(name, drawn.getvalue())) from None


def check(name: str, kind: type[Command], given: Sequence[str]) -> None:
    """TarsusError, with near names, for an option that there is not, and for a value that is none
    of a few.
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
            raise TarsusError(f"tarsus {name} has no option {shortened(flag)}; {hint}")
        _check_choice(f"{flag} cannot be", known[flag], value if equals else after)
    # the first argument that goes by its place
    first = next((option for option in found if not option.flags), None)
    if first is not None and given and not given[0].startswith("-"):
        _check_choice(f"tarsus {name} knows no", first, given[0])


def _check_choice(wrong: str, option: Argument, value: str) -> None:
    if option.fixed and value and value not in option.choices:
        near = near_names(value, option.choices)
        every = f"known are: {', '.join(option.choices)}."
        known = f"did you mean {' or '.join(near)}?" if near else every
        raise TarsusError(f"{wrong} {shortened(value)}; {known}")


def _sentence(name: str, box: str) -> str:
    """What the parser's box says above its rule."""
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
        return f"tarsus {name} needs {', '.join(needed)}; {_explains(name)}"
    what, _, rest = text.partition(": ")
    if what == "Unrecognized options":
        return f"tarsus {name} does not take {shortened(rest)}; {_explains(name)}"
    if value := re.match(r"Missing value for argument '(\S+)'", text):
        return f"{value[1]} needs a value; {_explains(name)}"
    text = WHOLE.sub(r"\1 is not a whole number", text.removeprefix("Error parsing "))
    return f"{text.rstrip('.')}."


def _explains(name: str) -> str:
    return f"tarsus {name} --help explains it."


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
