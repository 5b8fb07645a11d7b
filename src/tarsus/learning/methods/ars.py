"""Augmented random search: small linear policies, a world for each direction, and no slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.learning.methods.base import Learner, Method, Round
from tarsus.learning.network import Network
from tarsus.learning.policy import Policy, SeenScale
from tarsus.parameters import parameter
from tarsus.references.learning import MANIA_2018
from tarsus.references.reference import Citation

Array = NDArray[np.float32]
TINY = 1e-6


@dataclass(frozen=True, kw_only=True)
class ARS(Method):
    """Augmented random search over linear policies (Mania 2018, Algorithm 1, version V2-t).

    A pair of worlds tries a direction and its opposite, from their own beginnings, for `periods`.
    """

    citation: ClassVar[Citation] = (MANIA_2018.at("Algorithm 1"),)

    periods: int = parameter(75, "[1]", "of control in a round", "[1, 1e5]")
    best: float = parameter(0.5, "[1]", "share of the directions that are followed", "(0, 1]")
    reach: float = parameter(0.06, "[1]", "how far weights are moved to try", "(0, inf)")
    rate: float = parameter(0.06, "[1]", "of a round's step", "(0, inf)")
    fall: float = parameter(5.0, "s", "of reward that a failure costs", "[0, inf)")

    def learner(self, environment: Environment, seed: int = 0) -> ARSLearner:
        return ARSLearner(self, environment, seed)


class ARSLearner(Learner):
    """The weights of one linear layer, and the scale of what it sees."""

    def __init__(self, settings: ARS, environment: Environment, seed: int) -> None:
        super().__init__(environment, seed)
        k, n = environment.observations, environment.actions
        self.settings, self.network = settings, Network((k, n))
        self.weights = np.zeros(self.network.count, np.float32)
        image = environment.mirror if settings.symmetric else None
        self.mirror = self.network.mirror(*image) if image else None
        self.count, self.mean, self.square = np.zeros(1), np.zeros(k), np.zeros(k)

    @property
    def scale(self) -> SeenScale:
        """Of what was seen; as it comes before the first round."""
        if not self.count[0]:
            return SeenScale(*(np.full(len(self.mean), v, np.float32) for v in (0, 1)))
        variance = np.maximum(self.square - self.mean**2, 0)
        return SeenScale(self.mean.astype(np.float32), np.sqrt(variance + 1e-4).astype(np.float32))

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

    def _round(self) -> Round:
        # directions, and their opposites in the second half of the worlds
        settings, env, random = self.settings, self.environment, self.random()
        pairs = env.worlds // 2
        tried = random.standard_normal((pairs, self.network.count), np.float32)
        if self.mirror is not None:
            tried = np.sqrt(2) * self.mirror.even(tried)
        self.tally.begin()
        paid = self._paid(np.concatenate([tried, -tried]) * np.float32(settings.reach))
        # a step along the best (Mania 2018, Algorithm 1, lines 6 and 7)
        ahead, back = paid[:pairs], paid[pairs : 2 * pairs]
        best = np.argsort(-np.maximum(ahead, back), kind="stable")
        best = best[: max(1, round(settings.best * pairs))]
        spread = np.concatenate([ahead[best], back[best]]).std() + TINY
        gain = (ahead[best] - back[best]) / (spread * len(best))
        self.weights += np.float32(settings.rate) * (gain.astype(np.float32) @ tried[best])
        self.rounds += 1
        periods = self.rounds * settings.periods * env.worlds
        told = {"spread": float(spread), "best": float(paid[best].mean() * env.task.rate)}
        return Round(self.rounds, periods, **self.tally.figures(), told=told)

    def _paid(self, moved: Array) -> NDArray[np.float64]:
        """Reward a period of each world (worlds,), whose weights are moved by rows (worlds, count);
        a world counts up to its first failure.
        """
        # each world's own matrix; one without a partner goes with the policy itself
        settings, env, scale = self.settings, self.environment, self.scale
        weights = np.tile(self.weights, (env.worlds, 1))
        weights[: len(moved)] += moved
        k, n = self.network.sizes
        matrix, offset = weights[:, : k * n].reshape(-1, k, n), weights[:, k * n :]
        seen, going = env.reset(), np.ones(env.worlds, bool)
        paid = np.zeros(env.worlds)
        total, squares = np.zeros(k), np.zeros(k)
        # the periods
        for _ in range(settings.periods):
            total += seen.sum(0, dtype=float)
            squares += (seen.astype(float) ** 2).sum(0)
            action = np.matmul(scale(seen)[:, None, :], matrix)[:, 0] + offset
            out = env.step(action)
            self.tally.count(out)
            paid += going * (out.reward - settings.fall * out.terminated)
            going &= ~out.terminated
            seen = out.observation
        # what was seen, for the next round's scale
        count = settings.periods * env.worlds
        self.count += count
        self.mean += (total - count * self.mean) / self.count
        self.square += (squares - count * self.square) / self.count
        return paid / settings.periods
