"""Proximal policy optimization in NumPy: an actor and a critic, trained on short rollouts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.environments.mirror import Mirror
from tarsus.errors import InvalidValue
from tarsus.learning.methods.base import Learner, Method, Round
from tarsus.learning.network import Adam, Network
from tarsus.learning.policy import ObservationScale, Policy
from tarsus.parameters import parameter
from tarsus.references.learning import SCHULMAN_2016, SCHULMAN_2017
from tarsus.references.reference import Citation
from tarsus.tasks.base import require_fitted

Array = NDArray[np.float32]
CHUNK_SIZE = 2048  # rows per task; fixed, so that sums do not depend on the threads
MIN_RATE, MAX_RATE = 1e-4, 1e-2  # limits of the actor's learning rate
MIN_DEVIATION = 1e-6
MIN_NOISE = 0.05  # least bound on the standard deviation of actions


@dataclass(frozen=True, kw_only=True)
class PPO(Method):
    """Proximal policy optimization (Schulman 2017) with generalized advantages (Schulman 2016).

    The actor's learning rate adapts to the KL divergence between the policies of successive rounds.
    The resulting policy averages the weights of the last rounds, which is steadier than any of
    them.

    The fields are the settings of the method, which `tarsus learn --set NAME=VALUE` changes.

    References
    ----------
    Schulman et al. 2017, Proximal policy optimization algorithms. Schulman et al. 2016,
    High-dimensional continuous control using generalized advantage estimation.

    Examples
    --------
    >>> import tarsus
    >>> env = tarsus.Environment("velocity", worlds=16)
    >>> learner = tarsus.PPO(worlds=16).create_learner(env, seed=0)
    >>> round = learner.run_round()
    >>> round.periods
    384
    """

    citation: ClassVar[Citation] = (
        SCHULMAN_2017.at("Eqn. (7)"),
        SCHULMAN_2016.at("Eqn. (16)"),
    )

    periods: int = parameter(24, "[1]", "control periods per round", "[1, 1e4]")
    epochs: int = parameter(4, "[1]", "passes over the samples of a round", "[1, 1e3]")
    minibatches: int = parameter(4, "[1]", "minibatches per epoch", "[1, 1e4]")
    width: int = parameter(32, "[1]", "size of each of the two hidden layers", "[2, 4096]")
    discount: float = parameter(0.97, "[1]", "discount factor per period", "(0, 1)", "gamma")
    gae_lambda: float = parameter(
        0.95, "[1]", "decay of generalized advantages", "[0, 1]", "lambda"
    )
    clip: float = parameter(0.2, "[1]", "clip range of the likelihood ratio", "(0, 1)", "epsilon")
    value_clip: float = parameter(0.5, "[1]", "clip range of the value", "(0, inf)")
    rate: float = parameter(1e-3, "[1]", "initial learning rate of the actor", "(0, 1]")
    critic_rate: float = parameter(1e-3, "[1]", "learning rate of the critic", "(0, 1]")
    kl_range: tuple[float, float] = parameter(
        (0.005, 0.02),
        "[1]",
        "KL divergences below which the rate grows and above which it shrinks",
    )
    noise: float = parameter(0.4, "[1]", "initial standard deviation of actions", "(0, inf)")
    entropy: float = parameter(0.0, "[1]", "entropy bonus", "[0, inf)")
    fall_penalty: float = parameter(1.0, "[1]", "penalty of a failure", "[0, inf)")
    reward_scale: float = parameter(
        0.15, "[1]", "scale of rewards, for values close to one", "(0, inf)"
    )
    noise_half_life: float = parameter(
        60.0, "[1]", "half-life of the bound on noise, in rounds", "(0, inf)"
    )
    average_decay: float = parameter(
        0.9, "[1]", "decay of the average of weights per round", "[0, 1)"
    )
    staggered: int = parameter(
        0, "[1]", "1: stagger the ends of the first episodes, 0: all end at the same time", "[0, 1]"
    )
    scale_rounds: int = parameter(40, "[1]", "rounds that update the observation scale", "[1, inf)")

    def create_learner(self, environment: Environment, seed: int = 0) -> PPOLearner:
        return PPOLearner(self, environment, seed)


@dataclass(frozen=True, eq=False)
class SampleBatch:
    """Samples of a round, one row per period and world.

    Attributes
    ----------
    x
        Scaled observations.
    action
        Actions.
    log_likelihood
        Logarithm of their likelihood.
    advantage
        Advantage of the action over the expected value.
    target
        Target of the critic.
    old_value
        Output of the critic during collection.
    """

    x: Array
    action: Array
    log_likelihood: Array
    advantage: Array
    target: Array
    old_value: Array

    def rows(self, indices: NDArray[np.int64]) -> SampleBatch:
        """Select rows."""
        return SampleBatch(*(part[indices] for part in vars(self).values()))


class PPOLearner(Learner):
    """Actor, critic, and the scale of their observations."""

    def __init__(self, settings: PPO, environment: Environment, seed: int) -> None:
        super().__init__(environment, seed)
        if (rows := environment.worlds * settings.periods) < settings.minibatches:
            raise InvalidValue(
                f"minibatches must not exceed the {rows} rows of a round, worlds times periods, not"
                f" {settings.minibatches}.",
                "minibatches",
            )
        # the networks, symmetric if requested
        k, n, h = environment.observation_size, environment.action_size, settings.width
        random = np.random.default_rng([seed])
        self.settings, mirror = settings, environment.mirror if settings.symmetric else None
        self.mirror: Mirror | None = mirror[0] if mirror else None
        one = Mirror(np.zeros(1, int), np.ones(1, np.float32))
        self.actor, self.critic = Network((k, h, h, n), free_weights=n), Network((k, h, h, 1))
        sides = (mirror[0], mirror[1]) if mirror else None
        self.actor_optimizer = Adam(
            self.actor.initial_weights(random, 0.01), self.actor.mirror(*sides) if sides else None
        )
        self.critic_optimizer = Adam(
            self.critic.initial_weights(random),
            self.critic.mirror(sides[0], one) if sides else None,
        )
        self.actor_optimizer.weights[-n:] = np.log(settings.noise)
        self.average = self.actor_optimizer.weights.copy()
        if settings.staggered:
            self._stagger_episodes()
        # scale of the observations
        self.mean, self.square = np.zeros(k, np.float32), np.ones(k, np.float32)
        self.rate = np.full(1, settings.rate)
        self._pool = ThreadPoolExecutor(environment.backend.threads)

    def _stagger_episodes(self) -> None:
        """Stagger the first episodes, so that no round contains only starts or only ends."""
        env = self.environment
        periods = round(require_fitted(env.task.episode) * env.task.rate)
        env.restore({"clock": (np.arange(env.worlds) * periods // env.worlds)[:, None]})

    @property
    def scale(self) -> ObservationScale:
        """Scale of the observations."""
        variance = np.maximum(self.square - self.mean**2, 0)
        return ObservationScale(self.mean.copy(), np.sqrt(variance + np.float32(1e-4)))

    @property
    def policy(self) -> Policy:
        return Policy(self.actor, self.average.copy(), self.scale)

    def arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {"mean": self.mean, "square": self.square, "rate": self.rate}
        arrays |= {"observations": self.observations, "average": self.average}
        for name, adam in (("actor", self.actor_optimizer), ("critic", self.critic_optimizer)):
            arrays |= {f"{name}.{part}": value for part, value in adam.arrays().items()}
        return arrays

    def _run_round(self) -> Round:
        random = self.round_generator()
        self.statistics.start_round()
        raw, batch = self._collect(random)
        details = self._update(batch, random)
        self.average += (1 - self.settings.average_decay) * (
            self.actor_optimizer.weights - self.average
        )
        self.rounds += 1
        if self.rounds <= self.settings.scale_rounds:
            self._rescale(raw)
        periods = self.rounds * self.settings.periods * self.environment.worlds
        return Round(self.rounds, periods, **self.statistics.fields(), details=details)

    def _collect(self, random: np.random.Generator) -> tuple[Array, SampleBatch]:
        """Run the control periods of a round; return raw observations, (rows, k), and samples."""
        # periods
        settings, env, scale, w = (
            self.settings,
            self.environment,
            self.scale,
            self.actor_optimizer.weights,
        )
        shape, n = (settings.periods, env.worlds), env.action_size
        raw = np.empty((*shape, env.observation_size), np.float32)
        x = np.empty((settings.periods + 1, env.worlds, env.observation_size), np.float32)
        noise = random.standard_normal((*shape, n), np.float32)
        action, deviation = np.empty_like(noise), np.exp(w[-n:])
        reward, ended = np.empty(shape, np.float32), np.empty(shape, np.float32)
        # period, worlds, last observations
        truncated: list[tuple[int, NDArray[np.bool_], Array]] = []
        for t in range(settings.periods):
            raw[t], x[t] = self.observations, scale(self.observations)
            action[t] = self.actor(w, x[t]) + deviation * noise[t]
            out = env.step(action[t])
            self.statistics.add(out)
            reward[t] = settings.reward_scale * (
                out.reward - settings.fall_penalty * out.terminated
            )
            ended[t] = out.terminated | out.truncated
            if out.truncated.any():
                truncated.append((t, out.truncated, scale(out.final[out.truncated])))
            self.observations[...] = out.observation
        # values; a truncated episode adds the value of its last state
        x[-1] = scale(self.observations)
        value = self._values(x.reshape(-1, x.shape[-1])).reshape(len(x), -1)
        for t, worlds, last in truncated:
            reward[t, worlds] += settings.discount * self._values(last)
        advantage = self._compute_advantages(reward, ended, value)
        target = advantage + value[:-1]
        advantage = (advantage - advantage.mean()) / (advantage.std() + MIN_DEVIATION)
        log_likelihood = -0.5 * (noise * noise).sum(-1) - w[-n:].sum()
        flat = (part.reshape(-1) for part in (log_likelihood, advantage, target, value[:-1]))
        rows = len(raw) * env.worlds
        return raw.reshape(rows, -1), SampleBatch(
            x[:-1].reshape(rows, -1), action.reshape(rows, -1), *flat
        )

    def _compute_advantages(self, reward: Array, ended: Array, value: Array) -> Array:
        """Compute generalized advantages (Schulman 2016, Eqn. (16))."""
        advantage, accumulated = np.empty_like(reward), np.zeros(reward.shape[1], np.float32)
        decay, discount = self.settings.discount * self.settings.gae_lambda, self.settings.discount
        for t in reversed(range(len(reward))):
            continues = 1 - ended[t]
            accumulated = (
                reward[t] + continues * (discount * value[t + 1] + decay * accumulated) - value[t]
            )
            advantage[t] = accumulated
        return advantage

    def _values(self, x: Array) -> Array:
        """Evaluate the critic for rows of observations."""
        w = self.critic_optimizer.weights
        parts = [x[k : k + CHUNK_SIZE] for k in range(0, len(x), CHUNK_SIZE)]
        return np.concatenate(list(self._pool.map(lambda p: self.critic(w, p)[:, 0], parts)))

    def _update(self, batch: SampleBatch, random: np.random.Generator) -> dict[str, float]:
        """Update both networks on minibatches; return statistics of the update."""
        settings, kl = self.settings, 0.0
        for _ in range(settings.epochs):
            order, kl = random.permutation(len(batch.advantage)), 0.0
            for minibatch in np.array_split(order, settings.minibatches):
                chunks = [
                    minibatch[k : k + CHUNK_SIZE] for k in range(0, len(minibatch), CHUNK_SIZE)
                ]
                gradients = list(
                    self._pool.map(lambda rows: self._gradients(batch.rows(rows)), chunks)
                )
                actor_gradient = np.sum([f[0] for f in gradients], axis=0) / len(minibatch)
                critic_gradient = np.sum([f[1] for f in gradients], axis=0) / len(minibatch)
                actor_gradient[-self.actor.free_weights :] -= settings.entropy
                self.actor_optimizer.step(actor_gradient, float(self.rate[0]))
                self.critic_optimizer.step(critic_gradient, settings.critic_rate)
                kl += sum(f[2] for f in gradients) / len(order)
            lower, upper = settings.kl_range
            self.rate *= 1.5 if kl < lower else 1 / 1.5 if kl > upper else 1.0
            np.clip(self.rate, MIN_RATE, MAX_RATE, out=self.rate)
            max_noise = max(
                MIN_NOISE, settings.noise * 0.5 ** (self.rounds / settings.noise_half_life)
            )
            log_deviation = self.actor_optimizer.weights[-self.actor.free_weights :]
            np.minimum(log_deviation, np.float32(np.log(max_noise)), out=log_deviation)
        deviation = float(np.exp(self.actor_optimizer.weights[-self.actor.free_weights :]).mean())
        return {"kl": kl, "rate": float(self.rate[0]), "deviation": deviation}

    def _gradients(self, batch: SampleBatch) -> tuple[Array, Array, float]:
        """Compute the gradients of both losses and the KL divergence, summed over a batch."""
        # the actor: the clipped surrogate of Schulman 2017, Eqn. (7)
        settings, w, n = self.settings, self.actor_optimizer.weights, self.actor.free_weights
        activations, deviation = self.actor.activations(w, batch.x), np.exp(w[-n:])
        z = (batch.action - activations[-1]) / deviation
        squares = z * z
        log_ratio = -0.5 * squares.sum(1) - w[-n:].sum() - batch.log_likelihood
        ratio = np.exp(log_ratio)
        unclipped = np.where(
            batch.advantage > 0, ratio < 1 + settings.clip, ratio > 1 - settings.clip
        )
        weight = (unclipped * ratio * batch.advantage)[:, None]
        actor_gradient = self.actor.gradient(w, activations, -weight * z / deviation)
        actor_gradient[-n:] = -(weight * (squares - 1)).sum(0)
        # the critic: squared errors, with no gradient beyond the clip range
        activations = self.critic.activations(self.critic_optimizer.weights, batch.x)
        value = activations[-1][:, 0]
        error, shift = value - batch.target, value - batch.old_value
        clipped = (np.abs(shift) > settings.value_clip) & (error * shift > 0)
        output_gradient = np.where(clipped, 0, error)[:, None]
        critic_gradient = self.critic.gradient(
            self.critic_optimizer.weights, activations, output_gradient
        )
        return actor_gradient, critic_gradient, float((ratio - 1 - log_ratio).sum())

    def _rescale(self, raw: Array) -> None:
        """Update the scale of the observations; mirror images count as observed."""
        mean, square = raw.mean(0), (raw * raw).mean(0)
        if self.mirror is not None:
            mean, square = (
                self.mirror.symmetrize(mean),
                0.5 * (square + square[self.mirror.order]),
            )
        self.mean += (mean - self.mean) / self.rounds
        self.square += (square - self.square) / self.rounds
