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
    """Print the median and the minimum of many calls, in microseconds."""
    optimize_everything()
    robot = tarsus.load("mini_cheetah")
    for case, options in CASES.items():
        sim = tarsus.Simulation(robot, **options)
        posture = robot.keyframes["stand"][7:]
        for _ in range(200):
            sim.step(60.0 * (posture - sim.q[7:]) - 1.5 * sim.u[6:])
        start_time = process_time()
        derivatives = sim.derivatives()
        first, times = process_time() - start_time, list[float]()
        for _ in range(ROUNDS):
            start = perf_counter()
            sim.derivatives()
            times.append(1e6 * (perf_counter() - start))
        shape = np.hstack([derivatives.state, derivatives.action]).shape
        print(
            f"{case}: {shape} in {np.median(times):.1f} us, minimum {min(times):.1f} us; the first"
            f" in {first:.1f} s of processor time; converged: {derivatives.converged}"
        )


if __name__ == "__main__":
    main()
