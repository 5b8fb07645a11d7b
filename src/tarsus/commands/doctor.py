"""`tarsus doctor`: what this machine has, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from tarsus.commands._doctor_checks import BAD, MISSING, OK, Diagnosis, findings
from tarsus.commands.base import FAILED, Command, print_json

SIGNS = {OK: ("ok", "green"), MISSING: ("--", "yellow"), BAD: ("!!", "red")}


@dataclass(frozen=True)
class Doctor(Command):
    """Look at this machine: processor, compiler, cache, GPU, packages.

    What is missing is told with the command that adds it. Nothing of `--` is needed to simulate;
    exits with 1 if something of `!!` is, and does not work.
    """

    place: ClassVar[int] = 75
    topic: ClassVar[str] = "Speed and machine"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus doctor": "before the first run, and in a report of a bug",
        "tarsus doctor --json": "the same for a program",
    }

    def execute(self) -> int:
        with self.progress() as progress:
            found = list(findings(progress.say))
        print_json([asdict(finding) for finding in found]) if self.json else _tell(found)
        return FAILED if any(finding.state == BAD for finding in found) else 0


def _tell(found: Sequence[Diagnosis]) -> None:
    """A line for each, its remedy below."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for finding in found:
        sign, color = SIGNS[finding.state]
        head = Text.assemble((sign, color), f"  {finding.name:14} ", finding.told)
        console.print(head)
        if finding.remedy:
            console.print(Text(f"{'':19}add it: {finding.remedy}", "cyan"))
    counts = {state: sum(f.state == state for f in found) for state in SIGNS}
    console.print()
    if counts[BAD]:
        console.print(f"{counts[BAD]} of {len(found)} do not work; see `!!` above.")
    elif counts[MISSING]:
        console.print(f"What a simulation needs works; {counts[MISSING]} extras are not there.")
    else:
        console.print("Everything works.")
