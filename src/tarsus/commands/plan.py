"""`tarsus plan`: model predictive control by sampling, in closed loop."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import registry, robots
from tarsus.commands.base import (
    FAILED,
    LAWS,
    OWN,
    TERRAINS,
    Checked,
    Command,
    File,
    Flag,
    Number,
    Seconds,
    Settings,
    called,
    each_setting,
    name_of,
    number,
    print_json,
    written,
)
from tarsus.errors import (
    IncompatibleOptions,
    InvalidValue,
    TarsusWarning,
    WarningRecord,
    one_per_code,
    warning_record,
)
from tarsus.simulation.time_steps import DEFAULT_DT

if TYPE_CHECKING:
    from tarsus.planning.closed_loop import BasePush, ClosedLoopResult
    from tarsus.planning.planner import Planner

GOALS, METHODS = "tarsus.planning.goals", "tarsus.planning.methods"


REACHED = (
    *("seed", "fell", "speed / (m/s)", "sideways / (m/s)", "turn / (rad/s)"),
    *("moves at the end / (m/s)", "leans / rad", "in the air / %", "diagonals / [1]", "rise / m"),
)


@dataclass(frozen=True)
class PlanCommand(Command):
    """Control a robot by sampling: plans through contact, no gait given.

    Each plan rolls out samples around the last one in a single compiled call. It acts when its time
    is over: `delay` after the state it began with, one period unless told otherwise. A plan that
    took longer missed its deadline, which is told; --still lets time stand still while it plans.
    Exits with 1 if the robot falls.
    """

    place: ClassVar[int] = 53
    topic: ClassVar[str] = "Learn"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus plan stand --push 150": "stand; 150 N from the right for 0.1 s, a second later",
        "tarsus plan go --ask speed=0.5 turn=0.3": "a gait that nobody gave",
        "tarsus plan step_up --duration 8 --out up.nc": "onto a box; a log for tarsus render",
        "tarsus plan stand --push 100 --seeds 10 --json": "ten seeds, as JSON",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Task": "robot ask duration push push_direction push_at push_lasts",
        "Planner": "method set law dt delay still seed seeds threads",
        "World": "world_law world_dt world_terrain mujoco",
        "Results": "out",
    }

    goal: tyro.conf.Positional[
        Annotated[
            str, called("GOAL", f"Goal (`tarsus list goals`), {OWN}."), name_of("goal", GOALS)
        ]
    ]
    robot: Annotated[str, called("ROBOT"), Checked(robots.require)] = "mini_cheetah"
    """Built-in robot (`tarsus list robots`) or path to an MJCF, URDF or SDF file."""
    method: Annotated[str, called("NAME"), name_of("method", METHODS)] = "mppi"
    """How samples become a plan (`tarsus list planners`)."""
    ask: Settings = ()
    """Commands of the goal, NAME=NUMBER each: speed=0.5 turn=0.3."""
    duration: Seconds = 5.0
    """Simulated time."""
    push: Number = None
    """Push the base with this force, N."""
    push_direction: Annotated[float, number("DEGREES"), called("DEGREES")] = 90.0
    """Of the push, to the left of x."""
    push_at: Seconds = 1.0
    """When it comes."""
    push_lasts: Seconds = 0.1
    """How long it lasts."""
    set: Settings = ()
    """Parameters of goal, method and pace (`tarsus list goals|planners --parameters`)."""
    law: Annotated[str, called("NAME"), name_of("law", LAWS)] = "moreau"
    """Contact law that it plans with."""
    dt: Seconds = 0.01
    """Length of the plan's steps."""
    delay: Number = None
    """Seconds from the state that a plan begins with to its first torque; by default a period."""
    still: Flag = False
    """Time stands still while it plans: no delay."""
    seed: Annotated[int, called("NUMBER")] = 0
    """Of the samples."""
    seeds: Annotated[int, called("NUMBER")] = 1
    """How many runs, each with the next seed."""
    threads: Annotated[int | None, called("NUMBER")] = None
    """Threads; by default as many cores as this process may use. The results do not depend on
    it."""
    world_law: Annotated[str, called("NAME"), name_of("law", LAWS)] = "moreau"
    """Contact law of the world."""
    world_dt: Seconds = DEFAULT_DT
    """Length of the world's steps."""
    world_terrain: Annotated[str | None, called("NAME"), name_of("terrain", TERRAINS)] = None
    """The world's terrain; by default the plan's."""
    mujoco: Flag = False
    """The world is MuJoCo at its defaults, with the contact numbers of the robot's file."""
    out: File = None
    """Write the log of the last run to this file (.nc)."""

    def execute(self) -> int:
        from tarsus.planning.closed_loop import run

        # what is asked
        if self.still and self.delay is not None:
            raise IncompatibleOptions(
                "--still means no delay: it cannot be combined with --delay.", "--still"
            )
        for flag, value, least in (("--seed", self.seed, 0), ("--seeds", self.seeds, 1)):
            if value < least:
                raise InvalidValue(f"{flag} must be at least {least}, not {value}.", flag)
        push = self._push()
        # the plan and its world, then the runs
        with warnings.catch_warnings(record=True) as caught, self.progress() as progress:
            warnings.simplefilter("always", TarsusWarning)
            progress.say(f"compiling {self.robot}")
            planner = self._planner()
            world = self._world(planner)
            found: list[ClosedLoopResult] = []
            log = None
            for seed in range(self.seed, self.seed + self.seeds):
                progress.say(f"running seed {seed}")
                planner.seed = seed
                world.reset()
                log, reached = run(planner, world, self.duration, push)
                found.append(reached)
        told = [warning_record(w.message) for w in caught if issubclass(w.category, TarsusWarning)]
        notices = one_per_code([*told, *planner.warnings, *world.warnings])
        # what came of it
        files = []
        if self.out is not None and log is not None:
            from tarsus.simulation.recording.log import save_log

            save_log(log, self.out)
            files = [written(self.out)]
        if self.json:
            print_json({"runs": list(map(asdict, found)), "notices": notices, "written": files})
        else:
            _tell(self, found, notices)
        return FAILED if any(reached.fell for reached in found) else 0

    def _push(self) -> BasePush | None:
        from tarsus.planning.closed_loop import BasePush

        if self.push is None:
            return None
        push = BasePush(self.push, self.push_direction, self.push_at, self.push_lasts)
        push.check(self.duration)
        return push

    def _planner(self) -> Planner:
        """As the flags want it."""
        from dataclasses import replace

        from tarsus.planning.goals.base import Goal
        from tarsus.planning.methods.base import SamplingMethod
        from tarsus.planning.planner import Planner
        from tarsus.planning.timing import PlanTiming
        from tarsus.processes import usable_cores
        from tarsus.simulation.part_parameters import set_parameters

        # goal, method and pace with their settings
        parts: Any = {
            "goal": registry.create(GOALS, "goal", self.goal, Goal),
            "method": registry.create(METHODS, "method", self.method, SamplingMethod),
            "pace": PlanTiming(),
        }
        settings = each_setting(self.set)
        parts = set_parameters(parts, settings)
        pace = parts["pace"]
        if not self.still and not any(s.startswith(("delay=", "pace.delay=")) for s in settings):
            pace = replace(pace, delay=pace.period if self.delay is None else self.delay)
        # the planner, told what is asked
        planner = Planner(
            *(parts["goal"], self.robot, parts["method"], self.law, None, self.dt),
            pace=pace,
            seed=self.seed,
            threads=self.threads or usable_cores(),
        )
        asked = each_setting(self.ask)
        planner.ask(**dict(map(_command, asked)))
        return planner

    def _world(self, planner: Planner) -> Any:
        from tarsus.simulation.simulation import Simulation

        terrain = self.world_terrain or planner.terrain
        if self.mujoco:
            from tarsus.mujoco_runs.settings import DEFAULT, label, printed
            from tarsus.mujoco_runs.simulation import MujocoSimulation

            world = MujocoSimulation(planner.robot, None, terrain, planner, self.world_dt)
            for text in printed({label(DEFAULT): world.settings}):
                world.warnings.append(WarningRecord(text, "mujoco-settings", planner.robot.name))
            return world
        return Simulation(
            *(planner.robot, self.world_law, "midpoint", terrain, planner, self.world_dt),
            pushes=planner.robot.bodies[0].name if self.push is not None else (),
        )


def _command(text: str) -> tuple[str, float]:
    """Name and number of NAME=NUMBER."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise InvalidValue(f"--ask must be NAME=NUMBER, not {text!r}.", "--ask") from None


def _tell(given: PlanCommand, found: list[ClosedLoopResult], notices: list[WarningRecord]) -> None:
    """A row for each run, then how long the plans took."""
    from tarsus.viewer.tables import TextTable, text_console

    # what each reached
    console, rows = text_console(), list[list[str]]()
    for row in found:
        numbers = [f"{v:.3f}" for v in (row.speed, row.sideways, row.turn, row.still, row.leans)]
        together = f"{row.together['diagonals']:.2f}" if row.together else "-"
        end = "diverged" if row.diverged else "yes" if row.fell else "no"
        feet = (f"{100 * row.lifted:.0f}", together, f"{row.rise:.3f}")
        rows.append([str(row.seed), end, *numbers, *feet])
    TextTable(REACHED, rows).print(console)
    console.print("diagonals: how much the feet of a diagonal stand together, 1 in a trot")
    # the plans
    for row in found:
        took = row.latency
        times = ", ".join(f"{1e3 * t:.1f}" for t in (took.median, took.most_of_95, took.worst))
        how = f"{1e3 * row.delay:g} ms late" if row.delay else "while time stood still"
        console.print(
            f"seed {row.seed}: {took.plans} plans, {how}: {times} ms (median, 95 %, worst),"
            f" {1e3 * took.processor:.1f} ms of processor;"
            f" {took.missed} missed the deadline of {1e3 * took.deadline:g} ms"
        )
    if any(row.latency.unconverged for row in found):
        worst = max(row.latency.unconverged for row in found)
        console.print(f"at most {100 * worst:.2g} % of a run's planned steps were not solved")
    for notice in notices:
        console.print(f"notice: {notice}")
    if given.out is not None:
        console.print(f"written {given.out}")
