"""The output of `tarsus bench`: its figures as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

# key, what it says
ROWS = (
    ("one_world_f64", "one world, float64, closed loop"),
    ("batch_f64", "4096 worlds, one thread, float64"),
    ("batch_f32", "4096 worlds, one thread, float32"),
    ("threads", "two threads, against one"),
    ("step_call", "one step() called from Python, against mj_step"),
)
AGAINST_DEFAULT = {
    "one_world_f64_default": "one world, float64, against mujoco default",
    "batch_f64_default": "4096 worlds, float64, against mujoco default",
    "batch_f32_default": "4096 worlds, float32, against mujoco default",
}
Cells = tuple[tuple[str, Callable[[dict[str, Any]], str]], ...]
YARDSTICK = {
    "penetration_m": "penetration / m",
    "creep_m_per_s": "creep of sticking feet / m/s",
    "signorini_J": "Signorini: impulse times gap speed / J",
    "cone_Ns": "impulse outside the friction cone / N s",
    "dissipation_J": "missing friction dissipation / J",
}


def tell(figures: dict[str, Any]) -> None:
    """Print the speed ratios, what they rest on, and the accuracy of both engines."""
    # speed
    console = Console(highlight=False)
    table = Table(
        title="Speed, as a multiple of MuJoCo's rollout (tuned) on one thread", title_justify="left"
    )
    for column in ("case", "times MuJoCo"):
        table.add_column(column, justify="left" if column == "case" else "right")
    for key, text in (*ROWS, *AGAINST_DEFAULT.items()):
        table.add_row(text, f"{figures[key]:.2f}")
    console.print(table)
    micro = figures["microseconds"]
    console.print(
        f"microseconds for one step of one world: MuJoCo rollout tuned"
        f" {micro['peer_rollout']:.2f}, default {micro['peer_default']:.2f},"
        f" one world {micro['one']:.2f}, batch float64 {micro['batch64']:.3f},"
        f" float32 {micro['batch32']:.3f}; calls from Python: step() {micro['call']:.2f},"
        f" mj_step {micro['peer_call']:.2f}"
    )

    # what a step costs
    console.print(
        f"memory {figures['bytes_per_world']:.0f} bytes per world;"
        f" {figures['operations_per_step']:.0f} arithmetic operations per step at"
        f" {figures['iterations_mean']:.2f} iterations; float64 batch at"
        f" {100 * figures['instruction_bound_fraction']:.0f} % of the speed that two vector"
        " instructions per clock cycle would allow"
    )
    console.print(
        "seconds to compile: "
        + ", ".join(f"{k} {v:.2f}" for k, v in figures["compile_seconds"].items())
    )

    # accuracy of both engines, and settings
    accuracy = Table(
        title="The same trot in both engines: largest violations of the contact conditions",
        title_justify="left",
    )
    engines = figures["accuracy"]
    for column in ("quantity", *engines):
        accuracy.add_column(column, justify="left" if column == "quantity" else "right")
    accuracy.add_row("distance / m", *(f"{a['distance']:.3f}" for a in engines.values()))
    accuracy.add_row(
        "mean solver iterations", *(f"{a['iterations_mean']:.2f}" for a in engines.values())
    )
    for key, text in YARDSTICK.items():
        accuracy.add_row(text, *(f"{a['residuals'][key]:.1e}" for a in engines.values()))
    console.print(accuracy)
    for key, value in figures["settings"].items():
        console.print(f"[dim]{key}: {value}[/]")


def tell_laws(costs: list[dict[str, Any]]) -> None:
    """Print what each law costs."""
    table = Table(
        title="One step of Mini Cheetah: 4096 worlds, one thread, float64, dt 1 ms",
        title_justify="left",
    )
    for column in (
        "law",
        "time / hard law's time",
        "time per world / µs",
        "operations once a step",
        "operations per pass of each loop",
    ):
        table.add_column(column, justify="left" if column == "law" else "right")
    for row in costs:
        loops = ", ".join(str(count) for count in row["operations_in_loops"])
        cells = (
            f"{row['ratio']:.2f}",
            f"{row['microseconds']:.3f}",
            str(row["operations_once"]),
            loops,
        )
        table.add_row(row["law"], *cells)
    Console(highlight=False).print(table)


def tell_learning(found: dict[str, Any]) -> None:
    """Print control periods a second of each simulator, with and without a learner."""
    table = Table(title="Control periods a second, all worlds together", title_justify="left")
    for column in ("simulator", "alone", "with a learner", "falls a second"):
        table.add_column(column, justify="left" if column == "simulator" else "right")
    for row in found["rows"]:
        counts = (row["control_steps"], row["with_learner"])
        cells = ["-" if n is None else f"{n:,.0f}" for n in counts]
        table.add_row(row["simulator"], *cells, f"{row['falls']:.2f}")
    console = Console(highlight=False)
    console.print(table)
    for key, value in found["settings"].items():
        console.print(f"[dim]{key}: {value}[/]")


def tell_walks(found: dict[str, Any]) -> None:
    """Print how fast bipeds walk beside MuJoCo, and how their contacts were solved."""
    # what a row says of each robot
    table = Table(
        title="Bipeds walking: speed as a multiple of MuJoCo's rollout on one thread",
        title_justify="left",
    )
    cells: Cells = (
        ("one world", lambda row: f"{row['one_world']:.2f}x"),
        ("512 worlds, a thread: float64, float32", _batches),
        ("with controller: one world", lambda row: f"{row['with_controller']['one_world']:.2f}x"),
        ("512 worlds, a thread", lambda row: _batches(row["with_controller"])),
        ("µs a step: MuJoCo, one, many", lambda row: _three(row["microseconds"])),
        ("distance / m: MuJoCo, ours, again", lambda row: _distances(row["distance"])),
        ("iterations: mean, 99 %, most", lambda row: _spread(row["solver"]["one"])),
        ("of 512 worlds, float64", lambda row: _spread(row["solver"]["batch"])),
        ("of 512 worlds, float32", lambda row: _spread(row["solver"]["batch32"])),
        ("steps not converged", lambda row: _unsolved(row["solver"])),
    )
    _tell_robots(table, cells, found)


def _tell_robots(table: Table, cells: Cells, found: dict[str, Any]) -> None:
    """Print a table with a column for each robot, and the settings."""
    table.add_column("")
    for row in found["rows"]:
        table.add_column(row["robot"], justify="right")
    for text, cell in cells:
        table.add_row(text, *(cell(row) for row in found["rows"]))
    console = Console(highlight=False)
    console.print(table)
    for key, value in found["settings"].items():
        console.print(f"[dim]{key}: {value}[/]")


def tell_whole(found: dict[str, Any]) -> None:
    """Print how fast robots stand with all that acts on them, beside MuJoCo."""
    table = Table(
        title="Everything on: speed as a multiple of MuJoCo's on one thread", title_justify="left"
    )
    worlds = f"{found['worlds']} worlds"
    cells: Cells = (
        ("joints, contacts of the feet, pairs", _sizes),
        ("one world, beside rollout", lambda row: f"{row['one_world']:.2f}x"),
        (f"{worlds}, beside rollout: float64, float32", _batches),
        (f"{worlds}, beside mujoco.batch", lambda row: _batches(row["beside_batch"])),
        ("µs a step: MuJoCo's rollout, of many, batch", _theirs),
        ("µs a step: one, many, float32", _ours),
        ("contacts a step: MuJoCo, ours", _contacts),
        ("trunk's height at the end / m: MuJoCo, ours", _heights),
        ("iterations: mean, most, of one world", lambda row: _two(row["solver"]["one"])),
        ("of many, float64", lambda row: _two(row["solver"]["batch"])),
        ("of many, float32", lambda row: _two(row["solver"]["batch32"])),
        ("steps not converged", lambda row: _unsolved(row["solver"])),
        ("first compilation / s of the processor", lambda row: f"{row['first_compilation']:.1f}"),
    )
    _tell_robots(table, cells, found)


def _sizes(row: dict[str, Any]) -> str:
    return f"{row['joints']}, {row['feet']}, {row['pairs']}"


def _theirs(row: dict[str, Any]) -> str:
    micro = row["microseconds"]
    return ", ".join(f"{micro[k]:.2f}" for k in ("peer", "peer_many", "peer_batch") if k in micro)


def _ours(row: dict[str, Any]) -> str:
    return ", ".join(f"{row['microseconds'][k]:.3f}" for k in ("one", "batch", "batch32"))


def _contacts(row: dict[str, Any]) -> str:
    return f"{row['mujoco']['contacts']:.2f}, {row['solver']['one']['contacts']:.2f}"


def _heights(row: dict[str, Any]) -> str:
    return f"{row['mujoco']['height']:.4f}, {row['solver']['one']['height']:.4f}"


def _two(count: dict[str, float]) -> str:
    return f"{count['mean']:.2f}, {count['most']:.0f}"


def _batches(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not in this MuJoCo"
    return f"{row['batch']:.1f}x, {row['batch32']:.1f}x"


def _three(micro: dict[str, float]) -> str:
    return f"{micro['peer']:.2f}, {micro['one']:.2f}, {micro['batch']:.3f}"


def _distances(distance: dict[str, float]) -> str:
    return ", ".join(f"{distance[name]:.2f}" for name in ("mujoco", "tarsus", "replayed"))


def _spread(count: dict[str, float]) -> str:
    return f"{count['mean']:.2f}, {count['percentile_99']:.0f}, {count['most']:.0f}"


def _unsolved(counts: dict[str, dict[str, float]]) -> str:
    return ", ".join(f"{count['unconverged']} of {count['steps']}" for count in counts.values())


def tell_parts(found: dict[str, Any]) -> None:
    """Print the results of each part of the GPU benchmark, as indented JSON under its name."""
    console = Console(highlight=False)
    for name, part in found["parts"].items():
        console.print(f"[bold]{name}[/] ({found['seconds'].get(name, 0.0):.1f} s)")
        console.print_json(data=part, default=float)
    ratio = found["ratio_to_mujoco_warp"]
    console.print(
        "speed as a multiple of MuJoCo Warp's on the same card: "
        f"{'not measured' if ratio is None else f'{ratio:.1f}'}"
    )
