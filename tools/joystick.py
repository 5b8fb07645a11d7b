"""Time of a policy for all directions: `python tools/joystick.py [ROUNDS] [SEEDS] [--robot FILE]`,
or `[SEEDS] --plain`.

For each seed `tarsus learn velocity` learns forward speeds of 0 to 1 m/s, sideways ones of 0.3 m/s
to either side and turns of 0.5 rad/s in ROUNDS rounds in a process of its own, and `tarsus play`
tries what was learned, without noise of actions, in 1000 trials of 10 s with pushes up to 0.5 m/s,
friction from 0.4 to 1.0 and masses within 10 %. Wall and processor time are those of the learning
process, everything included. With `--plain` nothing is set, not the rounds either: all is what the
task is learned with on this robot, as on two legs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from first_walk import output, spent

ASKED = ("speed=0,1", "sideways=-0.3,0.3", "turn=-0.5,0.5")
LEARNED = ("lift=0.1", "fall=5")  # of the task and the method
TRIALS = 1000


def measured(seed: int, rounds: int, robot: list[str], plain: bool) -> dict[str, float]:
    """One seed's times and what its policy does."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "policy")
        words = ["learn", "velocity", *robot, "--out", out, "--seed", str(seed), "--no-pictures"]
        words += [] if plain else ["--rounds", str(rounds), "--set", *ASKED, *LEARNED]
        wall, cpu, load = time.perf_counter(), spent(), os.getloadavg()[0]
        learned = output(*words)
        found = {"wall": time.perf_counter() - wall, "cpu": spent() - cpu, "load": load}
        [played] = output("play", out, "--seed", "1000", "--trials", str(TRIALS))
        found |= {"periods": learned["last"]["periods"], "fell": played["fell"]}
        return found | played["missed"]


def main() -> None:
    """A row a seed, then the median and the worst."""
    words = sys.argv[1:]
    robot = words[(at := words.index("--robot")) : at + 2] if "--robot" in words else []
    numbers = [int(word) for word in words if word.isdecimal()]
    plain = "--plain" in words
    numbers = [0, *numbers] if plain else numbers  # rounds are the task's own
    rounds, seeds = [*numbers, *(250, 10)[len(numbers) :]]
    print(f"seed  wall s   cpu s  periods  fell of {TRIALS}  speed  sideways  turn  load")
    rows = []
    for seed in range(seeds):
        rows.append(row := measured(seed, rounds, robot, plain))
        print(
            f"{seed:4d}  {row['wall']:6.1f}  {row['cpu']:6.1f}  {row['periods']:7.0f}"
            f"  {row['fell']:12.0f}  {row['speed']:5.3f}  {row['sideways']:8.3f}"
            f"  {row['turn']:5.3f}  {row['load']:4.1f}",
            flush=True,
        )
    for name in ("wall", "cpu", "fell", "speed", "sideways", "turn"):
        values = sorted(row[name] for row in rows)
        print(f"{name}: median {values[len(values) // 2]:.3g}, worst {values[-1]:.3g}")


if __name__ == "__main__":
    main()
