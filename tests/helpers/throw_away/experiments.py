"""Temporary experiment: a sum."""

from __future__ import annotations

from tarsus.references.reference import Reference
from tarsus_papers.base import Check, Exhibit, Experiment, Finding, Row, Task

NOBODY = Reference("Nobody 2026", "misc", ("Nobody",), "A test", "2026")


class Sum(Exhibit):
    """One and one."""

    name = "sum"
    title = "A sum"
    location = "Table 1"
    description = "One and one."

    def measure(self, task: Task) -> Finding:
        row = Row("1 + 1", 2.0, float(1 + 1), "1", "Table 1")
        return Finding({}, [row], checks=[Check("the sum is two", row.ratio == 1.0, "2")])


EXPERIMENT = Experiment("Sums", NOBODY, "A sum.", (Sum(),))
