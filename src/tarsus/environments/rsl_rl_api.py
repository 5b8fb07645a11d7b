"""Adapter to the `VecEnv` of rsl-rl-lib, which the extra `rsl` installs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tarsus.environments.environment import Environment
from tarsus.installation import missing_package_error
from tarsus.tasks.base import require_fitted

try:
    import torch  # pyright: ignore[reportMissingImports]
    from rsl_rl.env import VecEnv  # pyright: ignore[reportMissingImports]
    from tensordict import TensorDict  # pyright: ignore[reportMissingImports]
except ImportError:
    raise missing_package_error("rsl-rl-lib", "this", "rsl") from None


class RslEnv(VecEnv):
    """Vector environment of rsl-rl; a world whose episode ends starts the next in the same step.

    It takes the options of `Environment`. Observations have one group, `policy`, shape (num_envs,
    k). Tensors are on the CPU and share the memory of NumPy arrays. `extras` contains `time_outs`,
    shape (num_envs,), and in `log` the terms of the reward per second, the share of worlds that
    failed and the number that diverged.
    """

    device = "cpu"

    def __init__(self, **options: Any) -> None:
        self.environment = Environment(**options)
        task = self.environment.task
        self.num_envs, self.num_actions = self.environment.worlds, self.environment.action_size
        self.max_episode_length = round(require_fitted(task.episode) * task.rate)
        self.cfg: dict[str, Any] | object = {"task": type(task).__name__, **asdict(task)}
        self._observation = self.environment.backend.get("observation")

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Periods since each episode started, shape (num_envs,); setting it moves the clock."""
        return torch.from_numpy(self.environment.backend.get("clock")[:, 0]).long()

    @episode_length_buf.setter
    def episode_length_buf(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, periods: torch.Tensor
    ) -> None:
        clock = periods.detach().cpu().numpy().astype(float)
        self.environment.restore({"clock": clock[:, None]})

    def reset(self, seed: int | None = None) -> TensorDict:
        """Start an episode in all worlds. Equal seeds give equal episodes."""
        self._observation = self.environment.reset(seed)
        return self.get_observations()

    def get_observations(self) -> TensorDict:
        """Return the current observations, shape (num_envs, k), in the group `policy`."""
        return TensorDict(
            {"policy": torch.from_numpy(self._observation)}, batch_size=[self.num_envs]
        )

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Advance every world by one control period."""
        env = self.environment
        out = env.step(actions.detach().cpu().numpy())
        self._observation = out.observation
        rates = out.terms.mean(0) * env.task.rate
        log = {f"/reward/{name}": float(v) for name, v in zip(env.rewards, rates, strict=True)}
        log |= {"/failed": float(out.terminated.mean()), "/diverged": int(out.diverged.sum())}
        extras = {"time_outs": torch.from_numpy(out.truncated), "log": log}
        ended = torch.from_numpy(np.logical_or(out.terminated, out.truncated))
        reward = torch.from_numpy(np.ascontiguousarray(out.reward))
        return self.get_observations(), reward, ended, extras
