"""Proximal policy optimization in NumPy: an actor, a critic, and what came of many short trials."""

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
from tarsus.learning.policy import Policy, SeenScale
from tarsus.parameters import parameter
from tarsus.references.learning import SCHULMAN_2016, SCHULMAN_2017
from tarsus.references.reference import Citation
from tarsus.tasks.base import known

Array = NDArray[np.float32]
CHUNK = 2048  # rows that are worked on at a time, whatever the threads: sums are in this order
SLOWEST, FASTEST = 1e-4, 1e-2  # the actor's rate stays between them
TINY = 1e-6
LEAST = 0.05  # standard deviation of actions: the bound on noise goes no lower


@dataclass(frozen=True, kw_only=True)
class PPO(Method):
    """Proximal policy optimization (Schulman 2017) with generalized advantages (Schulman 2016).

    The actor's rate follows how far a round moves the policy. What is given away is an average over
    the last rounds' weights, which stumbles less than any of them.
    """

    citation: ClassVar[Citation] = (
        SCHULMAN_2017.at("Eqn. (7)"),
        SCHULMAN_2016.at("Eqn. (16)"),
    )

    periods: int = parameter(24, "[1]", "of control in a round", "[1, 1e4]")
    epochs: int = parameter(4, "[1]", "times that a round's periods are learned from", "[1, 1e3]")
    parts: int = parameter(4, "[1]", "steps of the networks in an epoch", "[1, 1e4]")
    width: int = parameter(32, "[1]", "of each of the two layers", "[2, 4096]")
    discount: float = parameter(
        0.97, "[1]", "worth of a reward one period later", "(0, 1)", "gamma"
    )
    trace: float = parameter(0.95, "[1]", "how far advantages reach ahead", "[0, 1]", "lambda")
    clip: float = parameter(
        0.2, "[1]", "change of a likelihood that still pays", "(0, 1)", "epsilon"
    )
    value_clip: float = parameter(0.5, "[1]", "change of a value that still pays", "(0, inf)")
    rate: float = parameter(1e-3, "[1]", "of the actor's steps, to begin with", "(0, 1]")
    critic_rate: float = parameter(1e-3, "[1]", "of the critic's steps", "(0, 1]")
    drift: tuple[float, float] = parameter(
        (0.005, 0.02), "[1]", "of the policy in a round: less makes the rate larger, more smaller"
    )
    noise: float = parameter(0.4, "[1]", "standard deviation of actions, to begin with", "(0, inf)")
    spread: float = parameter(0.0, "[1]", "worth of wide actions", "[0, inf)")
    fall: float = parameter(1.0, "[1]", "cost of a failure", "[0, inf)")
    worth: float = parameter(0.15, "[1]", "factor on rewards, for values near one", "(0, inf)")
    quieter: float = parameter(60.0, "[1]", "rounds in which the bound on noise halves", "(0, inf)")
    averaged: float = parameter(0.9, "[1]", "share of the policy that outlasts a round", "[0, 1)")
    apart: int = parameter(
        0, "[1]", "1: first episodes end one after the other, 0: all together", "[0, 1]"
    )
    scaled: int = parameter(40, "[1]", "rounds that find the scale of what is seen", "[1, inf)")

    def learner(self, environment: Environment, seed: int = 0) -> PPOLearner:
        return PPOLearner(self, environment, seed)


@dataclass(frozen=True, eq=False)
class Trials:
    """What a round's periods brought, a row each.

    x: what was seen, scaled; action; likely: the logarithm of its likelihood; gain: by how much it
    was better than expected; aim: what the critic should have said; said: what it said
    """

    x: Array
    action: Array
    likely: Array
    gain: Array
    aim: Array
    said: Array

    def rows(self, which: NDArray[np.int64]) -> Trials:
        """Some of them."""
        return Trials(*(part[which] for part in vars(self).values()))


class PPOLearner(Learner):
    """Actor, critic, and the scale of what they see."""

    def __init__(self, settings: PPO, environment: Environment, seed: int) -> None:
        super().__init__(environment, seed)
        if (rows := environment.worlds * settings.periods) < settings.parts:
            raise InvalidValue(
                f"parts must not exceed the {rows} rows of a round, worlds times periods, not"
                f" {settings.parts}.",
                "parts",
            )
        # the networks, their own images if they shall be
        k, n, h = environment.observations, environment.actions, settings.width
        random = np.random.default_rng([seed])
        self.settings, mirror = settings, environment.mirror if settings.symmetric else None
        self.mirror: Mirror | None = mirror[0] if mirror else None
        one = Mirror(np.zeros(1, int), np.ones(1, np.float32))
        self.actor, self.critic = Network((k, h, h, n), own=n), Network((k, h, h, 1))
        sides = (mirror[0], mirror[1]) if mirror else None
        self.acting = Adam(
            self.actor.initial(random, 0.01), self.actor.mirror(*sides) if sides else None
        )
        self.judging = Adam(
            self.critic.initial(random), self.critic.mirror(sides[0], one) if sides else None
        )
        self.acting.weights[-n:] = np.log(settings.noise)
        self.average = self.acting.weights.copy()
        if settings.apart:
            self._part()
        # what is seen
        self.mean, self.square = np.zeros(k, np.float32), np.ones(k, np.float32)
        self.rate = np.full(1, settings.rate)
        self._pool = ThreadPoolExecutor(environment.backend.threads)

    def _part(self) -> None:
        """Each world as if its first episode had begun earlier than the next one's: no round sees
        beginnings alone, or ends.
        """
        env = self.environment
        whole = round(known(env.task.episode) * env.task.rate)
        env.restore({"clock": (np.arange(env.worlds) * whole // env.worlds)[:, None]})

    @property
    def scale(self) -> SeenScale:
        """Of what is seen."""
        variance = np.maximum(self.square - self.mean**2, 0)
        return SeenScale(self.mean.copy(), np.sqrt(variance + np.float32(1e-4)))

    @property
    def policy(self) -> Policy:
        return Policy(self.actor, self.average.copy(), self.scale)

    def arrays(self) -> dict[str, NDArray[Any]]:
        found = {"mean": self.mean, "square": self.square, "rate": self.rate, "seen": self.seen}
        found["average"] = self.average
        for name, adam in (("actor", self.acting), ("critic", self.judging)):
            found |= {f"{name}.{part}": value for part, value in adam.arrays().items()}
        return found

    def _round(self) -> Round:
        random = self.random()
        self.tally.begin()
        raw, trials = self._collect(random)
        told = self._improve(trials, random)
        self.average += (1 - self.settings.averaged) * (self.acting.weights - self.average)
        self.rounds += 1
        if self.rounds <= self.settings.scaled:
            self._rescale(raw)
        periods = self.rounds * self.settings.periods * self.environment.worlds
        return Round(self.rounds, periods, **self.tally.figures(), told=told)

    def _collect(self, random: np.random.Generator) -> tuple[Array, Trials]:
        """What was seen (rows, k), as it came, and the round's trials."""
        # the periods
        set_, env, scale, w = self.settings, self.environment, self.scale, self.acting.weights
        shape, n = (set_.periods, env.worlds), env.actions
        raw = np.empty((*shape, env.observations), np.float32)
        x = np.empty((set_.periods + 1, env.worlds, env.observations), np.float32)
        noise = random.standard_normal((*shape, n), np.float32)
        action, deviation = np.empty_like(noise), np.exp(w[-n:])
        paid, cut = np.empty(shape, np.float32), np.empty(shape, np.float32)
        late: list[tuple[int, NDArray[np.bool_], Array]] = []  # whose time was over, what they saw
        for t in range(set_.periods):
            raw[t], x[t] = self.seen, scale(self.seen)
            action[t] = self.actor(w, x[t]) + deviation * noise[t]
            out = env.step(action[t])
            self.tally.count(out)
            paid[t] = set_.worth * (out.reward - set_.fall * out.terminated)
            cut[t] = out.terminated | out.truncated
            if out.truncated.any():
                late.append((t, out.truncated, scale(out.final[out.truncated])))
            self.seen[...] = out.observation
        # what the critic says of them; where time was over, of what would have come
        x[-1] = scale(self.seen)
        value = self._valued(x.reshape(-1, x.shape[-1])).reshape(len(x), -1)
        for t, who, last in late:
            paid[t, who] += set_.discount * self._valued(last)
        gain = self._gains(paid, cut, value)
        aim = gain + value[:-1]
        gain = (gain - gain.mean()) / (gain.std() + TINY)
        likely = -0.5 * (noise * noise).sum(-1) - w[-n:].sum()
        flat = (part.reshape(-1) for part in (likely, gain, aim, value[:-1]))
        rows = len(raw) * env.worlds
        return raw.reshape(rows, -1), Trials(
            x[:-1].reshape(rows, -1), action.reshape(rows, -1), *flat
        )

    def _gains(self, paid: Array, cut: Array, value: Array) -> Array:
        """By how much what came was better than expected (Schulman 2016, Eqn. (16))."""
        gain, ahead = np.empty_like(paid), np.zeros(paid.shape[1], np.float32)
        far, near = self.settings.discount * self.settings.trace, self.settings.discount
        for t in reversed(range(len(paid))):
            on = 1 - cut[t]
            ahead = paid[t] + on * (near * value[t + 1] + far * ahead) - value[t]
            gain[t] = ahead
        return gain

    def _valued(self, x: Array) -> Array:
        """What the critic says of rows."""
        w = self.judging.weights
        parts = [x[k : k + CHUNK] for k in range(0, len(x), CHUNK)]
        return np.concatenate(list(self._pool.map(lambda p: self.critic(w, p)[:, 0], parts)))

    def _improve(self, trials: Trials, random: np.random.Generator) -> dict[str, float]:
        """Steps of both networks on parts of the trials; what there is to tell."""
        settings, drift = self.settings, 0.0
        for _ in range(settings.epochs):
            order, drift = random.permutation(len(trials.gain)), 0.0
            for part in np.array_split(order, settings.parts):
                chunks = [part[k : k + CHUNK] for k in range(0, len(part), CHUNK)]
                found = list(self._pool.map(lambda rows: self._slopes(trials.rows(rows)), chunks))
                by_actor = np.sum([f[0] for f in found], axis=0) / len(part)
                by_critic = np.sum([f[1] for f in found], axis=0) / len(part)
                by_actor[-self.actor.own :] -= settings.spread
                self.acting.step(by_actor, float(self.rate[0]))
                self.judging.step(by_critic, settings.critic_rate)
                drift += sum(f[2] for f in found) / len(order)
            least, most = settings.drift
            self.rate *= 1.5 if drift < least else 1 / 1.5 if drift > most else 1.0
            np.clip(self.rate, SLOWEST, FASTEST, out=self.rate)
            loud = max(LEAST, settings.noise * 0.5 ** (self.rounds / settings.quieter))
            spread = self.acting.weights[-self.actor.own :]
            np.minimum(spread, np.float32(np.log(loud)), out=spread)
        deviation = float(np.exp(self.acting.weights[-self.actor.own :]).mean())
        return {"drift": drift, "rate": float(self.rate[0]), "deviation": deviation}

    def _slopes(self, some: Trials) -> tuple[Array, Array, float]:
        """Slopes of the losses by the weights, of the actor and of the critic, and how far the
        policy has moved; sums over the trials.
        """
        # the actor: the clipped surrogate of Schulman 2017, Eqn. (7)
        settings, w, n = self.settings, self.acting.weights, self.actor.own
        kept, deviation = self.actor.kept(w, some.x), np.exp(w[-n:])
        z = (some.action - kept[-1]) / deviation
        squares = z * z
        change = -0.5 * squares.sum(1) - w[-n:].sum() - some.likely
        ratio = np.exp(change)
        inside = np.where(some.gain > 0, ratio < 1 + settings.clip, ratio > 1 - settings.clip)
        pull = (inside * ratio * some.gain)[:, None]
        by_actor = self.actor.slopes(w, kept, -pull * z / deviation)
        by_actor[-n:] = -(pull * (squares - 1)).sum(0)
        # the critic: squares of errors, and no pull where it has moved far already
        kept = self.critic.kept(self.judging.weights, some.x)
        value = kept[-1][:, 0]
        error, moved = value - some.aim, value - some.said
        far = (np.abs(moved) > settings.value_clip) & (error * moved > 0)
        slope = np.where(far, 0, error)[:, None]
        by_critic = self.critic.slopes(self.judging.weights, kept, slope)
        return by_actor, by_critic, float((ratio - 1 - change).sum())

    def _rescale(self, raw: Array) -> None:
        """The scale of what is seen, from this round too; the image counts as seen."""
        mean, square = raw.mean(0), (raw * raw).mean(0)
        if self.mirror is not None:
            mean, square = self.mirror.even(mean), 0.5 * (square + square[self.mirror.order])
        self.mean += (mean - self.mean) / self.rounds
        self.square += (square - self.square) / self.rounds
