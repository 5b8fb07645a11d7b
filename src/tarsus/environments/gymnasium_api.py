"""Environments as Gymnasium's: one world as an `Env`, many as a `VectorEnv`.

`gymnasium.make("tarsus/Velocity-MiniCheetah-v0")` and `gymnasium.make_vec(..., num_envs=4096)` find
them once Tarsus is imported after Gymnasium (`names.register`).
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from tarsus.environments.control_program import MOST
from tarsus.environments.environment import Environment, Transition
from tarsus.errors import Unsupported

Array = NDArray[Any]


class WorldEnv(gymnasium.Env[Array, Array]):
    """One world; options as `Environment` takes them."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  Gymnasium's own type

    def __init__(self, **options: Any) -> None:
        _nothing_to_draw(options)
        self.environment = Environment(**options)
        self.observation_space, self.action_space = spaces(self.environment)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """An episode begins. The same seed gives the same episodes."""
        super().reset(seed=seed)
        return self.environment.reset(seed)[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """One control period; an observation that ends an episode is the last of it."""
        out = self.environment.step(np.asarray(action)[None])
        ends = bool(out.terminated[0]), bool(out.truncated[0])
        told = {name: part[0] for name, part in _told(self.environment, out).items()}
        return out.final[0], float(out.reward[0]), *ends, told


class WorldsEnv(VectorEnv[Array, Array, Array]):
    """Many worlds in one call; a world whose episode ends begins the next in the same step.

    infos: `final_obs` (num_envs, k) with its mask where an episode ended, `diverged`, `unconverged`
    steps, and the parts of the reward by name
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  Gymnasium's own type

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        _nothing_to_draw(options)
        self.environment, self.num_envs = Environment(worlds=num_envs, **options), num_envs
        self.single_observation_space, self.single_action_space = spaces(self.environment)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Episodes begin in all worlds. The same seed gives the same episodes."""
        super().reset(seed=seed)
        return self.environment.reset(seed), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """One control period in every world."""
        out = self.environment.step(actions)
        told = _told(self.environment, out)
        ended = out.terminated | out.truncated
        if ended.any():
            told |= {"final_obs": out.final, "_final_obs": ended}
        return out.observation, out.reward, out.terminated, out.truncated, told


def spaces(environment: Environment) -> tuple[Box, Box]:
    """Of an observation and of an action."""
    dtype = environment.backend.dtype.type
    wide = np.full(environment.actions, MOST, dtype)
    return Box(-np.inf, np.inf, (environment.observations,), dtype), Box(-wide, wide, dtype=dtype)


def _told(environment: Environment, out: Transition) -> dict[str, Array]:
    """What an outcome says beside its rewards, an array (worlds,) each."""
    parts = dict(zip(environment.rewards, out.terms.T, strict=True))
    return parts | {"diverged": out.diverged, "unconverged": out.unconverged}


def _nothing_to_draw(options: dict[str, Any]) -> None:
    if options.pop("render_mode", None) is not None:
        raise Unsupported(
            "render_mode is not supported; watch a run with `tarsus view`.", "render_mode"
        )
