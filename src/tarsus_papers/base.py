"""The experiment interface: the tables and figures of a paper, measured again.

To add an experiment:

1. Make a file in `tarsus_papers`, or a folder if it is longer than one file; its name is what
   `tarsus reproduce` takes, the first line of its docstring what `tarsus list experiments` shows.
2. For each table or figure of the paper write one class that derives from `Exhibit`: its
   `measure` runs what is to be run and returns a `Finding`, its `draw` turns the finding's data
   into a picture.
3. Put an `Experiment` with the parts, in reading order, under the name `EXPERIMENT`.
4. Let `measure` do less where `task.quick` says so: the tests run that, and every `Check` must
   hold.
5. Say where each published number stands, page or figure; say of what is not published that it is
   not (None).

Matplotlib is imported inside `draw` alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tarsus.errors import unknown_name
from tarsus.references.reference import Reference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Number = float | str | None


@dataclass(frozen=True)
class Row:
    """One quantity, the paper's and ours."""

    quantity: str
    """Its name."""
    published: float | None
    """The paper's number in `unit`; None if it gives none."""
    measured: float | None
    """Ours in `unit`."""
    unit: str
    """SI unit; empty if dimensionless."""
    where: str
    """Page, table or figure of the paper."""
    comment: str = ""
    """Remark for comparing the two."""

    @property
    def ratio(self) -> float | None:
        """Measured / published; None if there is no such number."""
        if self.published is None or self.measured is None or not self.published:
            return None
        return self.measured / self.published if math.isfinite(self.measured) else None


@dataclass(frozen=True)
class Check:
    """A required result, and whether it was reached."""

    claim: str
    """The claim to check, in words."""
    holds: bool
    """Whether it does."""
    got: str
    """By which numbers."""


@dataclass(frozen=True)
class Table:
    """Numbers beyond the rows."""

    title: str
    """Its title."""
    columns: tuple[str, ...]
    """Column headers."""
    rows: Sequence[Sequence[Number]]
    """As many cells a row as there are columns; None is an empty cell."""


@dataclass(frozen=True)
class Finding:
    """The results of a part."""

    data: Mapping[str, Any]
    """Numbers, strings, lists and dictionaries: all that `draw` needs."""
    rows: Sequence[Row] = ()
    """Published beside measured."""
    tables: Sequence[Table] = ()
    """Further numbers."""
    checks: Sequence[Check] = ()
    """The claims that must hold."""
    notes: Sequence[str] = ()
    """Settings and remarks, a sentence each."""


@dataclass(frozen=True)
class Task:
    """How to measure a part."""

    quick: bool = False
    """The reduced version that tests run."""
    tell: Callable[[str], None] = lambda text: None
    """Called with a line on what is being run."""
    found: Mapping[str, Finding] = field(default_factory=dict)
    """Findings of the parts needed, by name."""


class Exhibit(ABC):
    """One table or figure of a paper; a class without state."""

    name: ClassVar[str]
    """The name that `--parts` takes."""
    title: ClassVar[str]
    """Its title on the page."""
    where: ClassVar[str]
    """Place in the paper; empty for what goes beyond it."""
    about: ClassVar[str]
    """The measurement, explained for a reader of the page."""
    caption: ClassVar[str] = ""
    """Caption of the picture."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Parts whose findings it uses."""

    @abstractmethod
    def measure(self, task: Task) -> Finding:
        """Measure the part; TarsusError if that is impossible."""

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        """The picture of a finding's data; None if there is none."""
        return None


@dataclass(frozen=True)
class Experiment:
    """The tables and figures of a paper."""

    title: str
    """Title of the page."""
    paper: Reference
    """The paper."""
    about: str
    """The simulation, explained for a reader of the page."""
    parts: tuple[Exhibit, ...]
    """In reading order."""

    def chosen(self, names: Sequence[str]) -> tuple[Exhibit, ...]:
        """The parts named and those they need, in reading order; all if none is named.

        Raises TarsusError with near names for an unknown one.
        """
        known = {part.name: part for part in self.parts}
        wanted: set[str] = set()
        waiting = list(names or known)
        while waiting:
            name = waiting.pop()
            if name not in known:
                raise unknown_name("part", name, known)
            if name not in wanted:
                wanted.add(name)
                waiting += known[name].needs
        return tuple(part for part in self.parts if part.name in wanted)
