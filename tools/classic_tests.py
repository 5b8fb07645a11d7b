"""Measure the table "Cards, rolling and bouncing" of docs/contact_truth.md.

Run it with `python tools/classic_tests.py`. Every law under the stepper `midpoint`, and MuJoCo at
its named settings, run these scenes of `tarsus validate`, also where a law does not claim the
effect. Figures that SimBenchmark published are quoted below them.
"""

from __future__ import annotations

import datetime
import re
from math import isnan

from contact_truth import PAGE, create_engines, find_row, format_number, format_table, measure_rows

from tarsus.program.run import machine
from tarsus.validation.table import ValidationRow
from tarsus_bench.quoted import BOUNCING_SOURCE, CONTACT_ERRORS, ROLLING_SOURCE

PLACE = re.compile(r"(<!-- measured: classic tests -->\n).*?(<!-- end of classic tests -->)", re.S)
COMMAND = "python tools/classic_tests.py"
SCENES = ("leaning_cards", "balls_on_box", "elastic_bounces")
ERRORS = (
    "rolling along y / (m²/s²)",
    "rolling along xy / (m²/s²)",
    "bouncing / J²",
)
FALLEN = 0.01  # m: cards that moved further fell


def format_cells(name: str, measured: list[ValidationRow]) -> list[str]:
    """Format the cells of a law or of MuJoCo."""
    displacement = find_row(measured, "leaning_cards", "displacement")
    fallen = displacement is not None and (displacement.measured or 0.0) > FALLEN
    return [
        f"`{name}`",
        "fall" if fallen else format_number(displacement, 1e3),
        format_number(find_row(measured, "leaning_cards", "slipping")),
        format_number(find_row(measured, "balls_on_box", "mean squared error, along y")),
        format_number(find_row(measured, "balls_on_box", "mean squared error, along xy")),
        format_number(find_row(measured, "elastic_bounces", "mean squared error")),
    ]


def write_page() -> None:
    """Measure all engines, and write and print the table."""
    head = ("law", "cards: displacement / mm", "slip to 45° / s, true 0.105", *ERRORS)
    cells = [
        format_cells(name, measure_rows(name, engine, SCENES))
        for name, engine in create_engines().items()
    ]
    quoted = [
        [
            f"{row.engine}, {row.solver}",
            *(f"{value:.3g}" for value in (row.rolling_y, row.rolling_xy)),
            "-" if isnan(row.bouncing) else f"{row.bouncing:.3g}",
        ]
        for row in CONTACT_ERRORS
    ]
    today, host = datetime.date.today().isoformat(), machine.detect_host().cpu
    text = (
        f"Measured on {today}, {host}, float64, stepper `midpoint`, by `{COMMAND}`. Marks and"
        f" settings are those of the tables above.\n\n{format_table(head, cells)}\n"
        "Published by SimBenchmark, not measured here:\n\n"
        f"{format_table(('simulator, solver', *ERRORS), quoted)}\n"
        f"Sources: {ROLLING_SOURCE}. {BOUNCING_SOURCE}.\n"
    )
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PLACE.sub(lambda m: f"{m[1]}{text}{m[2]}", page), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    write_page()
