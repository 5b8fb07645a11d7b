"""Time of a first walk from a process's start: `python tools/first_walk.py [ROUNDS] [SEEDS]`.

For each seed `tarsus learn velocity` makes ROUNDS rounds in a process of its own, and `tarsus play`
tries what was learned, without noise of actions, in 100 trials of 10 s with pushes. It walks if
half a second's mean of the forward speed misses its command by less than 0.1 m/s on average.
Wall and processor time are those of the learning process, everything included; with `--cold` each
begins with an empty cache of compiled code.
"""

from __future__ import annotations

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


def measured(seed: int, rounds: int, cold: bool) -> dict[str, float]:
    """One seed's times and what its policy does."""
    with tempfile.TemporaryDirectory() as folder:
        out, cache = str(Path(folder) / "walk"), str(Path(folder) / "cache") if cold else None
        words = ["learn", "velocity", "--out", out, "--seed", str(seed), "--rounds", str(rounds)]
        wall, cpu, load = time.perf_counter(), spent(), os.getloadavg()[0]
        learned = output(*words, "--no-pictures", cache=cache)
        found = {"wall": time.perf_counter() - wall, "cpu": spent() - cpu, "load": load}
        [played] = output("play", out, "--seed", "1000")
        return found | {
            "periods": learned["last"]["periods"],
            "missed": played["missed"]["speed"],
            "fell": played["fell"],
        }


def main() -> None:
    """A row a seed, then the median and the worst."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    rounds, seeds = [*numbers, *(75, 10)[len(numbers) :]]
    print("seed  wall s   cpu s  periods  missed m/s  fell of 100  load")
    rows = []
    for seed in range(seeds):
        rows.append(row := measured(seed, rounds, "--cold" in sys.argv))
        print(
            f"{seed:4d}  {row['wall']:6.1f}  {row['cpu']:6.1f}  {row['periods']:7.0f}"
            f"  {row['missed']:10.3f}  {row['fell']:11.0f}  {row['load']:4.1f}",
            flush=True,
        )
    walk = sum(row["missed"] < LIMIT for row in rows)
    print(f"{walk} of {seeds} follow forward speeds within {LIMIT} m/s")
    for name in ("wall", "cpu", "missed", "fell"):
        values = sorted(row[name] for row in rows)
        print(f"{name}: median {values[len(values) // 2]:.3g}, worst {values[-1]:.3g}")


if __name__ == "__main__":
    main()
