"""Tables that fit the terminal: one too wide is printed in parts, each with its first columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED = 100_000  # columns: whoever reads a pipe gets whole lines
GAP = 2  # blanks between columns: its padding, and the box's
EDGES = 2  # blanks of the box to the left and right
TEXT = 30  # letters to which a column of words may be wrapped


def text_console(width: int | None = None) -> Console:
    """Return a console as wide as the terminal; one that wraps nothing where there is none."""
    return Console(highlight=False, width=width or (None if sys.stdout.isatty() else PIPED))


@dataclass(frozen=True)
class TextTable:
    """Cells, with rich's markup, under a head.

    left: headings of the columns of words, which may be wrapped; keys: number of first columns
    that every part of a wide table repeats; title: above it
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[str] = ()
    keys: int = 1
    title: str = ""

    def print(self, console: Console | None = None) -> None:
        """Print it in as many parts as the console's width asks for."""
        console = console or text_console()
        if self.title:
            console.print(Text(self.title, "italic"))
        for columns in self._parts(console.width - EDGES):
            console.print(self._drawn(columns, console.width - EDGES))

    def _parts(self, width: int) -> Iterator[list[int]]:
        """Yield the columns of each part, the first `keys` in all of them."""
        keys, part = list(range(self.keys)), list[int]()
        for k in range(self.keys, len(self.head)):
            if part and sum(self._narrowest(c) + GAP for c in (*keys, *part, k)) > width:
                yield [*keys, *part]
                part = []
            part.append(k)
        yield [*keys, *part]

    def _longest(self, k: int) -> int:
        """Return the length of the longest cell of a column."""
        return max((Text.from_markup(row[k]).cell_len for row in self.rows), default=0)

    def _narrowest(self, k: int) -> int:
        """Return the least width of a column: no number and no word of its heading is broken."""
        longest = self._longest(k)
        if self.head[k] in self.left and k >= self.keys:
            longest = min(longest, TEXT)
        return max(longest, *map(len, (self.head[k] or " ").split(" ")))

    def _widths(self, columns: Sequence[int], width: int) -> dict[int, int]:
        """Return the columns' widths: from the left, as wide as they like while there is room."""
        found = {k: self._narrowest(k) for k in columns}
        spare = width - sum(w + GAP for w in found.values())
        for k in columns:
            more = max(self._longest(k), len(self.head[k])) - found[k]
            more = min(more, max(spare, 0))
            found[k], spare = found[k] + more, spare - more
        return found

    def _drawn(self, columns: Sequence[int], width: int) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for k, wide in self._widths(columns, width).items():
            justify: Any = "left" if self.head[k] in self.left or k == 0 else "right"
            table.add_column(Text(self.head[k]), justify=justify, width=wide, overflow="fold")
        for row in self.rows:
            table.add_row(*(Text.from_markup(row[k]) for k in columns))
        return table
