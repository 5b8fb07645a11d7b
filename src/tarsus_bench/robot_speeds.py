"""`tarsus bench --robots`: speed of every robot in its default gait, compared with MuJoCo.

Each robot runs with its default gait, time step and contacts, in one world and in a batch whose
worlds start with different velocities. MuJoCo's `rollout` replays the torques of the same gait. All
run in one process on one thread. An error with one robot becomes a row of the table.
"""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.morphology.feet import find_feet
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.replay import Replay
from tarsus.mujoco_runs.settings import (
    DEFAULT,
    TUNED,
    SettingsSelection,
    describe_sets,
    find_settings,
    row_label,
)
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.processes import WorkerPool
from tarsus.program.run import machine
from tarsus.registry import name_of
from tarsus.simulation.default_controller import AUTO
from tarsus.simulation.simulation import Simulation
from tarsus.validation.robot_check import load_with_feet
from tarsus_bench.speed import Times, ratio
from tarsus_bench.whole_robots import INITIAL_VELOCITY, ThrownWorlds

WORLDS = 1024
QUICK_ROBOTS = ("mini_cheetah", "hoap1")
PEERS = (row_label(DEFAULT), row_label(TUNED))
OURS = ("one", "batch", "batch32")


@dataclass(frozen=True)
class Effort:
    """Duration and number of measurements per robot."""

    seconds: float = 1.0
    """Simulated time of one world per round, s."""
    batch_seconds: float = 0.4
    """Simulated time of a batch per round, s: one cycle of a trot."""
    rounds: int = 5
    """Number of rounds."""


QUICK = Effort(0.2, 0.05, 2)


def robot_rows(
    chosen: Mapping[str, str],
    effort: Effort = Effort(),
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[dict[str, Any]]:
    """Measure robots one by one; yield each row as soon as it is known.

    Parameters
    ----------
    chosen
        Built-in name or file of each robot, by name (`robot_check.select_robots`).
    effort
        Size of the measurement.
    progress
        Function that is called with the current measurement.

    Yields
    ------
    dict
        steps_per_second: of one world, and of all worlds of a batch together, in Tarsus and in
        MuJoCo. times_mujoco: speed as a multiple of MuJoCo's, median over the rounds. compile:
        processor seconds from nothing to the first step, with an empty and with a filled cache.
        solver: iterations and share of unconverged steps of the batch. problem: why a robot or
        MuJoCo was not measured, otherwise empty.
    """
    for name, file in chosen.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield robot_row(name, file, effort, lambda text, name=name: progress(name + text))
        except Exception as error:  # of any kind, so that the other robots are still measured
            message = str(error).removeprefix(f"{file}: ")
            known = isinstance(error, TarsusError)
            yield {
                "robot": name,
                "problem": message if known else f"{type(error).__name__}: {message}",
            }


def robot_row(
    name: str, file: str, effort: Effort, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Measure one robot; see `robot_rows`."""
    progress(": loading")
    robot = load_with_feet(name, file)
    # the same gait in both simulators
    progress(": compiling with an empty cache")
    compiling = compile_seconds(name, file)
    progress(": compiling")
    ours = {
        "one": create_thrown_worlds(robot, 1),
        "batch": create_thrown_worlds(robot, WORLDS),
        "batch32": create_thrown_worlds(robot, WORLDS, precision="float32"),
    }
    batch = ours["batch"].simulation
    progress(": running in MuJoCo")
    peers, problems = create_replays(robot, batch.dt, effort.seconds)

    # times, then solver statistics
    times = measure(peers, ours, effort, lambda text: progress(f": {text}"))
    progress(": counting iterations")
    solver = ours["batch"].collect_statistics(effort.batch_seconds)
    return {
        "robot": name,
        "dof": robot.nu,
        "contacts": len(batch.plan.scene.candidates),
        "gait": name_of(batch.controller),
        "dt": batch.dt,
        "steps_per_second": {row: 1 / median(values) for row, values in times.items()},
        "times_mujoco": {peer: {row: ratio(times, peer, row) for row in ours} for peer in peers},
        "compile": compiling,
        "solver": {
            "iterations": solver["mean"],
            "unconverged": solver["unconverged"] / solver["steps"],
        },
        "problem": "; ".join(problems),
    }


def create_thrown_worlds(robot: Robot, worlds: int, **options: Any) -> ThrownWorlds:
    """Create worlds in the default gait; those of a batch have random initial velocities."""
    simulation = Simulation(robot, controller=AUTO, worlds=worlds, threads=1, **options)
    return ThrownWorlds.start_worlds(simulation, worlds > 1)


def create_replays(robot: Robot, dt: float, seconds: float) -> tuple[dict[str, Replay], list[str]]:
    """Run the default gait in MuJoCo, on the feet if the robot has any.

    Returns
    -------
    peers
        Replay of the run by label of MuJoCo's settings.
    problems
        Reasons for missing replays.
    """
    contacts = "feet" if robot.floating and find_feet(robot) else None
    peers, problems = dict[str, Replay](), list[str]()
    for name, (settings, _) in SettingsSelection().for_robot(robot).items():
        try:
            run = MujocoSimulation(robot, settings, controller=AUTO, dt=dt, contacts=contacts)
            peers[name] = run.replay(run.run(seconds))
        except TarsusError as error:
            problems.append(f"{name}: {error}")
    return peers, problems


def measure(
    peers: Mapping[str, Replay],
    ours: Mapping[str, ThrownWorlds],
    effort: Effort,
    progress: Callable[[str], None],
) -> Times:
    """Measure the processor time in s per world-step of all rows in interleaved rounds.

    The first round compiles what falls and joint stops need, and does not count.
    """
    times: Times = {}
    for k in range(effort.rounds + 1):
        progress(f"round {k} of {effort.rounds}" if k else "first round")
        values = {row: peer.rollout(1, process_time) for row, peer in peers.items()}
        for row, worlds in ours.items():
            values[row] = worlds.time(effort.seconds if row == "one" else effort.batch_seconds)
        if k:
            for row, value in values.items():
                times.setdefault(row, []).append(value)
    return times


def compile_seconds(name: str, file: str) -> dict[str, float]:
    """Measure the processor time to the first step in new processes, without and with a cache."""
    with TemporaryDirectory() as cache:
        seconds = {}
        for key in ("cold", "warm"):
            with WorkerPool(1) as pool:
                seconds[key] = pool.submit(first_step, name, file, cache).result()
    return seconds


def first_step(name: str, file: str, cache: str) -> float:
    """Measure the processor time in s to create a simulation of one world and make a step."""
    os.environ["TARSUS_CACHE"] = cache
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load_with_feet(name, file)
        began = process_time()
        Simulation(robot, controller=AUTO).step()
    return process_time() - began


def settings(effort: Effort) -> dict[str, Any]:
    """Describe everything that a reader needs to reproduce the figures."""
    return {
        "robots": (
            "default gait, time step and contacts; joint limits and dry friction of the file; no"
            " self-collision"
        ),
        "law": "moreau with its defaults, float64 unless stated otherwise",
        "batch": (
            f"{WORLDS} worlds, initial velocity of the trunk {INITIAL_VELOCITY:g} m/s and rad/s"
            " (standard deviation)"
        ),
        "mujoco": (
            "replays the torques of the same gait with the feet as contacts, so that its controller"
            " does not count; "
            + "; ".join(
                describe_sets({row_label(name): find_settings(name) for name in (DEFAULT, TUNED)})
            )
        ),
        "effort": asdict(effort),
        "statistic": "median over interleaved rounds of processor times, one thread",
        "processor": f"{machine.detect_host().cpu}, {os.cpu_count()} cores",
        "versions": (
            f"Python {platform.python_version()}, MuJoCo {mujoco().__version__},"
            f" NumPy {np.__version__}"
        ),
    }


def short_name(name: str) -> str:
    """Shorten the path of a file to its name."""
    return Path(name).name if "/" in name or "\\" in name else name
