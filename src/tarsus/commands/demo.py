"""`tarsus demo`: a demonstration of half a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, ClassVar

from tarsus.commands._mujoco_flags import Mujoco, MujocoFlags
from tarsus.commands._progress import Progress
from tarsus.commands.base import FAILED, Command, Flag, print_json

ROBOT, MUJOCO = "mini_cheetah", "mujoco"
LAWS = ("moreau", "compliant", MUJOCO)
TROT_DURATION, LAW_DURATION = 3.0, 1.0  # s simulated: the first run, and each run of a law
WORLDS, MAX_PUSH = 1024, 2.0  # pushed robots; the strongest push in body weights
BEFORE, PUSH, AFTER = 0.5, 0.15, 1.5  # s before, during and after the push
CRITERIA = ("creep_max", "penetration_max", "normal_force_max")
FRAME_RATE = 25.0  # 1/s
BAR_COUNT, BAR_WIDTH = 10, 40  # rows of the bar chart, characters of a full bar


@dataclass(frozen=True)
class Demo(Command):
    """Show what Tarsus does, in half a minute.

    A quadruped trots, first with the default contact law, then with other laws and on MuJoCo. Then
    a thousand of them are pushed sideways, each harder than the one before. No files are written.
    """

    position: ClassVar[int] = 5
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus demo": "run the demo with an animation in the terminal",
        "tarsus demo --no-film --json": "print only the measurements",
        "tarsus demo --mujoco all": "include MuJoCo at all named settings",
    }

    no_film: Flag = False
    """Skip the animation."""
    settings: Mujoco = field(default_factory=MujocoFlags)

    def execute(self) -> int:
        from tarsus import robots

        # one robot, several laws, many worlds; print each part as soon as it is ready
        start = time.perf_counter()
        robot = robots.load(ROBOT)
        parts = {
            "trot": _run_trot,
            "laws": partial(_run_laws, self.settings.selection),
            "worlds": _run_worlds,
        }
        printers = {"trot": _print_trot, "laws": _print_laws, "worlds": _print_worlds}
        results: dict[str, Any] = {}
        for name, measure in parts.items():
            with self.progress() as progress:
                results[name], log = measure(robot, progress)
            if not self.json:
                printers[name](results[name])
            if log is not None and sys.stdout.isatty() and not (self.json or self.no_film):
                _play(log)
        results["seconds"] = time.perf_counter() - start
        print_json(results) if self.json else _print_end(results)
        return FAILED if results["trot"]["fell"] else 0


def _run_trot(robot: Any, progress: Progress) -> tuple[dict[str, Any], Any]:
    """Simulate one trot; return its summary, with the compile time, and its log."""
    from tarsus.simulation.recording.summary import summary
    from tarsus.simulation.simulation import Simulation

    progress.show_stage("compiling Mini Cheetah, its gait and a contact law")
    start = time.perf_counter()
    simulation = Simulation(robot, controller="trot")
    compile_seconds = time.perf_counter() - start
    log = simulation.run(TROT_DURATION)
    numbers = summary(simulation, log)
    keys = ("distance", "duration", "dt", "creep_max", "unconverged_steps", "realtime_factor")
    shown = {key: numbers[key] for key in (*keys, "iterations_mean", "fell")}
    return {"compile_seconds": compile_seconds} | shown, log


def _print_trot(result: dict[str, Any]) -> None:
    steps = round(result["duration"] / result["dt"])
    duration, factor = result["duration"], result["realtime_factor"]
    _print_section(
        "One robot",
        "Mini Cheetah and its trot were compiled to machine code in"
        f" {result['compile_seconds']:.1f} s.",
        f"Simulating {duration:g} s took {duration / factor:.3f} s, {factor:,.0f} times faster than"
        f" real time. The robot walked {result['distance']:.2f} m.",
        f"The contact solver converged in {steps - result['unconverged_steps']} of {steps} steps."
        f" Stance feet drifted by at most {1e3 * result['creep_max']:.3f} mm/s.",
    )


def _run_laws(mujoco: Any, robot: Any, progress: Progress) -> tuple[list[dict[str, Any]], None]:
    """Simulate the same trot under several contact laws and in MuJoCo; return one row for each."""
    from tarsus.comparison import laws

    named = {name: law for name, law in laws.parse_laws(",".join(LAWS)).items() if law is not None}
    named |= {name: settings for name, (settings, _) in mujoco.for_robot(robot).items()}
    rows = []
    for name, law in named.items():
        progress.show_stage(f"the same trot under {name}")
        create, _ = laws.simulation_factory(robot, "trot", law, {})
        run = laws.run_law(name, create(0.0025), LAW_DURATION)
        settings = {} if run.settings is None else {"settings": asdict(run.settings)}
        rows.append({"law": name} | {key: run.numbers[key] for key in CRITERIA} | settings)
    return rows, None


def _print_laws(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from tarsus.mujoco_runs.settings import MujocoSettings, describe_sets

    _print_section("One trot, several contact laws", "Robot, gait and initial state are the same.")
    table = Table(box=None, pad_edge=False)
    for column in ("law", "max. foot drift / (mm/s)", "max. depth / mm", "peak force / N"):
        table.add_column(column, justify="left" if column == "law" else "right")
    for row in rows:
        table.add_row(
            row["law"],
            f"{1e3 * row['creep_max']:.3f}",
            f"{1e3 * row['penetration_max']:.3f}",
            f"{row['normal_force_max']:.0f}",
        )
    console = Console(highlight=False)
    console.print(table)
    settings = {row["law"]: row["settings"] for row in rows if "settings" in row}
    for line in describe_sets(
        {name: MujocoSettings(**values) for name, values in settings.items()}
    ):
        console.print(f"[dim]{line}[/]")


def _run_worlds(robot: Any, progress: Progress) -> tuple[dict[str, Any], None]:
    """Simulate many robots at once, each pushed sideways by a different force."""
    import numpy as np

    from tarsus.morphology.fall import MIN_UPRIGHT, uprightness
    from tarsus.processes import usable_cores
    from tarsus.simulation.simulation import Simulation

    progress.show_stage(f"compiling for {WORLDS} worlds")
    threads, trunk = usable_cores(), robot.body_names[0]
    batch = Simulation(robot, controller="trot", worlds=WORLDS, threads=threads, pushes=trunk)
    weights = np.linspace(0.0, MAX_PUSH, WORLDS)
    force = robot.mass * 9.81 * weights
    # trot, push, count who is still upright
    progress.show_stage(f"pushing {WORLDS} trotting robots")
    start = time.perf_counter()
    batch.advance(BEFORE)
    batch.set(push={trunk: np.column_stack([0 * force, force, 0 * force])})
    batch.advance(PUSH)
    batch.set(push={trunk: (0.0, 0.0, 0.0)})
    batch.advance(AFTER)
    seconds = time.perf_counter() - start
    stands = uprightness(batch.robot, batch.q) > MIN_UPRIGHT
    bins = np.array_split(np.arange(WORLDS), BAR_COUNT)
    rows = [
        {"weights": [float(weights[k[0]]), float(weights[k[-1]])], "upright": stands[k].mean()}
        for k in bins
    ]
    simulated = BEFORE + PUSH + AFTER
    return {
        "worlds": WORLDS,
        "threads": threads,
        "simulated": simulated,
        "took": seconds,
        "rows": rows,
    }, None


def _print_worlds(result: dict[str, Any]) -> None:
    worlds, simulated, seconds = result["worlds"], result["simulated"], result["took"]
    _print_section(
        f"{worlds} robots, each pushed harder than the one before",
        f"Simulating {simulated:g} s of every robot took {seconds:.1f} s on {result['threads']}"
        f" threads, {worlds * simulated / seconds:,.0f} times faster than real time in total.",
        f"{PUSH:g} s push / body weights   still upright",
    )
    for row in result["rows"]:
        low, high = row["weights"]
        bar = "#" * round(BAR_WIDTH * row["upright"])
        print(f"                {low:.2f} to {high:.2f}   {row['upright']:4.0%}  {bar}")


def _print_end(results: dict[str, Any]) -> None:
    _print_section(
        f"The demo took {results['seconds']:.0f} s. Next, try",
        "tarsus run mini_cheetah --out out      simulate; write a log and a plot",
        "tarsus view mini_cheetah               push a robot around in a browser",
        "tarsus compare your_robot.urdf         compare contact laws on your own robot",
        "tarsus --help                          list all commands",
    )


def _print_section(title: str, *lines: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(f"\n{title}", "bold"))
    for line in lines:
        console.print(Text(line))


def _play(log: Any) -> None:
    """Animate the log in the terminal, in real time."""
    from rich.live import Live
    from rich.text import Text

    from tarsus.viewer.terminal import SideView
    from tarsus.viewer.track import build_track

    with Live(auto_refresh=False) as screen:
        due = time.perf_counter()
        for frame in SideView(build_track(log)).frames(FRAME_RATE):
            screen.update(Text(frame), refresh=True)
            due += 1 / FRAME_RATE
            time.sleep(max(due - time.perf_counter(), 0.0))
