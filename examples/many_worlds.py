"""Simulate 4096 robots with random friction, load and speed for three seconds.

Nothing is compiled twice, and nothing runs in Python while they walk. The script prints, by
friction, the share of the commanded distance and how many robots fell.
"""

import time

import numpy as np

import tarsus

WORLDS, SECONDS = 4096, 3.0


def main(worlds: int = WORLDS) -> None:
    """Simulate, then sort by friction: how far they came of what was commanded, and who fell."""
    random = np.random.default_rng(1)
    sim = tarsus.Simulation(
        "mini_cheetah", controller="trot", worlds=worlds, threads=2, varied={"mass": "base"}
    )
    speed = random.uniform(0.1, 0.4, worlds)
    mu, load = random.uniform(0.02, 1.0, worlds), random.uniform(3.0, 8.0, worlds)
    sim.set(mu=mu, mass={"base": load}, command={"speed": speed})
    sim.advance(1.0)  # up to speed
    x = sim.q[:, 0].copy()
    start = time.perf_counter()
    sim.advance(SECONDS)
    spent = time.perf_counter() - start
    fell = (1 - 2 * (sim.q[:, 4] ** 2 + sim.q[:, 5] ** 2) < 0.7) | (sim.q[:, 2] < 0.15)
    share = (sim.q[:, 0] - x) / (speed * SECONDS)
    steps = worlds * SECONDS / sim.dt
    rate = f"{steps / spent / 1e6:.1f} M steps/s"
    print(f"{worlds} worlds, {SECONDS:g} s each, in {spent:.2f} s: {rate}")
    for low, high in ((0.02, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.5), (0.5, 1.0)):
        chosen = (mu >= low) & (mu < high)
        far, down = 100 * share[chosen].mean(), 100 * fell[chosen].mean()
        print(f"  mu {low:.2f} to {high:.2f}: {far:5.1f} % of the way, {down:4.1f} % fell")


if __name__ == "__main__":
    main()
