"""Output of `tarsus bench --peers`: a table of speed and errors, and the settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

# heading, case, error, factor to the heading's unit
ERRORS = (
    ("stand: depth / mm", "stand", "penetration_m", 1e3),
    ("creep / mm/s", "stand", "creep_m_per_s", 1e3),
    ("height / m", "stand", "height_m", 1.0),
    ("flight: energy / J", "flight", "energy_J", 1.0),
    ("momentum / N s", "flight", "momentum_Ns", 1.0),
    ("spin / N m s", "flight", "angular_momentum_Nms", 1.0),
    ("joints / rad", "flight", "joint_rad", 1.0),
    ("fall: depth / mm", "fall", "penetration_m", 1e3),
    ("gained / J", "fall", "gained_J", 1.0),
)
HEAD = ("simulator", "dt / ms", "steps/s", *(row[0] for row in ERRORS))


def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Format a row of the table, in the columns of `HEAD`."""
    speed = row["steps_per_second"]
    return (
        f"{row['engine']} {row['variant']}".strip(),
        f"{1e3 * row['dt']:g}",
        "-" if speed is None else _thousands(speed),
        *(_number(key, row.get(case, {}).get(key), factor) for _, case, key, factor in ERRORS),
    )


def _thousands(speed: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if speed >= size:
            return f"{speed / size:.3g} {letter}"
    return f"{speed:.3g}"


def _number(key: str, value: float | None, factor: float) -> str:
    if value is None:
        return "-"
    digits = ".3f" if key == "height_m" else ".2g"
    return f"{factor * value:{digits}}" if math.isfinite(value) else "not finite"


def print_peers(results: dict[str, Any]) -> None:
    """Print the table, the settings of each simulator, missing simulators, and quoted figures."""
    console = Console(highlight=False)
    table = Table(
        title="Speed of a step on one core, and errors: ANYmal stands, flies and falls",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    rows = [cells(row) for row in results["rows"]]
    for column, heading in enumerate(HEAD):
        width = max((len(row[column]) for row in rows), default=0)  # only headings may wrap
        table.add_column(heading, justify="right" if column else "left", min_width=width)
    for row in rows:
        table.add_row(*row)
    # use the full width of the table in a pipe, too; a narrow terminal wraps its lines
    needed = console.measure(table, options=console.options.update(max_width=1000)).maximum
    Console(highlight=False, width=max(console.width, needed)).print(table)
    for name, value in results["settings"].items():
        console.print(f"{name}: {value}")
    _print_engines(console, results)
    _print_quoted(console, results["quoted"])


def _print_engines(console: Console, results: dict[str, Any]) -> None:
    """Print the settings and failures of each simulator, and the missing simulators."""
    for engine in results["engines"]:
        name = f"{engine['engine']} {engine['variant']}".strip()
        console.print(f"\n[bold]{name}[/]: {engine['meaning']}")
        if "mass" in engine:
            servo = "computed by the simulator" if engine["has_own_servo"] else "computed in Python"
            console.print(
                f"  mass {engine['mass']:.4f} kg; servo {servo}; {engine['worlds']} worlds"
            )
            for key, value in engine["settings"].items():
                console.print(f"  {key}: {value}", markup=False)
        for case, why in engine["failed"].items():
            console.print(f"  failed, {case}: {why}", markup=False, style="red")
    if results["missing"]:
        console.print("\nNot measured because not installed:")
    for row in results["missing"]:
        console.print(f"  {row['engine']}: {row['install']}", markup=False)


def _print_quoted(console: Console, quoted: dict[str, Any]) -> None:
    """Print figures measured by others, with their sources."""
    console.print(f"\nQuoted, not measured here ({quoted['machine']}):")
    console.print(f"  standing, dt 5 ms; {quoted['speed_source']}", markup=False)
    for row in quoted["speed"]:
        console.print(
            f"    {row['engine']}, {row['solver']}: {_thousands(row['steps_per_second'])} steps/s"
        )
    console.print(
        f"  flight, mean squared error of energy; {quoted['energy_source']}", markup=False
    )
    for row in quoted["energy"]:
        console.print(
            f"    {row['engine']}, {row['integrator']}, dt {1e3 * row['dt']:g} ms:"
            f" {row['energy_squared_J2']:.3g} J^2"
        )
