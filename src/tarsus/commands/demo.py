"""`tarsus demo`: half a minute that shows what this is."""

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
TROT, EACH = 3.0, 1.0  # s simulated: the first run, the one of each law
WORLDS, WEIGHTS = 1024, 2.0  # robots that are pushed, and the strongest push, in robot's weights
BEFORE, PUSH, AFTER = 0.5, 0.15, 1.5  # s of trot, of the push, and until who lies is counted
JUDGED = ("creep_max", "penetration_max", "normal_force_max")
RATE = 25.0  # pictures a second
GROUPS, BAR = 10, 40  # rows of pushes, letters of a bar


@dataclass(frozen=True)
class Demo(Command):
    """Show in half a minute what this is.

    A quadruped trots, first alone, then under other contact laws and on MuJoCo, then a thousand of
    them are pushed sideways, each harder than the one before. Nothing is written.
    """

    place: ClassVar[int] = 5
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus demo": "with a film in the terminal",
        "tarsus demo --no-film --json": "the figures alone",
        "tarsus demo --mujoco all": "MuJoCo at all of its named settings",
    }

    no_film: Flag = False
    """Skip the film."""
    settings: Mujoco = field(default_factory=MujocoFlags)

    def execute(self) -> int:
        from tarsus import robots

        # one robot, several laws, many worlds; each part is told when it is there
        began = time.perf_counter()
        robot = robots.load(ROBOT)
        parts = {"trot": _trot, "laws": partial(_laws, self.settings.shown), "worlds": _worlds}
        tellers = {"trot": _tell_trot, "laws": _tell_laws, "worlds": _tell_worlds}
        found: dict[str, Any] = {}
        for name, measure in parts.items():
            with self.progress() as progress:
                found[name], log = measure(robot, progress)
            if not self.json:
                tellers[name](found[name])
            if log is not None and sys.stdout.isatty() and not (self.json or self.no_film):
                _film(log)
        found["seconds"] = time.perf_counter() - began
        print_json(found) if self.json else _tell_end(found)
        return FAILED if found["trot"]["fell"] else 0


def _trot(robot: Any, progress: Progress) -> tuple[dict[str, Any], Any]:
    """One trot, how long it took to compile and to run, and its log."""
    from tarsus.simulation.recording.summary import summary
    from tarsus.simulation.simulation import Simulation

    progress.say("compiling Mini Cheetah, its gait and a contact law")
    began = time.perf_counter()
    simulation = Simulation(robot, controller="trot")
    compiled = time.perf_counter() - began
    log = simulation.run(TROT)
    numbers = summary(simulation, log)
    kept = ("distance", "duration", "dt", "creep_max", "unconverged_steps", "realtime_factor")
    told = {key: numbers[key] for key in (*kept, "iterations_mean", "fell")}
    return {"compile_seconds": compiled} | told, log


def _tell_trot(found: dict[str, Any]) -> None:
    steps = round(found["duration"] / found["dt"])
    _say(
        "One robot",
        f"Mini Cheetah and its trot became machine code in {found['compile_seconds']:.1f} s.",
        f"{found['duration']:g} s of it took {found['duration'] / found['realtime_factor']:.3f} s:"
        f" {found['realtime_factor']:,.0f} times real time. It went {found['distance']:.2f} m.",
        f"{steps - found['unconverged_steps']} of {steps} steps solved their contacts; a standing"
        f" foot never crept faster than {1e3 * found['creep_max']:.3f} mm/s.",
    )


def _laws(mujoco: Any, robot: Any, progress: Progress) -> tuple[list[dict[str, Any]], None]:
    """The same trot under other laws of contact, and in MuJoCo at some settings, judged alike."""
    from tarsus.comparison import laws

    named = {name: law for name, law in laws.laws_named(",".join(LAWS)).items() if law is not None}
    named |= {name: settings for name, (settings, _) in mujoco.of(robot).items()}
    rows = []
    for name, law in named.items():
        progress.say(f"the same trot under {name}")
        make, _ = laws.maker(robot, "trot", law, {})
        run = laws.run_of(name, make(0.0025), EACH)
        settings = {} if run.settings is None else {"settings": asdict(run.settings)}
        rows.append({"law": name} | {key: run.numbers[key] for key in JUDGED} | settings)
    return rows, None


def _tell_laws(found: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from tarsus.mujoco_runs.settings import MujocoSettings, printed

    _say("One trot, several laws of contact", "Robot, gait and start are the same.")
    table = Table(box=None, pad_edge=False)
    for column in ("law", "worst creep / mm/s", "depth / mm", "peak force / N"):
        table.add_column(column, justify="left" if column == "law" else "right")
    for row in found:
        table.add_row(
            row["law"],
            f"{1e3 * row['creep_max']:.3f}",
            f"{1e3 * row['penetration_max']:.3f}",
            f"{row['normal_force_max']:.0f}",
        )
    console = Console(highlight=False)
    console.print(table)
    given = {row["law"]: row["settings"] for row in found if "settings" in row}
    for line in printed({name: MujocoSettings(**values) for name, values in given.items()}):
        console.print(f"[dim]{line}[/]")


def _worlds(robot: Any, progress: Progress) -> tuple[dict[str, Any], None]:
    """Many at once, each pushed to the side by another force."""
    import numpy as np

    from tarsus.morphology.fall import MIN_UPRIGHT, upright
    from tarsus.processes import usable_cores
    from tarsus.simulation.simulation import Simulation

    # what is pushed
    progress.say(f"compiling for {WORLDS} worlds")
    threads, trunk = usable_cores(), robot.body_names[0]
    many = Simulation(robot, controller="trot", worlds=WORLDS, threads=threads, pushes=trunk)
    weights = np.linspace(0.0, WEIGHTS, WORLDS)
    force = robot.mass * 9.81 * weights
    # trot, push, see
    progress.say(f"{WORLDS} worlds trot and are pushed")
    began = time.perf_counter()
    many.advance(BEFORE)
    many.set(push={trunk: np.column_stack([0 * force, force, 0 * force])})
    many.advance(PUSH)
    many.set(push={trunk: (0.0, 0.0, 0.0)})
    many.advance(AFTER)
    took = time.perf_counter() - began
    stands = upright(many.robot, many.q) > MIN_UPRIGHT
    parts = np.array_split(np.arange(WORLDS), GROUPS)
    rows = [
        {"weights": [float(weights[p[0]]), float(weights[p[-1]])], "upright": stands[p].mean()}
        for p in parts
    ]
    simulated = BEFORE + PUSH + AFTER
    return {
        "worlds": WORLDS,
        "threads": threads,
        "simulated": simulated,
        "took": took,
        "rows": rows,
    }, None


def _tell_worlds(found: dict[str, Any]) -> None:
    worlds, simulated = found["worlds"], found["simulated"]
    _say(
        f"{worlds} robots, each pushed harder than the one before",
        f"{simulated:g} s of each in {found['took']:.1f} s on {found['threads']} threads:"
        f" {worlds * simulated / found['took']:,.0f} times real time in all.",
        f"push of {PUSH:g} s / weights   still upright",
    )
    for row in found["rows"]:
        low, high = row["weights"]
        bar = "#" * round(BAR * row["upright"])
        print(f"         {low:.2f} to {high:.2f}   {row['upright']:4.0%}  {bar}")


def _tell_end(found: dict[str, Any]) -> None:
    _say(
        f"That took {found['seconds']:.0f} s. Go on with",
        "tarsus run mini_cheetah --out out      a log and a picture",
        "tarsus view mini_cheetah               push it around in a browser",
        "tarsus compare your_robot.urdf         your own robot, law by law",
        "tarsus --help                          all commands",
    )


def _say(title: str, *lines: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(f"\n{title}", "bold"))
    for line in lines:
        console.print(Text(line))


def _film(log: Any) -> None:
    """The log in the terminal, as fast as it was."""
    from rich.live import Live
    from rich.text import Text

    from tarsus.viewer.terminal import SideView
    from tarsus.viewer.track import track

    with Live(auto_refresh=False) as screen:
        due = time.perf_counter()
        for frame in SideView(track(log)).frames(RATE):
            screen.update(Text(frame), refresh=True)
            due += 1 / RATE
            time.sleep(max(due - time.perf_counter(), 0.0))
