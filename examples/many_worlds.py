"""4096 robots with random friction, load and push, one second each: who falls?

Nothing is compiled twice, and nothing runs in Python while they walk.
"""

import time

import numpy as np

import tarsus

WORLDS, SECONDS = 4096, 3.0


def main(worlds: int = WORLDS) -> None:
    """Simulate, then sort the falls by friction."""
    random = np.random.default_rng(1)
    sim = tarsus.Simulation(
        "mini_cheetah", controller="trot", worlds=worlds, threads=2, varied={"mass": "base"}
    )
    mu, load = random.uniform(0.05, 1.0, worlds), random.uniform(3.0, 8.0, worlds)
    sim.set(mu=mu, mass={"base": load}, command={"speed": random.uniform(0.0, 0.4, worlds)})
    start = time.perf_counter()
    sim.advance(SECONDS)
    spent = time.perf_counter() - start
    fell = (1 - 2 * (sim.q[:, 4] ** 2 + sim.q[:, 5] ** 2) < 0.7) | (sim.q[:, 2] < 0.15)
    steps = worlds * SECONDS / sim.dt
    rate = f"{steps / spent / 1e6:.1f} M steps/s"
    print(f"{worlds} worlds, {SECONDS:g} s each, in {spent:.2f} s: {rate}")
    for low in np.arange(0.0, 1.0, 0.2):
        chosen = (mu >= low) & (mu < low + 0.2)
        print(f"  mu {low:.1f} to {low + 0.2:.1f}: {100 * fell[chosen].mean():5.1f} % fell")


if __name__ == "__main__":
    main()
