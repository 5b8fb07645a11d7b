"""Statements of a paper, confirmed or refuted by the numbers of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tarsus_papers.base import Finding, Table, Task

Data = Mapping[str, Mapping[str, Any]]  # data of the parts needed, by part
Verdict = tuple[bool | None, str]  # whether it holds (None: undecided), and the numbers behind it
Evidence = TypeVar("Evidence")

WORDS = {True: "confirmed", False: "refuted", None: "not decided"}


def finding(
    claims: Mapping[str, Callable[[Data], Verdict]], task: Task, needs: Sequence[str]
) -> Finding:
    """Return the verdicts on all claims, from the data of the parts needed."""
    verdicts = decide_all(claims, {name: task.findings[name].data for name in needs})
    return Finding(verdict_data(verdicts), tables=[table(verdicts)])


def decide_all(
    claims: Mapping[str, Callable[[Evidence], Verdict]], evidence: Evidence
) -> dict[str, Verdict]:
    """Return the verdict on each claim."""
    return {claim: decide(evidence) for claim, decide in claims.items()}


def verdict_data(verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, Any]]:
    """Return the verdicts as data of a finding."""
    return {
        claim: {"confirmed": holds, "numbers": numbers}
        for claim, (holds, numbers) in verdicts.items()
    }


def table(verdicts: Mapping[str, Verdict], title: str = "") -> Table:
    """Return the verdicts as a table."""
    rows = [(claim, WORDS[holds], numbers) for claim, (holds, numbers) in verdicts.items()]
    return Table(title, ("statement of the paper", "verdict", "numbers"), rows)
