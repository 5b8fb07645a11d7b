"""`tarsus bench`: speed relative to MuJoCo's `rollout` on the same robot, trot and machine.

Both engines run in one process.
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
from tarsus.mujoco_runs.settings import DEFAULT, TUNED, MujocoSettings, footnotes, label, tuned
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.program.codegen.layout import Target
from tarsus.program.run import machine, native
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation
from tarsus_bench.instruction_bound import clock, operations_taken

DT, FRICTION, SECONDS, WORLDS, ROUNDS = 0.0025, 0.8, 2.0, 4096, 7
BATCH_SECONDS = 0.4  # of trot a round for 4096 worlds: one gait cycle
PEERS = {label(TUNED): tuned(FRICTION), label(DEFAULT): MujocoSettings(mu=FRICTION)}
PIPES = 2  # vector instructions a cycle that the instruction bound supposes


Times = dict[str, list[float]]  # seconds a world-step of each row, one number a round


def ratio(times: Times, slow: str, fast: str) -> float:
    """Median over the rounds of slow / fast, measured one after the other."""
    return median(a / b for a, b in zip(times[slow], times[fast], strict=True))


def bench(progress: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Speeds as ratios to MuJoCo on one thread, with settings and the accuracy of both engines.

    instruction_bound_fraction: share of the speed that arithmetic alone would allow [1]; other
    times are in microseconds per step of one world, or seconds to compile.
    """
    # speeds, in interleaved rounds
    robot = frictionless_joints(robots.load("mini_cheetah"))
    progress("trotting in MuJoCo")
    peers, theirs = dict[str, Replay](), dict[str, dict[str, Any]]()
    for name, own in PEERS.items():
        trot = MujocoSimulation(robot, own, controller=Trot(), dt=DT)
        trotted = trot.run(SECONDS)
        peers[name], theirs[name] = trot.replay(trotted), summary(trot, trotted)
    progress("compiling")
    compiling = compile_times(robot)
    sims = simulations(robot)
    times, iterations = measure(peers, sims, progress)

    # accuracy, and the bound that arithmetic alone would set
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
        "settings": settings(theirs[label(TUNED)]["engine_version"], sims["batch64"], hertz),
    }


def settings(version: str, batch: Batch, hertz: float) -> dict[str, Any]:
    """Everything a reader needs to repeat the figures."""
    return {
        "robot": (
            "mini_cheetah, 18 degrees of freedom, 4 sphere feet, no dry joint friction, no"
            " self-collision"
        ),
        "gait": (
            "trot at 0.4 m/s; Tarsus closed loop, controller compiled in; MuJoCo replays recorded"
            " torques"
        ),
        "dt": DT,
        "friction": FRICTION,
        "law": "moreau, solver newton, T_rel = T_abs = 1e-6 (float32: 1e-4)",
        "mujoco": f"{version}, rollout, one thread; ratios are to tuned unless they say default",
        "mujoco_settings": "; ".join(footnotes(PEERS)),
        "worlds": WORLDS,
        "seconds": {"one world": SECONDS, "batch": BATCH_SECONDS},
        "rounds": ROUNDS,
        "statistic": "median over the rounds of the ratio within a round",
        "lanes": batch.lanes,
        "processor": f"{machine.host().cpu}, {os.cpu_count()} cores,"
        f" {hertz / 1e9:.2f} GHz measured",
        "python": platform.python_version(),
    }


@dataclass(frozen=True, eq=False)
class Batch:
    """A simulation to time."""

    simulation: Simulation

    @property
    def worlds(self) -> Worlds:
        """What it runs on this processor."""
        assert isinstance(self.simulation.backend, Worlds)
        return self.simulation.backend

    @property
    def lanes(self) -> int:
        """Worlds per vector instruction."""
        return self.worlds.lanes

    def time(self, seconds: float) -> float:
        """Seconds for one step of one world, over `seconds` of trot from the start."""
        self.simulation.reset()
        began = perf_counter()
        self.simulation.advance(seconds)
        return (perf_counter() - began) / round(seconds / DT) / self.simulation.worlds


def compile_times(robot: Robot) -> dict[str, float]:
    """Seconds to build, optimize and generate code without a cache, by lanes."""
    simulation = Simulation(robot, Moreau(mu=FRICTION), controller=Trot(), dt=DT)
    times = {}
    for lanes in (1, machine.host().lanes(64)):
        began = perf_counter()
        native.assembly(simulation.program, Target(lanes))
        times[f"lanes_{lanes}"] = perf_counter() - began
    return times


def simulations(robot: Robot) -> dict[str, Batch]:
    """The simulations of all rows."""

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
    """Times of all rows, and the mean number of solver iterations a step.

    Every row takes its turn in every round, so that a drift of the machine affects all alike.
    """
    times: Times = {}

    def note(name: str, value: float) -> None:
        times.setdefault(name, []).append(value)

    one, peer = sims["one"].simulation, peers[label(TUNED)]
    counted = one.run(SECONDS)
    for k in range(ROUNDS):
        progress(f"round {k + 1} of {ROUNDS}")
        note("peer_call", peer.step_call(4000))
        note("call", _calls(one, 4000))
        note("one", median(sims["one"].time(SECONDS) for _ in range(5)))
        note("peer_rollout", median(peer.rollout() for _ in range(5)))
        note("peer_default", median(peers[label(DEFAULT)].rollout() for _ in range(5)))
        for name in ("batch32", "batch64", "two_threads"):
            note(name, sims[name].time(BATCH_SECONDS))
    return times, float(counted["iterations"].mean())


def _calls(simulation: Simulation, calls: int) -> float:
    simulation.reset()
    began = perf_counter()
    for _ in range(calls):
        simulation.step()
    return (perf_counter() - began) / calls
