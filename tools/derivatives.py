"""Time the full Jacobian of a step of Mini Cheetah in stance: `python tools/derivatives.py`."""

from __future__ import annotations

from time import perf_counter, process_time

import numpy as np

import tarsus
from tarsus.program.run.tiers import optimize_everything

ROUNDS = 2000
CASES = {
    "dry friction and limits of joints": {},
    "no dry friction": {"stiction": False},
    "neither": {"stiction": False, "limits": False},
}


def main() -> None:
    """The median and the least of many calls, in microseconds."""
    optimize_everything()
    robot = tarsus.load("mini_cheetah")
    for case, options in CASES.items():
        sim = tarsus.Simulation(robot, **options)
        bent = robot.keyframes["stand"][7:]
        for _ in range(200):
            sim.step(60.0 * (bent - sim.q[7:]) - 1.5 * sim.u[6:])
        began = process_time()
        found = sim.derivatives()
        first, times = process_time() - began, list[float]()
        for _ in range(ROUNDS):
            start = perf_counter()
            sim.derivatives()
            times.append(1e6 * (perf_counter() - start))
        shape = np.hstack([found.state, found.action]).shape
        print(
            f"{case}: {shape} in {np.median(times):.1f} us, least {min(times):.1f} us; the first"
            f" in {first:.1f} s of processor time; converged: {found.converged}"
        )


if __name__ == "__main__":
    main()
