"""A policy under any law, at any step, on any terrain, and in MuJoCo: the same trials for all.

As a control period begins, another command and a push come first; then the policy looks at what
they made, as when it learned, and acts. As the period ends it is judged, by the command it had. The
noise added to what is seen is as wide everywhere, but other numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tarsus.environments.environment import Environment
from tarsus.environments.outside import Eyes
from tarsus.errors import InvalidFile, TarsusError, Unsupported
from tarsus.learning.course import Array, Course, Played, drawn, outcome, starts
from tarsus.learning.lesson import KEPT, from_about, task_of, values
from tarsus.learning.pilot import Pilot
from tarsus.learning.policy import Policy
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.settings import DEFAULT, ENGINE, SHOWN, label, named
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.parameters import declared, name_of
from tarsus.program.run.evaluation import evaluate
from tarsus.simulation import resolve
from tarsus.simulation.part_parameters import set_parameters
from tarsus.simulation.sensor_program import contact_free_program
from tarsus.terrain.base import Terrain

PEER = ENGINE
NEVER = 1e6  # s: nothing is drawn by the environment itself
VAIN = {
    "episode": "--duration sets how long a trial lasts",
    "levels": "all trials use the full height of the terrain",
    "stiffness": "the policy uses the servos that it was trained with",
}


def room(
    policy: Policy, law: str, dt: float, terrain: Terrain | str, worlds: int = 1
) -> Environment:
    """Where a policy is tried: its task and servos, where nothing is asked and nothing pushes, on
    the ground as it is; the law that it was learned under with the settings that it had then.
    """
    lesson, gains = from_about(policy.about)
    never = {"hold": NEVER, "push_every": NEVER, "episode": NEVER}
    task = replace(task_of(policy.about), push=0.0, levels=(1.0, 1.0), **never)
    # the servos that it learned with, one for each motor
    motors = len(lesson.standing().actuators)
    if len(gains.kp) != motors:
        raise InvalidFile(
            f"this policy has gains for {len(gains.kp)} motors, but {lesson.robot} has {motors}.",
            "about.gains",
        )
    found = Environment(
        *(
            task,
            lesson.robot,
            lesson.contact_law() if os.path.realpath(law) == os.path.realpath(lesson.law) else law,
        ),
        *("midpoint", terrain, dt),
        worlds=worlds,
        gains=gains,
        precision="float64",
    )
    takes = policy.network.sizes[0], policy.network.sizes[-1]
    if takes != (found.observations, found.actions):
        raise InvalidFile(
            f"this policy maps {takes[0]} observations to {takes[1]} actions, but its task has"
            f" {found.observations} and {found.actions}.",
            "sizes",
        )
    return found


def changed(
    policy: Policy, settings: Sequence[str], terrain: str = "plane"
) -> tuple[Policy, Terrain]:
    """The same policy at a task with other parameters, and the terrain with others, NAME=VALUE
    each; TarsusError for those that they have not, or that trials do not go by.
    """
    ground = resolve.terrain(terrain)
    if not settings:
        return policy, ground
    task = task_of(policy.about)
    other, ground = set_parameters({"task": task, "terrain": ground}, settings).values()
    for text in settings:
        name = text.partition("=")[0].rpartition(".")[2]
        if name in VAIN and name in declared(type(task)):
            raise Unsupported(f"{name} has no effect on playing a policy: {VAIN[name]}.", name)
    other = other.fitted(from_about(policy.about)[0].standing())
    return replace(policy, about={**policy.about, KEPT: values(other)}), ground


def course_of(policy: Policy, trials: int, seconds: float, seed: int) -> Course:
    """Trials of what a policy was learned for."""
    robot = from_about(policy.about)[0].standing()
    return drawn(task_of(policy.about), len(robot.actuators), trials, seconds, seed)


def played(policy: Policy, course: Course, law: str, dt: float, terrain: Terrain | str) -> Played:
    """The trials under a law, or in MuJoCo ("mujoco tuned" at these settings, "mujoco" at its
    defaults); what cannot be tried says why.
    """
    try:
        engine, _, settings = law.partition(" ")
        if engine == PEER:
            return _in_mujoco(policy, course, dt, terrain, settings or DEFAULT)
        return _in_tarsus(policy, course, law, dt, terrain)
    except TarsusError as error:
        seconds = course.periods / course.rate
        return Played(law, dt, called(terrain), course.trials, seconds, failure=str(error))


def called(terrain: Terrain | str) -> str:
    """A terrain's name."""
    return terrain if isinstance(terrain, str) else name_of(terrain)


def everywhere(
    policy: Policy,
    course: Course,
    laws: Sequence[str],
    dts: Sequence[float],
    terrain: Terrain | str = "plane",
    tell: Callable[[str], None] = lambda text: None,
) -> list[Played]:
    """Who falls under which law: the same trials under each, at each dt; in MuJoCo at its defaults
    and tuned.
    """
    found, apart = [], {PEER: [label(name) for name in SHOWN]}
    for law in (each for name in laws for each in apart.get(name, [name])):
        for dt in dts:
            tell(f"{law}, dt {1e3 * dt:g} ms")
            found.append(played(policy, course, law, dt, terrain))
    return found


def _in_tarsus(
    policy: Policy, course: Course, law: str, dt: float, terrain: Terrain | str
) -> Played:
    """All trials side by side."""
    worlds = room(policy, law, dt, terrain, course.trials)
    # as they begin
    worlds.reset(0)
    size = len(worlds.task.commands())
    begin = {"q": starts(worlds, course)}
    begin |= {"clock": np.zeros(1), "before": np.zeros(worlds.actions), "command": np.zeros(size)}
    begin |= {name: getattr(course, name)[:, None] for name in ("friction", "mass")}
    worlds.restore(begin)
    # the periods; a trial that fell, whose world begins again, counts no more
    lasted, diverged = np.full(course.trials, course.periods), np.zeros(course.trials, bool)
    measured = np.zeros((course.periods, course.trials, len(worlds.measures)))
    seen, steps, unsolved = np.zeros((course.trials, worlds.observations)), 0, 0
    eyes, noise = Eyes(worlds.work, worlds.terrain.parameters()), np.random.default_rng(0)
    for period in range(course.periods):
        command, push = course.command(period), course.push(period)
        if command is not None:
            worlds.restore({"command": command})
        if push is not None:
            u = worlds.state()["u"]
            u[:, :2] += push
            worlds.restore({"u": u})
        if command is not None or push is not None:
            felt = _felt(eyes, worlds) if period else _felt_at_rest(eyes, worlds)
            now = _seen(eyes, worlds, felt, noise)
            past = [seen[:, now.shape[1] :]] if period else [now] * (worlds.task.history - 1)
            seen = np.concatenate([now, *past], axis=1)
            if worlds.task.history > 1:
                worlds.restore({"past": seen[:, : -now.shape[1]]})
        out = worlds.step(policy(seen))
        seen = out.observation
        going = lasted == course.periods
        measured[period] = out.measures
        steps += int(going.sum()) * worlds.work.steps
        unsolved += int(out.unconverged[going].sum())
        diverged |= going & out.diverged
        lasted[going & out.terminated] = period
    return outcome(
        course,
        {"law": law, "dt": dt, "terrain": called(terrain)},
        worlds.measures,
        measured=measured,
        lasted=lasted,
        diverged=int(diverged.sum()),
        unconverged=unsolved / max(steps, 1),
    )


def _felt(eyes: Eyes, worlds: Environment) -> dict[str, Array]:
    """Torques, impulses and readings of the last step, those that the task looks at."""
    return {name: worlds.backend.get(name).astype(float) for name in eyes.feels}


def _felt_at_rest(eyes: Eyes, worlds: Environment) -> dict[str, Array]:
    """The same as an episode begins: nothing presses or pulls yet."""
    found = {name: np.zeros_like(value) for name, value in _felt(eyes, worlds).items()}
    if any(name.startswith("sensed.") for name in found):
        program = contact_free_program(worlds.work.sensing, worlds.work.scene)
        given = worlds.state() | {"dt": np.full((worlds.worlds, 1), worlds.dt)}
        for name, value in worlds.terrain.parameters().items():
            given[f"terrain.{name}"] = np.broadcast_to(value, (worlds.worlds, value.shape[-1]))
        names = [register.name for register in program.of_kind("parameter")]
        found |= evaluate(program, {name: given[name] for name in names})
    return found


def _seen(
    eyes: Eyes, worlds: Environment, felt: dict[str, Array], noise: np.random.Generator
) -> Array:
    """Observations (trials, k), of this period alone, of states that were changed from outside."""
    now, rows = worlds.state(), []
    now |= felt
    names = ("q", "u", "before", "command", "clock", *eyes.feels)
    for k in range(worlds.worlds):
        one = {name: now[name][k] for name in names}
        rows.append(eyes(**one, action=one["before"])[0])
    seen = np.array(rows)
    return seen + now.get("bias", 0.0) + noise.uniform(-1, 1, seen.shape) * eyes.noise


def _in_mujoco(
    policy: Policy, course: Course, dt: float, terrain: Terrain | str, name: str
) -> Played:
    """One trial after the other, at the settings of this name."""
    # the same robot there
    worlds = room(policy, "moreau", dt, terrain, course.trials)
    settings = replace(named(name), mu=float(worlds.law.parameters()["mu"]))
    pilot = Pilot(policy, worlds)
    touching = [candidate.name for candidate in worlds.work.scene.candidates]
    there = MujocoSimulation(worlds.robot, settings, terrain, pilot, dt, touching)
    model, first = there.model, starts(worlds, course)
    base = model.body_mass[1].copy(), model.body_inertia[1].copy()
    lasted, diverged = np.full(course.trials, course.periods), 0
    measured = np.zeros((course.periods, course.trials, len(worlds.measures)))
    for k in range(course.trials):
        # as it begins
        model.geom_friction[:, 0] = settings.mu * course.friction[k]
        model.body_mass[1], model.body_inertia[1] = (course.mass[k] * part for part in base)
        mujoco().mj_setConst(model, there.data)
        there.reset()
        there.data.qpos[:] = first[k]
        pilot.begin(np.random.default_rng([k]))
        # its periods
        for period in range(course.periods):
            if (command := course.command(period)) is not None:
                pilot.tell(command[k])
            if (push := course.push(period)) is not None:
                there.data.qvel[:2] += push[k]
            for _ in range(worlds.work.steps):
                there.step()
            if wild := not np.isfinite(there.data.qvel.sum()):
                failed = True
            else:
                failed, measured[period, k] = pilot.judge(there.q, there.u)
            if failed:
                lasted[k], diverged = period, diverged + wild
                break
    return outcome(
        course,
        {"law": label(name), "dt": dt, "terrain": called(terrain)},
        worlds.measures,
        measured=measured,
        lasted=lasted,
        diverged=diverged,
    )
