"""What an experiment of a paper promises: parts, each one table or figure with its numbers
beside the paper's.

To add an experiment:

1. Make a file in `tarsus/experiments`, or a folder if it is longer than one file; its name is what
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

from tarsus.errors import unknown
from tarsus.references.reference import Reference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Number = float | str | None


@dataclass(frozen=True)
class Row:
    """One quantity, the paper's and ours: published, measured in `unit`; None where there is
    none.

    where: page, table or figure of the paper; comment: what a reader must know to compare the
    two.
    """

    quantity: str
    published: float | None
    measured: float | None
    unit: str
    where: str
    comment: str = ""

    @property
    def ratio(self) -> float | None:
        """Measured / published; None if there is no such number."""
        if self.published is None or self.measured is None or not self.published:
            return None
        return self.measured / self.published if math.isfinite(self.measured) else None


@dataclass(frozen=True)
class Check:
    """Something that must be so, and whether it is; `got` says what was found."""

    claim: str
    holds: bool
    got: str


@dataclass(frozen=True)
class Table:
    """Numbers beyond the rows: `rows` of as many cells as there are `columns`; None is an empty
    cell.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Number]]


@dataclass(frozen=True)
class Finding:
    """What a part found.

    data: numbers, strings, lists and dictionaries, all that `draw` needs; rows, tables: for the
    reader; checks: what must hold; notes: settings and remarks, a sentence each.
    """

    data: Mapping[str, Any]
    rows: Sequence[Row] = ()
    tables: Sequence[Table] = ()
    checks: Sequence[Check] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Task:
    """How to measure: quick is the reduced version that tests run; found: findings of the parts
    needed, by name.
    """

    quick: bool = False
    tell: Callable[[str], None] = lambda text: None
    found: Mapping[str, Finding] = field(default_factory=dict)


class Exhibit(ABC):
    """One table or figure, a class without state.

    name: what --parts takes; title; where: in the paper, "" for what goes beyond it; about: what
    is measured and how, for a reader of the page; caption: of the picture; needs: parts whose
    findings it uses.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    where: ClassVar[str]
    about: ClassVar[str]
    caption: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def measure(self, task: Task) -> Finding:
        """Run what is to be run. TarsusError if it cannot be."""

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        """The picture of a finding's data; None if there is none."""
        return None


@dataclass(frozen=True)
class Experiment:
    """A paper's tables and figures: title, reference, what is simulated, and the parts in reading
    order.
    """

    title: str
    paper: Reference
    about: str
    parts: tuple[Exhibit, ...]

    def chosen(self, names: Sequence[str]) -> tuple[Exhibit, ...]:
        """The parts named, all if none is, and those they need, in reading order; TarsusError with
        near names.
        """
        known = {part.name: part for part in self.parts}
        wanted: set[str] = set()
        waiting = list(names or known)
        while waiting:
            name = waiting.pop()
            if name not in known:
                raise unknown("part", name, known)
            if name not in wanted:
                wanted.add(name)
                waiting += known[name].needs
        return tuple(part for part in self.parts if part.name in wanted)
