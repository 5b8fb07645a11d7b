"""Pilot runs: estimate a sweep's time, chunk sizes and trajectory sizes from a few worlds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from tarsus.errors import UnmetCondition
from tarsus.sweeps.chunk import measure
from tarsus.sweeps.groups import MIN_CHUNK_SIZE, Chunk
from tarsus.sweeps.trajectories import ALL, simulate_log

CHUNK_SECONDS = 1.0  # s of work in a chunk
PILOT_WORLDS, PILOT_SECONDS = 64, 0.25  # worlds of a pilot run, and its simulated time, s
MIN_WORLD_SHARE = 0.02  # of a pilot's run time that depends on the number of worlds
MAX_CHUNK_SIZE = 4096  # worlds
MIN_CHUNKS = 4  # in a group with enough worlds
EXPECTED_SHARE = 0.1  # of worlds whose trajectories are saved, if this depends on an outcome
MAX_CHUNK_MB = 500.0  # of a chunk's trajectories, which are in memory before they are written
MB = 1e6  # bytes


@dataclass(frozen=True)
class GroupCost:
    """Estimated cost of a group of worlds.

    Attributes
    ----------
    size
        Worlds per chunk.
    seconds
        Time of one worker for the whole group, in s.
    trajectories, megabytes
        Largest possible number of saved trajectories, and their total size.
    certain
        Whether this number does not depend on the outcomes.
    tried
        Number of worlds in the pilot run.
    failed
        Reasons why worlds of the pilot run failed.
    """

    size: int
    seconds: float
    trajectories: int
    megabytes: float
    certain: bool
    tried: int = 0
    failed: tuple[str, ...] = ()


def measure_costs(
    groups: Sequence[Chunk],
    report: Callable[[str], None],
    wait: Callable[[], object] = lambda: None,
) -> list[GroupCost]:
    """Measure the cost of every group with a pilot run.

    Parameters
    ----------
    groups
        Groups of worlds.
    report
        Called with a line of progress for each group.
    wait
        Called after compiling and before timing; it waits until other work on this machine is done.
    """
    costs = []
    for group in groups:
        report(f"measuring {group.structure['robot']}, {group.structure['law']}")
        costs.append(_measure_cost(group, wait))
    return costs


def check_disk_space(
    costs: Sequence[GroupCost], keep: str | int | tuple[int, ...], max_mb: float, folder: Path
) -> None:
    """Raise UnmetCondition if the trajectories exceed the limit or the free space on the disk."""
    megabytes = sum(cost.megabytes for cost in costs if cost.certain)
    count = sum(cost.trajectories for cost in costs if cost.certain)
    free = shutil.disk_usage(folder).free / MB
    if megabytes <= min(max_mb, free):
        return
    fewer = max(int(count * min(max_mb, free) / megabytes), 1)
    limit = f"{max_mb:.0f} MB are allowed" if max_mb < free else f"{free:.0f} MB of disk are free"
    more = f", or allow more with max_mb = {megabytes:.0f}" if max_mb < free else ""
    raise UnmetCondition(
        f"{count} trajectories would take about {megabytes:.0f} MB, but only {limit}: keep fewer"
        f" under [trajectories], such as keep = {fewer} instead of {keep!r}{more}.",
        "trajectories.keep",
    )


def _measure_cost(group: Chunk, wait: Callable[[], object]) -> GroupCost:
    """Measure the cost of one group: its worlds, and the trajectories that are saved."""
    worlds, (seconds, reasons) = len(group), _measure_worlds(group, wait)
    tried, failed = len(reasons), tuple(reason for reason in reasons if reason is not None)
    if not group.keep:
        size = _choose_chunk_size(worlds, seconds)
        return GroupCost(size, worlds * seconds, 0, 0.0, True, tried, failed)
    log_seconds, megabytes = _measure_trajectory(group)
    certain = group.keep == ALL or not isinstance(group.keep, str)
    count = worlds if isinstance(group.keep, str) else len(group.keep)
    seconds += log_seconds * (count / worlds if certain else EXPECTED_SHARE)
    memory_limit = max(int(MAX_CHUNK_MB / max(megabytes, 1e-9)), 1)
    size = min(_choose_chunk_size(worlds, seconds), memory_limit)
    saved = count, count * megabytes, certain
    return GroupCost(size, worlds * seconds, *saved, tried, failed)


def _measure_worlds(group: Chunk, wait: Callable[[], object]) -> tuple[float, list[str | None]]:
    """Measure the time in s of one world's run; collect why worlds of the pilot run failed.

    The step is compiled first. Two batch sizes are timed for a short simulated time, so that costs
    that do not depend on the number of worlds are excluded.
    """
    duration = float(group.structure["seconds"])
    short = min(PILOT_SECONDS, duration)
    pilot = replace(group.part(0, PILOT_WORLDS), structure={**group.structure, "seconds": short})
    small = pilot.part(0, MIN_CHUNK_SIZE)
    measure(small)
    wait()
    seconds, failed = [], list[str | None]()
    for chunk in (small, pilot):
        start = perf_counter()
        failed = measure(chunk)[1]
        seconds.append(perf_counter() - start)
    if len(pilot) <= MIN_CHUNK_SIZE:
        return seconds[1] / len(pilot) * duration / short, failed
    difference = max(seconds[1] - seconds[0], MIN_WORLD_SHARE * seconds[1])
    return difference / (len(pilot) - MIN_CHUNK_SIZE) * duration / short, failed


def _measure_trajectory(group: Chunk) -> tuple[float, float]:
    """Measure the time in s and the size in MB of one trajectory, in a short run."""
    duration = float(group.structure["seconds"])
    short = min(PILOT_SECONDS, duration)
    world = replace(group.part(0, 1), structure={**group.structure, "seconds": short})
    simulate_log(world)  # compiles
    start = perf_counter()
    log = simulate_log(world)
    size = 0 if log is None else len(bytes(log.to_netcdf(engine="scipy")))
    seconds = perf_counter() - start
    return seconds * duration / short, size / MB * duration / short


def _choose_chunk_size(worlds: int, seconds: float) -> int:
    """Choose the number of worlds in a chunk of about one second of work."""
    wanted = round(CHUNK_SECONDS / max(seconds, 1e-9))
    return max(MIN_CHUNK_SIZE, min(wanted, MAX_CHUNK_SIZE, -(-worlds // MIN_CHUNKS)))
