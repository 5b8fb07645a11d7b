"""What `tarsus --help` and `tarsus COMMAND --help` print: what there is, by example."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tarsus.commands._options import Argument, options
from tarsus.commands.base import Command

ABOUT = "Simulate legged robots in contact with the ground; choose and compare contact laws."
EXAMPLES = {
    "tarsus demo": "half a minute of what this is",
    "tarsus run mini_cheetah --out out": "ten seconds of trot: a log and a picture",
    "tarsus compare mini_cheetah --laws moreau,compliant,mujoco": "contact laws side by side",
    "tarsus doctor": "what this machine has, and what is missing",
}
HINTS = (
    "`tarsus COMMAND --help` explains a command, with examples; `tarsus --version` prints the "
    "version; `tarsus completion bash` completes names with the Tab key."
)
EXITS = "Exit codes: 0 done, 1 ran and failed, 2 bad input, 130 interrupted by Ctrl-C."
LEFT, WIDEST, LEAST = 26, 100, 50  # columns of names, of a line at most and at least


def overview(commands: Mapping[str, type[Command]]) -> None:
    """All commands by topic, the first that a newcomer needs at the top."""
    lines: list[str] = ["usage: tarsus COMMAND [options]", "", ABOUT]
    topics: dict[str, list[str]] = {}
    for name, kind in commands.items():
        summary = (kind.__doc__ or "").partition("\n\n")[0]
        topics.setdefault(kind.topic, []).append(name_line(name, summary))
    for topic, rows in topics.items():
        lines += ["", f"{topic}:", *rows]
    lines += ["", "Examples:", *_examples(EXAMPLES), "", *_wrapped(HINTS), "", EXITS]
    show(lines)


def name_line(name: str, summary: str) -> str:
    """A command and what it does."""
    return f"  {name:12} {summary}"


def explain(name: str, kind: type[Command]) -> None:
    """One command: how it is typed, what it does, its arguments by group, examples."""
    found = options(kind)
    # how it is typed, and what it does
    places = [option.value for option in found if not option.flags]
    lines = [" ".join(["usage: tarsus", name, *places, "[options]"]), ""]
    for paragraph in textwrap.dedent(_text(kind)).split("\n\n"):
        lines += [*_wrapped(" ".join(paragraph.split())), ""]
    # its arguments
    for heading, group in groupby(found, lambda option: option.group):
        lines += [f"{heading}:", *(row for option in group for row in _rows(option)), ""]
    lines[-1] = "  -h, --help                Print this."
    # examples
    if kind.examples:
        lines += ["", "Examples:", *_examples(kind.examples)]
    show([*lines, "", EXITS])


def _text(kind: type[Command]) -> str:
    """The docstring of the class, its first line without what indents the others."""
    first, _, rest = (kind.__doc__ or "").partition("\n")
    return f"{first}\n{textwrap.dedent(rest)}"


def _rows(option: Argument) -> list[str]:
    """An argument and what it means, beside it or below."""
    about = option.about + (f" (default: {option.default})" if option.default else "")
    text = textwrap.wrap(about, max(_width() - LEFT - 2, 20)) or [""]
    left = f"  {option.invocation}"
    if len(left) > LEFT:
        return [left, *(" " * (LEFT + 2) + line for line in text)]
    return [f"{left:{LEFT + 2}}{text[0]}", *(" " * (LEFT + 2) + line for line in text[1:])]


def _examples(lines: Mapping[str, str]) -> list[str]:
    return [row for line, what in lines.items() for row in (f"  {line}", f"      {what}")]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _width())


def _width() -> int:
    return max(min(shutil.get_terminal_size().columns, WIDEST), LEAST)


def show(lines: Sequence[str]) -> None:
    """Print lines; on a terminal headings are bold, and names and examples colored."""
    from rich.console import Console
    from rich.text import Text

    console: Any = Console(highlight=False, soft_wrap=True)
    for line in lines:
        text = Text(line)
        if line.endswith(":") and not line.startswith(" "):
            text.stylize("bold")
        elif line.startswith("  tarsus "):
            text.stylize("green")
        elif line.startswith("  ") and line[2] != " ":
            text.stylize("cyan", 0, LEFT if "--" in line or len(line) < LEFT else 14)
        console.print(text)
