"""Output of `tarsus bench` as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tarsus.commands.robots import ResultTable
from tarsus_bench.robot_speeds import OURS, PEERS, short_name

# key and label
ROWS = (
    ("one_world_f64", "one world, float64, closed loop"),
    ("batch_f64", "4096 worlds, one thread, float64"),
    ("batch_f32", "4096 worlds, one thread, float32"),
    ("threads", "two threads, compared with one"),
    ("step_call", "one step() called from Python, compared with mj_step"),
)
AGAINST_DEFAULT = {
    "one_world_f64_default": "one world, float64, compared with mujoco default",
    "batch_f64_default": "4096 worlds, float64, compared with mujoco default",
    "batch_f32_default": "4096 worlds, float32, compared with mujoco default",
}
Cells = tuple[tuple[str, Callable[[dict[str, Any]], str]], ...]
ROBOT_COLUMNS = (
    *("robot", "DOF", "contacts", "gait", "dt / ms", "one world, 1000 steps/s"),
    *("1024 worlds, float64", "float32", "MuJoCo default", "MuJoCo tuned"),
    *("one world: times MuJoCo default / tuned", "1024 worlds, float64", "float32"),
    *("compile / s", "cached / s", "iterations", "unconverged", "problem"),
)
ROBOT_TEXTS = ("robot", "gait", "problem")
VIOLATIONS = {
    "penetration_m": "penetration / m",
    "creep_m_per_s": "creep of sticking feet / m/s",
    "signorini_J": "Signorini: impulse times gap speed / J",
    "cone_Ns": "impulse outside the friction cone / N s",
    "dissipation_J": "missing friction dissipation / J",
}


def print_speed(figures: dict[str, Any]) -> None:
    """Print the speed ratios, the times behind them, and the accuracy of both simulators."""
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

    # cost of a step
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

    # accuracy of both simulators, and settings
    accuracy = Table(
        title="The same trot in both simulators: largest violations of the contact conditions",
        title_justify="left",
    )
    engines = figures["accuracy"]
    for column in ("quantity", *engines):
        accuracy.add_column(column, justify="left" if column == "quantity" else "right")
    accuracy.add_row("distance / m", *(f"{a['distance']:.3f}" for a in engines.values()))
    accuracy.add_row(
        "mean solver iterations", *(f"{a['iterations_mean']:.2f}" for a in engines.values())
    )
    for key, text in VIOLATIONS.items():
        accuracy.add_row(text, *(f"{a['residuals'][key]:.1e}" for a in engines.values()))
    console.print(accuracy)
    for key, value in figures["settings"].items():
        console.print(f"[dim]{key}: {value}[/]")


def print_laws(costs: list[dict[str, Any]]) -> None:
    """Print the cost of each law."""
    table = Table(
        title="One step of Mini Cheetah: 4096 worlds, one thread, float64, dt 1 ms",
        title_justify="left",
    )
    for column in (
        "law",
        "time / hard law's time",
        "time per world / µs",
        "operations outside loops",
        "operations per iteration of each loop",
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


def print_learning(results: dict[str, Any]) -> None:
    """Print the control periods per second of each simulator, with and without a learner."""
    table = Table(title="Control periods per second, all worlds together", title_justify="left")
    for column in ("simulator", "alone", "with a learner", "falls per second"):
        table.add_column(column, justify="left" if column == "simulator" else "right")
    for row in results["rows"]:
        counts = (row["control_steps"], row["with_learner"])
        cells = ["-" if n is None else f"{n:,.0f}" for n in counts]
        table.add_row(row["simulator"], *cells, f"{row['falls']:.2f}")
    console = Console(highlight=False)
    console.print(table)
    for key, value in results["settings"].items():
        console.print(f"[dim]{key}: {value}[/]")


def print_walks(results: dict[str, Any]) -> None:
    """Print the speed of walking bipeds compared with MuJoCo, and statistics of the solver."""
    # a row per figure, a column per robot
    table = Table(
        title="Bipeds walking: speed as a multiple of MuJoCo's rollout on one thread",
        title_justify="left",
    )
    cells: Cells = (
        ("one world", lambda row: f"{row['one_world']:.2f}x"),
        ("512 worlds, one thread: float64, float32", _batches),
        ("with controller: one world", lambda row: f"{row['with_controller']['one_world']:.2f}x"),
        ("512 worlds, one thread", lambda row: _batches(row["with_controller"])),
        ("µs per step: MuJoCo, one, many", lambda row: _format_three_times(row["microseconds"])),
        ("distance / m: MuJoCo, Tarsus, replay", lambda row: _distances(row["distance"])),
        ("iterations: mean, 99 %, max.", lambda row: _format_three_counts(row["solver"]["one"])),
        ("of 512 worlds, float64", lambda row: _format_three_counts(row["solver"]["batch"])),
        ("of 512 worlds, float32", lambda row: _format_three_counts(row["solver"]["batch32"])),
        ("unconverged steps", lambda row: _unconverged(row["solver"])),
    )
    _print_robots(table, cells, results)


def _print_robots(table: Table, cells: Cells, results: dict[str, Any]) -> None:
    """Print a table with a column for each robot, and the settings."""
    table.add_column("")
    for row in results["rows"]:
        table.add_column(row["robot"], justify="right")
    for text, cell in cells:
        table.add_row(text, *(cell(row) for row in results["rows"]))
    console = Console(highlight=False)
    console.print(table)
    for key, value in results["settings"].items():
        console.print(f"[dim]{key}: {value}[/]")


def print_whole(results: dict[str, Any]) -> None:
    """Print the speed of robots that stand with all forces, compared with MuJoCo."""
    table = Table(
        title="All forces: speed as a multiple of MuJoCo's on one thread", title_justify="left"
    )
    worlds = f"{results['worlds']} worlds"
    cells: Cells = (
        ("joints, contacts of the feet, pairs", _sizes),
        ("one world, compared with rollout", lambda row: f"{row['one_world']:.2f}x"),
        (f"{worlds}, compared with rollout: float64, float32", _batches),
        (f"{worlds}, compared with mujoco.batch", lambda row: _batches(row["beside_batch"])),
        ("µs per step: MuJoCo's rollout, of many, batch", _peer_times),
        ("µs per step: one, many, float32", _tarsus_times),
        ("contacts per step: MuJoCo, Tarsus", _contacts),
        ("height of the trunk at the end / m: MuJoCo, Tarsus", _heights),
        (
            "iterations: mean, max., of one world",
            lambda row: _format_two_counts(row["solver"]["one"]),
        ),
        ("of many, float64", lambda row: _format_two_counts(row["solver"]["batch"])),
        ("of many, float32", lambda row: _format_two_counts(row["solver"]["batch32"])),
        ("unconverged steps", lambda row: _unconverged(row["solver"])),
        ("first compilation / s of CPU time", lambda row: f"{row['first_compilation']:.1f}"),
    )
    _print_robots(table, cells, results)


def robot_table(rows: Sequence[dict[str, Any]]) -> ResultTable:
    """Create the table of robots in their default gaits."""
    return ResultTable(ROBOT_COLUMNS, [_format_robot_cells(row) for row in rows], ROBOT_TEXTS)


def print_robots(results: dict[str, Any]) -> None:
    """Print the speed of robots in their default gaits, compared with MuJoCo."""
    lines = [f"{key}: {value}" for key, value in results["settings"].items()]
    robot_table(results["rows"]).print("\n".join(lines))


def _format_robot_cells(row: dict[str, Any]) -> list[str]:
    """Format the row of one robot; one that was not measured has its problem only."""
    name, problem = short_name(row["robot"]), row["problem"]
    if "dof" not in row:
        return [name, *([""] * (len(ROBOT_COLUMNS) - 2)), problem]
    rates, times = row["steps_per_second"], row["times_mujoco"]
    thousands = [f"{rates[key] / 1e3:,.0f}" if key in rates else "" for key in (*OURS, *PEERS)]
    multiples = [
        " / ".join(f"{times[peer][key]:.1f}" for peer in PEERS if peer in times) for key in OURS
    ]
    seconds, solver = row["compile"], row["solver"]
    return [
        *(name, str(row["dof"]), str(row["contacts"]), row["gait"], f"{1e3 * row['dt']:g}"),
        *(*thousands, *multiples, f"{seconds['cold']:.1f}", f"{seconds['warm']:.1f}"),
        *(f"{solver['iterations']:.1f}", f"{solver['unconverged']:.2%}", problem),
    ]


def _sizes(row: dict[str, Any]) -> str:
    return f"{row['joints']}, {row['feet']}, {row['pairs']}"


def _peer_times(row: dict[str, Any]) -> str:
    micro = row["microseconds"]
    return ", ".join(f"{micro[k]:.2f}" for k in ("peer", "peer_many", "peer_batch") if k in micro)


def _tarsus_times(row: dict[str, Any]) -> str:
    return ", ".join(f"{row['microseconds'][k]:.3f}" for k in ("one", "batch", "batch32"))


def _contacts(row: dict[str, Any]) -> str:
    return f"{row['mujoco']['contacts']:.2f}, {row['solver']['one']['contacts']:.2f}"


def _heights(row: dict[str, Any]) -> str:
    return f"{row['mujoco']['height']:.4f}, {row['solver']['one']['height']:.4f}"


def _format_two_counts(count: dict[str, float]) -> str:
    return f"{count['mean']:.2f}, {count['most']:.0f}"


def _batches(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not available in this MuJoCo"
    return f"{row['batch']:.1f}x, {row['batch32']:.1f}x"


def _format_three_times(micro: dict[str, float]) -> str:
    return f"{micro['peer']:.2f}, {micro['one']:.2f}, {micro['batch']:.3f}"


def _distances(distance: dict[str, float]) -> str:
    return ", ".join(f"{distance[name]:.2f}" for name in ("mujoco", "tarsus", "replayed"))


def _format_three_counts(count: dict[str, float]) -> str:
    return f"{count['mean']:.2f}, {count['percentile_99']:.0f}, {count['most']:.0f}"


def _unconverged(counts: dict[str, dict[str, float]]) -> str:
    return ", ".join(f"{count['unconverged']} of {count['steps']}" for count in counts.values())


def print_parts(results: dict[str, Any]) -> None:
    """Print the results of each part of the GPU benchmark as indented JSON."""
    console = Console(highlight=False)
    for name, part in results["parts"].items():
        console.print(f"[bold]{name}[/] ({results['seconds'].get(name, 0.0):.1f} s)")
        console.print_json(data=part, default=float)
    ratio = results["ratio_to_mujoco_warp"]
    console.print(
        "speed as a multiple of MuJoCo Warp's on the same GPU: "
        f"{'not measured' if ratio is None else f'{ratio:.1f}'}"
    )
