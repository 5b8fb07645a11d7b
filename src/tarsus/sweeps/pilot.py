"""How long a sweep takes, how its groups are cut, and how large its trajectories are: measured on a
few worlds.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from tarsus.errors import UnmetCondition
from tarsus.sweeps.chunk import simulated
from tarsus.sweeps.groups import LEAST, Chunk
from tarsus.sweeps.trajectories import ALL, logged

SECOND = 1.0  # s of work in a chunk
PILOT, PILOT_SECONDS = 64, 0.25  # worlds, and simulated time, that say how long a chunk is
ALWAYS = 0.02  # of a pilot's time at least is its worlds'
MOST = 4096  # worlds of a chunk
PARTS = 4  # at least, of a group with enough worlds
FEW = 0.1  # of the worlds, where outcomes say whose trajectories are kept: so many are expected
CHUNK_MB = 500.0  # of a chunk's trajectories at most, which are in memory before they are written
MB = 1e6  # bytes


@dataclass(frozen=True)
class GroupCost:
    """Of a group of worlds.

    size: worlds of a chunk; seconds: of one worker, in all
    trajectories, megabytes: how many may be kept at most, and how large they are in all
    certain: whether as many are kept, whatever the outcomes
    tried: how many worlds were measured; failed: why those of them that did could not go on
    """

    size: int
    seconds: float
    trajectories: int
    megabytes: float
    certain: bool
    tried: int = 0
    failed: tuple[str, ...] = ()


def costs(
    whole: Sequence[Chunk],
    tell: Callable[[str], None],
    quiet: Callable[[], object] = lambda: None,
) -> list[GroupCost]:
    """Of every group, measured.

    quiet: called before each is measured, its step compiled: waits for what else is started
    """
    found = []
    for group in whole:
        tell(f"measuring {group.structure['robot']}, {group.structure['law']}")
        found.append(_cost(group, quiet))
    return found


def check_room(
    found: Sequence[GroupCost], keep: str | int | tuple[int, ...], most_mb: float, folder: Path
) -> None:
    """TarsusError if the trajectories take more than is allowed, or than there is on the disk."""
    megabytes = sum(cost.megabytes for cost in found if cost.certain)
    count = sum(cost.trajectories for cost in found if cost.certain)
    free = shutil.disk_usage(folder).free / MB
    if megabytes <= min(most_mb, free):
        return
    fewer = max(int(count * min(most_mb, free) / megabytes), 1)
    why = f"{most_mb:.0f} MB are allowed" if most_mb < free else f"{free:.0f} MB are free"
    more = f", or allow more with most_mb = {megabytes:.0f}" if most_mb < free else ""
    raise UnmetCondition(
        f"{count} trajectories would take about {megabytes:.0f} MB, but only {why}: keep fewer"
        f" under [trajectories], such as keep = {fewer} instead of {keep!r}{more}.",
        "trajectories.keep",
    )


def _cost(group: Chunk, quiet: Callable[[], object]) -> GroupCost:
    """Of one group: its worlds, and the trajectories that are kept."""
    worlds, (seconds, outcome) = len(group), _tried(group, quiet)
    tried, failed = len(outcome), tuple(why for why in outcome if why is not None)
    if not group.keep:
        return GroupCost(_size(worlds, seconds), worlds * seconds, 0, 0.0, True, tried, failed)
    each, megabytes = _of_a_trajectory(group)
    certain = group.keep == ALL or not isinstance(group.keep, str)
    count = worlds if isinstance(group.keep, str) else len(group.keep)
    seconds += each * (count / worlds if certain else FEW)
    room = max(int(CHUNK_MB / max(megabytes, 1e-9)), 1)
    size = min(_size(worlds, seconds), room)
    kept = count, count * megabytes, certain
    return GroupCost(size, worlds * seconds, *kept, tried, failed)


def _tried(group: Chunk, quiet: Callable[[], object]) -> tuple[float, list[str | None]]:
    """Seconds of a world's whole run, and why each world failed that was tried: measured on a few
    for a short time once their step is compiled; what a batch takes whatever its worlds are does
    not count.
    """
    whole = float(group.structure["seconds"])
    short = min(PILOT_SECONDS, whole)
    pilot = replace(group.part(0, PILOT), structure={**group.structure, "seconds": short})
    simulated(pilot.part(0, LEAST))
    quiet()
    seconds, failed = [], list[str | None]()
    for some in (pilot.part(0, LEAST), pilot):
        began = perf_counter()
        failed = simulated(some)[1]
        seconds.append(perf_counter() - began)
    if len(pilot) <= LEAST:
        return seconds[1] / len(pilot) * whole / short, failed
    more = max(seconds[1] - seconds[0], ALWAYS * seconds[1])
    return more / (len(pilot) - LEAST) * whole / short, failed


def _of_a_trajectory(group: Chunk) -> tuple[float, float]:
    """Seconds and megabytes of one, measured for a short time; the first compiles its programs."""
    whole = float(group.structure["seconds"])
    short = min(PILOT_SECONDS, whole)
    one = replace(group.part(0, 1), structure={**group.structure, "seconds": short})
    logged(one)
    began = perf_counter()
    log = logged(one)
    size = 0 if log is None else len(bytes(log.to_netcdf(engine="scipy")))
    seconds = perf_counter() - began
    return seconds * whole / short, size / MB * whole / short


def _size(worlds: int, seconds: float) -> int:
    """Worlds of a chunk of about a second."""
    wanted = round(SECOND / max(seconds, 1e-9))
    return max(LEAST, min(wanted, MOST, -(-worlds // PARTS)))
