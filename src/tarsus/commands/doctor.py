"""`tarsus doctor`: check this machine and list what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from tarsus.commands._doctor_checks import BAD, MISSING, OK, Diagnosis, run_checks
from tarsus.commands.base import FAILED, Command, print_json

SIGNS = {OK: ("ok", "green"), MISSING: ("--", "yellow"), BAD: ("!!", "red")}


@dataclass(frozen=True)
class Doctor(Command):
    """Check this machine: processor, compiler, cache, GPU and packages.

    Missing items are listed with the command that installs them. Items marked `--` are optional;
    items marked `!!` are required and do not work, and the exit code is then 1.
    """

    position: ClassVar[int] = 75
    topic: ClassVar[str] = "Speed and machine"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus doctor": "check the machine before the first run, or for a bug report",
        "tarsus doctor --json": "print the checks as JSON",
    }

    def execute(self) -> int:
        with self.progress() as progress:
            results = list(run_checks(progress.show_stage))
        print_json([asdict(result) for result in results]) if self.json else _print(results)
        return FAILED if any(result.state == BAD for result in results) else 0


def _print(results: Sequence[Diagnosis]) -> None:
    """Print a line for each result, with its remedy below."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for result in results:
        sign, color = SIGNS[result.state]
        head = Text.assemble((sign, color), f"  {result.name:14} ", result.detail)
        console.print(head)
        if result.remedy:
            console.print(Text(f"{'':19}fix: {result.remedy}", "cyan"))
    counts = {state: sum(result.state == state for result in results) for state in SIGNS}
    console.print()
    if counts[BAD]:
        console.print(f"{counts[BAD]} of {len(results)} checks failed; see `!!` above.")
    elif counts[MISSING]:
        console.print(
            f"Everything that a simulation needs works; {counts[MISSING]} optional items are"
            " missing."
        )
    else:
        console.print("Everything works.")
