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


def output(*words: str, cache: str | None = None) -> Any:
    """What a command prints as JSON."""
    given = os.environ | ({"TARSUS_CACHE": cache} if cache else {})
    done = subprocess.run(
        [*TARSUS, *words, "--json"], capture_output=True, text=True, check=True, env=given
    )
    return json.loads(done.stdout)


def spent() -> float:
    """Processor time of the processes that ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wanted() -> argparse.Namespace:
    """What the command line asks for."""
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("rounds", nargs="?", type=int, default=70)
    found.add_argument("seeds", nargs="?", type=int, default=10)
    found.add_argument("--method", default="ppo")
    found.add_argument("--mujoco", type=int, default=0)
    found.add_argument("--threads", type=int)
    found.add_argument("--cold", action="store_true")
    return found.parse_args()


def measured(seed: int, asked: argparse.Namespace) -> dict[str, float]:
    """One seed's times and what its policy does."""
    with tempfile.TemporaryDirectory() as folder:
        out, cache = str(Path(folder) / "walk"), str(Path(folder) / "cache") if asked.cold else None
        words = ["learn", "velocity", "--out", out, "--seed", str(seed), "--method", asked.method]
        words += ["--rounds", str(asked.rounds), "--no-pictures"]
        words += ["--threads", str(asked.threads)] if asked.threads else []
        wall, cpu, load = time.perf_counter(), spent(), os.getloadavg()[0]
        learned = output(*words, cache=cache)
        found = {"wall": time.perf_counter() - wall, "cpu": spent() - cpu, "load": load}
        found["periods"] = learned["last"]["periods"]
        trials = ["play", out, "--seed", "1000", "--trials"]
        [played] = output(*trials, "100")
        found |= {"error": played["errors"]["speed"], "fell": played["fell"]}
        if asked.mujoco:
            [there] = output(*trials, str(asked.mujoco), "--mujoco")
            found |= {"error there": there["errors"]["speed"], "fell there": there["fell"]}
        return found


def main() -> None:
    """Print a row per seed, then the median and the worst."""
    asked, rows = wanted(), list[dict[str, float]]()
    print("wall, cpu: s; error: m/s; fell: of 100; there: in MuJoCo")
    for seed in range(asked.seeds):
        rows.append(row := measured(seed, asked))
        columns = (f"{name} {value:.3g}" for name, value in row.items() if name != "periods")
        print(f"seed {seed}: {row['periods']:.0f} periods; {', '.join(columns)}", flush=True)
    walk = sum(row["error"] < LIMIT for row in rows)
    print(f"{walk} of {asked.seeds} follow forward speeds within {LIMIT} m/s")
    for name in rows[0]:
        values = sorted(row[name] for row in rows)
        print(f"{name}: median {values[len(values) // 2]:.3g}, worst {values[-1]:.3g}")


if __name__ == "__main__":
    main()
