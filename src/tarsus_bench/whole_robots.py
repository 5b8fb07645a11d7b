"""`tarsus bench --whole`: G1 and ANYmal with all that acts on them, beside MuJoCo.

Joint limits, servos and contacts of the robot's own limbs are on in both engines, and dry friction
where the file has it; a file without is taken twice, as it is and with some. Both engines look at
the same contacts: corners or balls of the feet on the ground, and the pairs of solids
that ours keeps (decision 0030). The robot stands on its servos, thrown a little at the start, each
world otherwise. Both engines run in one process on one thread.
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
from tarsus.morphology.feet import feet
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.replay import Replay
from tarsus.mujoco_runs.whole_robot import with_pairs_and_servos
from tarsus.mujoco_runs.worlds import MujocoWorlds, physics_states
from tarsus.program.run import machine
from tarsus.simulation.simulation import Simulation
from tarsus_bench.speed import Times, ratio
from tarsus_bench.whole_cases import STICTION, has_friction, whole

Array = NDArray[np.float64]
ROBOTS = ("g1", "anymal_c")
DT, FRICTION, SECONDS, WORLDS, ROUNDS = 0.002, 0.8, 2.0, 512, 7
THEIRS = 32  # worlds of MuJoCo: it takes them one by one
THROWN = 0.1  # m/s and rad/s: standard deviation of the trunk's velocity at the start
SEED = 14


def whole_costs(
    names: tuple[str, ...] = ROBOTS, progress: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """One row for every robot, two where its file has no dry friction, and the settings.

    names: robots of example-robot-data, built-in ones, or paths to files
    one_world, batch, batch32: speed as a multiple of MuJoCo's `rollout` on one thread [1], the
        median over the rounds; that of a batch counts steps of one world
    beside_batch: of the two batches, as a multiple of `mujoco.batch`; None where MuJoCo has none
    microseconds: of a step of one world, median
    contacts: pressing at the end, mean over worlds; height: of the trunk at the end, m; in both
        engines
    """
    rows = []
    for name in names:
        as_it_is = whole(name, 0.0)
        rows.append(cost(as_it_is, name, progress))
        if not has_friction(as_it_is):
            rows.append(cost(whole(name), f"{name}, with friction", progress))
    return {"rows": rows, "worlds": WORLDS, "settings": settings()}


def cost(robot: Robot, name: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """The row of one robot under a name."""
    # the same robot in both engines
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

    # timed, then counted
    times = measure(peer, ours, lambda text: progress(f"{name}: {text}"))
    solver = {row: own.counted() for row, own in ours.items()}
    beside = None
    if "peer_batch" in times:
        beside = {row: ratio(times, "peer_batch", row) for row in ("batch", "batch32")}
    return {
        "robot": name,
        "joints": robot.nu - 6 * robot.floating,
        "feet": len(scene.geometry.primary),
        "pairs": len(scene.pairs),
        **{
            key: ratio(times, "peer", row)
            for key, row in (("one_world", "one"), ("batch", "batch"), ("batch32", "batch32"))
        },
        "beside_batch": beside,
        "microseconds": {row: 1e6 * median(values) for row, values in times.items()},
        "first_compilation": compiled,
        "solver": solver,
        "mujoco": peer.at_end(),
    }


@dataclass(frozen=True, eq=False)
class ThrownWorlds:
    """Worlds of a robot on its servos, and the states that they start from."""

    simulation: Simulation
    start: Array

    @staticmethod
    def of(robot: Robot, worlds: int, precision: str = "float64") -> ThrownWorlds:
        """Thrown a little, each world otherwise."""
        simulation = Simulation(
            robot,
            Moreau(mu=FRICTION),
            dt=DT,
            worlds=worlds,
            precision=precision,
            contacts=[candidate.name for candidate in feet(robot)],
            actuators="file",
            self_collision=True,
        )
        thrown = np.zeros((worlds, robot.nu))
        thrown[:, :6] = THROWN * np.random.default_rng(SEED).normal(size=(worlds, 6))
        simulation.set(u=thrown[0] if worlds == 1 else thrown)
        return ThrownWorlds(simulation, simulation.state())

    def time(self, seconds: float) -> float:
        """Processor's seconds for one step of one world, from the start."""
        self.simulation.restore(self.start)
        began = process_time()
        self.simulation.advance(seconds)
        return (process_time() - began) / round(seconds / DT) / self.simulation.worlds

    def counted(self) -> dict[str, float]:
        """Iterations a step (mean, most), steps not converged and of all, contacts that press, the
        trunk's height at the end, m.
        """
        simulation = self.simulation
        simulation.restore(self.start)
        iterations, unconverged, pressing = [], 0, []
        for _ in range(round(SECONDS / DT)):
            simulation.step()
            iterations.append(np.atleast_1d(simulation.iterations))
            unconverged += int((~np.atleast_1d(simulation.converged)).sum())
            impulse = simulation.backend.get("impulse")
            pressing.append(float((impulse[:, ::3] > 0).sum(1).mean()))
        every = np.concatenate(iterations)
        return {
            "mean": float(every.mean()),
            "most": float(every.max()),
            "steps": every.size,
            "unconverged": unconverged,
            "contacts": float(np.mean(pressing)),
            "height": float(np.atleast_2d(simulation.q)[0, 2]),
        }


@dataclass(frozen=True, eq=False)
class Peer:
    """The same robot in MuJoCo, under servos with a signal that does not change."""

    replay: Replay

    @staticmethod
    def of(robot: Robot, simulation: Simulation) -> Peer:
        """From where the worlds of a simulation stand."""
        scene = simulation.plan.scene
        feet = tuple(scene.candidates[i] for i in scene.geometry.primary)
        text = with_pairs_and_servos(
            replace(robot, candidates=feet, solids=()), scene.pairs, DT, FRICTION
        )
        model = mujoco().MjModel.from_xml_string(text)
        states = physics_states(model, simulation.q[:THEIRS], simulation.u[:THEIRS])
        signal = np.array(robot.signals["stand"][0])
        return Peer(Replay(model, states, np.tile(signal, (round(SECONDS / DT), 1))))

    def at_end(self) -> dict[str, float]:
        """Contacts and height of the first world after SECONDS."""
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
    """Processor's seconds a world-step of all, in interleaved rounds."""
    times: Times = {}
    for k in range(ROUNDS):
        progress(f"round {k + 1} of {ROUNDS}")
        found = {
            "one": median(ours["one"].time(SECONDS) for _ in range(3)),
            "peer": median(peer.replay.rollout(1, process_time) for _ in range(3)),
            "peer_many": peer.replay.rollout(len(peer.replay.start), process_time),
            "peer_batch": peer.replay.batch(process_time),
        }
        found |= {row: ours[row].time(SECONDS) for row in ("batch", "batch32")}
        for row, value in found.items():
            if value is not None:
                times.setdefault(row, []).append(value)
    return times


def settings() -> dict[str, Any]:
    """Everything a reader needs to repeat the figures."""
    return {
        "robots": (
            "example-robot-data; its servos, else some sized for its weight, joint limits,"
            f" contacts of the feet and of the robot's own solids; with friction: {STICTION:g} N m"
            " of dry friction in every joint"
        ),
        "what it does": (
            f"stands, its trunk thrown at {THROWN:g} m/s and rad/s (standard deviation)"
        ),
        "dt": DT,
        "friction": FRICTION,
        "law": "moreau, solver newton, T_rel = T_abs = 1e-6 (float32: 1e-4)",
        "mujoco": (
            f"{mujoco().__version__}, one thread, cone elliptic, integrator implicitfast, solref"
            f" 0.02,1, impratio 1; batches of {THEIRS}"
        ),
        "worlds": f"{WORLDS} on one thread",
        "seconds": SECONDS,
        "rounds": ROUNDS,
        "statistic": "median over the rounds of the ratio of processor times within a round",
        "processor": f"{machine.host().cpu}, {os.cpu_count()} cores",
    }
