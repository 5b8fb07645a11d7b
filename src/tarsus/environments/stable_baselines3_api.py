"""Environments as stable-baselines3's `VecEnv`; the extra `sb3` has that library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.environments.gymnasium_api import spaces
from tarsus.errors import Unsupported
from tarsus.installation import missing_package

try:
    from stable_baselines3.common.vec_env import VecEnv  # pyright: ignore[reportMissingImports]
except ImportError:
    raise missing_package("stable-baselines3", "this", "sb3") from None

Array = NDArray[Any]


class BaselinesEnv(VecEnv):
    """Many worlds in one call; a world whose episode ends begins the next in the same step.

    options: as `Environment` takes them
    A world's info holds the parts of the reward by name, `diverged` and `unconverged`; where an
    episode ends also `terminal_observation`, `TimeLimit.truncated`, and `episode` with its sum of
    rewards r, its periods l, and t, simulated s since the first step of all.
    """

    def __init__(self, **options: Any) -> None:
        self.environment = Environment(**options)
        self.render_mode = None
        super().__init__(self.environment.worlds, *spaces(self.environment))
        self._action = np.zeros((self.num_envs, self.environment.actions))
        self._paid, self._lasted = np.zeros(self.num_envs), np.zeros(self.num_envs, int)
        self._periods = 0

    def reset(self) -> Array:
        """Episodes begin in all worlds; observations (num_envs, k). After `seed(n)` those of the
        seed n, else others than before.
        """
        seed = self._seeds[0]
        self._reset_seeds()
        self._reset_options()
        self._paid[:], self._lasted[:] = 0, 0
        return self.environment.reset(seed)

    def step_async(self, actions: Array) -> None:
        self._action = np.asarray(actions)

    def step_wait(self) -> tuple[Array, Array, NDArray[np.bool_], list[dict[str, Any]]]:
        """One control period in every world."""
        # the period, counted
        out = self.environment.step(self._action)
        ended = out.terminated | out.truncated
        self._paid += out.reward
        self._lasted += 1
        self._periods += 1
        # what there is to tell of each world
        told: list[dict[str, Any]] = [
            dict(zip(self.environment.rewards, row, strict=True)) for row in out.terms.tolist()
        ]
        for k, info in enumerate(told):
            info["diverged"], info["unconverged"] = out.diverged[k], out.unconverged[k]
        time = self._periods / self.environment.task.rate
        for k in np.flatnonzero(ended):
            told[k]["terminal_observation"] = out.final[k]
            told[k]["TimeLimit.truncated"] = bool(out.truncated[k])
            told[k]["episode"] = {"r": self._paid[k], "l": int(self._lasted[k]), "t": time}
        self._paid[ended], self._lasted[ended] = 0, 0
        return out.observation, out.reward, ended, told

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The same for all worlds: an attribute of this, or of the environment."""
        owner = self if attr_name in vars(self) else self.environment
        return [getattr(owner, attr_name)] * len(self._which(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise Unsupported(
            "the worlds of an environment share their attributes; create another environment.",
            attr_name,
        )

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        raise Unsupported(
            "the worlds of an environment are not separate objects; call the method of the"
            " environment.",
            method_name,
        )

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No world is; but episodes are counted as the wrapper Monitor counts them."""
        return [wrapper_class.__name__ == "Monitor"] * len(self._which(indices))

    def _which(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))
