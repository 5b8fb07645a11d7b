"""Output of `tarsus validate` as tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tarsus.engines import mujoco
from tarsus.validation.table import FAIL, NOT_MODELED, PASS, ValidationRow

COLORS = {PASS: "green", FAIL: "red", NOT_MODELED: "dim"}
COLUMNS = (
    "scene",
    "law",
    "stepper or settings",
    "quantity / unit",
    "expected",
    "measured",
    "error",
    "status",
)
NUMBERS = COLUMNS[4:7]
FILE_WIDTH = 160  # columns of a table that is not printed to a terminal
NOTE = (
    "error: distance from the expected value; pass: the error is within the scene's tolerance;"
    " not modeled: the law or the stepper does not claim this effect and is not judged by it"
)


def print_rows(rows: Sequence[ValidationRow]) -> None:
    """Print the table and the number of rows with each status."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH)
    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(
            column, justify="right" if column in NUMBERS else "left", no_wrap=column in COLUMNS[:3]
        )
    above = None
    for row in (row for row in rows if row.case or row.status != NOT_MODELED):
        table.add_row(row.scene if row.scene != above else "", *cells(row))
        above = row.scene
    if table.row_count:
        console.print(table)
    if groups := merge_not_modeled(rows):
        console.print(_build_not_modeled(groups, len({row.scene for row in rows})))
    counts = [f"{sum(row.status == s for row in rows)} {s}" for s in (PASS, FAIL, NOT_MODELED)]
    console.print(", ".join(counts))
    console.print(f"[dim]{NOTE}[/]")
    names = dict.fromkeys(row.stepper for row in rows if row.law == mujoco.NAME)
    for line in mujoco.format_settings(names) if names else ():
        console.print(f"[dim]{escape(line)}[/]")


def _build_not_modeled(
    groups: Sequence[tuple[ValidationRow, list[str], list[str]]], scenes: int
) -> Table:
    """Build a table of the scenes that laws and steppers do not model, with the reasons."""
    table = Table(box=None, pad_edge=False)
    for column in ("law", "steppers or settings", f"scenes {NOT_MODELED}", "reason"):
        table.add_column(column)
    for row, names, steppers in groups:
        scene_list = "all" if len(names) == scenes > 1 else ", ".join(names)
        table.add_row(row.law, ", ".join(steppers), scene_list, escape(row.reason))
    return table


def cells(row: ValidationRow) -> list[str]:
    """Format the cells of a measured row, without its scene."""
    text = f"{row.case} / {row.unit}" if row.unit != "1" else row.case
    numbers = [_number(value) for value in (row.expected, row.measured)]
    error = "" if row.error is None else f"{row.error:.1e}" if row.error else "0"
    reason = f": {escape(row.reason)}" if row.reason and row.status == FAIL else ""
    status = f"[{COLORS[row.status]}]{row.status}[/]{reason}"
    return [row.law, row.stepper, escape(text), *numbers, error, status]


def merge_not_modeled(
    rows: Sequence[ValidationRow],
) -> list[tuple[ValidationRow, list[str], list[str]]]:
    """Group the rows that are not modeled by law and reason, with their scenes and steppers."""
    groups: dict[tuple[str, str], list[ValidationRow]] = {}
    for row in rows:
        if row.status == NOT_MODELED and not row.case:
            groups.setdefault((row.law, row.reason), []).append(row)
    return [
        (
            group[0],
            list(dict.fromkeys(r.scene for r in group)),
            list(dict.fromkeys(r.stepper for r in group)),
        )
        for group in groups.values()
    ]


def _number(value: float | None) -> str:
    return (
        "-"
        if value is None
        else f"{value:.4g}"
        if abs(value) >= 1e-3 or value == 0
        else f"{value:.1e}"
    )


def print_real(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the mean errors of laws on a recording, with 95 % bootstrap intervals."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH)
    errors = [name for name in rows[0] if name not in ("law", "parameters")] if rows else []
    table = Table(box=None, pad_edge=False)
    for column in ("law", "parameters", *errors):
        table.add_column(column, justify="right" if column in errors else "left")
    for row in rows:
        cells = [
            "not finite" if mean is None else f"{mean:.2f} ({low:.2f} to {high:.2f})"
            for mean, low, high in (row[name] for name in errors)
        ]
        table.add_row(row["law"], row["parameters"], *cells)
    console.print(table)
