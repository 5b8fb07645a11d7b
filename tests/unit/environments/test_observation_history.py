"""Observations of several periods, the latest first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from casadi import SX
from helpers.one_legged_hopper import HOPPER

import tarsus
from tarsus.environments.task_observer import TaskObserver
from tarsus.tasks.base import LearningTask, Observed, StateView

PERIODS, WORLDS, SIZE = 3, 4, 3


@dataclass(frozen=True, kw_only=True)
class Swing(LearningTask):
    """A leg that swings; it is over where the leg has swung far, or after 0.24 s."""

    episode: float = 0.24

    def commands(self) -> dict[str, tuple[float, float]]:
        return {"angle": (-1.0, 1.0)}

    def observations(self, state: StateView) -> dict[str, Observed]:
        return {
            "angle": Observed(state.angles, 0.05, (-1,)),
            "action": Observed(state.action, mirror=(-1,)),
            "asked": Observed(state.command["angle"], mirror=(-1,)),
        }

    def rewards(self, state: StateView) -> dict[str, SX]:
        return {"near": -((state.angles[0] - state.command["angle"]) ** 2)}

    def failed(self, state: StateView) -> SX:
        return state.angles[0] > 0.35


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("robot") / "hopper.xml"
    path.write_text(HOPPER)
    return str(path)


def made(file: str, periods: int, worlds: int = 1, first: int = 0) -> tarsus.Environment:
    task = Swing(history=periods)
    return tarsus.Environment(task, file, seed=4, worlds=worlds, first_world=first)


def acted(k: int) -> np.ndarray:
    return np.sin(np.arange(1, WORLDS + 1)[:, None] * (1 + 0.3 * k))


def test_an_observation_contains_earlier_observations(file: str) -> None:
    """Also across new commands; an episode's first observation stands for what was before it."""
    now, past = made(file, 1, worlds=WORLDS), made(file, PERIODS, worlds=WORLDS)
    assert past.observation_size == PERIODS * SIZE == PERIODS * now.observation_size
    first = now.reset(4)
    rows = [np.tile(first, PERIODS)]
    assert (past.reset(4) == rows[0]).all()
    began = {"terminated": 0, "truncated": 0}
    for k in range(40):
        one, whole = now.step(acted(k)), past.step(acted(k))
        over = (one.terminated | one.truncated)[:, None]
        for flag in began:
            assert (getattr(one, flag) == getattr(whole, flag)).all()
            began[flag] += int(getattr(one, flag).sum())
        grown = np.concatenate([one.observation, rows[-1][:, :-SIZE]], axis=1)
        rows.append(np.where(over, np.tile(one.observation, PERIODS), grown))
        assert (whole.observation == rows[-1]).all()
        final = np.concatenate([one.final, rows[-2][:, :-SIZE]], axis=1)
        assert (whole.final == final).all()
    assert min(began.values()) > 0, "episodes end in both ways"


def test_observation_history_is_part_of_the_state(file: str) -> None:
    many = made(file, PERIODS, worlds=WORLDS)
    alone = made(file, PERIODS, first=WORLDS - 1)
    many.reset(4)
    alone.reset(4)
    kept, end = {}, np.zeros(0)
    for k in range(30):
        if k == 15:
            kept = many.state()
        out, one = many.step(acted(k)), alone.step(acted(k)[-1:])
        assert (out.observation[-1:] == one.observation).all()
        end = out.observation
    many.restore(kept)
    again = [many.step(acted(k)).observation for k in range(15, 30)]
    assert (again[-1] == end).all()


def test_the_mirror_image_of_a_history_mirrors_each_period(file: str) -> None:
    mirror = made(file, PERIODS).mirror
    assert mirror is not None
    x = np.arange(PERIODS * SIZE, dtype=np.float32)
    one = made(file, 1).mirror
    assert one is not None
    each = np.concatenate([one[0](part) for part in x.reshape(PERIODS, SIZE)])
    assert (mirror[0](x) == each).all()


@pytest.mark.slow
@pytest.mark.parametrize("law", ["moreau", "mujoco"])
def test_a_played_policy_observes_its_history(
    law: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier observations stay as recorded, although commands and pushes change the current
    one.
    """
    from tarsus.learning.network import Network
    from tarsus.learning.play import draw_policy_trials, run_trials
    from tarsus.learning.policy import ObservationScale, Policy
    from tarsus.learning.training_spec import TrainingSpec

    lesson = TrainingSpec(settings=("history=3", "command_interval=0.1", "push_interval=0.14"))
    about = lesson.metadata(lesson.create_environment(1))
    assert about["observation_size"] == 150
    net = Network((150, 12), free_weights=12)
    scale = ObservationScale(np.zeros(150, "f4"), np.ones(150, "f4"))
    policy, seen = Policy(net, np.zeros(net.count, np.float32), scale, about), []

    def looked(self: Policy, observation: np.ndarray) -> np.ndarray:
        seen.append(np.atleast_2d(observation).copy())
        return np.zeros((*observation.shape[:-1], 12))

    monkeypatch.setattr(Policy, "__call__", looked)
    assert not run_trials(
        policy, draw_policy_trials(policy, 1, 0.5, 1), law, 0.004, "plane"
    ).failure
    assert len(seen) == 25 and (seen[0] == np.tile(seen[0][:, :50], 3)).all()
    for before, now in pairwise(seen):
        assert (now[:, 50:] == before[:, :-50]).all() and (now[:, :50] != before[:, :50]).any()


def test_the_observer_returns_a_single_period(file: str) -> None:
    worlds = made(file, PERIODS)
    eyes = TaskObserver(worlds.work, worlds.terrain.parameters())
    now = {"q": worlds.start, "u": np.zeros(7), "action": [0.5], "before": [0.0]}
    assert eyes(**now, command=[0.25], clock=0)[0] == pytest.approx([0, 0.5, 0.25])
