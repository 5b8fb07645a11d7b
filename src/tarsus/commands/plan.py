"""`tarsus plan`: sampling-based model predictive control in closed loop."""

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
    OWN_FILE,
    TERRAINS,
    ArgumentCheck,
    Command,
    File,
    Flag,
    Number,
    Seconds,
    Settings,
    argument,
    collect_settings,
    file_record,
    name_check,
    number_argument,
    print_json,
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


COLUMNS = (
    *("seed", "fell", "forward / (m/s)", "sideways / (m/s)", "turn / (rad/s)"),
    *("final speed / (m/s)", "tilt / rad", "feet in air / %", "trot index / 1", "rise / m"),
)


@dataclass(frozen=True)
class PlanCommand(Command):
    """Control a robot by sampling-based planning, without a predefined gait.

    Each plan samples around the last one and simulates all samples in one compiled call. It takes
    effect `--delay` after the state that it started from, by default one control period later. A
    plan that takes longer misses its deadline, which is reported. With
    --pause-while-planning, plans have no delay. The exit code is 1 if the robot falls.
    """

    position: ClassVar[int] = 53
    topic: ClassVar[str] = "Learn"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus plan stand --push 150": "stand; recover from a push of 150 N at 1 s",
        "tarsus plan go --command speed=0.5 turn=0.3": "walk forward while turning",
        "tarsus plan step_up --duration 8 --out up.nc": "step onto a box; write a log",
        "tarsus plan stand --push 100 --seeds 10 --json": "run ten seeds; print JSON",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Task": "robot command duration push push_direction push_at push_duration",
        "Planner": "method set law dt delay pause_while_planning seed seeds threads",
        "World": "world_law world_dt world_terrain mujoco",
        "Result": "out",
    }

    goal: tyro.conf.Positional[
        Annotated[
            str,
            argument("GOAL", f"Goal (`tarsus list goals`), {OWN_FILE}."),
            name_check("goal", GOALS),
        ]
    ]
    robot: Annotated[str, argument("ROBOT"), ArgumentCheck(robots.require)] = "mini_cheetah"
    """Built-in robot (`tarsus list robots`) or path to an MJCF, URDF or SDF file."""
    method: Annotated[str, argument("NAME"), name_check("method", METHODS)] = "mppi"
    """Sampling method (`tarsus list planners`)."""
    command: Settings = ()
    """Commands for the goal, such as speed=0.5 turn=0.3."""
    duration: Seconds = 5.0
    """Simulated time."""
    push: Number = None
    """Push the base with this force, in N."""
    push_direction: Annotated[float, number_argument("DEGREES"), argument("DEGREES")] = 90.0
    """Direction of the push, counterclockwise from x."""
    push_at: Seconds = 1.0
    """Start time of the push."""
    push_duration: Seconds = 0.1
    """Duration of the push."""
    set: Settings = ()
    """Set parameters of the goal, the method or the timing (`tarsus list goals --parameters`,
    `tarsus list planners --parameters`)."""
    law: Annotated[str, argument("NAME"), name_check("law", LAWS)] = "moreau"
    """Contact law of the planner."""
    dt: Seconds = 0.01
    """Time step of the planner."""
    delay: Number = None
    """Time in s from the state that a plan starts from to its first torque. (default: one control
    period)"""
    pause_while_planning: Flag = False
    """Pause simulated time while planning, so that plans have no delay."""
    seed: Annotated[int, argument("NUMBER")] = 0
    """Seed of the samples."""
    seeds: Annotated[int, argument("NUMBER")] = 1
    """Number of runs; each uses the next seed."""
    threads: Annotated[int | None, argument("NUMBER")] = None
    """Number of threads; it does not affect the results. (default: all available cores)"""
    world_law: Annotated[str, argument("NAME"), name_check("law", LAWS)] = "moreau"
    """Contact law of the simulated world."""
    world_dt: Seconds = DEFAULT_DT
    """Time step of the simulated world."""
    world_terrain: Annotated[str | None, argument("NAME"), name_check("terrain", TERRAINS)] = None
    """Terrain of the simulated world. (default: the planner's)"""
    mujoco: Flag = False
    """Simulate the world in MuJoCo with its default settings and the robot file's contact
    parameters."""
    out: File = None
    """Write the log of the last run to this file (.nc)."""

    def execute(self) -> int:
        from tarsus.planning.closed_loop import run

        if self.pause_while_planning and self.delay is not None:
            raise IncompatibleOptions(
                "--pause-while-planning cannot be combined with --delay: give one of them.",
                "--pause-while-planning",
            )
        for flag, value, least in (("--seed", self.seed, 0), ("--seeds", self.seeds, 1)):
            if value < least:
                raise InvalidValue(f"{flag} must be at least {least}, not {value}.", flag)
        push = self._create_push()
        # build the planner and its world, then run every seed
        with warnings.catch_warnings(record=True) as caught, self.progress() as progress:
            warnings.simplefilter("always", TarsusWarning)
            progress.show_stage(f"compiling {self.robot}")
            planner = self._create_planner()
            world = self._create_world(planner)
            results: list[ClosedLoopResult] = []
            log = None
            for seed in range(self.seed, self.seed + self.seeds):
                progress.show_stage(f"running seed {seed}")
                planner.seed = seed
                world.reset()
                log, reached = run(planner, world, self.duration, push)
                results.append(reached)
        warned = [
            warning_record(w.message) for w in caught if issubclass(w.category, TarsusWarning)
        ]
        notices = one_per_code([*warned, *planner.warnings, *world.warnings])
        files = []
        if self.out is not None and log is not None:
            from tarsus.simulation.recording.log import save_log

            save_log(log, self.out)
            files = [file_record(self.out)]
        if self.json:
            print_json({"runs": list(map(asdict, results)), "notices": notices, "written": files})
        else:
            _print(self, results, notices)
        return FAILED if any(reached.fell for reached in results) else 0

    def _create_push(self) -> BasePush | None:
        from tarsus.planning.closed_loop import BasePush

        if self.push is None:
            return None
        push = BasePush(self.push, self.push_direction, self.push_at, self.push_duration)
        push.check(self.duration)
        return push

    def _create_planner(self) -> Planner:
        """Create the planner that the options describe."""
        from dataclasses import replace

        from tarsus.planning.goals.base import Goal
        from tarsus.planning.methods.base import SamplingMethod
        from tarsus.planning.planner import Planner
        from tarsus.planning.timing import PlanTiming
        from tarsus.processes import usable_cores
        from tarsus.simulation.part_parameters import set_parameters

        # goal, method and timing, with their settings
        parts: Any = {
            "goal": registry.create(GOALS, "goal", self.goal, Goal),
            "method": registry.create(METHODS, "method", self.method, SamplingMethod),
            "timing": PlanTiming(),
        }
        settings = collect_settings(self.set)
        parts = set_parameters(parts, settings)
        timing = parts["timing"]
        if not self.pause_while_planning and not any(
            s.startswith(("delay=", "timing.delay=")) for s in settings
        ):
            timing = replace(timing, delay=timing.period if self.delay is None else self.delay)
        # planner, with its commands
        planner = Planner(
            *(parts["goal"], self.robot, parts["method"], self.law, None, self.dt),
            timing=timing,
            seed=self.seed,
            threads=self.threads or usable_cores(),
        )
        commands = collect_settings(self.command)
        planner.set_commands(**dict(map(_parse_command, commands)))
        return planner

    def _create_world(self, planner: Planner) -> Any:
        from tarsus.simulation.simulation import Simulation

        terrain = self.world_terrain or planner.terrain
        if self.mujoco:
            from tarsus.mujoco_runs.settings import DEFAULT, describe_sets, row_label
            from tarsus.mujoco_runs.simulation import MujocoSimulation

            world = MujocoSimulation(planner.robot, None, terrain, planner, self.world_dt)
            for text in describe_sets({row_label(DEFAULT): world.settings}):
                world.warnings.append(WarningRecord(text, "mujoco-settings", planner.robot.name))
            return world
        return Simulation(
            *(planner.robot, self.world_law, "midpoint", terrain, planner, self.world_dt),
            pushes=planner.robot.bodies[0].name if self.push is not None else (),
        )


def _parse_command(text: str) -> tuple[str, float]:
    """Parse NAME=NUMBER."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise InvalidValue(f"--command must be NAME=NUMBER, not {text!r}.", "--command") from None


def _print(
    command: PlanCommand, results: list[ClosedLoopResult], notices: list[WarningRecord]
) -> None:
    """Print a row for each run, then the planning times."""
    from tarsus.viewer.tables import TextTable, text_console

    console, rows = text_console(), list[list[str]]()
    for row in results:
        numbers = [
            f"{v:.3f}" for v in (row.speed, row.sideways, row.turn, row.final_speed, row.max_tilt)
        ]
        trot = f"{row.stance_correlations['diagonals']:.2f}" if row.stance_correlations else "-"
        fell = "diverged" if row.diverged else "yes" if row.fell else "no"
        feet = (f"{100 * row.swing_fraction:.0f}", trot, f"{row.rise:.3f}")
        rows.append([str(row.seed), fell, *numbers, *feet])
    TextTable(COLUMNS, rows).print(console)
    console.print("trot index: correlation of the stances of diagonal feet; 1 in a trot")
    # planning times
    for row in results:
        latency = row.latency
        times = ", ".join(
            f"{1e3 * t:.1f}" for t in (latency.median, latency.quantile_95, latency.worst)
        )
        delay = f"delay {1e3 * row.delay:g} ms" if row.delay else "time paused while planning"
        console.print(
            f"seed {row.seed}: {latency.plans} plans ({delay}); planning time {times} ms (median,"
            f" 95th percentile, maximum), CPU time {1e3 * latency.processor:.1f} ms;"
            f" {latency.missed} plans missed the deadline of {1e3 * latency.deadline:g} ms"
        )
    if any(row.latency.unconverged for row in results):
        worst = max(row.latency.unconverged for row in results)
        console.print(
            f"the contact solver did not converge in {100 * worst:.2g} % of planned steps"
        )
    for notice in notices:
        console.print(f"warning: {notice}")
    if command.out is not None:
        console.print(f"wrote {command.out}")
