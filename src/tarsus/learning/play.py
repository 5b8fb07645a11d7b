"""Trials of a policy under any law, at any step size, on any terrain, and in MuJoCo.

At the start of a control period, new commands and pushes come first; then the policy observes the
resulting state, as in training, and acts. At the end of the period the result is measured against
the command of that period. The observation noise has the same width everywhere, but different
random numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tarsus.environments.environment import Environment
from tarsus.environments.task_observer import TaskObserver
from tarsus.errors import InvalidFile, TarsusError, Unsupported
from tarsus.learning.policy import Policy
from tarsus.learning.task_controller import TaskController
from tarsus.learning.training_spec import (
    PARAMETERS,
    spec_from_metadata,
    task_from_metadata,
    task_parameters,
)
from tarsus.learning.trials import (
    Array,
    TrialResult,
    Trials,
    draw_trials,
    initial_coordinates,
    trial_result,
)
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.settings import DEFAULT, ENGINE, SHOWN, find_settings, row_label
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.parameters import declared_fields, name_of
from tarsus.program.run.evaluation import evaluate
from tarsus.simulation import resolve
from tarsus.simulation.part_parameters import set_parameters
from tarsus.simulation.sensor_program import contact_free_program
from tarsus.terrain.base import Terrain

PEER = ENGINE
NEVER = 1e6  # s: the environment itself draws no commands or pushes
NO_EFFECT = {
    "episode": "--duration sets how long a trial lasts",
    "levels": "all trials use the full height of the terrain",
    "stiffness": "the policy uses the servos that it was trained with",
}


def trial_environment(
    policy: Policy, law: str, dt: float, terrain: Terrain | str, worlds: int = 1
) -> Environment:
    """Create the environment for trials of a policy.

    It has the task and servos of the policy and the full terrain, but no random commands or pushes.
    If the policy was trained under this law, its settings are used.

    Parameters
    ----------
    policy
        The policy.
    law
        Name of the law.
    dt
        Step size, in s.
    terrain
        Terrain, or its name.
    worlds
        Number of worlds.

    Raises
    ------
    InvalidFile
        If the policy does not fit its robot or task.
    """
    spec, gains = spec_from_metadata(policy.metadata)
    no_events = {"command_interval": NEVER, "push_interval": NEVER, "episode": NEVER}
    task = replace(task_from_metadata(policy.metadata), push=0.0, levels=(1.0, 1.0), **no_events)
    # the servo gains of the training, one per motor
    motors = len(spec.standing_robot().actuators)
    if len(gains.kp) != motors:
        raise InvalidFile(
            f"this policy has gains for {len(gains.kp)} motors, but {spec.robot} has {motors}.",
            "metadata.gains",
        )
    environment = Environment(
        *(
            task,
            spec.robot,
            spec.contact_law() if os.path.realpath(law) == os.path.realpath(spec.law) else law,
        ),
        *("midpoint", terrain, dt),
        worlds=worlds,
        gains=gains,
        precision="float64",
    )
    sizes = policy.network.sizes[0], policy.network.sizes[-1]
    if sizes != (environment.observation_size, environment.action_size):
        raise InvalidFile(
            f"this policy maps {sizes[0]} observations to {sizes[1]} actions, but its task has"
            f" {environment.observation_size} and {environment.action_size}.",
            "sizes",
        )
    return environment


def with_settings(
    policy: Policy, settings: Sequence[str], terrain: str = "plane"
) -> tuple[Policy, Terrain]:
    """Change parameters of a policy's task and of the terrain.

    Parameters
    ----------
    policy
        The policy.
    settings
        Parameters, each "NAME=VALUE".
    terrain
        Name of the terrain.

    Raises
    ------
    TarsusError
        If a parameter does not exist or has no effect on trials.
    """
    ground = resolve.resolve_terrain(terrain)
    if not settings:
        return policy, ground
    task = task_from_metadata(policy.metadata)
    changed, ground = set_parameters({"task": task, "terrain": ground}, settings).values()
    for text in settings:
        name = text.partition("=")[0].rpartition(".")[2]
        if name in NO_EFFECT and name in declared_fields(type(task)):
            raise Unsupported(f"{name} has no effect on playing a policy: {NO_EFFECT[name]}.", name)
    changed = changed.fit(spec_from_metadata(policy.metadata)[0].standing_robot())
    return replace(
        policy, metadata={**policy.metadata, PARAMETERS: task_parameters(changed)}
    ), ground


def draw_policy_trials(policy: Policy, trials: int, seconds: float, seed: int) -> Trials:
    """Draw trials of the task of a policy."""
    robot = spec_from_metadata(policy.metadata)[0].standing_robot()
    return draw_trials(
        task_from_metadata(policy.metadata), len(robot.actuators), trials, seconds, seed
    )


def run_trials(
    policy: Policy, trials: Trials, law: str, dt: float, terrain: Terrain | str
) -> TrialResult:
    """Run trials under a law or in MuJoCo; the result contains the message if this fails.

    Parameters
    ----------
    policy
        The policy.
    trials
        The trials.
    law
        Name of a law; "mujoco" for MuJoCo at its defaults, "mujoco tuned" at these settings.
    dt
        Step size, in s.
    terrain
        Terrain, or its name.
    """
    try:
        engine, _, settings = law.partition(" ")
        if engine == PEER:
            return _run_in_mujoco(policy, trials, dt, terrain, settings or DEFAULT)
        return _run_in_tarsus(policy, trials, law, dt, terrain)
    except TarsusError as error:
        seconds = trials.periods / trials.rate
        return TrialResult(
            law, dt, terrain_name(terrain), trials.count, seconds, failure=str(error)
        )


def terrain_name(terrain: Terrain | str) -> str:
    """Return the name of a terrain."""
    return terrain if isinstance(terrain, str) else name_of(terrain)


def compare_laws(
    policy: Policy,
    trials: Trials,
    laws: Sequence[str],
    dts: Sequence[float],
    terrain: Terrain | str = "plane",
    on_progress: Callable[[str], None] = lambda text: None,
) -> list[TrialResult]:
    """Run the same trials under each law at each step size; MuJoCo runs at each of `SHOWN`.

    Parameters
    ----------
    policy
        The policy.
    trials
        The trials.
    laws
        Names of laws, or "mujoco".
    dts
        Step sizes, in s.
    terrain
        Terrain, or its name.
    on_progress
        Called with a progress message before each set of trials.
    """
    results, variants = [], {PEER: [row_label(name) for name in SHOWN]}
    for law in (each for name in laws for each in variants.get(name, [name])):
        for dt in dts:
            on_progress(f"{law}, dt {1e3 * dt:g} ms")
            results.append(run_trials(policy, trials, law, dt, terrain))
    return results


def _run_in_tarsus(
    policy: Policy, trials: Trials, law: str, dt: float, terrain: Terrain | str
) -> TrialResult:
    """Run all trials side by side in Tarsus."""
    worlds = trial_environment(policy, law, dt, terrain, trials.count)
    # initial state
    worlds.reset(0)
    size = len(worlds.task.commands())
    initial = {"q": initial_coordinates(worlds, trials)}
    initial |= {
        "clock": np.zeros(1),
        "before": np.zeros(worlds.action_size),
        "command": np.zeros(size),
    }
    initial |= {name: getattr(trials, name)[:, None] for name in ("friction", "mass")}
    worlds.restore(initial)
    # the periods; a trial that has fallen no longer counts
    lasted, diverged = np.full(trials.count, trials.periods), np.zeros(trials.count, bool)
    measured = np.zeros((trials.periods, trials.count, len(worlds.measures)))
    observation, steps, unsolved = np.zeros((trials.count, worlds.observation_size)), 0, 0
    observer, noise = (
        TaskObserver(worlds.work, worlds.terrain.parameters()),
        np.random.default_rng(0),
    )
    for period in range(trials.periods):
        command, push = trials.command(period), trials.push(period)
        if command is not None:
            worlds.restore({"command": command})
        if push is not None:
            u = worlds.state()["u"]
            u[:, :2] += push
            worlds.restore({"u": u})
        if command is not None or push is not None:
            inputs = _read_inputs(observer, worlds) if period else _inputs_at_rest(observer, worlds)
            now = _observe(observer, worlds, inputs, noise)
            past = [observation[:, now.shape[1] :]] if period else [now] * (worlds.task.history - 1)
            observation = np.concatenate([now, *past], axis=1)
            if worlds.task.history > 1:
                worlds.restore({"past": observation[:, : -now.shape[1]]})
        out = worlds.step(policy(observation))
        observation = out.observation
        running = lasted == trials.periods
        measured[period] = out.measures
        steps += int(running.sum()) * worlds.work.steps
        unsolved += int(out.unconverged[running].sum())
        diverged |= running & out.diverged
        lasted[running & out.terminated] = period
    return trial_result(
        trials,
        {"law": law, "dt": dt, "terrain": terrain_name(terrain)},
        worlds.measures,
        measured=measured,
        lasted=lasted,
        diverged=int(diverged.sum()),
        unconverged=unsolved / max(steps, 1),
    )


def _read_inputs(observer: TaskObserver, worlds: Environment) -> dict[str, Array]:
    """Read the torques, impulses and readings of the last step that the task observes."""
    return {name: worlds.backend.get(name).astype(float) for name in observer.inputs}


def _inputs_at_rest(observer: TaskObserver, worlds: Environment) -> dict[str, Array]:
    """Compute these inputs at the start of an episode, when there are no forces yet."""
    inputs = {name: np.zeros_like(value) for name, value in _read_inputs(observer, worlds).items()}
    if any(name.startswith("sensed.") for name in inputs):
        program = contact_free_program(worlds.work.sensing, worlds.work.scene)
        registers = worlds.state() | {"dt": np.full((worlds.worlds, 1), worlds.dt)}
        for name, value in worlds.terrain.parameters().items():
            registers[f"terrain.{name}"] = np.broadcast_to(value, (worlds.worlds, value.shape[-1]))
        names = [register.name for register in program.of_kind("parameter")]
        inputs |= evaluate(program, {name: registers[name] for name in names})
    return inputs


def _observe(
    observer: TaskObserver,
    worlds: Environment,
    inputs: dict[str, Array],
    noise: np.random.Generator,
) -> Array:
    """Compute observations without history, (trials, k), after commands or pushes changed."""
    now, rows = worlds.state(), []
    now |= inputs
    names = ("q", "u", "before", "command", "clock", *observer.inputs)
    for k in range(worlds.worlds):
        state = {name: now[name][k] for name in names}
        rows.append(observer(**state, action=state["before"])[0])
    observation = np.array(rows)
    return (
        observation
        + now.get("bias", 0.0)
        + noise.uniform(-1, 1, observation.shape) * observer.noise
    )


def _run_in_mujoco(
    policy: Policy, trials: Trials, dt: float, terrain: Terrain | str, name: str
) -> TrialResult:
    """Run one trial after the other in MuJoCo at the named settings."""
    # the same robot in MuJoCo
    worlds = trial_environment(policy, "moreau", dt, terrain, trials.count)
    settings = replace(find_settings(name), mu=float(worlds.law.parameters()["mu"]))
    controller = TaskController(policy, worlds)
    contacts = [candidate.name for candidate in worlds.work.scene.candidates]
    simulation = MujocoSimulation(worlds.robot, settings, terrain, controller, dt, contacts)
    model, first = simulation.model, initial_coordinates(worlds, trials)
    base = model.body_mass[1].copy(), model.body_inertia[1].copy()
    lasted, diverged = np.full(trials.count, trials.periods), 0
    measured = np.zeros((trials.periods, trials.count, len(worlds.measures)))
    for k in range(trials.count):
        # initial state
        model.geom_friction[:, 0] = settings.mu * trials.friction[k]
        model.body_mass[1], model.body_inertia[1] = (trials.mass[k] * part for part in base)
        mujoco().mj_setConst(model, simulation.data)
        simulation.reset()
        simulation.data.qpos[:] = first[k]
        controller.start_episode(np.random.default_rng([k]))
        # periods
        for period in range(trials.periods):
            if (command := trials.command(period)) is not None:
                controller.set_command(command[k])
            if (push := trials.push(period)) is not None:
                simulation.data.qvel[:2] += push[k]
            for _ in range(worlds.work.steps):
                simulation.step()
            if diverging := not np.isfinite(simulation.data.qvel.sum()):
                failed = True
            else:
                failed, measured[period, k] = controller.evaluate(simulation.q, simulation.u)
            if failed:
                lasted[k], diverged = period, diverged + diverging
                break
    return trial_result(
        trials,
        {"law": row_label(name), "dt": dt, "terrain": terrain_name(terrain)},
        worlds.measures,
        measured=measured,
        lasted=lasted,
        diverged=diverged,
    )
