"""Find the largest push that a standing robot withstands, in many directions.

Every world is a Mini Cheetah that stands on its servos. Each is pushed for 0.1 s in its own
direction with its own force. The script prints the largest push, N, by direction.
"""

import numpy as np

import tarsus

DIRECTIONS, FORCES = np.deg2rad(np.arange(0, 360, 45)), np.linspace(0.0, 250.0, 26)  # rad, N


def main() -> None:
    """Push, wait, look who still stands."""
    angle, force = (grid.ravel() for grid in np.meshgrid(DIRECTIONS, FORCES, indexing="ij"))
    sim = tarsus.Simulation(
        "mini_cheetah", controller="stand", worlds=len(angle), pushes="base", dt=0.002
    )
    sim.advance(0.5)  # settle
    push = force[:, None] * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    sim.set(push={"base": push})
    sim.advance(0.1)
    sim.set(push={"base": np.zeros(3)})
    sim.advance(2.0)
    up = 1 - 2 * (sim.q[:, 4] ** 2 + sim.q[:, 5] ** 2)  # cosine of the trunk's tilt
    stands = ((sim.q[:, 2] > 0.2) & (up > 0.9)).reshape(len(DIRECTIONS), len(FORCES))
    print(f"{len(angle)} robots pushed for 0.1 s; weight {sim.robot.mass * 9.81:.0f} N")
    for direction, row in zip(DIRECTIONS, stands, strict=True):
        withstood = FORCES[-1] if row.all() else FORCES[row.argmin() - 1]  # before it first falls
        print(f"  {np.rad2deg(direction):3.0f} deg: {withstood:5.0f} N")


if __name__ == "__main__":
    main()
