"""Tables that fit the terminal: a wide table is printed in parts that repeat the first columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 100_000  # characters, so that lines in a pipe are never wrapped
COLUMN_GAP = 2  # characters between columns: padding and box
BOX_EDGES = 2  # characters of the box on the left and right
MIN_TEXT_WIDTH = 30  # characters to which a text column may be wrapped


def text_console(width: int | None = None) -> Console:
    """Create a console as wide as the terminal, or one that does not wrap lines in a pipe."""
    return Console(highlight=False, width=width or (None if sys.stdout.isatty() else PIPE_WIDTH))


@dataclass(frozen=True)
class TextTable:
    """Table of text for a terminal.

    Attributes
    ----------
    head
        Headings.
    rows
        Cells of each row, with rich's markup.
    left_aligned
        Headings of text columns, which are left-aligned and may be wrapped.
    keys
        Number of first columns that every part of a wide table repeats.
    title
        Title above the table.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_aligned: Sequence[str] = ()
    keys: int = 1
    title: str = ""

    def print(self, console: Console | None = None) -> None:
        """Print the table, in as many parts as the width of the console requires."""
        console = console or text_console()
        if self.title:
            console.print(Text(self.title, "italic"))
        for columns in self._parts(console.width - BOX_EDGES):
            console.print(self._rich_table(columns, console.width - BOX_EDGES))

    def _parts(self, width: int) -> Iterator[list[int]]:
        """Yield the columns of each part; all parts have the first `keys` columns."""
        keys, part = list(range(self.keys)), list[int]()
        for k in range(self.keys, len(self.head)):
            needed = sum(self._min_width(c) + COLUMN_GAP for c in (*keys, *part, k))
            if part and needed > width:
                yield [*keys, *part]
                part = []
            part.append(k)
        yield [*keys, *part]

    def _longest(self, k: int) -> int:
        """Compute the length of the longest cell of a column."""
        return max((Text.from_markup(row[k]).cell_len for row in self.rows), default=0)

    def _min_width(self, k: int) -> int:
        """Compute the width of a column that breaks no number and no word of its heading."""
        longest = self._longest(k)
        if self.head[k] in self.left_aligned and k >= self.keys:
            longest = min(longest, MIN_TEXT_WIDTH)
        return max(longest, *map(len, (self.head[k] or " ").split(" ")))

    def _widths(self, columns: Sequence[int], width: int) -> dict[int, int]:
        """Compute the widths of the columns; spare width goes to the leftmost columns first."""
        widths = {k: self._min_width(k) for k in columns}
        spare = width - sum(w + COLUMN_GAP for w in widths.values())
        for k in columns:
            more = max(self._longest(k), len(self.head[k])) - widths[k]
            more = min(more, max(spare, 0))
            widths[k], spare = widths[k] + more, spare - more
        return widths

    def _rich_table(self, columns: Sequence[int], width: int) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for k, wide in self._widths(columns, width).items():
            justify: Any = "left" if self.head[k] in self.left_aligned or k == 0 else "right"
            table.add_column(Text(self.head[k]), justify=justify, width=wide, overflow="fold")
        for row in self.rows:
            table.add_row(*(Text.from_markup(row[k]) for k in columns))
        return table
