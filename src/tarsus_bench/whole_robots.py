"""`tarsus bench --whole`: G1 and ANYmal with all forces, compared with MuJoCo.

Joint limits, servos and self-contacts are on in both simulators, and dry friction if the file has
it; a robot without it is measured twice, as it is and with dry friction. Both simulators check the
same contacts: corners or spheres of the feet on the ground, and the pairs of shapes that Tarsus
checks (decision 0030). The robot stands on its servos after a random initial velocity, which
differs between worlds. Both simulators run in one process on one thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.morphology.feet import find_feet
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.replay import Replay
from tarsus.mujoco_runs.whole_robot import with_pairs_and_servos
from tarsus.mujoco_runs.worlds import MujocoWorlds, physics_states
from tarsus.program.run import machine
from tarsus.simulation.simulation import Simulation
from tarsus_bench.speed import Times, ratio
from tarsus_bench.whole_cases import STICTION, has_friction, load_with_servos

Array = NDArray[np.float64]
ROBOTS = ("g1", "anymal_c")
DT, FRICTION, SECONDS, WORLDS, ROUNDS = 0.002, 0.8, 2.0, 512, 7
PEER_WORLDS = 32  # worlds of MuJoCo, which steps them one by one
INITIAL_VELOCITY = 0.1  # m/s and rad/s, standard deviation of the trunk's initial velocity
SEED = 14


def whole_costs(
    names: tuple[str, ...] = ROBOTS, progress: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Measure the speed of every robot.

    Parameters
    ----------
    names
        Robots of example-robot-data, built-in robots, or paths of files.
    progress
        Function that is called with the current measurement.

    Returns
    -------
    dict
        Settings, and one row per robot, or two if its file has no dry friction. one_world, batch,
        batch32: speed as a multiple of MuJoCo's `rollout` on one thread, median over the rounds;
        batches count steps of one world. beside_batch: speed of the batches as a multiple of
        `mujoco.batch`, None if MuJoCo lacks it. microseconds: median time of a step of one world.
        contacts: active contacts, mean over steps and worlds, and height: final height of the trunk
        in m, both in Tarsus and MuJoCo.
    """
    rows = []
    for name in names:
        original = load_with_servos(name, 0.0)
        rows.append(cost(original, name, progress))
        if not has_friction(original):
            rows.append(cost(load_with_servos(name), f"{name}, with friction", progress))
    return {"rows": rows, "worlds": WORLDS, "settings": settings()}


def cost(robot: Robot, name: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure one robot."""
    # the same robot in both simulators
    progress(f"compiling {name}")
    began = process_time()
    ours = {"one": ThrownWorlds.of(robot, 1)}
    compiled = process_time() - began
    ours |= {
        "batch": ThrownWorlds.of(robot, WORLDS),
        "batch32": ThrownWorlds.of(robot, WORLDS, "float32"),
    }
    scene = ours["one"].simulation.plan.scene
    peer = Peer.of(robot, ours["batch"].simulation)

    # timing, then solver statistics
    times = measure(peer, ours, lambda text: progress(f"{name}: {text}"))
    solver = {row: worlds.collect_statistics() for row, worlds in ours.items()}
    against_batch = None
    if "peer_batch" in times:
        against_batch = {row: ratio(times, "peer_batch", row) for row in ("batch", "batch32")}
    return {
        "robot": name,
        "joints": robot.nu - 6 * robot.floating,
        "feet": len(scene.geometry.primary),
        "pairs": len(scene.pairs),
        **{
            key: ratio(times, "peer", row)
            for key, row in (("one_world", "one"), ("batch", "batch"), ("batch32", "batch32"))
        },
        "beside_batch": against_batch,
        "microseconds": {row: 1e6 * median(values) for row, values in times.items()},
        "first_compilation": compiled,
        "solver": solver,
        "mujoco": peer.measure_end(),
    }


@dataclass(frozen=True, eq=False)
class ThrownWorlds:
    """Worlds of a robot on its servos with random initial velocities."""

    simulation: Simulation
    """Simulation of all worlds."""
    start: Array
    """Snapshot of the initial states."""

    @staticmethod
    def of(robot: Robot, worlds: int, precision: str = "float64") -> ThrownWorlds:
        """Create the simulation with a different initial velocity in each world."""
        simulation = Simulation(
            robot,
            Moreau(mu=FRICTION),
            dt=DT,
            worlds=worlds,
            precision=precision,
            contacts=[candidate.name for candidate in find_feet(robot)],
            actuators="file",
            self_collision=True,
        )
        return ThrownWorlds.start_worlds(simulation)

    @staticmethod
    def start_worlds(simulation: Simulation, moving: bool = True) -> ThrownWorlds:
        """Start the worlds of a simulation, with different velocities if they are `moving`."""
        worlds, nu = simulation.worlds, simulation.robot.nu
        if moving:
            velocities = np.zeros((worlds, nu))
            first = np.random.default_rng(SEED).normal(size=(worlds, 6))
            velocities[:, :6] = INITIAL_VELOCITY * first[:, :nu]
            simulation.set(u=velocities[0] if worlds == 1 else velocities)
        return ThrownWorlds(simulation, simulation.state())

    def time(self, seconds: float) -> float:
        """Measure the processor time of a step of one world in s, from the start."""
        self.simulation.restore(self.start)
        began = process_time()
        self.simulation.advance(seconds)
        steps = round(seconds / self.simulation.dt)
        return (process_time() - began) / steps / self.simulation.worlds

    def collect_statistics(self, seconds: float = SECONDS) -> dict[str, float]:
        """Run from the start and collect statistics.

        They are the mean and maximum of the iterations per step, the numbers of steps and of
        unconverged steps, the mean number of active contacts, and the final height of the trunk in
        m.
        """
        simulation = self.simulation
        simulation.restore(self.start)
        iterations, unconverged, active = [], 0, []
        for _ in range(round(seconds / simulation.dt)):
            simulation.step()
            iterations.append(np.atleast_1d(simulation.iterations))
            unconverged += int((~np.atleast_1d(simulation.converged)).sum())
            impulse = simulation.backend.get("impulse")
            active.append(float((impulse[:, ::3] > 0).sum(1).mean()))
        total = np.concatenate(iterations)
        return {
            "mean": float(total.mean()),
            "most": float(total.max()),
            "steps": total.size,
            "unconverged": unconverged,
            "contacts": float(np.mean(active)),
            "height": float(np.atleast_2d(simulation.q)[0, 2]),
        }


@dataclass(frozen=True, eq=False)
class Peer:
    """The same robot in MuJoCo, on servos with constant signals."""

    replay: Replay
    """Model, initial states and control signals."""

    @staticmethod
    def of(robot: Robot, simulation: Simulation) -> Peer:
        """Create MuJoCo's worlds in the state of a simulation."""
        scene = simulation.plan.scene
        feet = tuple(scene.candidates[i] for i in scene.geometry.primary)
        text = with_pairs_and_servos(
            replace(robot, candidates=feet, solids=()), scene.pairs, DT, FRICTION
        )
        model = mujoco().MjModel.from_xml_string(text)
        states = physics_states(model, simulation.q[:PEER_WORLDS], simulation.u[:PEER_WORLDS])
        signal = np.array(robot.signals["stand"][0])
        return Peer(Replay(model, states, np.tile(signal, (round(SECONDS / DT), 1))))

    def measure_end(self) -> dict[str, float]:
        """Measure the mean number of contacts and the final height of the first world."""
        model, contacts = self.replay.model, list[int]()
        worlds = MujocoWorlds([model])
        [data] = worlds.data
        full = mujoco().mjtState.mjSTATE_FULLPHYSICS
        mujoco().mj_setState(model, data, self.replay.start[0], full)
        data.ctrl[:] = self.replay.control[0]
        steps = len(self.replay.control)
        worlds.advance(steps, after=lambda: contacts.append(data.ncon))
        return {"contacts": float(np.mean(contacts)), "height": float(data.qpos[2])}


def measure(peer: Peer, ours: dict[str, ThrownWorlds], progress: Callable[[str], None]) -> Times:
    """Measure the processor time in s per world-step of all rows in interleaved rounds."""
    times: Times = {}
    for k in range(ROUNDS):
        progress(f"round {k + 1} of {ROUNDS}")
        values = {
            "one": median(ours["one"].time(SECONDS) for _ in range(3)),
            "peer": median(peer.replay.rollout(1, process_time) for _ in range(3)),
            "peer_many": peer.replay.rollout(len(peer.replay.start), process_time),
            "peer_batch": peer.replay.batch(process_time),
        }
        values |= {row: ours[row].time(SECONDS) for row in ("batch", "batch32")}
        for row, value in values.items():
            if value is not None:
                times.setdefault(row, []).append(value)
    return times


def settings() -> dict[str, Any]:
    """Describe everything that a reader needs to reproduce the figures."""
    return {
        "robots": (
            "example-robot-data; servos of the file, or servos tuned for the weight; joint limits,"
            f" contacts of the feet, self-contacts; with friction: {STICTION:g} N m of dry friction"
            " in every joint"
        ),
        "motion": (
            f"standing, after an initial velocity of the trunk of {INITIAL_VELOCITY:g} m/s and"
            " rad/s (standard deviation)"
        ),
        "dt": DT,
        "friction": FRICTION,
        "law": "moreau, solver newton, T_rel = T_abs = 1e-6 (float32: 1e-4)",
        "mujoco": (
            f"{mujoco().__version__}, one thread, cone elliptic, integrator implicitfast, solref"
            f" 0.02,1, impratio 1; batches of {PEER_WORLDS}"
        ),
        "worlds": f"{WORLDS} on one thread",
        "seconds": SECONDS,
        "rounds": ROUNDS,
        "statistic": "median over the rounds of the ratio of processor times within a round",
        "processor": f"{machine.detect_host().cpu}, {os.cpu_count()} cores",
    }
