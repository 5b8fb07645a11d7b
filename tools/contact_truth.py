"""Measure the tables of docs/contact_truth.md again: `python tools/contact_truth.py`.

Every law under the stepper `midpoint`, and MuJoCo at its named settings, on scenes of `tarsus
validate`, also where a law does not claim the effect. Law names as arguments measure only these,
and print the tables without writing the page.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tarsus import registry
from tarsus.contact.laws.soft_convex import SoftConvex
from tarsus.engines.base import Engine
from tarsus.engines.mujoco import SCENES as MUJOCO_SCENES
from tarsus.engines.mujoco import MujocoEngine
from tarsus.engines.tarsus import TarsusEngine
from tarsus.mujoco_runs.settings import NAMED, TUNED, MujocoSettings, describe_sets, row_label
from tarsus.program.run import machine
from tarsus.validation.table import FAIL, LAWS, NOT_MODELED, ValidationRow, measure_scene

PAGE = Path(__file__).parents[1] / "docs" / "contact_truth.md"
PLACE = re.compile(r"(<!-- measured: contact truth -->\n).*?(<!-- end of measured -->)", re.DOTALL)
COMMAND = "python tools/contact_truth.py"
SCENES = (
    *("creep", "gripped_capsule", "foot_edge", "foot_force", "isotropic_friction"),
    *("launched_cube", "heavy_on_light", "dead_ball", "dropped_foot"),
)
FAR = 10.0  # m: boxes that went further flew apart
GRIPS = {  # other settings of MuJoCo that hold or lose the grip
    "elliptic, impratio 1": MujocoSettings(cone="elliptic"),
    "elliptic, impratio 10": MujocoSettings(cone="elliptic", impratio=10.0),
    "elliptic, impratio 100": MujocoSettings(cone="elliptic", impratio=100.0),
    "pyramidal, impratio 10": MujocoSettings(impratio=10.0),
    "no-slip 10, elliptic, impratio 1": MujocoSettings(cone="elliptic", noslip_iterations=10),
    "tuned and no-slip 3": replace(NAMED[TUNED], noslip_iterations=3),
}


def create_engines() -> dict[str, Engine]:
    """Return every law, `soft_convex` also with MuJoCo's tuned numbers, and MuJoCo."""
    engines: dict[str, Engine] = {}
    for name in registry.names(LAWS):
        engines[name] = TarsusEngine(name, "midpoint")
        if name == "soft_convex":
            engines["soft_convex tuned"] = TarsusEngine(
                name, "midpoint", create_soft_convex(NAMED[TUNED])
            )
    return engines | {row_label(name): MujocoEngine(name) for name in NAMED}


def create_soft_convex(settings: MujocoSettings) -> SoftConvex:
    """Return `soft_convex` with MuJoCo's numbers."""
    timeconst, dampratio = settings.solref
    shape = zip(("d_min", "d_max", "width", "midpoint", "power"), settings.solimp, strict=True)
    return SoftConvex(
        timeconst=timeconst, dampratio=dampratio, impratio=settings.impratio, **dict(shape)
    )


def measure_rows(name: str, engine: Engine, scenes: Sequence[str] = SCENES) -> list[ValidationRow]:
    """Measure all rows of an engine."""
    print(name, file=sys.stderr, flush=True)
    return [row for scene in scenes for row in measure_scene(engine, scene, unclaimed=True)]


def format_number(
    row: ValidationRow | None, scale: float = 1.0, claimed: bool = False, signed: bool = False
) -> str:
    """Format a measured number.

    An asterisk marks an effect that the law does not claim to model. A dash stands for a missing
    number, and for unclaimed effects if `claimed`. Negative numbers become 0 if `signed`.
    """
    if row is None or row.measured is None or (claimed and row.status == NOT_MODELED):
        return "-"
    mark = {NOT_MODELED: " \\*", FAIL: " (fails)"}.get(row.status, "")
    value = max(row.measured, 0.0) * scale if signed else abs(row.measured) * scale
    return f"{value:.3g}{mark}" if value >= 1e-6 or not value else f"{value:.0e}{mark}"


def find_row(results: Sequence[ValidationRow], scene: str, case: str) -> ValidationRow | None:
    """Return the row of a scene whose quantity starts with `case`, or None."""
    return next((r for r in results if r.scene == scene and r.case.startswith(case)), None)


def format_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    every = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in every)


def format_contact_cells(name: str, results: Sequence[ValidationRow]) -> list[str]:
    """Format a law's cells on sticking, edges and forces."""
    return [
        f"`{name}`",
        format_number(find_row(results, "creep", "speed"), 1e6),
        format_number(find_row(results, "gripped_capsule", "sinking speed"), 1e6),
        format_number(find_row(results, "foot_edge", "growth")),
        *(
            format_number(find_row(results, "foot_force", f"peak, dt {dt} ms"))
            for dt in ("5", "1", "0.1")
        ),
        *(
            format_number(find_row(results, "foot_force", f"landing, dt {dt} ms"), claimed=True)
            for dt in ("5", "0.1")
        ),
        format_number(find_row(results, "isotropic_friction", "point")),
    ]


def format_rigid_cells(name: str, results: Sequence[ValidationRow]) -> list[str]:
    """Format a law's cells on scenes that distinguish rigid from soft contact at any setting."""
    stack = [
        find_row(results, "heavy_on_light", f"displacement, ratio {ratio}")
        for ratio in (1, 100, 10000)
    ]
    return [
        f"`{name}`",
        format_number(find_row(results, "launched_cube", "rise"), 1e3),
        *(
            "flies apart" if row and (row.measured or 0) > FAR else format_number(row, 1e3)
            for row in stack
        ),
        format_number(find_row(results, "dead_ball", "rebound"), 1e3, signed=True),
        format_number(find_row(results, "dropped_foot", "time")),
        format_number(find_row(results, "dropped_foot", "tilt")),
    ]


def format_tables(results: Mapping[str, list[ValidationRow]], grips: Mapping[str, float]) -> str:
    """Format all tables as Markdown."""
    today, host = datetime.date.today().isoformat(), machine.detect_host().cpu
    tuned = create_soft_convex(NAMED[TUNED])
    grip_cells = [[name, f"{value:.3g}"] for name, value in grips.items()]
    stated = "".join(
        f"- `{line}`\n" for line in describe_sets({row_label(n): s for n, s in NAMED.items()})
    )
    stick = (
        *("law", "slope: creep / (µm/s)", "grip: sinking / (µm/s)"),
        *("edge: rate / (1/s), true 8.265", "foot: peak at 5 ms / N", "at 1 ms", "at 0.1 ms"),
        *("landing at 5 ms / (N s)", "at 0.1 ms", "point turned [1]"),
    )
    separate = (
        *("law", "launched cube: rise / mm", "heavy on light, 1:1: displacement / mm"),
        *("100:1", "10^4:1"),
        *("ball: rebound / (mm/s)", "foot on edge: time to tip / s, true 0.469"),
        "tilt at the end / rad",
    )
    return (
        f"Measured on {today}, {host}, float64, stepper `midpoint`, by `{COMMAND}`. An asterisk"
        " marks a law that does not claim to model what the scene needs and is not judged by it. A"
        " dash marks a scene that cannot be run, or a landing that is spread over many steps. On"
        " rigid ground the steps are those in the table. On compliant ground they are at most 0.25"
        " ms (grip: 0.02 ms), and in MuJoCo at most 2 ms.\n\n"
        f"{stated}- `mujoco`: {MUJOCO_SCENES}\n"
        f"- `soft_convex` has the contact numbers of `mujoco default`, `soft_convex tuned` those of"
        f" `mujoco tuned` (timeconst {tuned.timeconst:g}, impratio {tuned.impratio:g})\n\n"
        f"{format_table(stick, [format_contact_cells(*row) for row in results.items()])}\n"
        "The next table shows scenes in which rigid and soft contact differ at any setting, and the"
        " foot, which tips under all laws. The true value is 0 unless stated:\n\n"
        f"{format_table(separate, [format_rigid_cells(*row) for row in results.items()])}\n"
        "The last table shows the same grip in MuJoCo; settings not listed are those of `mujoco"
        " default`:\n\n"
        f"{format_table(('settings', 'sinking / (µm/s)'), grip_cells)}\n"
    )


if __name__ == "__main__":
    law_names = sys.argv[1:]
    chosen = {n: e for n, e in create_engines().items() if not law_names or n in law_names}
    measured = {name: measure_rows(name, engine) for name, engine in chosen.items()}
    grip_rows = {
        n: measure_rows(n, MujocoEngine(n, s), ["gripped_capsule"])[0] for n, s in GRIPS.items()
    }
    new_tables = format_tables(
        measured, {n: 1e6 * abs(row.measured or 0.0) for n, row in grip_rows.items()}
    )
    if not law_names:
        text = PAGE.read_text(encoding="utf-8")
        text = PLACE.sub(lambda match: f"{match[1]}{new_tables}{match[2]}", text)
        PAGE.write_text(text, encoding="utf-8")
    print(new_tables)
