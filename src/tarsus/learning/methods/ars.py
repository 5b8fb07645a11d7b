"""Augmented random search: linear policies, one world per direction, no gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.learning.methods.base import Learner, Method, Round
from tarsus.learning.network import Network
from tarsus.learning.policy import ObservationScale, Policy
from tarsus.parameters import parameter
from tarsus.references.learning import MANIA_2018
from tarsus.references.reference import Citation

Array = NDArray[np.float32]
MIN_DEVIATION = 1e-6


@dataclass(frozen=True, kw_only=True)
class ARS(Method):
    """Augmented random search over linear policies (Mania 2018, Algorithm 1, version V2-t).

    Each pair of worlds tries a direction and its opposite for `periods` control periods, from
    different initial states.
    """

    citation: ClassVar[Citation] = (MANIA_2018.at("Algorithm 1"),)

    periods: int = parameter(75, "[1]", "control periods per round", "[1, 1e5]")
    best: float = parameter(
        0.5, "[1]", "fraction of directions, the best ones, that are used", "(0, 1]"
    )
    perturbation: float = parameter(
        0.06, "[1]", "size of the perturbations of the weights", "(0, inf)"
    )
    rate: float = parameter(0.06, "[1]", "step size of a round", "(0, inf)")
    fall_penalty: float = parameter(
        5.0, "s", "penalty of a failure, in seconds of reward", "[0, inf)"
    )

    def create_learner(self, environment: Environment, seed: int = 0) -> ARSLearner:
        return ARSLearner(self, environment, seed)


class ARSLearner(Learner):
    """Learner of the weights of one linear layer, and of the scale of its observations."""

    def __init__(self, settings: ARS, environment: Environment, seed: int) -> None:
        super().__init__(environment, seed)
        k, n = environment.observation_size, environment.action_size
        self.settings, self.network = settings, Network((k, n))
        self.weights = np.zeros(self.network.count, np.float32)
        image = environment.mirror if settings.symmetric else None
        self.mirror = self.network.mirror(*image) if image else None
        self.count, self.mean, self.square = np.zeros(1), np.zeros(k), np.zeros(k)

    @property
    def scale(self) -> ObservationScale:
        """Scale of the observations so far; none before the first round."""
        if not self.count[0]:
            return ObservationScale(*(np.full(len(self.mean), v, np.float32) for v in (0, 1)))
        variance = np.maximum(self.square - self.mean**2, 0)
        return ObservationScale(
            self.mean.astype(np.float32), np.sqrt(variance + 1e-4).astype(np.float32)
        )

    @property
    def policy(self) -> Policy:
        return Policy(self.network, self.weights.copy(), self.scale)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "weights": self.weights,
            "count": self.count,
            "mean": self.mean,
            "square": self.square,
        }

    def _run_round(self) -> Round:
        # directions, and their opposites in the second half of the worlds
        settings, env, random = self.settings, self.environment, self.round_generator()
        pairs = env.worlds // 2
        directions = random.standard_normal((pairs, self.network.count), np.float32)
        if self.mirror is not None:
            directions = np.sqrt(2) * self.mirror.symmetrize(directions)
        self.statistics.start_round()
        returns = self._measure_returns(
            np.concatenate([directions, -directions]) * np.float32(settings.perturbation)
        )
        # a step along the best (Mania 2018, Algorithm 1, lines 6 and 7)
        forward, backward = returns[:pairs], returns[pairs : 2 * pairs]
        best = np.argsort(-np.maximum(forward, backward), kind="stable")
        best = best[: max(1, round(settings.best * pairs))]
        spread = np.concatenate([forward[best], backward[best]]).std() + MIN_DEVIATION
        gain = (forward[best] - backward[best]) / (spread * len(best))
        self.weights += np.float32(settings.rate) * (gain.astype(np.float32) @ directions[best])
        self.rounds += 1
        periods = self.rounds * settings.periods * env.worlds
        details = {"spread": float(spread), "best": float(returns[best].mean() * env.task.rate)}
        return Round(self.rounds, periods, **self.statistics.fields(), details=details)

    def _measure_returns(self, perturbations: Array) -> NDArray[np.float64]:
        """Measure the mean reward per period of each world, shape (worlds,).

        Row k of `perturbations`, shape (worlds, count), is added to the weights of world k. Rewards
        count until the first failure of a world.
        """
        # one matrix per world; a world without a partner runs the policy itself
        settings, env, scale = self.settings, self.environment, self.scale
        weights = np.tile(self.weights, (env.worlds, 1))
        weights[: len(perturbations)] += perturbations
        k, n = self.network.sizes
        matrix, offset = weights[:, : k * n].reshape(-1, k, n), weights[:, k * n :]
        observation, running = env.reset(), np.ones(env.worlds, bool)
        total_reward = np.zeros(env.worlds)
        total, squares = np.zeros(k), np.zeros(k)
        # periods
        for _ in range(settings.periods):
            total += observation.sum(0, dtype=float)
            squares += (observation.astype(float) ** 2).sum(0)
            action = np.matmul(scale(observation)[:, None, :], matrix)[:, 0] + offset
            out = env.step(action)
            self.statistics.add(out)
            total_reward += running * (out.reward - settings.fall_penalty * out.terminated)
            running &= ~out.terminated
            observation = out.observation
        # scale of the observations for the next round
        count = settings.periods * env.worlds
        self.count += count
        self.mean += (total - count * self.mean) / self.count
        self.square += (squares - count * self.square) / self.count
        return total_reward / settings.periods
