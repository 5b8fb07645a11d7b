"""Environments as other libraries use them: the same numbers, and their learners learn.

uv run --group learners pytest -m slow tests/unit/environments/test_adapters.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.device_arrays import DeviceLauncher

import tarsus

torch: Any = pytest.importorskip("torch", reason="the group `learners` is not installed")
OPTIONS: dict[str, Any] = {"worlds": 32, "seed": 4}
LIMIT = 10  # periods: an episode here


def flailing(period: int) -> np.ndarray:
    """Actions (32, 12) that throw some robots over; the first robots stand."""
    k = np.arange(32)[:, None] + 1.0
    return (k / 4 * np.sin(k * np.arange(1, 13) + 0.7 * period)).astype(np.float32)


@pytest.mark.slow
def test_stable_baselines_receives_the_environment_outputs() -> None:
    """Observations, rewards, ends and last observations, over episodes that fail and that end."""
    pytest.importorskip("stable_baselines3")
    from tarsus.environments.stable_baselines3_api import BaselinesEnv

    plain, many = tarsus.Environment(**OPTIONS), BaselinesEnv(**OPTIONS)
    many.seed(4)
    assert (many.reset() == plain.reset(4)).all()
    paid, over, seen = np.zeros(32), 0, {"failed": False, "late": False}
    for k in range(120):
        if k == 60:  # time runs out
            clock = np.full((32, 1), plain.task.episode * plain.task.rate - LIMIT)
            plain.restore({"clock": clock})
            many.environment.restore({"clock": clock})
        out, (x, reward, done, told) = plain.step(flailing(k)), many.step(flailing(k))
        assert (x == out.observation).all() and (reward == out.reward).all()
        assert (done == (out.terminated | out.truncated)).all()
        paid += out.reward
        for w in np.flatnonzero(done):
            assert (told[w]["terminal_observation"] == out.final[w]).all()
            assert told[w]["TimeLimit.truncated"] == out.truncated[w]
            assert told[w]["episode"]["r"] == pytest.approx(paid[w], abs=1e-4)
            over += told[w]["episode"]["l"]
            seen["late" if out.truncated[w] else "failed"] = True
        paid[done] = 0
    assert all(seen.values()) and over <= 120 * 32


@pytest.mark.slow
def test_rsl_rl_receives_the_environment_outputs() -> None:
    pytest.importorskip("rsl_rl")
    from tarsus.environments.rsl_rl_api import RslEnv

    plain, many = tarsus.Environment(**OPTIONS), RslEnv(**OPTIONS)
    assert many.num_actions == 12 and many.max_episode_length == 1000
    late = 0
    for k in range(120):
        if k == 60:
            many.episode_length_buf = torch.full((32,), many.max_episode_length - LIMIT)
            plain.restore({"clock": many.environment.state()["clock"]})
            assert (many.episode_length_buf == many.max_episode_length - LIMIT).all()
        out = plain.step(flailing(k))
        x, reward, done, told = many.step(torch.from_numpy(flailing(k)))
        assert (x["policy"].numpy() == out.observation).all()
        assert (reward.numpy() == out.reward).all()
        assert (done.numpy() == (out.terminated | out.truncated)).all()
        assert (told["time_outs"].numpy() == out.truncated).all()
        late += int(out.truncated.sum())
        parts = [float(told["log"][f"/reward/{name}"]) for name in plain.rewards]
        assert sum(parts) == pytest.approx(out.reward.mean() * plain.task.rate, rel=1e-3, abs=1e-3)
    assert late > 0


@pytest.mark.slow
def test_rsl_rl_receives_tensors_of_the_device_without_copies_to_the_host() -> None:
    """The numbers of the CPU, across falls, over an emulated device."""
    pytest.importorskip("rsl_rl")
    from tarsus.environments.rsl_rl_api import RslEnv

    launcher = DeviceLauncher()
    cpu, device = RslEnv(**OPTIONS), RslEnv(**OPTIONS, device=launcher)
    assert cpu.device == device.device == "cpu" and not launcher.costs.copies_to_host
    cpu.reset(3)
    device.reset(3)
    fell = 0
    for k in range(60):
        given = torch.from_numpy(flailing(k))
        (x, *rest, told), (y, *others, also) = cpu.step(given), device.step(given)
        rest += [x["policy"], told["time_outs"], *told["log"].values(), cpu.episode_length_buf]
        others += [y["policy"], also["time_outs"], *also["log"].values(), device.episode_length_buf]
        assert all(torch.equal(one, other) for one, other in zip(rest, others, strict=True))
        fell += int(rest[1].sum())
    assert fell > 0
    device.episode_length_buf = torch.full((32,), 7)
    assert (device.episode_length_buf == 7).all()
    assert launcher.costs.copies_to_host == 0


@pytest.mark.slow
def test_stable_baselines_receives_numpy_arrays_of_a_device() -> None:
    pytest.importorskip("stable_baselines3")
    from tarsus.environments.stable_baselines3_api import BaselinesEnv

    cpu, device = (BaselinesEnv(**OPTIONS, device=one) for one in ("cpu", DeviceLauncher()))
    np.testing.assert_array_equal(cpu.reset(), device.reset())
    fell = 0
    for k in range(40):
        (*one, infos), (*other, also) = cpu.step(flailing(k)), device.step(flailing(k))
        for here, there in zip(one, other, strict=True):
            np.testing.assert_array_equal(here, there)
            assert type(there) is np.ndarray
        assert [info.keys() for info in infos] == [info.keys() for info in also]
        fell += int(one[2].sum())
    assert fell > 0


@pytest.mark.slow
def test_stable_baselines_learns() -> None:
    """80 rounds of its PPO increase the reward."""
    learners = pytest.importorskip("stable_baselines3")
    from tarsus.environments.stable_baselines3_api import BaselinesEnv

    torch.set_num_threads(1)
    env = BaselinesEnv(worlds=128, seed=0)
    net = {"net_arch": [32, 32], "log_std_init": -0.9}
    model = learners.PPO(
        *("MlpPolicy", env),
        **{"n_steps": 24, "batch_size": 768, "n_epochs": 4, "gamma": 0.97},
        **{"learning_rate": 1e-3, "policy_kwargs": net, "seed": 1, "device": "cpu"},
    )
    before = paid(env.environment, lambda seen: model.predict(seen, deterministic=True)[0])
    model.learn(80 * 24 * 128)
    after = paid(env.environment, lambda seen: model.predict(seen, deterministic=True)[0])
    assert after > before + 2.0, (before, after)


@pytest.mark.slow
def test_rsl_rl_learns() -> None:
    """60 rounds of its PPO, by its runner."""
    runners = pytest.importorskip("rsl_rl.runners")
    tensors = pytest.importorskip("tensordict")
    from tarsus.environments.rsl_rl_api import RslEnv

    torch.set_num_threads(1)
    torch.manual_seed(0)
    env = RslEnv(worlds=128, seed=0)
    net = {"class_name": "MLPModel", "hidden_dims": [32, 32], "activation": "tanh"}
    net["obs_normalization"] = True
    noise = {"class_name": "GaussianDistribution", "init_std": 0.4}
    method = {"class_name": "PPO", "gamma": 0.97, "num_learning_epochs": 4, "entropy_coef": 0.0}
    settings = {
        "num_steps_per_env": 24,
        "save_interval": 1000,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": net | {"distribution_cfg": noise},
        "critic": dict(net),
        "algorithm": method,
    }
    runner = runners.OnPolicyRunner(env, settings, log_dir=None, device="cpu")

    def act(seen: np.ndarray) -> np.ndarray:
        told = tensors.TensorDict({"policy": torch.from_numpy(seen)}, batch_size=[len(seen)])
        with torch.inference_mode():
            return runner.get_inference_policy()(told).numpy()

    before = paid(env.environment, act)
    env.reset(0)
    runner.learn(60)
    after = paid(env.environment, act)
    assert after > before + 2.0, (before, after)


def paid(environment: tarsus.Environment, policy: Any) -> float:
    """Reward per second in four seconds of a policy without noise."""
    seen, total = environment.reset(7), 0.0
    for _ in range(200):
        out = environment.step(policy(seen))
        seen, total = out.observation, total + float(out.reward.mean())
    return total / 4
