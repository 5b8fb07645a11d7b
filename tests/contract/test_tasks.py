"""Contract of every learning task, discovered by file."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from helpers.images import state_and_image

import tarsus
from tarsus import registry
from tarsus.collision.ground import ground_below_candidates
from tarsus.dynamics.kinematics import kinematics
from tarsus.environments.task_observer import TaskObserver
from tarsus.learning.training_defaults import with_training_defaults
from tarsus.learning.training_spec import TrainingSpec
from tarsus.parameters import declared_fields
from tarsus.program.ir.trace import Builder
from tarsus.robots import load
from tarsus.tasks.base import LearningTask

TASKS = registry.names("tarsus.tasks")
WORLDS = 12
MINI_CHEETAH = load("mini_cheetah")


@cache
def made(task: str) -> tarsus.Environment:
    """Create an environment of Mini Cheetah on rough ground for the task."""
    return tarsus.Environment(task, "mini_cheetah", terrain="rough", worlds=WORLDS, seed=3)


def acted(k: int, worlds: tarsus.Environment) -> np.ndarray:
    """Actions (WORLDS, n) that depend only on the number of the world."""
    at = np.arange(WORLDS)[:, None] + 1.0
    return np.sin(at * np.arange(1, worlds.action_size + 1) + 0.7 * k).astype(np.float32)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_documents_its_commands(name: str) -> None:
    """Every parameter has a unit and a meaning, and the docstring describes every command."""
    task = registry.member_class("tarsus.tasks", "task", name, LearningTask)().fit(MINI_CHEETAH)
    assert declared_fields(type(task)) and task.commands()
    for command, (low, high) in task.commands().items():
        assert low <= high and f"`{command}`" in (type(task).__doc__ or "")


@pytest.mark.parametrize("name", TASKS)
def test_training_defaults_can_be_set(name: str) -> None:
    """Each default setting of each method and law; user settings take precedence."""
    advice = registry.member_class("tarsus.tasks", "task", name, LearningTask)().training_defaults(
        MINI_CHEETAH
    )
    assert {*advice.laws} <= {*registry.names("tarsus.contact.laws")}
    for whose, of in (("method", advice.methods), ("law", advice.laws)):
        for kind, values in of.items():
            found = parts(with_training_defaults({"task": name, whose: kind}))[whose]
            assert {key: getattr(found, key) for key in values} == values
            key = next(iter(values))
            asked = {"task": name, whose: kind, "settings": (f"{whose}.{key}=7",)}
            assert getattr(parts(with_training_defaults(asked))[whose], key) == 7


def parts(lesson: TrainingSpec) -> dict[str, Any]:
    """Method and law of a training specification."""
    return {"method": lesson.task_and_method()[1], "law": lesson.contact_law()}


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_ended_episodes_restart_and_worlds_match_single_worlds(name: str) -> None:
    """Two seconds without divergence; the last world alone gives the same bits."""
    many = made(name)
    alone = tarsus.Environment(
        name, "mini_cheetah", terrain="rough", seed=3, first_world=WORLDS - 1
    )
    many.reset(3)
    alone.reset(3)
    over = np.zeros(WORLDS, int)
    for k in range(100):
        out, one = many.step(acted(k, many)), alone.step(acted(k, many)[-1:])
        for part in ("observation", "final", "reward", "terminated", "truncated", "measures"):
            assert (getattr(out, part)[-1:] == getattr(one, part)).all(), part
        assert np.isfinite(out.observation).all() and not out.diverged.any()
        assert out.reward == pytest.approx(out.terms.sum(1), abs=1e-4)
        over += out.terminated | out.truncated
        if k == 50:
            many.backend.set("clock", np.array([many.task.episode * many.task.rate - 1]))
            alone.backend.set("clock", np.array([many.task.episode * many.task.rate - 1]))
    assert (over > 0).all(), "time runs out for all"


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_robots_start_on_the_ground_without_penetration(name: str) -> None:
    """The lowest candidate touches, to the rounding of float32."""
    worlds = made(name)
    if not worlds.task.randomizes_pose:
        pytest.skip("episodes begin where a simulation does")
    worlds.reset(8)
    scene, q = worlds.work.scene, worlds.backend.get("q").astype(float)
    assert np.ptp(q[:, 3:7], axis=0).max() > 0.5, "turned anyhow"
    state = worlds.state()
    level = state.get("level", np.ones((WORLDS, 1)))[:, 0]
    for k in range(WORLDS):
        assert lowest(scene, q[k], level[k]) == pytest.approx(0, abs=2e-5)


def lowest(scene: Any, q: np.ndarray, level: float) -> float:
    """Smallest gap of the candidates, m, in float64."""
    kin = kinematics(scene.mechanism, ca.SX(q))
    whole = scene.terrain.symbols(Builder("ground"))
    terrain = scene.terrain.at_level(whole, ca.SX(level))
    _, distances, frames = ground_below_candidates(scene.geometry, kin, scene.candidates, terrain)
    gaps = [
        (d - c.radius) / f[0, 2]
        for c, d, f in zip(scene.candidates, distances, frames, strict=True)
    ]
    names = scene.terrain.parameters()
    f = ca.Function("gaps", [getattr(whole, n) for n in names], [ca.vertcat(*gaps)])
    return float(np.array(f(*names.values())).min())


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_observations_of_the_mirror_image_are_mirrored(name: str) -> None:
    """A random state and its mirror image, on level ground."""
    worlds = made(name)
    assert worlds.mirror is not None
    random: Any = np.random.default_rng(2)
    of_seen: Any = worlds.mirror[0]
    eyes = TaskObserver(worlds.work, level_ground(worlds))
    state, image = state_and_image(worlds, random)
    command = random.uniform(0.1, 1, size=len(worlds.task.commands()))
    asked = np.array([-c if n in ("sideways", "turn") else c for n, c in named(worlds, command)])
    frequency = getattr(worlds.task, "frequency", None)  # a trot's image is half a round later
    later = 3 + (int(worlds.task.rate / (2 * frequency)) if frequency else 0)
    one = eyes(**state, command=command, clock=3)
    other = eyes(**image, command=asked, clock=later)
    assert other[0] == pytest.approx(of_seen(one[0]), abs=1e-9)
    assert other[1] == one[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_mirrored_actions_give_mirrored_targets(name: str) -> None:
    """Targets of actions in another simulator match those of the worlds."""
    worlds = made(name)
    eyes = TaskObserver(worlds.work, level_ground(worlds))
    worlds.reset(4)
    worlds.step(acted(0, worlds))
    before, asked = worlds.state()["before"], acted(1, worlds)
    out, now = worlds.step(asked), worlds.state()["before"]
    going = np.flatnonzero(~(out.terminated | out.truncated))
    for k in going:
        assert now[k] == pytest.approx(eyes.filter_action(before[k], asked[k]), abs=1e-6)
    assert len(going) > 0 and np.abs(before).max() > 0.1


def level_ground(worlds: tarsus.Environment) -> dict[str, np.ndarray]:
    """Parameters of rough ground with zero heights."""
    return {name: np.zeros_like(value) for name, value in worlds.terrain.parameters().items()}


def named(worlds: tarsus.Environment, command: np.ndarray) -> list[tuple[str, float]]:
    return list(zip(worlds.task.commands(), command, strict=True))
