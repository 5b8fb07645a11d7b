"""Environments: outputs for learners, independent of batch, lane and thread."""

from __future__ import annotations

from dataclasses import fields, replace

import gymnasium
import numpy as np
import pytest
from casadi import DM, SX, Function, vertcat
from gymnasium.utils.env_checker import check_env
from helpers.refused import refused
from scipy import stats

import tarsus
from tarsus.algebra.random_numbers import WORD, draw_words, hash_seed, to_uniform
from tarsus.environments import names
from tarsus.environments.control_program import trace_period
from tarsus.environments.episode_start import _draw_tilt
from tarsus.environments.gymnasium_api import WorldEnv, WorldsEnv
from tarsus.errors import IncompatibleOptions, InvalidValue, UnknownName
from tarsus.morphology.legs import find_legs
from tarsus.robots import load
from tarsus.simulation import resolve
from tarsus.tasks.velocity import Velocity

names.register()  # for those who import tarsus first
NAME = "tarsus/Velocity-MiniCheetah-v0"
COUNT = 40_000


@pytest.fixture(scope="module")
def worlds() -> tarsus.Environment:
    return tarsus.Environment(worlds=20, seed=5)


def actions(count: int, size: int, at: int) -> np.ndarray:
    """Actions that depend only on the number of the world."""
    k = np.arange(count)[:, None] + 1.0
    return np.sin(k * np.arange(1, size + 1) + 0.7 * at)


def drawn(**changed: np.ndarray) -> np.ndarray:
    """Words and uniform numbers (6, COUNT), one of what they depend on counted."""
    seed, world, count, stream = SX.sym("seed", 4), *(SX.sym(name) for name in "wcs")
    words = draw_words(seed, world, count, stream)
    all_of = Function("f", [seed, world, count, stream], [vertcat(*words, *to_uniform(words))])
    given = {"world": np.full(COUNT, 3.0), "count": np.full(COUNT, 7.0), "stream": np.zeros(COUNT)}
    given |= changed
    columns = [DM(given[name][None]) for name in ("world", "count", "stream")]
    seeds = DM(np.tile(hash_seed(1)[:, None], COUNT))
    return np.array(all_of.map(COUNT)(seeds, *columns))


# ---------------------------------------------------------------- random numbers


@pytest.mark.parametrize("name", ["world", "count"])
def test_random_words_are_uniform_and_independent(name: str) -> None:
    found = drawn(**{name: np.arange(COUNT, dtype=float)})
    assert len(np.unique(found[:4], axis=1).T) == COUNT, "no four words twice"
    for word in found[:4]:
        counts = np.bincount(word.astype(int), minlength=WORD).reshape(-1, 32).sum(1)
        assert stats.chisquare(counts).pvalue > 1e-4
    first, second = found[4:]
    assert first.min() >= 0 and first.max() < 1
    for a, b in ((first[:-1], first[1:]), (first, second)):
        table, _, _ = np.histogram2d(a, b, bins=16)
        assert stats.chisquare(table.ravel()).pvalue > 1e-4
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(COUNT)


# ---------------------------------------------------------------- episodes


def test_a_world_is_the_same_alone_in_a_batch_and_on_threads(
    worlds: tarsus.Environment,
) -> None:
    """A second of them, with falls, pushes and new commands, of the last world of twenty."""
    threaded = tarsus.Environment(worlds=20, seed=5, threads=2)
    alone = tarsus.Environment(worlds=1, seed=5, first_world=19)
    for made in (worlds, threaded, alone):
        made.reset(5)
    for k in range(60):
        given = 2 * actions(20, 12, k).astype(np.float32)
        outs = worlds.step(given), threaded.step(given), alone.step(given[19:])
        for name in ("observation", "final", "reward", "terminated", "truncated"):
            together, beside, single = (getattr(out, name) for out in outs)
            assert (together == beside).all() and (together[19:] == single).all()


def test_ended_episodes_are_reported_and_restart(worlds: tarsus.Environment) -> None:
    worlds.reset(0)
    ended = np.zeros(20, bool)
    for k in range(100):
        out = worlds.step(8 * actions(20, 12, k))
        over = out.terminated | out.truncated
        ended |= over
        assert np.isfinite(out.observation).all()
        assert out.reward == pytest.approx(out.terms.sum(1), abs=1e-5)
        # one that goes on sees what it ends with; another stands upright again, its action gone
        assert (out.observation[~over] == out.final[~over]).all()
        assert (out.observation[over, 2] < -0.9).all()
        assert (out.observation[over, 36:48] == 0).all()
        assert (worlds.backend.get("clock")[over] == 0).all()
    assert ended.any(), "flailing legs throw it over"


def test_episodes_time_out_and_draws_stay_in_range(worlds: tarsus.Environment) -> None:
    task, factors, last = worlds.task, [], worlds.task.episode * worlds.task.rate
    worlds.reset(2)
    for _ in range(12):
        assert not worlds.step(np.zeros(12)).truncated.any()
        worlds.backend.set("clock", np.array([last - 2]))
        for over in (False, True):
            out = worlds.step(np.zeros(12))
            assert (out.truncated == over).all() and not out.terminated.any()
        factors.append(np.hstack([worlds.backend.get(name) for name in ("friction", "mass")]))
        command = worlds.backend.get("command")
        assert (command[:, 0] >= 0.3).all() and (command[:, 0] <= 1).all()
        assert (command[:, 1] == 0).all() and (np.abs(command[:, 2]) <= 0.5).all()
    low, high = np.min(factors, (0, 1)), np.max(factors, (0, 1))
    for k, (least, most) in enumerate((task.friction, task.mass)):
        assert least <= low[k] < least + 0.1 * (most - least)
        assert most - 0.1 * (most - least) < high[k] <= most


def test_diverged_worlds_restart_without_affecting_others(
    worlds: tarsus.Environment,
) -> None:
    worlds.reset(1)
    expected = worlds.step(np.zeros(12))
    worlds.reset(1)
    broken = worlds.backend.get("u")
    broken[4] = np.nan
    worlds.backend.set("u", broken)
    out = worlds.step(np.zeros(12))
    assert out.diverged.tolist() == [k == 4 for k in range(20)]
    assert out.terminated[4] and out.reward[4] == 0
    others = np.arange(20) != 4
    assert (out.observation[others] == expected.observation[others]).all()
    assert np.isfinite(out.observation).all() and np.isfinite(worlds.step(np.zeros(12)).final).all()


@pytest.mark.slow
def test_every_gymnasium_name_creates_an_environment() -> None:
    for name in names.NAMED:
        many = gymnasium.make_vec(f"tarsus/{name}-v0", num_envs=2)
        seen, _ = many.reset(seed=1)
        assert seen.shape == many.observation_space.shape


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["mini_cheetah", "starleth", "hyq"])
def test_every_built_in_robot_stands_without_a_command(robot: str) -> None:
    made = tarsus.Environment("velocity", robot, worlds=64)
    fell = unsolved = 0
    for _ in range(100):
        out = made.step(np.zeros(made.action_size))
        fell, unsolved = fell + out.terminated.sum(), unsolved + out.unconverged.sum()
    assert fell == 0 and unsolved == 0


def test_straight_legs_are_bent_for_walking() -> None:
    """The feet stay below where they were, the hips come down; bent legs stay as they are."""
    robot = load("mini_cheetah")
    task = Velocity().fit(robot)
    assert task.prepare(robot) is robot
    q = np.array(robot.keyframes["stand"])
    q[8::3], q[9::3] = -0.3, 0.6
    straight = replace(robot, keyframes={"stand": q})
    for before, after in zip(find_legs(straight), find_legs(task.prepare(straight)), strict=True):
        old, new = before.standing_foot, after.standing_foot
        assert new[:2] == pytest.approx(old[:2], abs=1e-9)
        assert new[2] == pytest.approx(-0.8 * sum(before.lengths), abs=1e-9)
        assert after.bend == before.bend and after.posture[2] > 1.0


def test_laws_with_default_kinetic_friction_are_traced(worlds: tarsus.Environment) -> None:
    law = resolve.resolve_law("macro")
    assert "mu_K" not in law.parameters()
    scene = replace(worlds.work.scene, law=law)
    sizes = trace_period(replace(worlds.work, scene=scene, steps=1)).sizes
    assert {f"law.{name}" for name in law.parameters()} <= set(sizes)


# ---------------------------------------------------------------- Gymnasium


def test_the_gymnasium_checker_passes() -> None:
    made = gymnasium.make(NAME).unwrapped
    assert isinstance(made, WorldEnv)
    with pytest.warns(UserWarning, match="Box"):  # no bounds: an observation may be anything
        check_env(made, skip_render_check=True)


def test_many_worlds_of_gymnasium() -> None:
    many = gymnasium.make_vec(NAME, num_envs=20)
    assert isinstance(many.unwrapped, WorldsEnv)
    first, _ = many.reset(seed=3)
    assert first.shape == many.observation_space.shape == (20, 50) and first.dtype == np.float32
    again, _ = many.reset(seed=3)
    other, _ = many.reset(seed=4)
    assert (first == again).all() and not (first[:, :3] == other[:, :3]).any()
    told = {}
    for k in range(100):
        *_, told = many.step(8 * actions(20, 12, k))
        if "final_obs" in told:
            break
    assert told["final_obs"].shape == (20, 50) and told["_final_obs"].any()
    assert {"velocity", "diverged", "unconverged"} <= set(told)


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("options", "kind", "subject"),
    [
        ({"task": "velocty"}, UnknownName, "velocty"),
        ({"task": "jump", "robot": "hoap1"}, IncompatibleOptions, "task"),
        ({"dt": 0.003}, IncompatibleOptions, "dt"),
    ],
)
def test_mistakes_are_reported_with_the_option(
    options: dict, kind: type[tarsus.TarsusError], subject: str
) -> None:
    with refused(kind, subject):
        tarsus.Environment(**options)


def test_actions_of_a_wrong_shape_or_not_finite(worlds: tarsus.Environment) -> None:
    for action in (np.zeros((3, 12)), np.full(12, np.nan)):
        with refused(InvalidValue, "action"):
            worlds.step(action)


# ---------------------------------------------------------------- arrays that stay


def test_shared_arrays_contain_every_outcome() -> None:
    """Through ends of episodes: the same as `step`, by DLPack without a copy."""
    task = replace(Velocity(), episode=0.1)
    own, other = (tarsus.Environment(task, worlds=19, seed=3) for _ in range(2))
    shared = {f.name: np.from_dlpack(getattr(own.last, f.name)) for f in fields(own.last)}
    ended = 0
    for k in range(12):
        found = other.step(actions(19, other.action_size, k))
        assert own.advance(actions(19, own.action_size, k)) is own.last
        for name, array in shared.items():
            np.testing.assert_array_equal(array, getattr(found, name), err_msg=name)
            assert np.shares_memory(array, getattr(own.last, name))
        ended += int(found.truncated.sum())
    assert shared["observation"].shape == (19, own.observation_size) and 0 < ended < 12 * 19
    assert shared["truncated"].dtype == bool and shared["observation"].flags.c_contiguous


def test_start_tilt_bounds_the_initial_tilt() -> None:
    """About a random horizontal axis; tilts are uniform up to the largest."""
    part, most = SX.sym("part", 2), 3.0
    turned = Function("f", [part], [_draw_tilt(SX(most), [part[0], part[1]])])
    drawn = np.random.default_rng(0).random((50, 2))
    w, x, y, z = np.array([np.array(turned(row)).ravel() for row in drawn]).T
    assert np.arccos(1 - 2 * (x**2 + y**2)) == pytest.approx(most * drawn[:, 0], abs=1e-7)
    assert w**2 + x**2 + y**2 == pytest.approx(1.0) and not z.any()
    assert np.arctan2(y, x) % (2 * np.pi) == pytest.approx(2 * np.pi * drawn[:, 1])
