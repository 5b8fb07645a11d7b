"""What a paper says, each statement confirmed or refuted by the numbers of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tarsus_papers.base import Finding, Table, Task

Data = Mapping[str, Mapping[str, Any]]  # of every part needed, by its name
Verdict = tuple[bool | None, str]  # whether it is so (None: undecided), and by which numbers
Found = TypeVar("Found")

WORDS = {True: "confirmed", False: "refuted", None: "not decided"}


def finding(
    claims: Mapping[str, Callable[[Data], Verdict]], task: Task, needs: Sequence[str]
) -> Finding:
    """The verdicts on all claims by the data of the parts needed."""
    verdicts = decided(claims, {name: task.found[name].data for name in needs})
    return Finding(kept(verdicts), tables=[table(verdicts)])


def decided(claims: Mapping[str, Callable[[Found], Verdict]], found: Found) -> dict[str, Verdict]:
    """The verdict on each claim."""
    return {claim: decide(found) for claim, decide in claims.items()}


def kept(verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, Any]]:
    """The verdicts as a finding's data."""
    return {
        claim: {"confirmed": holds, "numbers": numbers}
        for claim, (holds, numbers) in verdicts.items()
    }


def table(verdicts: Mapping[str, Verdict], title: str = "") -> Table:
    """The verdicts in words."""
    rows = [(claim, WORDS[holds], numbers) for claim, (holds, numbers) in verdicts.items()]
    return Table(title, ("the paper says", "ours", "by these numbers"), rows)
