"""`tarsus bench --walks`: bipeds on flat feet, eight sole vertices, beside MuJoCo's `rollout`.

Both engines run in one process. MuJoCo makes a walk again from its torques; we are timed doing the
same, and in closed loop with the controller in every step. The worlds of a batch walk at different
speeds, so that those side by side in one vector do not all need the same iterations.
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
from tarsus.mujoco_runs.settings import TUNED, footnotes, label, tuned
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.program.run import machine
from tarsus.simulation.options import Options
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation
from tarsus_bench.replayed import Replayed
from tarsus_bench.speed import Batch, Times, ratio

Array = NDArray[np.float64]
ROBOTS = ("hoap1", "biped")
DT, FRICTION, SECONDS, WORLDS, ROUNDS = 0.0025, 0.8, 5.0, 512, 7
BATCHES = ("batch", "batch32")  # in float64 and in float32
BATCH_SECONDS = 1.0  # of a walk a round for all worlds


def walk_costs(progress: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """One row for every biped, and the settings.

    one_world, batch, batch32: speed as a multiple of MuJoCo's on one thread [1], all from recorded
        torques, the median over the rounds; that of a batch, in float64 and in float32, is a
        thread's, counted in steps of one world.
    with_controller: the same three in closed loop, the controller computed in every step.
    microseconds: time of a step of one world, median.
    iterations, unconverged: of the hard law's solver a step, of one world and of the batches.
    distance: walked in MuJoCo, in closed loop and again from its torques, m.
    """
    return {"rows": [cost(name, progress) for name in ROBOTS], "settings": settings()}


def cost(name: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """The row of one robot."""
    # the walk that MuJoCo makes again
    robot = frictionless_joints(robots.load(name))
    progress(f"{name} walking in MuJoCo")
    theirs = MujocoSimulation(robot, tuned(FRICTION), controller=Walk(), dt=DT, contacts="feet")
    walked = theirs.run(SECONDS)
    peer, said = theirs.replay(walked), summary(theirs, walked)

    # ours, counted and timed
    progress(f"compiling {name}")
    loops = {
        "one": Batch(walking(robot, 1)),
        "batch": Batch(walking(robot, WORLDS)),
        "batch32": Batch(walking(robot, WORLDS, "float32")),
    }
    seconds = {"one": SECONDS, "batch": BATCH_SECONDS, "batch32": BATCH_SECONDS}
    solver, again, reached = {}, {}, {}
    for row, loop in loops.items():
        solver[row], torques = counted(loop.simulation, seconds[row])
        reached[row] = float(loop.simulation.backend.get("q")[0, 0])
        loop.simulation.reset()
        again[row] = Replayed.of(loop.simulation, torques)
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
            "mujoco": said["distance"],
            "tarsus": reached["one"],
            "replayed": float(again["one"].worlds.get("q")[0, 0]),
        },
        "lanes": {row: loops[row].lanes for row in BATCHES},
    }


def walking(robot: Robot, worlds: int, precision: str = "float64") -> Simulation:
    """Told the walk's own speed; many worlds one each, up to it."""
    own: Options = {"worlds": worlds, "precision": precision, "contacts": "feet"}
    simulation = Simulation(robot, Moreau(mu=FRICTION), controller=Walk(), dt=DT, **own)
    if worlds > 1:
        simulation.set(command={"speed": np.linspace(0.0, Walk().commands["speed"], worlds)})
    return simulation


def counted(simulation: Simulation, seconds: float) -> tuple[dict[str, float], Array]:
    """Iterations a step: mean, 99 %, most; of all steps those not converged, their number; the mean
    of the most in the worlds that are computed side by side. And the torques (steps, worlds,
    actuators), N m.
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
    every = np.concatenate(iterations)
    counts = {
        "mean": float(every.mean()),
        "percentile_99": float(np.percentile(every, 99)),
        "most": float(every.max()),
        "mean_of_lanes": float(np.mean(side_by_side)),
        "steps": every.size,
        "unconverged": unconverged,
    }
    return counts, np.array(torques)


def measure(
    peer: Replay,
    loops: dict[str, Batch],
    again: dict[str, Replayed],
    progress: Callable[[str], None],
) -> Times:
    """Seconds a world-step of all, in interleaved rounds."""
    times: Times = {"peer": []} | {row: [] for own in loops for row in (own, f"{own}_loop")}
    for k in range(ROUNDS):
        progress(f"round {k + 1} of {ROUNDS}")
        times["one"].append(median(again["one"].time() for _ in range(3)))
        times["peer"].append(median(peer.rollout() for _ in range(3)))
        times["one_loop"].append(median(loops["one"].time(SECONDS) for _ in range(3)))
        for row in BATCHES:
            times[row].append(again[row].time())
            times[f"{row}_loop"].append(loops[row].time(BATCH_SECONDS))
    return times


def settings() -> dict[str, Any]:
    """Everything a reader needs to repeat the figures."""
    return {
        "robots": "no dry joint friction, no self-collision, eight sole vertices on the ground",
        "gait": (
            f"walk at {Walk().commands['speed']:g} m/s; both replay the torques of the gait in a"
            " closed loop of their own; with controller: ours in closed loop, it is compiled in"
        ),
        "dt": DT,
        "friction": FRICTION,
        "law": (
            "moreau, solver newton, T_rel = T_abs = 1e-6, in float32 1e-4; joint limits on; one"
            " world in float64"
        ),
        "mujoco": (
            f"{mujoco().__version__}, rollout, one thread;"
            f" {footnotes({label(TUNED): tuned(FRICTION)})[0]}"
        ),
        "worlds": f"{WORLDS} on one thread, told speeds from 0",
        "seconds": {"one world": SECONDS, "batch": BATCH_SECONDS},
        "rounds": ROUNDS,
        "statistic": "median over the rounds of the ratio within a round",
        "processor": f"{machine.host().cpu}, {os.cpu_count()} cores",
    }
