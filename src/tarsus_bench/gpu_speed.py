"""Speed of a GPU kernel by number of worlds and threads per block, and its instruction bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from tarsus import robots
from tarsus.contact.laws.moreau import Moreau
from tarsus.mujoco_runs.replay import frictionless_joints
from tarsus.program.codegen.layout import Target
from tarsus.program.run import ptx
from tarsus.program.run.threads import Launcher, ThreadWorlds
from tarsus.simulation.simulation import Simulation
from tarsus_bench.instruction_bound import operations_per_step

DT, FRICTION, MIN_SECONDS, ROUNDS = 0.0025, 0.8, 0.2, 3
MAX_SECONDS = 5.0  # s, after which no further round starts
MAX_EXPECTED_SECONDS = 30.0  # s, for a number of worlds
LANES_PER_CYCLE = 128  # float32 lanes that a multiprocessor issues per cycle: four warps of 32
SETTINGS = {
    "robot": (
        "mini_cheetah, 18 degrees of freedom, 4 sphere feet, no dry joint friction, no"
        " self-collision"
    ),
    "humanoid": (
        "hoap1, 26 degrees of freedom, 8 vertices of the soles, gait stand, pushed by random"
        " velocities"
    ),
    "gait": (
        "trot, controller inside the kernel, commanded speeds 0 to 0.6 m/s when each world has"
        " its own"
    ),
    "law": "moreau, solver newton, T_rel = T_abs = 1e-4",
    "dt": DT,
    "precision": "float32",
    "friction": FRICTION,
    "statistic": f"best of up to {ROUNDS} rounds of at least {MIN_SECONDS} s from the same start",
    "not simulated": "self-collision, contacts other than those of the feet",
}


class SweepSizes(Protocol):
    """Sizes that a sweep needs."""

    @property
    def timed_steps(self) -> int:
        """Number of steps that are timed together."""
        ...


def create_quadruped(device: Launcher, worlds: int) -> Simulation:
    """Create a simulation of Mini Cheetah that trots."""
    robot = frictionless_joints(robots.load("mini_cheetah").with_contacts("*_foot"))
    law = Moreau(mu=FRICTION)
    return Simulation(
        robot, law, controller="trot", dt=DT, worlds=worlds, device=device, precision="float32"
    )


def create_humanoid(device: Launcher, worlds: int) -> Simulation:
    """Create a simulation of HOAP-1 that stands on the eight vertices of its soles."""
    robot = robots.load("hoap1")
    soles = [candidate.name for candidate in robot.candidates if "_foot_" in candidate.name]
    options = {"worlds": worlds, "device": device, "precision": "float32", "contacts": soles}
    return Simulation(robot, Moreau(mu=FRICTION), controller="stand", dt=DT, **options)  # type: ignore[arg-type]


def sweep(
    make: Callable[[int], Launcher],
    build: Callable[[Launcher, int], Simulation],
    worlds: Sequence[int],
    blocks: Sequence[int],
    sizes: SweepSizes,
) -> dict[str, Any]:
    """Measure the world-steps per second by threads per block, then by number of worlds.

    Blocks are compared at the middle number of worlds; the best block is used for the others.

    Returns
    -------
    dict
        Speeds and further figures. `identical` is the speed with identical worlds, in which no warp
        diverges; `varied` is the speed with different velocities, commands and friction
        coefficients.
    """
    # the best number of threads per block
    steps, middle = sizes.timed_steps, worlds[len(worlds) // 2]
    by_block = {block: _rates(build(make(block), middle), steps)["varied"] for block in blocks}
    block = max(by_block, key=lambda b: by_block[b])

    # numbers of worlds, as far as memory and time allow
    by_worlds: dict[int, dict[str, float]] = {}
    no_memory: dict[int, str] = {}
    no_time: list[int] = []
    sim = build(make(block), worlds[0])
    for count in worlds:
        if by_worlds:
            rate = min(list(by_worlds.values())[-1].values())
            if 2 * count * steps > MAX_EXPECTED_SECONDS * rate:
                no_time.append(count)
                continue
        try:
            sim = build(make(block), count)
            by_worlds[count] = _rates(sim, steps)
        except MemoryError as error:
            no_memory[count] = str(error)

    # device, iterations and operations
    best = max(by_worlds.values(), key=lambda rates: rates["varied"])
    backend = _threads(sim)
    device, iterations = (
        backend.launcher.describe(backend.kernel),
        float(np.mean(backend.get("iterations"))),
    )
    operations = operations_per_step(sim.program, Target(1, 32), iterations)
    return {
        "best": best,
        "by_block": by_block,
        "block": block,
        "by_worlds": by_worlds,
        "device": device,
        "no_memory_for": no_memory,
        "no_time_for": no_time,
        "bytes_per_world": sim.bytes_per_world(),
        "iterations_last_step": iterations,
        "operations_per_step": operations,
        "instruction_bound_fraction": _bound_fraction(best["varied"], operations, device),
        "ptxas": _resources(sim),
    }


def _threads(sim: Simulation) -> ThreadWorlds:
    assert isinstance(sim.backend, ThreadWorlds)
    return sim.backend


def _rates(sim: Simulation, steps: int) -> dict[str, float]:
    identical = _measure_rate(sim, steps)
    random = np.random.default_rng(3)
    start = random.normal(size=(sim.worlds, sim.robot.nu)) * 0.1
    if "command" in sim.backend and "speed" in getattr(sim.controller, "commands", {}):
        sim.set(command={"speed": random.uniform(0, 0.6, sim.worlds)})
    sim.set(mu=random.uniform(0.6, 1.0, sim.worlds))
    return {"identical": identical, "varied": _measure_rate(sim, steps, start)}


def _measure_rate(sim: Simulation, steps: int, u: Any = None) -> float:
    """Measure the world-steps per second of the best round."""
    launcher, best, first = _threads(sim).launcher, 0.0, perf_counter()
    sim.backend.advance(1)
    for _ in range(ROUNDS):
        if best and perf_counter() - first > MAX_SECONDS:
            break
        done, spent = 0, 0.0
        while spent < MIN_SECONDS:
            sim.reset()
            if u is not None:
                sim.set(u=u)
            launcher.wait()
            began = perf_counter()
            sim.backend.advance(steps)
            launcher.wait()
            spent += perf_counter() - began
            done += steps
        best = max(best, done * sim.worlds / spent)
    return best


def _bound_fraction(rate: float, operations: float, device: dict[str, Any]) -> float | None:
    """Compute the fraction of the speed that arithmetic alone would allow; None without a clock."""
    if not device.get("hertz"):
        return None
    return rate * operations / (device["multiprocessors"] * LANES_PER_CYCLE * device["hertz"])


def _resources(sim: Simulation) -> dict[str, int] | None:
    resources = ptx.resources(ptx.compile_to_ptx(sim.program, 32))
    return vars(resources) if resources else None
