"""`tarsus compare`: the same robot, controller and start under every law and step size, judged by one yardstick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from tarsus import registry
from tarsus.benchmarks.peer import trotting_peer
from tarsus.contact.base import Law
from tarsus.dynamics.robot import Robot
from tarsus.simulation import choose
from tarsus.simulation.simulation import Diverged, Simulation
from tarsus.simulation.summary import summary

LAWS, PEER = "tarsus.contact.laws", "mujoco"


@dataclass(frozen=True, eq=False)
class Run:
    """One law at one step size: the figures of its run, its log (None if it diverged at once), and what went wrong."""

    law: str
    dt: float
    numbers: dict[str, Any]
    log: xr.Dataset | None
    failure: str | None


def laws_named(names: str) -> dict[str, Law | None]:
    """Laws by name, separated by commas; "all" is every law there is and MuJoCo, which has none of ours (None)."""
    chosen = [*registry.names(LAWS), PEER] if names == "all" else [name.strip() for name in names.split(",")]
    return {name: None if name == PEER else choose.law(name) for name in chosen}


def compare(
    robot: Robot,
    names: str,
    dts: Sequence[float],
    duration: float,
    gait: str | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> list[Run]:
    """Run every law named at every dt from the same start for `duration` s; "mujoco" among them adds MuJoCo."""
    controller = choose.controller(gait) if gait else choose.default_gait(robot, [])
    runs = []
    for name, law in laws_named(names).items():
        for dt in sorted(dts, reverse=True):
            progress(f"{name}, dt {1e3 * dt:g} ms")
            if law is None:
                runs.append(_peer(robot, controller, dt, duration))
            else:
                runs.append(_one(name, Simulation(robot, law, controller=controller, dt=dt), duration))
    return runs


def _peer(robot: Robot, controller: Any, dt: float, duration: float) -> Run:
    """The same trot in MuJoCo's soft contact, friction as the law `moreau` has it."""
    peer = trotting_peer(robot, controller, dt, float(np.max(choose.law("moreau").parameters()["mu"])), duration)
    numbers = {
        "mean_speed": peer.distance / duration,
        "penetration_max": peer.residuals["penetration_m"],
        "creep_max": peer.residuals["creep_m_per_s"],
        "normal_force_max": peer.normal_force_max,
        "steps_per_second": 1 / peer.rollout(),
        "residuals": peer.residuals,
        "fell": peer.height < 0.5 * controller.initial_coordinates(robot)[2],
    }
    return Run(PEER, dt, numbers, None, None)


def _one(name: str, simulation: Simulation, duration: float) -> Run:
    failure = None
    try:
        log = simulation.run(duration)
    except Diverged as diverged:
        log, failure = diverged.log, str(diverged)
    numbers = figures(simulation, log) if log is not None else {}
    return Run(name, simulation.dt, numbers, log, failure)


def figures(simulation: Simulation, log: xr.Dataset) -> dict[str, Any]:
    """The summary of a run, and what a comparison adds: impulse of the ground, and how well energy is accounted for."""
    numbers = summary(simulation, log)
    weight = -simulation.robot.mass * simulation.robot.gravity_acceleration[2]
    impulse = log["impulse_world"].sel(xyz="z").sum("contact").values
    numbers["mean_load"] = float(impulse.sum() / (weight * numbers["duration"]))
    numbers["energy_residual_J"] = energy_residual(simulation.robot, log)
    return numbers


def energy_residual(robot: Robot, log: xr.Dataset) -> float:
    """Largest |change of energy - work of motors, ground and joint damping| over the run so far, J.

    Works are powers at the mean velocity of each step; what is left is integration error and impacts off the midpoint.
    """
    energy = log["kinetic_energy"].values + log["potential_energy"].values
    u = np.concatenate([log["u_start"].values[None], log["u"].values])
    middle = 0.5 * (u[1:] + u[:-1])
    dt = log.attrs["dt"]
    motors = np.zeros(len(middle))
    for k, actuator in enumerate(robot.actuators):
        at = robot.u_slices[robot.joint_index(actuator.joint)].start
        motors += log["tau"].values[:, k] * middle[:, at] * dt
    contact = 0.5 * (log["velocity_before"].values + log["velocity_after"].values)
    ground = np.sum(log["impulse_contact"].values * contact, axis=(1, 2))
    damped = np.zeros(len(middle))
    for body, at in zip(robot.bodies, robot.u_slices, strict=True):
        joint = body.joint
        for k in range(at.start, at.stop):
            dry = joint.dry_friction / np.maximum(np.abs(u[:-1, k]), 1e-2)
            damped -= (joint.damping + dry) * u[1:, k] * middle[:, k] * dt
    account = np.cumsum(motors + ground + damped)
    return float(np.abs(energy - energy[0] - (account - account[0])).max())


def largest_stable_dt(runs: Sequence[Run], law: str) -> float | None:
    """The largest dt at which a law neither diverged nor fell."""
    fine = [run.dt for run in runs if run.law == law and not run.failure and not run.numbers.get("fell", True)]
    return max(fine, default=None)


def spread(runs: Sequence[Run], law: str, key: str) -> float | None:
    """How far a figure moves between a law's two smallest steps: its uncertainty from dt."""
    own = sorted((run for run in runs if run.law == law and not run.failure), key=lambda run: run.dt)
    return abs(own[0].numbers[key] - own[1].numbers[key]) if len(own) > 1 else None
