"""Environments as rsl-rl-lib's `VecEnv`; the extra `rsl` has that library."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tarsus.environments.environment import Environment
from tarsus.installation import missing_package
from tarsus.tasks.base import known

try:
    import torch  # pyright: ignore[reportMissingImports]
    from rsl_rl.env import VecEnv  # pyright: ignore[reportMissingImports]
    from tensordict import TensorDict  # pyright: ignore[reportMissingImports]
except ImportError:
    raise missing_package("rsl-rl-lib", "this", "rsl") from None


class RslEnv(VecEnv):
    """Many worlds in one call; a world whose episode ends begins the next in the same step.

    options: as `Environment` takes them
    Observations have one group, `policy` (num_envs, k). Tensors are on the processor; they share
    the memory of the arrays they come from. extras: `time_outs` (num_envs,), whose time was over,
    and in `log` the parts of the reward a second, the share of worlds that failed, and how many
    diverged.
    """

    device = "cpu"

    def __init__(self, **options: Any) -> None:
        self.environment = Environment(**options)
        task = self.environment.task
        self.num_envs, self.num_actions = self.environment.worlds, self.environment.actions
        self.max_episode_length = round(known(task.episode) * task.rate)
        self.cfg: dict[str, Any] | object = {"task": type(task).__name__, **asdict(task)}
        self._seen = self.environment.backend.get("observation")

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Periods (num_envs,) since each episode began; setting it moves the task's clock."""
        return torch.from_numpy(self.environment.backend.get("clock")[:, 0]).long()

    @episode_length_buf.setter
    def episode_length_buf(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, periods: torch.Tensor
    ) -> None:
        clock = periods.detach().cpu().numpy().astype(float)
        self.environment.restore({"clock": clock[:, None]})

    def reset(self, seed: int | None = None) -> TensorDict:
        """Episodes begin in all worlds. The same seed gives the same episodes."""
        self._seen = self.environment.reset(seed)
        return self.get_observations()

    def get_observations(self) -> TensorDict:
        """What is seen now (num_envs, k), in the group `policy`."""
        return TensorDict({"policy": torch.from_numpy(self._seen)}, batch_size=[self.num_envs])

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """One control period in every world."""
        env = self.environment
        out = env.step(actions.detach().cpu().numpy())
        self._seen = out.observation
        paid = out.terms.mean(0) * env.task.rate
        log = {f"/reward/{name}": float(v) for name, v in zip(env.rewards, paid, strict=True)}
        log |= {"/failed": float(out.terminated.mean()), "/diverged": int(out.diverged.sum())}
        told = {"time_outs": torch.from_numpy(out.truncated), "log": log}
        ended = torch.from_numpy(np.logical_or(out.terminated, out.truncated))
        reward = torch.from_numpy(np.ascontiguousarray(out.reward))
        return self.get_observations(), reward, ended, told
