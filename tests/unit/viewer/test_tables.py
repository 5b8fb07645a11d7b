"""Tables fit the terminal, and lose no cell."""

from __future__ import annotations

import pytest
from rich.console import Console

from tarsus.viewer.tables import PIPE_WIDTH, TextTable

HEAD = ("law", "dt / ms", *(f"quantity number {k} / (m/s)" for k in range(9)), "remark")
LONG = "a remark of many words that a reader can read on several lines of a table"
ROWS = [
    ("soft_convex", "0.25", *(f"{k}.{k}e-05 ±{k}" for k in range(9)), "[red]fell[/]"),
    ("moreau", "2.5", *(f"1,234,56{k}" for k in range(9)), LONG),
]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200, PIPE_WIDTH])
def test_numbers_are_complete_and_lines_fit(width: int) -> None:
    console = Console(width=width, record=True, quiet=True)
    console.quiet = False
    with console.capture() as capture:
        TextTable(HEAD, ROWS, ("law", "remark"), keys=2, title="Title").print(console)
    text = capture.get()
    assert max(map(len, text.splitlines())) <= width
    assert all(cell in text for row in ROWS for cell in row[:-1]) and "fell" in text
    assert all(word in text for word in LONG.split())
    parts = text.count("soft_convex")
    assert parts == 1 if width == PIPE_WIDTH else parts >= 1
    assert parts > 1 or width > 120
