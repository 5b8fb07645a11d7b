"""Learning environments on a GPU: the bits of the CPU, and control periods per second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from time import perf_counter
from typing import Any

import numpy as np

from tarsus.environments.environment import Environment, Transition
from tarsus.errors import InvalidFile
from tarsus.learning.methods.rsl_ppo import RslPPO
from tarsus.model.robot_data import robots_folder
from tarsus.program.run.threads import Launcher, ThreadWorlds
from tarsus_bench.gpu_speed import MAX_EXPECTED_SECONDS

MakeLauncher = Callable[[int], Launcher]  # from the number of threads per block
TASK, BLOCK, SEED = "velocity", 128, 7
FILES = {  # of the package example-robot-data
    "go2": "go2_description/urdf/go2.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
}
ACTIONS = 10  # control periods between two synchronizations
MIN_SECONDS, ROUNDS = 0.5, 3
NOISE = 0.4  # standard deviation of actions, as at the start of learning
SETTINGS = {
    "task": "velocity, feet only, without self-collision; resets, noise and pushes included",
    "robots": FILES,
    "actions": f"random, standard deviation {NOISE}",
    "statistic": f"best of {ROUNDS} rounds of at least {MIN_SECONDS} s",
}


def create_environment(device: Launcher | str, robot: str, worlds: int) -> Environment:
    """Create an environment of the task `velocity` with a built-in robot or one of `FILES`."""
    file, folder = FILES.get(robot), robots_folder()
    if file and folder is None:
        raise InvalidFile("install the package example-robot-data for this robot.", robot)
    path = str(folder / file) if file and folder else robot
    return Environment(TASK, path, worlds=worlds, seed=SEED, device=device)


def compare_environment(
    make: MakeLauncher, robot: str, worlds: int, periods: int
) -> dict[str, Any]:
    """Compare every number of every period with the CPU, with actions that make robots fall."""
    cpu, device = (create_environment(d, robot, worlds) for d in ("cpu", make(BLOCK)))
    arrays, random = device.backend.arrays, np.random.default_rng(SEED)
    ended, different = 0, dict[str, int]()
    for period in range(periods):
        scale = np.linspace(0, 4, worlds)[:, None]
        action = (scale * random.normal(size=(worlds, cpu.action_size))).astype(np.float32)
        one, other = cpu.step(action), device.to_host(device.step(arrays.asarray(action)))
        for name in (field.name for field in fields(Transition)):
            if not np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True):
                different.setdefault(name, period)
        ended += int((one.terminated | one.truncated).sum())
    mine, theirs = cpu.state(), device.state()
    states = [name for name in mine if not np.array_equal(mine[name], theirs[name], equal_nan=True)]
    return {
        "ok": not different and not states and ended > 0,
        "robot": robot,
        "worlds": worlds,
        "periods": periods,
        "ended_episodes": ended,
        "first_period_apart": different,
        "states_apart": states,
    }


def measure_periods(make: MakeLauncher, robot: str, worlds: Sequence[int]) -> dict[str, Any]:
    """Measure the control periods per second of all worlds, without a learner.

    Larger numbers of worlds are omitted if they would take too long. `seconds_to_first_step`
    includes the compilation, unless its code is cached.
    """
    began = perf_counter()
    env = create_environment(make(BLOCK), robot, worlds[0])
    launcher = _threads(env).launcher
    launcher.wait()
    seconds, device = perf_counter() - began, launcher.describe(_threads(env).kernel)
    by_worlds = {worlds[0]: _measure_rate(env)}
    for count in worlds[1:]:
        if count * ACTIONS > MAX_EXPECTED_SECONDS * max(by_worlds.values()):
            break
        by_worlds[count] = _measure_rate(create_environment(make(BLOCK), robot, count))
    return {
        "robot": robot,
        "seconds_to_first_step": seconds,
        "device": device,
        "periods_per_second": by_worlds,
    }


def _measure_rate(env: Environment) -> float:
    """Measure the control periods per second of all worlds, in the best round."""
    launcher, best = _threads(env).launcher, 0.0
    noise = np.random.default_rng(SEED).normal(size=(ACTIONS, env.worlds, env.action_size))
    actions = env.backend.arrays.asarray((NOISE * noise).astype(np.float32))
    for _ in range(ROUNDS):
        done, began = 0, perf_counter()
        while (seconds := perf_counter() - began) < MIN_SECONDS:
            for k in range(ACTIONS):
                env.advance(actions[k])
            launcher.wait()
            done += ACTIONS * env.worlds
        best = max(best, done / seconds)
    return best


def measure_learning(
    make: MakeLauncher, robot: str, worlds: Sequence[int], rounds: int
) -> dict[str, Any]:
    """Measure the control periods per second while rsl-rl's PPO learns.

    Raises
    ------
    MissingPackage
        If rsl-rl-lib is not installed.
    """
    by_worlds: dict[int, float] = {}
    for count in worlds:
        env = create_environment(make(BLOCK), robot, count)
        learner = RslPPO(worlds=count).create_learner(env, SEED)
        before = learner.run_round().periods  # the first round compiles
        began = perf_counter()
        last = before
        for _ in range(rounds):
            last = learner.run_round().periods
        by_worlds[count] = (last - before) / (perf_counter() - began)
    return {"robot": robot, "rounds": rounds, "periods_per_second": by_worlds}


def _threads(env: Environment) -> ThreadWorlds:
    assert isinstance(env.backend, ThreadWorlds)
    return env.backend
