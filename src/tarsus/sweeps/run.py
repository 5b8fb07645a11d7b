"""Run a sweep: plan it, hand its chunks to an engine, and store the results in a folder."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from tarsus import registry
from tarsus.errors import UnmetCondition
from tarsus.files import atomic_write, json_text, temporary_path
from tarsus.sweeps import name_checks, pilot
from tarsus.sweeps import spec as specs
from tarsus.sweeps.chunk import check_outcomes
from tarsus.sweeps.engines.base import WorkEngine, WorkerLost
from tarsus.sweeps.groups import Chunk, code_versions, group_worlds, split_chunks
from tarsus.sweeps.spec import SweepSpec
from tarsus.sweeps.store import CHUNKS, SPEC, Store
from tarsus.sweeps.task import TaskResult, run_task

ENGINES = "tarsus.sweeps.engines"
MAX_TRIES = 3  # of a chunk whose worker dies


@dataclass(frozen=True)
class SweepReport:
    """Result of a sweep, or the estimate of a dry run.

    Attributes
    ----------
    worlds, chunks
        Numbers of worlds and chunks in the whole sweep.
    groups
        Number of compiled steps.
    steps
        Number of time steps of all worlds.
    skipped
        Chunks that were already in the folder.
    done
        Chunks simulated now.
    lost
        Chunks that could not be simulated, with the reason.
    seconds
        Wall time from the first to the last chunk, in s.
    work
        Time that all workers spent on chunks, in s.
    expected
        Estimated time of one worker in s; None unless it is a dry run.
    trajectories, megabytes
        Number of trajectories saved now, and their size; upper estimates in a dry run.
    tried, failures
        Number of worlds that a dry run tried, and the number of failures for each reason.
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
    trajectories: int = 0
    megabytes: float = 0.0
    tried: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class SweepProgress:
    """Progress of a sweep.

    Attributes
    ----------
    total
        Number of chunks to simulate.
    report
        Called with a line of text after each chunk.
    megabytes_before
        Size of the trajectories that were already in the folder.
    start
        Start time in s.
    done, worlds, work, trajectories, megabytes
        Totals of the finished chunks.
    """

    total: int
    report: Callable[[str], None]
    megabytes_before: float = 0.0
    start: float = field(default_factory=perf_counter)
    done: int = 0
    worlds: int = 0
    work: float = 0.0
    trajectories: int = 0
    megabytes: float = 0.0

    def add(self, worlds: int, result: TaskResult) -> None:
        """Add a finished chunk and report the progress."""
        self.done, self.worlds = self.done + 1, self.worlds + worlds
        self.work += result.seconds
        self.trajectories += result.trajectories
        self.megabytes += result.megabytes
        elapsed = perf_counter() - self.start
        self.report(
            f"{self.done} of {self.total} chunks, {self.worlds / elapsed:.0f}"
            f" worlds/s, {(self.total - self.done) * elapsed / self.done:.0f} s left"
        )


def sweep(
    spec: SweepSpec | Mapping[str, Any] | str | Path,
    out: str | Path,
    engine: str = "processes",
    workers: int | None = None,
    dry_run: bool = False,
    on_progress: Callable[[str], None] = lambda text: None,
    trajectories: str | int | Sequence[int] | None = None,
) -> SweepReport:
    """Run simulations over a grid, a Latin hypercube or random samples of parameters.

    The results are Parquet files in `out`; `tarsus.sweeps.query` and `tarsus results` read them.
    Chunks of worlds that are already in the folder are skipped, so an interrupted sweep resumes.

    Parameters
    ----------
    spec
        Path of a TOML file (docs/sweeps.md), the same tables as dictionaries, or a `SweepSpec`.
    out
        Folder for the results.
    engine
        Where to simulate: "processes", "ray", "slurm", or "inline" (this process).
    workers
        Number of parallel workers; None for all that are available.
    dry_run
        Whether to only estimate the number of worlds and steps, the time and the disk space.
    on_progress
        Called with a line of text about the progress.
    trajectories
        Worlds whose logs to save, instead of the spec's choice: "all", "failed", an outcome (where
        it is not zero), a number of worlds, or sample numbers.

    Returns
    -------
    SweepReport
        Numbers of simulated and skipped chunks, and the time taken.

    Raises
    ------
    TarsusError
        If the spec is invalid, or the trajectories would exceed the limit or the free disk space.

    Examples
    --------
    >>> import tarsus
    >>> spec = {
    ...     "fixed": {"robot": "mini_cheetah", "gait": "stand", "seconds": 0.1},
    ...     "vary": {"law": ["moreau", "compliant"], "law.mu": [0.4, 0.8]},
    ... }
    >>> report = tarsus.sweep(spec, "stand", engine="inline")
    >>> report.worlds
    4
    """
    # plan
    sweep_spec = _spec(spec)
    if trajectories is not None:
        sweep_spec = replace(sweep_spec, keep=specs.parse_keep(trajectories))
    check_outcomes(sweep_spec)
    registry.check_name(ENGINES, "engine", engine)
    groups = group_worlds(sweep_spec)
    name_checks.check_names(groups)
    steps = sum(len(g) * round(g.structure["seconds"] / g.structure["dt"]) for g in groups)
    report = SweepReport(sum(len(g) for g in groups), 0, len(groups), steps)
    if dry_run:
        return _estimate(report, groups, pilot.measure_costs(groups, on_progress), Path(out))
    # run
    store = Store(Path(out)).create()
    make = registry.member_class(ENGINES, "engine", engine, WorkEngine)
    with LazyEngine(make, workers, store.folder) as lazy:
        return _run(sweep_spec, groups, store, lazy, report, on_progress)


class LazyEngine:
    """Engine that is started when it is first used."""

    def __init__(
        self, make: Callable[[int | None, Path], WorkEngine], workers: int | None, folder: Path
    ) -> None:
        self._make, self._workers, self._folder = make, workers, folder

    @cached_property
    def engine(self) -> WorkEngine:
        """Engine, started on first use."""
        return self._make(self._workers, self._folder)

    def __enter__(self) -> LazyEngine:
        return self

    def __exit__(self, *error: object) -> None:
        if "engine" in self.__dict__:
            self.engine.close()


def _run(
    spec: SweepSpec,
    groups: Sequence[Chunk],
    store: Store,
    lazy: LazyEngine,
    report: SweepReport,
    on_progress: Callable[[str], None],
) -> SweepReport:
    """Simulate all chunks that are not yet in the folder."""

    # chunk sizes, measured while workers start
    def measure_sizes() -> list[int]:
        started = lazy.engine.warm_up()
        costs = pilot.measure_costs(groups, on_progress, lambda: wait(started))
        pilot.check_disk_space(costs, spec.keep, spec.max_mb, store.folder)
        return [cost.size for cost in costs]

    sizes = store.chunk_sizes([group.digest for group in groups], measure_sizes)
    chunks = {
        chunk.digest: (chunk, len(chunk) < size)
        for group, size in zip(groups, sizes, strict=True)
        for chunk in split_chunks(group, size)
    }
    # missing chunks: large ones first, starting at a random one, so that runs that share the folder
    # work on different chunks
    _write_spec(store, spec, list(chunks))
    finished = store.finished_digests()
    missing = [digest for digest in chunks if digest not in finished]
    offset = int.from_bytes(os.urandom(4), "big") % max(len(missing), 1)
    missing = sorted(missing[offset:] + missing[:offset], key=lambda digest: chunks[digest][1])
    todo = [(digest, chunks[digest][0]) for digest in missing]
    if not todo:
        return replace(report, chunks=len(chunks), skipped=len(chunks))
    # simulate
    progress = SweepProgress(len(todo), on_progress, store.megabytes() if spec.keep else 0.0)
    lost = _simulate_chunks(lazy.engine, store, todo, progress, spec.max_mb)
    return replace(
        report,
        chunks=len(chunks),
        skipped=len(chunks) - progress.total,
        done=progress.done,
        lost=tuple(lost),
        seconds=perf_counter() - progress.start,
        work=progress.work,
        trajectories=progress.trajectories,
        megabytes=progress.megabytes,
    )


def _estimate(
    report: SweepReport, groups: Sequence[Chunk], costs: Sequence[pilot.GroupCost], folder: Path
) -> SweepReport:
    """Estimate a dry run; chunk sizes are those of an earlier run in the folder."""
    stored = Store(folder).stored_sizes([group.digest for group in groups])
    sizes = stored or [cost.size for cost in costs]
    return replace(
        report,
        chunks=sum(len(list(split_chunks(g, n))) for g, n in zip(groups, sizes, strict=True)),
        expected=sum(cost.seconds for cost in costs),
        trajectories=sum(cost.trajectories for cost in costs),
        megabytes=sum(cost.megabytes for cost in costs),
        tried=sum(cost.tried for cost in costs),
        failures=dict(Counter(why for cost in costs for why in cost.failed).most_common()),
    )


def _spec(spec: SweepSpec | Mapping[str, Any] | str | Path) -> SweepSpec:
    if isinstance(spec, SweepSpec):
        return spec
    return specs.from_tables(spec) if isinstance(spec, Mapping) else specs.read(Path(spec))


def _simulate_chunks(
    engine: WorkEngine,
    store: Store,
    todo: list[tuple[str, Chunk]],
    progress: SweepProgress,
    max_mb: float,
) -> list[str]:
    """Simulate all chunks, with up to two submitted per worker; return the lost chunks."""
    token = temporary_path(
        store.folder / SPEC
    ).name  # the next run removes it if this one is killed
    (store.folder / token).touch()
    waiting, tries = deque(todo), dict.fromkeys((digest for digest, _ in todo), 0)
    submitted: dict[Future[TaskResult], tuple[str, Chunk]] = {}
    lost: list[str] = []
    folder, versions = str(store.folder.resolve()), json_text(code_versions())
    try:
        while waiting or submitted:
            # submit chunks
            while waiting and len(submitted) < 2 * engine.slots:
                digest, chunk = waiting.popleft()
                if store.path(digest).exists():  # another run has finished it
                    progress.total -= 1
                    continue
                tries[digest] += 1
                arguments = chunk, digest, versions, folder, token
                submitted[engine.submit(run_task, *arguments)] = digest, chunk
            # collect results
            for future in wait(submitted, return_when=FIRST_COMPLETED).done:
                digest, chunk = submitted.pop(future)
                error = future.exception()
                if error is None:
                    result = future.result()
                    if result.files is not None:
                        store.write(digest, result.files.rows, result.files.trajectories)
                    progress.add(len(chunk), result)
                    _check_budget(progress, max_mb)
                elif isinstance(error, WorkerLost) and tries[digest] < MAX_TRIES:
                    waiting.append((digest, chunk))
                elif isinstance(error, OSError):  # such as a full disk, which stops all chunks
                    raise error
                else:
                    lost.append(f"chunk {digest} ({len(chunk)} worlds): {error}")
    finally:
        (store.folder / token).unlink(missing_ok=True)
        for future in submitted:
            future.cancel()
    return lost


def _check_budget(progress: SweepProgress, max_mb: float) -> None:
    """Raise UnmetCondition if the trajectories exceed the limit; finished chunks remain."""
    megabytes = progress.megabytes_before + progress.megabytes
    if megabytes > max_mb:
        raise UnmetCondition(
            f"the trajectories have reached {megabytes:.0f} MB after {progress.done} of"
            f" {progress.total} chunks: keep fewer, or raise max_mb under [trajectories]; the next"
            " run continues from there.",
            "trajectories.max_mb",
        )


def _write_spec(store: Store, spec: SweepSpec, digests: Sequence[str]) -> None:
    """Write the spec next to the rows; its chunks are the rows of the last sweep in the folder."""
    axes = {name: {"kind": type(a).__name__, **vars(a)} for name, a in spec.axes.items()}
    record = {**vars(spec), "axes": axes, "code": code_versions(), CHUNKS: digests}
    text = json_text(record, indent=1)
    with atomic_write(store.folder / SPEC) as temporary:
        temporary.write_text(text, encoding="utf-8")
