"""Passive falls: a limp robot dropped in random postures, and what it does to energy.

Energy is kinetic and potential, the ground's height being zero, with what springs in joints hold.
A fall gains energy if at any look after its start it has 1 % more than it started with.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.simulation.physical_range import max_rates
from tarsus.simulation.recording.step_observables import Array

ALLOWED = 0.01  # of the energy at the start
HEIGHT = 0.5  # m, above where the robot stands
RATE = 1.0  # m/s and rad/s: standard deviation of every velocity at the start
ABSURD = 1e9  # m/s or rad/s: what is faster has diverged
LOOKS = 0.01  # s, between two looks at the energy


@dataclass(frozen=True)
class Falls:
    """What many passive falls of one robot under one law came to.

    gained: worlds that gained energy
    largest: largest gain, relative to the energy at the start
    diverged: worlds that are not finite at the end, or have a thousand times their energy
    silent: worlds that ended a step outside the physical range and claimed to have converged
    unconverged: share of world steps that did not converge
    seconds: time of the steps, without compilation
    """

    robot: str
    law: str
    worlds: int
    gained: int
    largest: float
    diverged: int
    silent: int
    unconverged: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"| {self.robot} | {self.law} | {self.worlds} | {self.gained} | {self.largest:.2%} |"
            f" {self.diverged} | {self.silent} | {self.unconverged:.4%} | {self.seconds:.1f} |"
        )


def dropped(simulation: tarsus.Simulation, seed: int = 0) -> None:
    """Put all worlds in random postures, attitudes and velocities above the ground."""
    robot, worlds, rng = simulation.robot, simulation.worlds, np.random.default_rng(seed)
    q = np.array(simulation.q).reshape(worlds, robot.nq)
    q[:, 2] += HEIGHT
    q[:, 3:7] = rng.normal(size=(worlds, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    for body, at in zip(robot.bodies, robot.q_slices, strict=True):
        joint = body.joint
        if at.stop - at.start == 1:
            lower, upper = max(joint.lower, -np.pi), min(joint.upper, np.pi)
            q[:, at.start] = rng.uniform(lower, upper, worlds)
    simulation.set(q=q, u=RATE * rng.normal(size=(worlds, robot.nu)))


def energy(robot: Robot, simulation: tarsus.Simulation) -> Array:
    """Kinetic and potential energy of every world, J; infinite where it diverged."""
    q, u = np.atleast_2d(simulation.q), np.atleast_2d(simulation.u)
    found, good = np.full(len(q), np.inf), np.isfinite(np.hstack([q, u])).all(1)
    good &= np.abs(u).max(1) < ABSURD
    if good.any():
        found[good] = np.ravel(
            robot.kinetic_energy(q[good], u[good]) + robot.potential_energy(q[good])
        )
    return found


def falls(name: str, law: Any, worlds: int, seconds: float = 1.5, **options: Any) -> Falls:
    """Let a robot fall in many worlds and count those that gain energy."""
    simulation = tarsus.Simulation(name, law, worlds=worlds, **options)
    robot = simulation.robot
    dropped(simulation)
    start = energy(robot, simulation)
    most, unconverged, spent = np.zeros(worlds), 0, 0.0
    silent, rates = np.zeros(worlds, dtype=bool), max_rates(robot, simulation.dt)
    simulation.step()  # compiles
    simulation.reset()
    dropped(simulation)
    every, steps = round(LOOKS / simulation.dt), round(seconds / simulation.dt)
    for k in range(1, steps + 1):
        begun = perf_counter()
        simulation.step()
        spent += perf_counter() - begun
        converged = np.ravel(simulation.converged)
        unconverged += int(np.sum(~converged))
        silent |= converged & ~(np.abs(np.atleast_2d(simulation.u)) <= rates).all(1)
        if k % every == 0 or k == steps:
            with np.errstate(all="ignore"):
                gain = (energy(robot, simulation) - start) / start
            most = np.fmax(most, np.where(np.isfinite(gain), gain, np.inf))
    diverged = most > 1e3
    return Falls(
        name,
        law if isinstance(law, str) else type(law).__name__,
        worlds,
        int(np.sum(most > ALLOWED)),
        float(most.max()),
        int(diverged.sum()),
        int(silent.sum()),
        unconverged / (steps * worlds),
        spent,
    )
