"""Time to learn to walk: `python tools/first_walk.py [ROUNDS] [SEEDS]`.

For each seed `tarsus learn velocity` runs ROUNDS rounds in a separate process. `tarsus play` then
tests the policy, without action noise, in 100 trials of 10 s with pushes. The robot walks if its
forward speed, averaged over half a second, has a mean error below 0.1 m/s. Wall and processor time
are those of the whole learning process.

`--cold` starts each process with an empty cache of compiled code, `--method ars` selects the
learning method, and `--mujoco 100` runs that many trials in MuJoCo as well.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIMIT = 0.1  # m/s
TARSUS = [sys.executable, "-m", "tarsus"]


def run_json(*words: str, cache: str | None = None) -> Any:
    """Run a command and return the JSON that it prints."""
    environment = os.environ | ({"TARSUS_CACHE": cache} if cache else {})
    done = subprocess.run(
        [*TARSUS, *words, "--json"], capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(done.stdout)


def processor_time() -> float:
    """Return the processor time of all finished child processes, in s."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=70)
    parser.add_argument("seeds", nargs="?", type=int, default=10)
    parser.add_argument("--method", default="ppo")
    parser.add_argument("--mujoco", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cold", action="store_true")
    return parser.parse_args()


def measure(seed: int, args: argparse.Namespace) -> dict[str, float]:
    """Measure the learning time of one seed and the behavior of its policy."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "walk")
        cache = str(Path(folder) / "cache") if args.cold else None
        words = ["learn", "velocity", "--out", out, "--seed", str(seed), "--method", args.method]
        words += ["--rounds", str(args.rounds), "--no-pictures"]
        words += ["--threads", str(args.threads)] if args.threads else []
        wall, cpu, load = time.perf_counter(), processor_time(), os.getloadavg()[0]
        training = run_json(*words, cache=cache)
        result = {"wall": time.perf_counter() - wall, "cpu": processor_time() - cpu, "load": load}
        result["periods"] = training["last"]["periods"]
        trials = ["play", out, "--seed", "1000", "--trials"]
        [trial_result] = run_json(*trials, "100")
        result |= {"error": trial_result["errors"]["speed"], "fell": trial_result["fell"]}
        if args.mujoco:
            [mujoco_result] = run_json(*trials, str(args.mujoco), "--mujoco")
            result |= {
                "error there": mujoco_result["errors"]["speed"],
                "fell there": mujoco_result["fell"],
            }
        return result


def main() -> None:
    """Print a row per seed, then the median and the worst."""
    args, rows = parse_arguments(), list[dict[str, float]]()
    print("wall, cpu: s; error: m/s; fell: of 100; there: in MuJoCo")
    for seed in range(args.seeds):
        rows.append(row := measure(seed, args))
        columns = (f"{name} {value:.3g}" for name, value in row.items() if name != "periods")
        print(f"seed {seed}: {row['periods']:.0f} periods; {', '.join(columns)}", flush=True)
    walk = sum(row["error"] < LIMIT for row in rows)
    print(f"{walk} of {args.seeds} follow forward speeds within {LIMIT} m/s")
    for name in rows[0]:
        values = sorted(row[name] for row in rows)
        print(f"{name}: median {values[len(values) // 2]:.3g}, worst {values[-1]:.3g}")


if __name__ == "__main__":
    main()
