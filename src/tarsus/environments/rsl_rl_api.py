"""Adapter to the `VecEnv` of rsl-rl-lib, which the extra `rsl` installs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

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
    k). Tensors share the memory of the environment's arrays, on the CPU or with `device="cuda"` on
    the GPU, where nothing is copied to the host. `extras` contains `time_outs`, shape (num_envs,),
    and in `log` the terms of the reward per second, the share of worlds that failed and the number
    that diverged, shape () each.
    """

    def __init__(self, **options: Any) -> None:
        self.environment = Environment(**options)
        task = self.environment.task
        self.num_envs, self.num_actions = self.environment.worlds, self.environment.action_size
        self.max_episode_length = round(require_fitted(task.episode) * task.rate)
        self.cfg: dict[str, Any] | object = {"task": type(task).__name__, **asdict(task)}
        self._observation = self._output("observation")
        self.device = str(self._observation.device)

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Periods since each episode started, shape (num_envs,); setting it moves the clock."""
        return self._output("clock")[:, 0].long()

    @episode_length_buf.setter
    def episode_length_buf(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, periods: torch.Tensor
    ) -> None:
        self.environment.restore({"clock": self._array(periods.float())[:, None]})

    def reset(self, seed: int | None = None) -> TensorDict:
        """Start an episode in all worlds. Equal seeds give equal episodes."""
        self._observation = torch.from_dlpack(self.environment.reset(seed))
        return self.get_observations()

    def get_observations(self) -> TensorDict:
        """Return the current observations, shape (num_envs, k), in the group `policy`."""
        return TensorDict(
            {"policy": self._observation}, batch_size=[self.num_envs], device=self.device
        )

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Advance every world by one control period."""
        env = self.environment
        out = env.step(self._array(actions))
        self._observation = torch.from_dlpack(out.observation)
        reward, terms = (torch.from_dlpack(part) for part in (out.reward, out.terms))
        failed, late, diverged = (
            torch.from_dlpack(part) for part in (out.terminated, out.truncated, out.diverged)
        )
        rates = terms.mean(0) * env.task.rate
        log = {f"/reward/{name}": rate for name, rate in zip(env.rewards, rates, strict=True)}
        log |= {"/failed": failed.float().mean(), "/diverged": diverged.sum()}
        extras = {"time_outs": late, "log": log}
        return self.get_observations(), reward, failed | late, extras

    def _output(self, name: str) -> torch.Tensor:
        """Copy a register to a tensor, shape (num_envs, size)."""
        return torch.from_dlpack(self.environment.backend.output(name))

    def _array(self, tensor: torch.Tensor) -> Any:
        """Convert a tensor to an array of the environment, without a copy on the same device."""
        return self.environment.backend.arrays.from_dlpack(tensor.detach().to(self.device))
