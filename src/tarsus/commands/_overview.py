"""Print what `tarsus --help` shows: every command by topic, with examples."""

from __future__ import annotations

from collections.abc import Mapping

from tarsus.commands._parser import EXIT_CODES, example_lines
from tarsus.commands.base import Command

ABOUT = "Simulate legged robots in contact with the ground; choose and compare contact laws."
EXAMPLES = {
    "tarsus demo": "half a minute of what this is",
    "tarsus run mini_cheetah --out out": "ten seconds of trot: a log and a picture",
    "tarsus compare mini_cheetah --laws moreau,compliant,mujoco": "contact laws side by side",
    "tarsus doctor": "what this machine has, and what is missing",
}
HINTS = """\
`tarsus COMMAND --help` explains a command, with examples; `tarsus --version`
prints the version; `tarsus completion bash` completes names with the Tab key."""


def print_overview(commands: Mapping[str, type[Command]]) -> None:
    """Print all commands by topic, those that a newcomer needs first at the top."""
    lines: list[str] = ["usage: tarsus COMMAND [options]", "", ABOUT]
    topics: dict[str, list[str]] = {}
    for name, kind in commands.items():
        topics.setdefault(kind.topic, []).append(f"  {name:12} {kind.summary()}")
    for topic, rows in topics.items():
        lines += ["", f"{topic}:", *rows]
    lines += ["", "Examples:", *example_lines(EXAMPLES), "", HINTS, "", EXIT_CODES]
    print("\n".join(lines), flush=True)
