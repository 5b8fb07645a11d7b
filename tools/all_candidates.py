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


def beside_feet(name: str) -> None:
    """Print the cost of a step that stands with all candidates, as a multiple of feet alone."""
    robot = load(name)
    settings = {"controller": "stand", "worlds": WORLDS, "dt": DT, "threads": 1}
    feet = Simulation(robot, contacts="feet", **settings)
    whole = Simulation(robot, contacts="all", **settings)
    for own in (feet, whole):
        own.advance(SETTLE)
        own.backend.compile_ahead()
    ratios, taken = [], []
    for _ in range(ROUNDS):
        pair = []
        for own in (feet, whole):
            began = process_time()
            own.advance(SECONDS)
            pair.append(process_time() - began)
        ratios.append(pair[1] / pair[0])
        taken.append(pair)
    steps = SECONDS / DT * WORLDS
    one, other = (1e6 * median(own) / steps for own in zip(*taken, strict=True))
    count, feet_count = (
        len(s) for s in (whole.plan.scene.candidates, feet.plan.scene.geometry.primary)
    )
    print(
        f"{robot.name}: {one:.3f} us a step of one world on {feet_count} feet,"
        f" {other:.3f} with {count} candidates: {median(ratios):.2f} times"
    )


def first_steps(name: str) -> None:
    """Print the processor's seconds to the first step under each law."""
    for law in registry.names("tarsus.contact.laws"):
        with tempfile.TemporaryDirectory() as cache:
            given = os.environ | {"TARSUS_CACHE": cache}
            command = [sys.executable, __file__, name, "--first", law]
            told = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
        said = [*told.stderr.strip().splitlines(), "nothing"][0]
        print(f"{law}: {told.stdout.strip() or f'stopped, {said}'}")


def first_step(name: str, law: str) -> None:
    """Print them under one law."""
    robot = load(name)
    began = process_time()
    made = Simulation(robot, law, controller="stand", contacts="all", dt=DT)
    made.step()
    count = len(made.plan.scene.candidates)
    print(f"{process_time() - began:.1f} s to the first step, {count} candidates")


def main() -> None:
    """Measure what is asked for."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("robot", nargs="?", default="go1")
    asked.add_argument("--laws", action="store_true")
    asked.add_argument("--first", metavar="LAW")
    given = asked.parse_args()
    if given.first:
        first_step(given.robot, given.first)
    elif given.laws:
        first_steps(given.robot)
    else:
        beside_feet(given.robot)


if __name__ == "__main__":
    main()
