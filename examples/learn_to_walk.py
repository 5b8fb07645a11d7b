"""A quadruped learns to follow commanded speeds: PPO (Schulman 2017) in NumPy over 1024 worlds.

Prints, as it learns, what a second is paid and by how much the forward speed is missed.
"""

import time

import numpy as np

import tarsus

STEPS, EPOCHS, PARTS, GAMMA, LAMBDA, CLIP = 24, 4, 4, 0.97, 0.95, 0.2
AVERAGE = 25  # periods over which a speed is averaged
SCALED = 40  # turns in which the scale of what is seen is found


class Network:
    """Two layers of tanh and a linear one; numbers of its own behind them; Adam."""

    def __init__(self, sizes, random, last=1.0, own=()):
        scale = [*([1.0] * (len(sizes) - 2)), last]
        both = zip(scale, sizes, sizes[1:], strict=False)
        parts = [k * random.normal(size=(a, b)) / np.sqrt(a) for k, a, b in both]
        parts += [np.zeros(b) for b in sizes[1:]] + list(own)
        self.layers, self.weights = len(sizes) - 1, [np.float32(part) for part in parts]
        self.moments = [(np.zeros_like(w), np.zeros_like(w)) for w in self.weights]
        self.count = 0

    def __call__(self, x):
        """The output, and what each layer was given."""
        kept = []
        for k in range(self.layers):
            kept.append(x)
            x = x @ self.weights[k] + self.weights[self.layers + k]
            x = np.tanh(x) if k + 1 < self.layers else x
        return x, kept

    def learn(self, kept, slope, rate, own=()):
        """One step against the slope of a loss by the output."""
        slopes = [*([slope] * (2 * self.layers)), *own]
        for k in reversed(range(self.layers)):
            slopes[k], slopes[self.layers + k] = kept[k].T @ slope, slope.sum(0)
            slope = (slope @ self.weights[k].T) * (1 - kept[k] ** 2)
        self.count += 1
        first, second = 1 - 0.9**self.count, 1 - 0.999**self.count
        for w, g, (m, v) in zip(self.weights, slopes, self.moments, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            w -= rate * (m / first) / (np.sqrt(v / second) + 1e-8)


class Learner:
    """Actor, critic, and the scale of what they see."""

    def __init__(self, env, seed):
        self.env, self.random, k, n = (
            env,
            np.random.default_rng(seed),
            env.observations,
            env.actions,
        )
        self.actor = Network([k, 32, 32, n], self.random, 0.01, own=[np.full(n, np.log(0.6))])
        self.critic = Network([k, 32, 32, 1], self.random)
        self.mean, self.square, self.rate = np.zeros(k, "f"), np.ones(k, "f"), 1e-3
        self.seen = env.reset()
        self.speeds, self.periods = np.zeros((AVERAGE, 2, env.worlds), "f"), 0

    def scaled(self, seen):
        return np.clip((seen - self.mean) / np.sqrt(self.square + 1e-4), -5, 5)

    def collect(self):
        """STEPS periods of all worlds: what was seen, done, meant, paid, expected, and cut off."""
        env, shape = self.env, (STEPS, self.env.worlds)
        raw, a, meant = (np.empty((*shape, k), "f") for k in (env.observations, *[env.actions] * 2))
        paid, cut, value = np.empty(shape, "f"), np.empty(shape, "f"), []
        for t in range(STEPS):
            raw[t], x = self.seen, self.scaled(self.seen)
            meant[t] = self.actor(x)[0]
            noise = self.random.standard_normal(a[t].shape, np.float32)
            a[t] = meant[t] + np.exp(self.actor.weights[-1]) * noise
            value.append(self.critic(x)[0][:, 0])
            out = env.step(a[t])
            paid[t], cut[t] = out.reward - out.terminated, out.terminated | out.truncated
            if out.truncated.any():  # time ran out: what would have come is estimated
                paid[t] += GAMMA * out.truncated * self.critic(self.scaled(out.final))[0][:, 0]
            self.seen = out.observation
            self.speeds[self.periods % AVERAGE] = out.final[:, 6] / 2, out.final[:, 9]
            self.periods += 1
        value.append(self.critic(self.scaled(self.seen))[0][:, 0])
        return raw, a, meant, paid, value, cut

    def improve(self, raw, a, meant, paid, value, cut):
        """Actor and critic by what came of what was done."""
        # by how much it was better than expected
        gain, ahead = np.empty_like(paid), np.zeros(paid.shape[1], "f")
        for t in reversed(range(STEPS)):
            on = 1 - cut[t]
            ahead = paid[t] + GAMMA * on * (value[t + 1] + LAMBDA * ahead) - value[t]
            gain[t] = ahead
        aim = (gain + value[:STEPS]).ravel()
        gain = ((gain - gain.mean()) / (gain.std() + 1e-6)).ravel()
        x, a, meant = (part.reshape(len(aim), -1) for part in (self.scaled(raw), a, meant))
        before = self.actor.weights[-1].copy()
        likely = -0.5 * (((a - meant) / np.exp(before)) ** 2).sum(1) - before.sum()
        # steps on parts of it, smaller where the policy changes much
        for _ in range(EPOCHS):
            for part in np.array_split(self.random.permutation(len(x)), PARTS):
                (mu, kept), spread = self.actor(x[part]), self.actor.weights[-1]
                z = (a[part] - mu) / np.exp(spread)
                ratio = np.exp(-0.5 * (z * z).sum(1) - spread.sum() - likely[part])
                inside = np.where(gain[part] > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)
                pull = (inside * ratio * gain[part])[:, None] / len(part)
                bend = -(pull * (z * z - 1)).sum(0) - 0.003
                self.actor.learn(kept, -pull * z / np.exp(spread), self.rate, [bend])
                expected, kept = self.critic(x[part])
                self.critic.learn(kept, (expected - aim[part, None]) / len(part), 1e-3)
            drift = 0.5 * (((mu - meant[part]) / np.exp(before)) ** 2).sum(1).mean()
            faster = 1.5 if drift < 0.005 else 1 / 1.5 if drift > 0.02 else 1.0
            self.rate = float(np.clip(self.rate * faster, 1e-4, 3e-3))
        # the scale of what is seen
        turn = self.periods // STEPS
        if turn <= SCALED:
            flat = raw.reshape(len(aim), -1)
            self.mean += (flat.mean(0) - self.mean) / turn
            self.square += (flat.var(0) - self.square) / turn

    @property
    def missed(self):
        """By how much the forward speed of half a second misses the command, m/s, on average."""
        speed, asked = self.speeds.mean(0)
        return float(np.abs(speed - asked).mean())


def main(worlds: int = 1024, turns: int = 60, seed: int = 0) -> float:
    """Learn; the last error of speed, m/s."""
    began = time.perf_counter()
    env = tarsus.Environment("velocity", "mini_cheetah", worlds=worlds, seed=seed)
    learner = Learner(env, seed)
    for turn in range(1, turns + 1):
        found = learner.collect()
        learner.improve(*found)
        if turn % 10 == 0:
            spent, done, paid, cut = (
                time.perf_counter() - began,
                learner.periods * worlds,
                *found[3::2],
            )
            print(
                f"{spent:6.1f} s  {done / 1e6:5.2f} M periods  paid {50 * paid.mean():6.2f} and"
                f" {50 * cut.mean():.2f} falls a second  speed missed by {learner.missed:.3f} m/s",
                flush=True,
            )
    return learner.missed


if __name__ == "__main__":
    main()
