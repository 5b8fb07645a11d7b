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

DT, FRICTION, LEAST_SECONDS, ROUNDS = 0.0025, 0.8, 0.2, 3
ENOUGH_SECONDS = 5.0  # s: no further round is begun
TOO_LONG = 30.0  # s that a number of worlds may be expected to take
LANES_A_CYCLE = 128  # single-precision lanes that a multiprocessor issues a cycle: four warps of 32
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
    "statistic": f"best of up to {ROUNDS} rounds of at least {LEAST_SECONDS} s from the same start",
    "not simulated": "self-collision, contacts other than the feet's",
}


class Swept(Protocol):
    """The one size that a sweep needs."""

    @property
    def timed_steps(self) -> int:
        """Steps of one timed launch sequence."""
        ...


def quadruped(device: Launcher, worlds: int) -> Simulation:
    """Mini Cheetah, ready to trot."""
    robot = frictionless_joints(robots.load("mini_cheetah"))
    law = Moreau(mu=FRICTION)
    return Simulation(
        robot, law, controller="trot", dt=DT, worlds=worlds, device=device, precision="float32"
    )


def humanoid(device: Launcher, worlds: int) -> Simulation:
    """HOAP-1 on the eight vertices of its soles, holding its posture."""
    robot = robots.load("hoap1")
    soles = [candidate.name for candidate in robot.candidates if "_foot_" in candidate.name]
    options = {"worlds": worlds, "device": device, "precision": "float32", "contacts": soles}
    return Simulation(robot, Moreau(mu=FRICTION), controller="stand", dt=DT, **options)  # type: ignore[arg-type]


def sweep(
    make: Callable[[int], Launcher],
    build: Callable[[Launcher, int], Simulation],
    worlds: Sequence[int],
    blocks: Sequence[int],
    sizes: Swept,
) -> dict[str, Any]:
    """World-steps a second by threads per block, then by number of worlds.

    The blocks are compared at the middle number of worlds; the best block is used for the rest.

    alike: all worlds do the same, so no warp diverges.
    each_its_own: speeds, commands and friction differ between worlds.
    """
    # the best number of threads per block
    steps, middle = sizes.timed_steps, worlds[len(worlds) // 2]
    by_block = {
        block: _rates(build(make(block), middle), steps)["each_its_own"] for block in blocks
    }
    block = max(by_block, key=lambda b: by_block[b])

    # numbers of worlds, as far as memory and time allow
    by_worlds: dict[int, dict[str, float]] = {}
    no_room: dict[int, str] = {}
    no_time: list[int] = []
    sim = build(make(block), worlds[0])
    for count in worlds:
        if by_worlds and 2 * count * steps > TOO_LONG * min(list(by_worlds.values())[-1].values()):
            no_time.append(count)
            continue
        try:
            sim = build(make(block), count)
            by_worlds[count] = _rates(sim, steps)
        except MemoryError as error:
            no_room[count] = str(error)

    # what the figures rest on
    best = max(by_worlds.values(), key=lambda rates: rates["each_its_own"])
    held = _threads(sim)
    device, iterations = (
        held.launcher.describe(held.kernel),
        float(np.mean(held.get("iterations"))),
    )
    operations = operations_per_step(sim.program, Target(1, 32), iterations)
    found = {
        "best": best,
        "by_block": by_block,
        "block": block,
        "by_worlds": by_worlds,
        "device": device,
    }
    return found | {
        "no_memory_for": no_room,
        "no_time_for": no_time,
        "bytes_per_world": sim.bytes_per_world(),
        "iterations_last_step": iterations,
        "operations_per_step": operations,
        "instruction_bound_fraction": _bound_fraction(best["each_its_own"], operations, device),
        "ptxas": _resources(sim),
    }


def _threads(sim: Simulation) -> ThreadWorlds:
    assert isinstance(sim.backend, ThreadWorlds)
    return sim.backend


def _rates(sim: Simulation, steps: int) -> dict[str, float]:
    alike = _rate(sim, steps)
    random = np.random.default_rng(3)
    start = random.normal(size=(sim.worlds, sim.robot.nu)) * 0.1
    if "command" in sim.backend and "speed" in getattr(sim.controller, "commands", {}):
        sim.set(command={"speed": random.uniform(0, 0.6, sim.worlds)})
    sim.set(mu=random.uniform(0.6, 1.0, sim.worlds))
    return {"alike": alike, "each_its_own": _rate(sim, steps, start)}


def _rate(sim: Simulation, steps: int, u: Any = None) -> float:
    """World-steps a second, the best round."""
    launcher, best, first = _threads(sim).launcher, 0.0, perf_counter()
    sim.backend.advance(1)
    for _ in range(ROUNDS):
        if best and perf_counter() - first > ENOUGH_SECONDS:
            break
        done, spent = 0, 0.0
        while spent < LEAST_SECONDS:
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
    """Share [1] of the speed that arithmetic alone would allow; None if the clock is not known."""
    if not device.get("hertz"):
        return None
    return rate * operations / (device["multiprocessors"] * LANES_A_CYCLE * device["hertz"])


def _resources(sim: Simulation) -> dict[str, int] | None:
    found = ptx.resources(ptx.ptx(sim.program, 32))
    return vars(found) if found else None
