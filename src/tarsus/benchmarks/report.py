"""The benchmark's figures as a table to read."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

# key, what it says, ratio it should reach at least, ratio we aim for
ROWS = (
    ("one_world_f64", "one world, float64, closed loop", 5.0, 7.0),
    ("batch_f64", "4096 worlds, one thread, float64", 35.0, 50.0),
    ("batch_f32", "4096 worlds, one thread, float32", 60.0, 100.0),
    ("threads", "two threads over one", 1.8, 1.95),
    ("step_call", "one step() from Python over mj_step", 1.0, 1.0),
)


def tell(figures: dict[str, Any]) -> None:
    """Print ratios with their targets, what they rest on, and the accuracy of both engines."""
    console = Console(highlight=False)
    table = Table(title="times MuJoCo's rollout on one thread", title_justify="left")
    for column in ("", "measured", "at least", "aim"):
        table.add_column(column, justify="left" if not column else "right")
    for key, text, least, aim in ROWS:
        style = "green" if figures[key] >= least else "red"
        table.add_row(text, f"[{style}]{figures[key]:.2f}x[/]", f"{least:g}x", f"{aim:g}x")
    console.print(table)
    micro = figures["microseconds"]
    console.print(
        f"microseconds a world-step: MuJoCo rollout {micro['peer_rollout']:.2f}, one world {micro['one']:.2f}, "
        f"batch float64 {micro['batch64']:.3f}, float32 {micro['batch32']:.3f}; "
        f"calls from Python: step() {micro['call']:.2f}, mj_step {micro['peer_call']:.2f}"
    )
    console.print(
        f"memory {figures['bytes_per_world']:.0f} bytes a world; {figures['operations_per_step']:.0f} arithmetic "
        f"instructions a step at {figures['iterations_mean']:.2f} iterations; float64 batch at "
        f"{100 * figures['floor_fraction']:.0f} % of the instruction floor (2 a cycle)"
    )
    console.print("compile: " + ", ".join(f"{k} {v:.2f} s" for k, v in figures["compile_seconds"].items()))
    accuracy = Table(title="the same trot in both engines", title_justify="left")
    for column in ("", "distance / m", "penetration / mm", "creep / m/s", "iterations"):
        accuracy.add_column(column, justify="left" if not column else "right")
    for engine in ("tarsus", "mujoco"):
        a = figures["accuracy"][engine]
        accuracy.add_row(
            engine,
            f"{a['distance']:.3f}",
            f"{1e3 * a['penetration_max']:.2f}",
            f"{a['creep_max']:.1e}",
            f"{a['iterations_mean']:.2f}",
        )
    console.print(accuracy)
    residuals = figures["accuracy"]["tarsus"]["residuals"]
    console.print("residuals of tarsus: " + ", ".join(f"{k} {v:.1e}" for k, v in residuals.items()))
    for key, value in figures["settings"].items():
        console.print(f"[dim]{key}: {value}[/]")
