"""`tarsus bench`: speed relative to MuJoCo's `rollout` with the same robot, trot and machine.

Both simulators run in one process.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from tarsus import robots
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.trot import Trot
from tarsus.dynamics.robot import Robot
from tarsus.mujoco_runs.replay import Replay, frictionless_joints
from tarsus.mujoco_runs.settings import (
    DEFAULT,
    TUNED,
    MujocoSettings,
    describe_sets,
    row_label,
    tuned_settings,
)
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.program.codegen.layout import Target
from tarsus.program.run import machine, native
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation
from tarsus_bench.instruction_bound import clock, operations_taken

DT, FRICTION, SECONDS, WORLDS, ROUNDS = 0.0025, 0.8, 2.0, 4096, 7
BATCH_SECONDS = 0.4  # of trot per round for 4096 worlds: one gait cycle
PEERS = {
    row_label(TUNED): tuned_settings(FRICTION),
    row_label(DEFAULT): MujocoSettings(mu=FRICTION),
}
PIPES = 2  # vector instructions per cycle that the instruction bound assumes


Times = dict[str, list[float]]  # seconds per world-step of each row, one value per round


def ratio(times: Times, numerator: str, denominator: str) -> float:
    """Compute the median ratio of two times over the rounds."""
    return median(a / b for a, b in zip(times[numerator], times[denominator], strict=True))


def bench(progress: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Measure speeds as ratios to MuJoCo on one thread, and the accuracy of both simulators.

    Parameters
    ----------
    progress
        Function that is called with the current measurement.

    Returns
    -------
    dict
        Ratios, microseconds per step of one world, seconds to compile, accuracy and settings.
        instruction_bound_fraction is the fraction of the speed that arithmetic alone would allow.
    """
    # speeds, in interleaved rounds
    robot = frictionless_joints(robots.load("mini_cheetah").with_contacts("*_foot"))
    progress("trotting in MuJoCo")
    peers, theirs = dict[str, Replay](), dict[str, dict[str, Any]]()
    for name, peer_settings in PEERS.items():
        trot = MujocoSimulation(robot, peer_settings, controller=Trot(), dt=DT)
        log = trot.run(SECONDS)
        peers[name], theirs[name] = trot.replay(log), summary(trot, log)
    progress("compiling")
    compiling = compile_times(robot)
    sims = simulations(robot)
    times, iterations = measure(peers, sims, progress)

    # accuracy, and the instruction bound
    judged = Simulation(robot, Moreau(mu=FRICTION), controller=Trot(), dt=DT)
    numbers = summary(judged, judged.run(SECONDS))
    operations = operations_taken(sims["batch64"].worlds, round(SECONDS / DT))
    hertz = clock()
    bound = operations / PIPES / hertz / sims["batch64"].lanes
    return {
        "one_world_f64": ratio(times, "peer_rollout", "one"),
        "batch_f64": ratio(times, "peer_rollout", "batch64"),
        "batch_f32": ratio(times, "peer_rollout", "batch32"),
        "threads": ratio(times, "batch64", "two_threads"),
        "step_call": ratio(times, "peer_call", "call"),
        "one_world_f64_default": ratio(times, "peer_default", "one"),
        "batch_f64_default": ratio(times, "peer_default", "batch64"),
        "batch_f32_default": ratio(times, "peer_default", "batch32"),
        "bytes_per_world": sims["batch64"].simulation.bytes_per_world(),
        "instruction_bound_fraction": bound / median(times["batch64"]),
        "microseconds": {name: 1e6 * median(values) for name, values in times.items()},
        "operations_per_step": operations,
        "iterations_mean": iterations,
        "compile_seconds": compiling,
        "accuracy": {
            name: {k: each[k] for k in ("distance", "iterations_mean", "residuals")}
            for name, each in ({"tarsus": numbers} | theirs).items()
        },
        "settings": settings(theirs[row_label(TUNED)]["engine_version"], sims["batch64"], hertz),
    }


def settings(version: str, batch: Batch, hertz: float) -> dict[str, Any]:
    """Describe everything that a reader needs to reproduce the figures."""
    return {
        "robot": (
            "mini_cheetah, 18 degrees of freedom, only the 4 sphere feet touch, no dry joint"
            " friction, no self-collision"
        ),
        "gait": (
            "trot at 0.4 m/s; Tarsus closed loop, controller compiled in; MuJoCo replays recorded"
            " torques"
        ),
        "dt": DT,
        "friction": FRICTION,
        "law": "moreau, solver newton, T_rel = T_abs = 1e-6 (float32: 1e-4)",
        "mujoco": f"{version}, rollout, one thread; ratios are to tuned unless they say default",
        "mujoco_settings": "; ".join(describe_sets(PEERS)),
        "worlds": WORLDS,
        "seconds": {"one world": SECONDS, "batch": BATCH_SECONDS},
        "rounds": ROUNDS,
        "statistic": "median over the rounds of the ratio within a round",
        "lanes": batch.lanes,
        "processor": f"{machine.detect_host().cpu}, {os.cpu_count()} cores,"
        f" {hertz / 1e9:.2f} GHz measured",
        "python": platform.python_version(),
    }


@dataclass(frozen=True, eq=False)
class Batch:
    """Simulation to be timed."""

    simulation: Simulation
    """Simulation on the CPU."""

    @property
    def worlds(self) -> Worlds:
        """Worlds of the simulation on this processor."""
        assert isinstance(self.simulation.backend, Worlds)
        return self.simulation.backend

    @property
    def lanes(self) -> int:
        """Number of worlds per vector instruction."""
        return self.worlds.lanes

    def time(self, seconds: float) -> float:
        """Time `seconds` of trot from the start; return the seconds per step and world."""
        self.simulation.reset()
        began = perf_counter()
        self.simulation.advance(seconds)
        return (perf_counter() - began) / round(seconds / DT) / self.simulation.worlds


def compile_times(robot: Robot) -> dict[str, float]:
    """Measure the seconds to build, optimize and generate code without a cache, by lanes."""
    simulation = Simulation(robot, Moreau(mu=FRICTION), controller=Trot(), dt=DT)
    times = {}
    for lanes in (1, machine.detect_host().lanes(64)):
        began = perf_counter()
        native.compile_to_assembly(simulation.program, Target(lanes))
        times[f"lanes_{lanes}"] = perf_counter() - began
    return times


def simulations(robot: Robot) -> dict[str, Batch]:
    """Create the simulations of all rows."""

    def batch(worlds: int, **options: Any) -> Batch:
        return Batch(
            Simulation(
                robot, Moreau(mu=FRICTION), controller=Trot(), dt=DT, worlds=worlds, **options
            )
        )

    return {
        "one": batch(1),
        "batch64": batch(WORLDS),
        "batch32": batch(WORLDS, precision="float32"),
        "two_threads": batch(WORLDS, threads=2),
    }


def measure(
    peers: dict[str, Replay], sims: dict[str, Batch], progress: Callable[[str], None]
) -> tuple[Times, float]:
    """Measure the times of all rows, and the mean number of solver iterations per step.

    All rows are measured in every round, so that a drift of the machine affects them equally.
    """
    times: Times = {}

    def record(name: str, value: float) -> None:
        times.setdefault(name, []).append(value)

    one, peer = sims["one"].simulation, peers[row_label(TUNED)]
    counted = one.run(SECONDS)
    for k in range(ROUNDS):
        progress(f"round {k + 1} of {ROUNDS}")
        record("peer_call", peer.step_call(4000))
        record("call", _time_calls(one, 4000))
        record("one", median(sims["one"].time(SECONDS) for _ in range(5)))
        record("peer_rollout", median(peer.rollout() for _ in range(5)))
        record("peer_default", median(peers[row_label(DEFAULT)].rollout() for _ in range(5)))
        for name in ("batch32", "batch64", "two_threads"):
            record(name, sims[name].time(BATCH_SECONDS))
    return times, float(counted["iterations"].mean())


def _time_calls(simulation: Simulation, calls: int) -> float:
    simulation.reset()
    began = perf_counter()
    for _ in range(calls):
        simulation.step()
    return (perf_counter() - began) / calls
