"""Time to learn motion in all directions: `tools/joystick.py [ROUNDS] [SEEDS] [--robot FILE]`.

For each seed `tarsus learn velocity` runs ROUNDS rounds in a separate process, with forward speeds
of 0 to 1 m/s, lateral speeds up to 0.3 m/s and turn rates up to 0.5 rad/s. `tarsus play` then tests
the policy, without action noise, in 1000 trials of 10 s with pushes up to 0.5 m/s, friction from
0.4 to 1.0 and masses within 10 %. Wall and processor time are those of the whole learning process.

With `--plain` all settings, including the number of rounds, are the task's defaults for this robot.
`--mujoco 100` runs that many trials in MuJoCo as well, `--task rough` learns on uneven ground,
`--ground amplitude=0.08` tests on it, and `--first 3` starts with that seed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from first_walk import output, spent

ASKED = ("speed=0,1", "sideways=-0.3,0.3", "turn=-0.5,0.5")
LEARNED = ("lift=0.1", "fall_penalty=5")  # of the task and the method
TRIALS = 1000


def wanted() -> argparse.Namespace:
    """What the command line asks for."""
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("rounds", nargs="?", type=int, default=250)
    found.add_argument("seeds", nargs="?", type=int, default=10)
    found.add_argument("--robot", default="mini_cheetah")
    found.add_argument("--task", default="velocity")
    found.add_argument("--plain", action="store_true")
    found.add_argument("--first", type=int, default=0)
    found.add_argument("--mujoco", type=int, default=0)
    found.add_argument("--ground", default="")
    found.add_argument("--threads", type=int)
    return found.parse_args()


def measured(seed: int, asked: argparse.Namespace) -> dict[str, float]:
    """One seed's times and what its policy does."""
    with tempfile.TemporaryDirectory() as folder:
        # learn
        out = str(Path(folder) / "policy")
        words = ["learn", asked.task, "--robot", asked.robot, "--out", out, "--seed", str(seed)]
        words += ["--threads", str(asked.threads)] if asked.threads else []
        words += [] if asked.plain else ["--rounds", str(asked.rounds), "--set", *ASKED, *LEARNED]
        wall, cpu, load = time.perf_counter(), spent(), os.getloadavg()[0]
        learned = output(*words, "--no-pictures")
        found = {"wall": time.perf_counter() - wall, "cpu": spent() - cpu, "load": load}
        # try
        trials = ["play", out, "--seed", "1000", "--trials"]
        ground = ["--set", asked.ground] if asked.ground else []
        [played] = output(*trials, str(TRIALS), *ground)
        found |= {"periods": learned["last"]["periods"], "fell": played["fell"]} | played["errors"]
        if asked.mujoco:
            [there] = output(*trials, str(asked.mujoco), *ground, "--mujoco")
            found |= {"there": there["fell"]}
            found |= {f"{name} there": value for name, value in there["errors"].items()}
        return found


def main() -> None:
    """A row a seed, then the median and the worst."""
    asked, rows = wanted(), list[dict[str, float]]()
    for seed in range(asked.first, asked.first + asked.seeds):
        rows.append(row := measured(seed, asked))
        columns = (f"{name} {value:.3g}" for name, value in row.items() if name != "periods")
        print(f"seed {seed}: {row['periods']:.0f} periods; {', '.join(columns)}", flush=True)
    print(f"fell: of {TRIALS}; there: in MuJoCo, of {asked.mujoco}")
    for name in rows[0]:
        values = sorted(row[name] for row in rows)
        print(f"{name}: median {values[len(values) // 2]:.3g}, worst {values[-1]:.3g}")


if __name__ == "__main__":
    main()
