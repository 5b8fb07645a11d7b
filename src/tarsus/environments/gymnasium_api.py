"""Gymnasium adapters: one world as an `Env`, many as a `VectorEnv`.

Gymnasium's arrays are NumPy's: with `device="cuda"` every step copies its results from the GPU.

`gymnasium.make("tarsus/Velocity-MiniCheetah-v0")` and `gymnasium.make_vec(..., num_envs=4096)` find
them if Tarsus is imported after Gymnasium (`names.register`).
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from tarsus.environments.control_program import MAX_ACTION
from tarsus.environments.environment import Environment, Transition
from tarsus.errors import Unsupported

Array = NDArray[Any]


class WorldEnv(gymnasium.Env[Array, Array]):
    """Gymnasium environment of one world; it takes the options of `Environment`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  Gymnasium's own type

    def __init__(self, **options: Any) -> None:
        _reject_render_mode(options)
        self.environment = Environment(**options)
        self.observation_space, self.action_space = spaces(self.environment)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode. Equal seeds give equal episodes."""
        super().reset(seed=seed)
        return _reset(self.environment, seed)[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Advance by one control period; at the end of an episode return its last observation."""
        out = self.environment.to_host(self.environment.step(np.asarray(action)[None]))
        ends = bool(out.terminated[0]), bool(out.truncated[0])
        info = {name: part[0] for name, part in _collect_infos(self.environment, out).items()}
        return out.final[0], float(out.reward[0]), *ends, info


class WorldsEnv(VectorEnv[Array, Array, Array]):
    """Gymnasium vector environment; a world whose episode ends starts the next in the same step.

    The infos contain `final_obs`, shape (num_envs, k), and its mask where an episode ended,
    `diverged`, the number of `unconverged` steps, and the terms of the reward by name.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  Gymnasium's own type

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        _reject_render_mode(options)
        self.environment, self.num_envs = Environment(worlds=num_envs, **options), num_envs
        self.single_observation_space, self.single_action_space = spaces(self.environment)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode in all worlds. Equal seeds give equal episodes."""
        super().reset(seed=seed)
        return _reset(self.environment, seed), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Advance every world by one control period."""
        out = self.environment.to_host(self.environment.step(actions))
        info = _collect_infos(self.environment, out)
        ended = out.terminated | out.truncated
        if ended.any():
            info |= {"final_obs": out.final, "_final_obs": ended}
        return out.observation, out.reward, out.terminated, out.truncated, info


def spaces(environment: Environment) -> tuple[Box, Box]:
    """Create the spaces of an observation and an action."""
    dtype = environment.backend.dtype.type
    limit = np.full(environment.action_size, MAX_ACTION, dtype)
    return Box(-np.inf, np.inf, (environment.observation_size,), dtype), Box(
        -limit, limit, dtype=dtype
    )


def _reset(environment: Environment, seed: int | None) -> Array:
    """Start an episode in all worlds; return NumPy observations, shape (worlds, k)."""
    return environment.backend.to_host(environment.reset(seed))


def _collect_infos(environment: Environment, out: Transition) -> dict[str, Array]:
    """Collect the entries of a result besides its rewards, arrays of shape (worlds,)."""
    parts = dict(zip(environment.rewards, out.terms.T, strict=True))
    return parts | {"diverged": out.diverged, "unconverged": out.unconverged}


def _reject_render_mode(options: dict[str, Any]) -> None:
    if options.pop("render_mode", None) is not None:
        raise Unsupported(
            "render_mode is not supported; watch a run with `tarsus view`.", "render_mode"
        )
