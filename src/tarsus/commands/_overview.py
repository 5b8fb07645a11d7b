"""Print the overview of `tarsus --help`: every command by topic, with examples."""

from __future__ import annotations

from collections.abc import Mapping

from tarsus.commands._parser import EXIT_CODES, example_lines
from tarsus.commands.base import Command

ABOUT = "Simulate legged robots in contact with the ground; choose and compare contact laws."
EXAMPLES = {
    "tarsus demo": "see what Tarsus does, in half a minute",
    "tarsus run mini_cheetah --out out": "simulate ten seconds of trot; write a log and a plot",
    "tarsus compare mini_cheetah --laws moreau,compliant,mujoco": "compare contact laws",
    "tarsus doctor": "check this machine and list what is missing",
}
HINTS = """\
Run `tarsus COMMAND --help` for the options and examples of a command,
`tarsus --version` for the version, and `tarsus completion --help` to complete
names with the Tab key."""


def print_overview(commands: Mapping[str, type[Command]]) -> None:
    """Print all commands by topic, ordered by their `position`."""
    lines: list[str] = ["usage: tarsus COMMAND [options]", "", ABOUT]
    topics: dict[str, list[str]] = {}
    for name, kind in commands.items():
        topics.setdefault(kind.topic, []).append(f"  {name:12} {kind.summary()}")
    for topic, rows in topics.items():
        lines += ["", f"{topic}:", *rows]
    lines += ["", "Examples:", *example_lines(EXAMPLES), "", HINTS, "", EXIT_CODES]
    print("\n".join(lines), flush=True)
