"""Adapter to the `VecEnv` of stable-baselines3, which the extra `sb3` installs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.environments.gymnasium_api import spaces
from tarsus.errors import Unsupported
from tarsus.installation import missing_package_error

try:
    from stable_baselines3.common.vec_env import VecEnv  # pyright: ignore[reportMissingImports]
except ImportError:
    raise missing_package_error("stable-baselines3", "this", "sb3") from None

Array = NDArray[Any]


class BaselinesEnv(VecEnv):
    """Vector environment of stable-baselines3; an ended episode is followed by the next.

    It takes the options of `Environment`. Arrays are NumPy's: with `device="cuda"` every step
    copies its results from the GPU. The info of a world contains the terms of the reward by name,
    `diverged` and `unconverged`. At the end of an episode it also contains `terminal_observation`,
    `TimeLimit.truncated`, and `episode` with its sum of rewards r, its number of periods l, and t,
    the simulated time in s since the first step.
    """

    def __init__(self, **options: Any) -> None:
        self.environment = Environment(**options)
        self.render_mode = None
        super().__init__(self.environment.worlds, *spaces(self.environment))
        self._action = np.zeros((self.num_envs, self.environment.action_size))
        self._returns, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, int)
        self._periods = 0

    def reset(self) -> Array:
        """Start an episode in all worlds; return observations, shape (num_envs, k).

        After `seed(n)` the episodes are those of the seed n, otherwise new ones.
        """
        seed = self._seeds[0]
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0, 0
        return self.environment.backend.to_host(self.environment.reset(seed))

    def step_async(self, actions: Array) -> None:
        self._action = np.asarray(actions)

    def step_wait(self) -> tuple[Array, Array, NDArray[np.bool_], list[dict[str, Any]]]:
        """Advance every world by one control period."""
        # advance, and count
        out = self.environment.to_host(self.environment.step(self._action))
        ended = out.terminated | out.truncated
        self._returns += out.reward
        self._lengths += 1
        self._periods += 1
        # info of each world
        infos: list[dict[str, Any]] = [
            dict(zip(self.environment.rewards, row, strict=True)) for row in out.terms.tolist()
        ]
        for k, info in enumerate(infos):
            info["diverged"], info["unconverged"] = out.diverged[k], out.unconverged[k]
        time = self._periods / self.environment.task.rate
        for k in np.flatnonzero(ended):
            infos[k]["terminal_observation"] = out.final[k]
            infos[k]["TimeLimit.truncated"] = bool(out.truncated[k])
            infos[k]["episode"] = {"r": self._returns[k], "l": int(self._lengths[k]), "t": time}
        self._returns[ended], self._lengths[ended] = 0, 0
        return out.observation, out.reward, ended, infos

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of this object or of the environment, the same for all worlds."""
        owner = self if attr_name in vars(self) else self.environment
        return [getattr(owner, attr_name)] * len(self._indices(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise Unsupported(
            "attributes are shared by all worlds and cannot be set: create another environment.",
            attr_name,
        )

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        raise Unsupported(
            "worlds are not separate objects: call the method of the environment instead.",
            method_name,
        )

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each world, but True for `Monitor`, whose counts are provided."""
        return [wrapper_class.__name__ == "Monitor"] * len(self._indices(indices))

    def _indices(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))
