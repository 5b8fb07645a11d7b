"""PPO of rsl-rl: policies that play without it, bitwise resumption, the bits of a device.

uv run --group learners pytest -m slow tests/unit/learning/test_rsl_ppo.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.device_arrays import DeviceLauncher
from helpers.refused import refused

import tarsus
from tarsus.errors import IncompatibleOptions
from tarsus.learning.methods.ppo import PPO
from tarsus.learning.methods.rsl_ppo import RslPPO
from tarsus.learning.play import draw_policy_trials, run_trials
from tarsus.learning.policy import Policy
from tarsus.learning.run import StopCondition, learn
from tarsus.learning.training_spec import TrainingSpec

torch: Any = pytest.importorskip("torch", reason="the group `learners` is not installed")
pytest.importorskip("rsl_rl")
pytestmark = pytest.mark.slow
SMALL = RslPPO(worlds=32, periods=8, epochs=2, minibatches=2, width=8)
SETTINGS = ("worlds=32", "periods=8", "epochs=2", "minibatches=2", "width=8")


def test_a_policy_file_returns_the_actions_of_the_network(tmp_path: Path) -> None:
    """Within the rounding of float32; mirror images of observations give those of actions."""
    environment = tarsus.Environment(worlds=32, seed=3)
    learner = SMALL.create_learner(environment, 3)
    for _ in range(3):
        learner.run_round()
    learner.policy.save(tmp_path / "policy.npz")
    policy, seen = Policy.load(tmp_path / "policy.npz"), environment.last.observation
    with torch.no_grad():
        expected = learner.algorithm.actor(learner._observe()).numpy()
    np.testing.assert_allclose(policy(seen), expected, atol=1e-6)
    deviation = learner.weights["actor"].parameters[-1].detach().numpy()
    np.testing.assert_array_equal(policy.weights[-12:], deviation)
    mirror = environment.mirror
    assert mirror is not None
    mirrored = policy(mirror[0](seen))
    np.testing.assert_allclose(mirrored, mirror[1](policy(seen)), atol=1e-6)


def test_training_resumes_to_the_same_bits_and_the_policy_plays(tmp_path: Path) -> None:
    spec = TrainingSpec(method="rsl_ppo", seed=3, settings=SETTINGS)
    whole = learn(spec, tmp_path / "whole", StopCondition(rounds=4))
    learn(spec, tmp_path / "cut", StopCondition(rounds=2))
    found = learn(spec, tmp_path / "cut", StopCondition(rounds=4))
    assert found.resumed == 2 and found.policy.weights.tobytes() == whole.policy.weights.tobytes()
    assert found.last == whole.last
    policy = Policy.load(tmp_path / "cut")
    trials = draw_policy_trials(policy, 2, 0.5, 1)
    assert not run_trials(policy, trials, "moreau", 0.004, "plane").failure


def test_learning_on_a_device_copies_no_period_to_the_host() -> None:
    """An emulated one: the weights of the CPU; only the statistics of a round are copied."""
    launcher = DeviceLauncher()
    rounds, weights = [], []
    for device in ("cpu", launcher):
        environment = tarsus.Environment(worlds=32, seed=5, device=device)
        learner = SMALL.create_learner(environment, 5)
        launcher.costs.copies_to_host = 0
        rounds.append([learner.run_round() for _ in range(3)])
        weights.append(learner.policy.weights)
    assert launcher.costs.copies_to_host == 6 * 3
    np.testing.assert_array_equal(*weights)
    assert rounds[0] == rounds[1]
    state, following = learner.state(), learner.run_round()
    copy = SMALL.create_learner(environment, 5)
    copy.restore(state)
    assert copy.run_round() == following


def test_methods_in_numpy_do_not_learn_on_a_device() -> None:
    assert not PPO.supports_gpu and RslPPO.supports_gpu
    with refused(IncompatibleOptions, "device"):
        TrainingSpec().create_environment(1, DeviceLauncher())


def test_it_learns_to_follow_a_velocity() -> None:
    """In 60 rounds of 256 worlds the reward grows and the error of the speed halves."""
    environment = tarsus.Environment(worlds=256, seed=0)
    learner = RslPPO(worlds=256, width=32).create_learner(environment, 0)
    first = learner.run_round()
    for _ in range(59):
        last = learner.run_round()
    assert last.reward > first.reward + 5 and last.errors["speed"] < 0.5 * first.errors["speed"]
