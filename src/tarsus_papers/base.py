"""Interface of experiments: reproduction of the tables and figures of a paper.

To add an experiment:

1. Create a file in `tarsus_papers`, or a folder if one file is not enough. Its name is the argument
   of `tarsus reproduce`; the first line of its docstring is shown by `tarsus list experiments`.
2. Write one class that derives from `Exhibit` for each table or figure of the paper. Its `measure`
   runs the simulations and returns a `Finding`; its `draw` turns the data of the finding into a
   picture.
3. Assign an `Experiment` with the parts, in reading order, to the name `EXPERIMENT`.
4. Let `measure` do less if `task.quick`: the tests run this version, and each `Check` must hold.
5. State where each published number is found, by page or figure; use None for numbers that are not
   published.

Matplotlib is imported inside `draw` only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tarsus.errors import unknown_name_error
from tarsus.references.reference import Reference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Number = float | str | None


@dataclass(frozen=True)
class Row:
    """Published and measured value of one quantity.

    Attributes
    ----------
    quantity
        Name of the quantity.
    published
        Number in the paper, in `unit`; None if it gives none.
    measured
        Measured number, in `unit`.
    unit
        SI unit; empty if dimensionless.
    location
        Page, table or figure of the paper.
    comment
        Remark on the comparison.
    """

    quantity: str
    published: float | None
    measured: float | None
    unit: str
    location: str
    comment: str = ""

    @property
    def ratio(self) -> float | None:
        """Measured over published; None if it does not exist."""
        if self.published is None or self.measured is None or not self.published:
            return None
        return self.measured / self.published if math.isfinite(self.measured) else None


@dataclass(frozen=True)
class Check:
    """Required result, and whether it was reached.

    Attributes
    ----------
    claim
        The claim, in words.
    holds
        Whether the check holds.
    numbers
        Numbers that support or refute it.
    """

    claim: str
    holds: bool
    numbers: str


@dataclass(frozen=True)
class Table:
    """Numbers beyond the rows.

    Attributes
    ----------
    title
        Title.
    columns
        Column headers.
    rows
        Cells, one per column; None is an empty cell.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Number]]


@dataclass(frozen=True)
class Finding:
    """Results of a part.

    Attributes
    ----------
    data
        Everything that `draw` needs: numbers, strings, lists and dictionaries.
    rows
        Published and measured numbers.
    tables
        Further numbers.
    checks
        Required results.
    notes
        Settings and remarks, one sentence each.
    """

    data: Mapping[str, Any]
    rows: Sequence[Row] = ()
    tables: Sequence[Table] = ()
    checks: Sequence[Check] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Task:
    """How to measure a part.

    Attributes
    ----------
    quick
        Whether to run the reduced version, as the tests do.
    on_progress
        Called with progress messages.
    findings
        Findings of the parts needed, by name.
    """

    quick: bool = False
    on_progress: Callable[[str], None] = lambda text: None
    findings: Mapping[str, Finding] = field(default_factory=dict)


class Exhibit(ABC):
    """Table or figure of a paper; a class without state.

    Attributes
    ----------
    name
        Name for `--parts`.
    title
        Title on the page.
    location
        Place in the paper; empty for what goes beyond it.
    description
        Explanation of the measurement for a reader of the page.
    caption
        Caption of the picture.
    needs
        Parts whose findings it uses.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    location: ClassVar[str]
    description: ClassVar[str]
    caption: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def measure(self, task: Task) -> Finding:
        """Measure the part; raise TarsusError if that is impossible."""

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        """Return the picture of a finding's data, or None."""
        return None


@dataclass(frozen=True)
class Experiment:
    """Tables and figures of a paper.

    Attributes
    ----------
    title
        Title of the page.
    paper
        The paper.
    description
        Explanation of the simulation for a reader of the page.
    parts
        The parts in reading order.
    """

    title: str
    paper: Reference
    description: str
    parts: tuple[Exhibit, ...]

    def select(self, names: Sequence[str]) -> tuple[Exhibit, ...]:
        """Return parts and those they need, in reading order; all if none is named.

        Raises
        ------
        UnknownName
            For an unknown part.
        """
        known = {part.name: part for part in self.parts}
        wanted: set[str] = set()
        waiting = list(names or known)
        while waiting:
            name = waiting.pop()
            if name not in known:
                raise unknown_name_error("part", name, known)
            if name not in wanted:
                wanted.add(name)
                waiting += known[name].needs
        return tuple(part for part in self.parts if part.name in wanted)
