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

from first_walk import processor_time, run_json

ASKED = ("speed=0,1", "sideways=-0.3,0.3", "turn=-0.5,0.5")
LEARNED = ("lift=0.1", "fall_penalty=5")  # of the task and the method
TRIALS = 1000


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=250)
    parser.add_argument("seeds", nargs="?", type=int, default=10)
    parser.add_argument("--robot", default="mini_cheetah")
    parser.add_argument("--task", default="velocity")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--mujoco", type=int, default=0)
    parser.add_argument("--ground", default="")
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


def measure(seed: int, args: argparse.Namespace) -> dict[str, float]:
    """Measure the learning time of one seed and the behavior of its policy."""
    with tempfile.TemporaryDirectory() as folder:
        # learn
        out = str(Path(folder) / "policy")
        words = ["learn", args.task, "--robot", args.robot, "--out", out, "--seed", str(seed)]
        words += ["--threads", str(args.threads)] if args.threads else []
        words += [] if args.plain else ["--rounds", str(args.rounds), "--set", *ASKED, *LEARNED]
        wall, cpu, load = time.perf_counter(), processor_time(), os.getloadavg()[0]
        training = run_json(*words, "--no-pictures")
        result = {"wall": time.perf_counter() - wall, "cpu": processor_time() - cpu, "load": load}
        # try
        trials = ["play", out, "--seed", "1000", "--trials"]
        ground = ["--set", args.ground] if args.ground else []
        [trial_result] = run_json(*trials, str(TRIALS), *ground)
        result |= {
            "periods": training["last"]["periods"],
            "fell": trial_result["fell"],
        } | trial_result["errors"]
        if args.mujoco:
            [mujoco_result] = run_json(*trials, str(args.mujoco), *ground, "--mujoco")
            result |= {"there": mujoco_result["fell"]}
            result |= {f"{name} there": value for name, value in mujoco_result["errors"].items()}
        return result


def main() -> None:
    """Print a row per seed, then the median and the worst."""
    args, rows = parse_arguments(), list[dict[str, float]]()
    for seed in range(args.first, args.first + args.seeds):
        rows.append(row := measure(seed, args))
        columns = (f"{name} {value:.3g}" for name, value in row.items() if name != "periods")
        print(f"seed {seed}: {row['periods']:.0f} periods; {', '.join(columns)}", flush=True)
    print(f"fell: of {TRIALS}; there: in MuJoCo, of {args.mujoco}")
    for name in rows[0]:
        values = sorted(row[name] for row in rows)
        print(f"{name}: median {values[len(values) // 2]:.3g}, worst {values[-1]:.3g}")


if __name__ == "__main__":
    main()
