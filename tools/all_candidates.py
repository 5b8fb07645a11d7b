"""Cost of using all contact candidates: `python tools/all_candidates.py [ROBOT] [--laws]`.

A robot of `example-robot-data` (go1), or from a file, stands on its servos: 512 worlds, one thread,
float64, dt 1 ms. The script times a step with all candidates and a step with the feet alone, in
turns. The location of code in memory changes times by a tenth or more (decision 0055), so repeat
the measurement.

`--laws` prints, for each law, the processor time in s from process start to the first step with all
candidates and one world, in a separate process with an empty cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from statistics import median
from time import process_time

from tarsus import Simulation, load, registry

WORLDS, DT, SETTLE, SECONDS, ROUNDS = 512, 0.001, 1.0, 0.05, 60


def print_cost(name: str) -> None:
    """Print the cost of a standing step with all candidates, relative to that with feet alone."""
    robot = load(name)
    settings = {"controller": "stand", "worlds": WORLDS, "dt": DT, "threads": 1}
    feet = Simulation(robot, contacts="feet", **settings)
    all_candidates = Simulation(robot, contacts="all", **settings)
    for simulation in (feet, all_candidates):
        simulation.advance(SETTLE)
        simulation.backend.compile_ahead()
    ratios, times = [], []
    for _ in range(ROUNDS):
        pair = []
        for simulation in (feet, all_candidates):
            start = process_time()
            simulation.advance(SECONDS)
            pair.append(process_time() - start)
        ratios.append(pair[1] / pair[0])
        times.append(pair)
    steps = SECONDS / DT * WORLDS
    one, other = (1e6 * median(values) / steps for values in zip(*times, strict=True))
    count, feet_count = (
        len(s) for s in (all_candidates.plan.scene.candidates, feet.plan.scene.geometry.primary)
    )
    print(
        f"{robot.name}: {one:.3f} us per step and world on {feet_count} feet,"
        f" {other:.3f} with {count} candidates: {median(ratios):.2f} times"
    )


def print_first_steps(name: str) -> None:
    """Print the processor time to the first step under each law."""
    for law in registry.names("tarsus.contact.laws"):
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"TARSUS_CACHE": cache}
            command = [sys.executable, __file__, name, "--first", law]
            result = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
        message = [*result.stderr.strip().splitlines(), "nothing"][0]
        print(f"{law}: {result.stdout.strip() or f'stopped, {message}'}")


def print_first_step(name: str, law: str) -> None:
    """Print the processor time to the first step under one law."""
    robot = load(name)
    start = process_time()
    simulation = Simulation(robot, law, controller="stand", contacts="all", dt=DT)
    simulation.step()
    count = len(simulation.plan.scene.candidates)
    print(f"{process_time() - start:.1f} s to the first step, {count} candidates")


def main() -> None:
    """Run the measurement that the command line selects."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robot", nargs="?", default="go1")
    parser.add_argument("--laws", action="store_true")
    parser.add_argument("--first", metavar="LAW")
    arguments = parser.parse_args()
    if arguments.first:
        print_first_step(arguments.robot, arguments.first)
    elif arguments.laws:
        print_first_steps(arguments.robot)
    else:
        print_cost(arguments.robot)


if __name__ == "__main__":
    main()
