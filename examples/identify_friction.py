"""Identify the friction coefficient of a floor from one recorded slide.

A robot that stands on its servos is thrown forwards and slides to rest. The "measurement" is a run
with a secret coefficient and noise. Gauss-Newton takes residual and derivative from one batch of
worlds around the guess.
"""

import numpy as np

import tarsus

SECRET, NOISE = 0.37, 0.002  # [1], m
SECONDS, SPEED = 0.6, 1.2  # s, m/s


def slides(sim: tarsus.Simulation, mu: np.ndarray) -> np.ndarray:
    """Way of the trunk (worlds, samples), m, under each coefficient."""
    sim.reset()
    u = np.zeros((sim.worlds, sim.robot.nu))
    u[:, 0] = SPEED
    sim.set(mu=mu, u=u)
    rows = []
    for _ in range(30):
        sim.advance(SECONDS / 30)
        rows.append(sim.q[:, 0].copy())
    return np.stack(rows, axis=1)


def main() -> None:
    """Measure, guess, correct."""
    sim = tarsus.Simulation("mini_cheetah", controller="stand", worlds=4, dt=0.002)
    noise = NOISE * np.random.default_rng(3).standard_normal(30)
    measured = slides(sim, np.full(4, SECRET))[0] + noise
    guess, width = 0.8, 0.02
    for iteration in range(8):
        tried = slides(sim, np.array([guess, guess - width, guess + width, guess]))
        residual = tried[0] - measured
        slope = (tried[2] - tried[1]) / (2 * width)
        rms = 1e3 * np.sqrt(np.mean(residual**2))
        print(f"{iteration}: mu {guess:.4f}, residual {rms:.2f} mm")
        guess = float(np.clip(guess - slope @ residual / (slope @ slope), 0.05, 1.5))
        width = max(0.5 * width, 0.002)
    spread = NOISE / np.sqrt(slope @ slope)
    print(f"mu = {guess:.4f} +- {spread:.4f}; it was {SECRET}")


if __name__ == "__main__":
    main()
