"""Measure sweeps: `uv run python tools/sweep_speed.py [WORKERS ...]` (a minute).

The script measures worlds per second by number of processes, the share of time spent outside
chunks, and the time of queries on a million rows. It prints the tables of docs/benchmarks.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tarsus.sweeps.query import plot, report, run_sql
from tarsus.sweeps.run import sweep
from tarsus.sweeps.store import CHUNKS

COUNT, SECONDS = 2000, 1.0  # worlds; s simulated
ROWS, ROWS_PER_FILE = 1_000_000, 1000
TROT = {
    "fixed": {"robot": "mini_cheetah", "gait": "trot", "seconds": SECONDS},
    "vary": {
        "law.mu": {"low": 0.2, "high": 1.0},
        "mass.base": {"low": 0.8, "high": 1.2},
        "command.speed": {"low": 0.0, "high": 0.4},
    },
    "sample": {"method": "latin", "count": COUNT, "seed": 1},
    "outcomes": {"names": ["fell", "speed", "energy", "peak_force", "residuals"]},
}


def measure_workers(folder: Path, numbers: list[int]) -> None:
    """Run the same sweep with each number of processes; only the compiled step is cached."""
    sweep({**TROT, "sample": {**TROT["sample"], "count": 8}}, folder / "first", "inline")
    print("| workers | worlds/s | chunks | seconds | outside chunks | total, s |")
    print("|---|---|---|---|---|---|")
    for workers in numbers:
        start_time = perf_counter()
        done = sweep(TROT, folder / f"of_{workers}", "processes", workers)
        total = perf_counter() - start_time
        outside_share = 1 - done.work / (done.seconds * workers)
        print(
            f"| {workers} | {done.worlds / done.seconds:.0f} | {done.chunks} | {done.seconds:.1f}"
            f" | {100 * outside_share:.1f} % | {total:.1f} |",
            flush=True,
        )


def measure_queries(folder: Path) -> None:
    """Time queries on files as a sweep writes them, with random numbers as outcomes."""
    # a thousand files
    source = next((folder / "first" / CHUNKS).glob("*.parquet"))
    table, random = pq.read_table(source), np.random.default_rng(1)
    many = folder / "many" / CHUNKS
    many.mkdir(parents=True)
    rows = pa.concat_tables([table] * -(-ROWS_PER_FILE // len(table))).slice(0, ROWS_PER_FILE)
    numbers = [name for name in rows.column_names if pa.types.is_float64(rows[name].type)]
    for k in range(ROWS // ROWS_PER_FILE):
        rows_of_file = rows.set_column(
            rows.column_names.index("sample"),
            "sample",
            pa.array(np.arange(ROWS_PER_FILE) + k * ROWS_PER_FILE),
        )
        for name in numbers:
            at = rows_of_file.column_names.index(name)
            rows_of_file = rows_of_file.set_column(
                at, name, pa.array(random.standard_normal(ROWS_PER_FILE))
            )
        pq.write_table(rows_of_file, many / f"{k:06d}.parquet", compression="zstd")
    # what is asked of them
    queries = {
        "count": lambda: run_sql(many.parent, "SELECT count(*) FROM rows"),
        "three outcomes by whether it fell": lambda: run_sql(
            many.parent,
            "SELECT fell, avg(speed), avg(energy), max(peak_force) FROM rows GROUP BY fell",
        ),
        "the ten fastest": lambda: run_sql(
            many.parent, "SELECT * FROM rows ORDER BY speed DESC LIMIT 10"
        ),
        "a picture": lambda: plot(many.parent, "law.mu", "speed"),
        "a page": lambda: report(many.parent),
    }
    size = sum(path.stat().st_size for path in many.iterdir()) / 1e6
    print(f"\n{ROWS:,} rows, {ROWS // ROWS_PER_FILE} files, {size:.0f} MB")
    print("\n| question | s |\n|---|---|")
    for name, query in queries.items():
        start_time = perf_counter()
        query()
        print(f"| {name} | {perf_counter() - start_time:.2f} |", flush=True)


def main() -> None:
    numbers = [int(text) for text in sys.argv[1:]] or [1, 2]
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    with TemporaryDirectory() as folder:
        measure_workers(Path(folder), numbers)
        measure_queries(Path(folder))


if __name__ == "__main__":
    main()
