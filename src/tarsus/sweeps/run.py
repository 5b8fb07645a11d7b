"""A sweep, run: planned, handed to an engine chunk by chunk, and kept in a folder."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from tarsus import registry
from tarsus.files import json_text, replacing
from tarsus.sweeps import spec as specs
from tarsus.sweeps.chunk import check_outcomes, simulated
from tarsus.sweeps.engines.base import Lost, WorkEngine
from tarsus.sweeps.groups import Chunk, cut, groups
from tarsus.sweeps.spec import SweepSpec
from tarsus.sweeps.store import Store
from tarsus.sweeps.task import Done, work

ENGINES = "tarsus.sweeps.engines"
SECOND = 1.0  # s of work in a chunk
PILOT, PILOT_SECONDS = 64, 0.25  # worlds, and simulated time, that say how long a chunk is
ALWAYS = 0.02  # of a pilot's time at least is its worlds'
LEAST, MOST = 8, 4096  # worlds of a chunk, where a group has as many
PARTS = 4  # at least, of a group with enough worlds
TRIES = 3  # of a chunk whose worker dies


@dataclass(frozen=True)
class SweepReport:
    """What a sweep did.

    worlds, chunks: of the whole sweep; skipped: chunks that were there; done: chunks made now
    groups: compiled steps; steps: time steps of all worlds to be made
    lost: chunks that could not be made, and why
    seconds: from the first to the last chunk; work: seconds of all workers in chunks
    """

    worlds: int
    chunks: int
    groups: int
    steps: int
    skipped: int = 0
    done: int = 0
    lost: tuple[str, ...] = ()
    seconds: float = 0.0
    work: float = 0.0
    expected: float | None = None


@dataclass(eq=False)
class SweepProgress:
    """Chunks done of `total`; `tell` is called with a line after each."""

    total: int
    tell: Callable[[str], None]
    began: float = field(default_factory=perf_counter)
    done: int = 0
    worlds: int = 0
    work: float = 0.0

    def add(self, worlds: int, seconds: float) -> None:
        """One more chunk."""
        self.done, self.worlds, self.work = self.done + 1, self.worlds + worlds, self.work + seconds
        taken = perf_counter() - self.began
        self.tell(
            f"{self.done} of {self.total} chunks, {self.worlds / taken:.0f}"
            f" worlds/s, {(self.total - self.done) * taken / self.done:.0f} s left"
        )


def sweep(
    spec: SweepSpec | Mapping[str, Any] | str | Path,
    out: str | Path,
    engine: str = "processes",
    workers: int | None = None,
    dry_run: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> SweepReport:
    """Run a sweep; its rows are Parquet files in `out`, which `tarsus.sweeps.query` reads.

    spec: a `SweepSpec`, tables as its TOML file has them, or the file's path
    engine: "processes", "ray", "slurm" or "inline"; workers: how many, None: as many as there are
    dry_run: only say how many worlds and steps it has, and how long a chunk takes
    Chunks that are in the folder are not made again. TarsusError for bad input.
    """
    # what is there to do
    asked = _spec(spec)
    check_outcomes(asked.outcomes, asked.own)
    registry.require(ENGINES, "engine", engine)
    whole = groups(asked)
    steps = sum(len(g) * round(g.structure["seconds"] / g.structure["dt"]) for g in whole)
    report = SweepReport(sum(len(g) for g in whole), 0, len(whole), steps)
    if dry_run:
        cost = [_seconds_a_world(group, tell) for group in whole]
        expected = sum(len(g) * c for g, c in zip(whole, cost, strict=True))
        sizes = [_size(len(g), c) for g, c in zip(whole, cost, strict=True)]
        chunks = sum(-(-len(g) // n) for g, n in zip(whole, sizes, strict=True))
        return replace(report, chunks=chunks, expected=expected)
    store = Store(Path(out)).ready()
    digests = [group.digest for group in whole]
    sizes = store.sizes(digests, lambda: [_size(len(g), _seconds_a_world(g, tell)) for g in whole])
    chunks = {c.digest: c for g, n in zip(whole, sizes, strict=True) for c in cut(g, n)}
    _keep_spec(store, asked)
    # what is not there yet
    there = store.there()
    todo = [(digest, chunk) for digest, chunk in chunks.items() if digest not in there]
    report = replace(report, chunks=len(chunks), skipped=len(chunks) - len(todo))
    if not todo:
        return report
    progress = SweepProgress(len(todo), tell)
    make = registry.member(ENGINES, "engine", engine, WorkEngine)
    with make(workers, store.folder) as door:
        lost = _worked(door, store, todo, progress)
    seconds = perf_counter() - progress.began
    return replace(
        report, done=progress.done, lost=tuple(lost), seconds=seconds, work=progress.work
    )


def _spec(given: SweepSpec | Mapping[str, Any] | str | Path) -> SweepSpec:
    if isinstance(given, SweepSpec):
        return given
    return specs.of(given) if isinstance(given, Mapping) else specs.read(Path(given))


def _worked(
    door: WorkEngine, store: Store, todo: list[tuple[str, Chunk]], progress: SweepProgress
) -> list[str]:
    """All chunks, a few more under way than there are workers; what could not be made, and why."""
    token = f".shared-{os.urandom(8).hex()}"
    (store.folder / token).touch()
    waiting, tries = deque(todo), dict.fromkeys((digest for digest, _ in todo), 0)
    under_way: dict[Future[Done], tuple[str, Chunk]] = {}
    lost: list[str] = []
    folder = str(store.folder.resolve())
    try:
        while waiting or under_way:
            # hand over
            while waiting and len(under_way) < 2 * door.slots:
                digest, chunk = waiting.popleft()
                tries[digest] += 1
                under_way[door.submit(work, chunk, digest, folder, token)] = digest, chunk
            # take what is done
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                digest, chunk = under_way.pop(future)
                error = future.exception()
                if error is None:
                    done = future.result()
                    if done.rows is not None:
                        store.put(digest, done.rows)
                    progress.add(len(chunk), done.seconds)
                elif isinstance(error, Lost) and tries[digest] < TRIES:
                    waiting.append((digest, chunk))
                elif isinstance(error, OSError):  # a full disk: no later chunk fares better
                    raise error
                else:
                    lost.append(f"chunk {digest} ({len(chunk)} worlds): {error}")
    finally:
        (store.folder / token).unlink(missing_ok=True)
        for future in under_way:
            future.cancel()
    return lost


def _seconds_a_world(group: Chunk, tell: Callable[[str], None]) -> float:
    """Of a whole run, measured on a few worlds for a short time once their step is compiled; what
    a batch takes whatever its worlds are does not count.
    """
    tell(f"measuring {group.structure['robot']}, {group.structure['law']}")
    whole = float(group.structure["seconds"])
    short = min(PILOT_SECONDS, whole)
    pilot = replace(group.part(0, PILOT), structure={**group.structure, "seconds": short})
    simulated(pilot.part(0, LEAST))
    seconds = []
    for some in (pilot.part(0, LEAST), pilot):
        began = perf_counter()
        simulated(some)
        seconds.append(perf_counter() - began)
    if len(pilot) <= LEAST:
        return seconds[1] / len(pilot) * whole / short
    more = max(seconds[1] - seconds[0], ALWAYS * seconds[1])
    return more / (len(pilot) - LEAST) * whole / short


def _size(worlds: int, seconds: float) -> int:
    """Worlds of a chunk of about a second."""
    wanted = round(SECOND / max(seconds, 1e-9))
    return max(LEAST, min(wanted, MOST, -(-worlds // PARTS)))


def _keep_spec(store: Store, spec: SweepSpec) -> None:
    """What was asked, beside the rows, for the report."""
    axes = {name: {"kind": type(a).__name__, **vars(a)} for name, a in spec.axes.items()}
    text = json_text({**vars(spec), "axes": axes}, indent=1)
    with replacing(store.folder / "sweep.json") as temporary:
        temporary.write_text(text, encoding="utf-8")
