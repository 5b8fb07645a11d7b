"""`tarsus bench --walks`: bipeds on flat feet with eight sole vertices, compared with MuJoCo.

Both simulators run in one process. MuJoCo's `rollout` replays a walk from its torques. Tarsus is
timed doing the same, and in closed loop with the controller in every step. The worlds of a batch
walk at different speeds, so that worlds in one vector need different numbers of iterations.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import robots
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.walk import Walk
from tarsus.dynamics.robot import Robot
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.replay import Replay, frictionless_joints
from tarsus.mujoco_runs.settings import TUNED, describe_sets, row_label, tuned_settings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.program.run import machine
from tarsus.simulation.options import Options
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation
from tarsus_bench.replayed import ReplayedRun
from tarsus_bench.speed import Batch, Times, ratio

Array = NDArray[np.float64]
ROBOTS = ("hoap1", "biped")
DT, FRICTION, SECONDS, WORLDS, ROUNDS = 0.0025, 0.8, 5.0, 512, 7
BATCHES = ("batch", "batch32")  # float64 and float32
BATCH_SECONDS = 1.0  # of walking per round for all worlds


def walk_costs(progress: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Measure the speed of every biped.

    Parameters
    ----------
    progress
        Function that is called with the current measurement.

    Returns
    -------
    dict
        Settings, and one row per robot. one_world, batch, batch32: speed from recorded torques as a
        multiple of MuJoCo's on one thread, median over the rounds; batches in float64 and float32
        count steps of one world. with_controller: the same in closed loop. microseconds: median
        time of a step of one world. solver: iterations and unconverged steps of the hard law's
        solver. distance: distance walked in MuJoCo, in closed loop and in the replay, m.
    """
    return {"rows": [cost(name, progress) for name in ROBOTS], "settings": settings()}


def cost(name: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure one robot."""
    # the walk in MuJoCo
    robot = frictionless_joints(robots.load(name))
    progress(f"{name} walking in MuJoCo")
    theirs = MujocoSimulation(
        robot, tuned_settings(FRICTION), controller=Walk(), dt=DT, contacts="feet"
    )
    log = theirs.run(SECONDS)
    peer, figures = theirs.replay(log), summary(theirs, log)

    # the walk in Tarsus, counted and timed
    progress(f"compiling {name}")
    loops = {
        "one": Batch(create_walk(robot, 1)),
        "batch": Batch(create_walk(robot, WORLDS)),
        "batch32": Batch(create_walk(robot, WORLDS, "float32")),
    }
    seconds = {"one": SECONDS, "batch": BATCH_SECONDS, "batch32": BATCH_SECONDS}
    solver, again, reached = {}, {}, {}
    for row, loop in loops.items():
        solver[row], torques = count_iterations(loop.simulation, seconds[row])
        reached[row] = float(loop.simulation.backend.get("q")[0, 0])
        loop.simulation.reset()
        again[row] = ReplayedRun.of(loop.simulation, torques)
    times = measure(peer, loops, again, lambda text: progress(f"{name}: {text}"))
    return {
        "robot": name,
        "one_world": ratio(times, "peer", "one"),
        **{row: ratio(times, "peer", row) for row in BATCHES},
        "with_controller": {
            "one_world": ratio(times, "peer", "one_loop"),
            **{row: ratio(times, "peer", f"{row}_loop") for row in BATCHES},
        },
        "microseconds": {row: 1e6 * median(values) for row, values in times.items()},
        "solver": solver,
        "distance": {
            "mujoco": figures["distance"],
            "tarsus": reached["one"],
            "replayed": float(again["one"].worlds.get("q")[0, 0]),
        },
        "lanes": {row: loops[row].lanes for row in BATCHES},
    }


def create_walk(robot: Robot, worlds: int, precision: str = "float64") -> Simulation:
    """Create a simulation at the walk's default speed; many worlds have speeds up to it."""
    options: Options = {"worlds": worlds, "precision": precision, "contacts": "feet"}
    simulation = Simulation(robot, Moreau(mu=FRICTION), controller=Walk(), dt=DT, **options)
    if worlds > 1:
        simulation.set(command={"speed": np.linspace(0.0, Walk().commands["speed"], worlds)})
    return simulation


def count_iterations(simulation: Simulation, seconds: float) -> tuple[dict[str, float], Array]:
    """Run a simulation, count its solver iterations, and record its torques.

    Returns
    -------
    counts
        Mean, 99 % quantile and maximum of the iterations per step; mean of the maximum over the
        worlds of a vector; numbers of steps and of unconverged steps.
    torques
        Torques, shape (steps, worlds, actuators), N m.
    """
    # step by step
    simulation.reset()
    lanes, side_by_side = simulation.target.lanes, []
    iterations, unconverged, torques = [], 0, []
    for _ in range(round(seconds / simulation.dt)):
        simulation.step()
        torques.append(simulation.backend.get("tau"))
        done = np.atleast_1d(simulation.iterations)
        iterations.append(done)
        groups = done[: len(done) // lanes * lanes].reshape(-1, lanes)
        side_by_side.append(groups.max(1).mean())
        unconverged += int((~np.atleast_1d(simulation.converged)).sum())
    # over all steps and worlds
    total = np.concatenate(iterations)
    counts = {
        "mean": float(total.mean()),
        "percentile_99": float(np.percentile(total, 99)),
        "most": float(total.max()),
        "mean_of_lanes": float(np.mean(side_by_side)),
        "steps": total.size,
        "unconverged": unconverged,
    }
    return counts, np.array(torques)


def measure(
    peer: Replay,
    loops: dict[str, Batch],
    replayed: dict[str, ReplayedRun],
    progress: Callable[[str], None],
) -> Times:
    """Measure the seconds per world-step of all rows in interleaved rounds."""
    times: Times = {"peer": []} | {row: [] for name in loops for row in (name, f"{name}_loop")}
    for k in range(ROUNDS):
        progress(f"round {k + 1} of {ROUNDS}")
        times["one"].append(median(replayed["one"].time() for _ in range(3)))
        times["peer"].append(median(peer.rollout() for _ in range(3)))
        times["one_loop"].append(median(loops["one"].time(SECONDS) for _ in range(3)))
        for row in BATCHES:
            times[row].append(replayed[row].time())
            times[f"{row}_loop"].append(loops[row].time(BATCH_SECONDS))
    return times


def settings() -> dict[str, Any]:
    """Describe everything that a reader needs to reproduce the figures."""
    return {
        "robots": "no dry joint friction, no self-collision, eight sole vertices on the ground",
        "gait": (
            f"walk at {Walk().commands['speed']:g} m/s; each simulator replays torques recorded in"
            " its own closed loop; with controller: Tarsus in closed loop, controller compiled in"
        ),
        "dt": DT,
        "friction": FRICTION,
        "law": (
            "moreau, solver newton, T_rel = T_abs = 1e-6, in float32 1e-4; joint limits on; one"
            " world in float64"
        ),
        "mujoco": (
            f"{mujoco().__version__}, rollout, one thread;"
            f" {describe_sets({row_label(TUNED): tuned_settings(FRICTION)})[0]}"
        ),
        "worlds": f"{WORLDS} on one thread, commanded speeds from 0",
        "seconds": {"one world": SECONDS, "batch": BATCH_SECONDS},
        "rounds": ROUNDS,
        "statistic": "median over the rounds of the ratio within a round",
        "processor": f"{machine.detect_host().cpu}, {os.cpu_count()} cores",
    }
