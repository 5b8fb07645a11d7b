"""A sweep, run: planned, handed to an engine chunk by chunk, and kept in a folder."""

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
from tarsus.sweeps import named, pilot
from tarsus.sweeps import spec as specs
from tarsus.sweeps.chunk import check_outcomes
from tarsus.sweeps.engines.base import Lost, WorkEngine
from tarsus.sweeps.groups import Chunk, code, cut, groups
from tarsus.sweeps.spec import SweepSpec
from tarsus.sweeps.store import CHUNKS, SPEC, Store
from tarsus.sweeps.task import Done, work

ENGINES = "tarsus.sweeps.engines"
TRIES = 3  # of a chunk whose worker dies


@dataclass(frozen=True)
class SweepReport:
    """What a sweep did.

    worlds, chunks: of the whole sweep; skipped: chunks that were there; done: chunks made now
    groups: compiled steps; steps: time steps of all worlds to be made
    lost: chunks that could not be made, and why
    seconds: from the first to the last chunk; work: seconds of all workers in chunks
    expected: seconds of one worker, of a dry run
    trajectories, megabytes: how many were kept now, and how large they are; of a dry run: at most,
        about
    tried, failures: worlds that a dry run tried, and for how many of them what went wrong
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
    """Chunks done of `total`; `tell` is called with a line after each. Megabytes of trajectories:
    those that were there, and those made now.
    """

    total: int
    tell: Callable[[str], None]
    megabytes_before: float = 0.0
    began: float = field(default_factory=perf_counter)
    done: int = 0
    worlds: int = 0
    work: float = 0.0
    trajectories: int = 0
    megabytes: float = 0.0

    def add(self, worlds: int, done: Done) -> None:
        """One more chunk."""
        self.done, self.worlds = self.done + 1, self.worlds + worlds
        self.work += done.seconds
        self.trajectories += done.trajectories
        self.megabytes += done.megabytes
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
    trajectories: str | int | Sequence[int] | None = None,
) -> SweepReport:
    """Run a sweep; its rows are Parquet files in `out`, which `tarsus.sweeps.query` reads.

    spec: a `SweepSpec`, tables as its TOML file has them, or the file's path
    engine: "processes", "ray", "slurm" or "inline"; workers: how many, None: as many as there are
    dry_run: only say how many worlds and steps it has, and how long they take
    trajectories: whose are kept, in place of what the spec says (`SweepSpec.keep`)
    Chunks that are in the folder are not made again. TarsusError for bad input.
    """
    # what is there to do
    asked = _spec(spec)
    if trajectories is not None:
        asked = replace(asked, keep=specs.keeping(trajectories))
    check_outcomes(asked)
    registry.check_name(ENGINES, "engine", engine)
    whole = groups(asked)
    named.check(whole)
    steps = sum(len(g) * round(g.structure["seconds"] / g.structure["dt"]) for g in whole)
    report = SweepReport(sum(len(g) for g in whole), 0, len(whole), steps)
    if dry_run:
        return _expected(report, whole, pilot.costs(whole, tell), Path(out))
    store = Store(Path(out)).ready()
    make = registry.member_class(ENGINES, "engine", engine, WorkEngine)
    with EngineDoor(make, workers, store.folder) as door:
        return _made(asked, whole, store, door, report, tell)


class EngineDoor:
    """An engine that is opened when it is first needed."""

    def __init__(
        self, make: Callable[[int | None, Path], WorkEngine], workers: int | None, folder: Path
    ) -> None:
        self._make, self._workers, self._folder = make, workers, folder

    @cached_property
    def engine(self) -> WorkEngine:
        """Opened now, or before."""
        return self._make(self._workers, self._folder)

    def __enter__(self) -> EngineDoor:
        return self

    def __exit__(self, *error: object) -> None:
        if "engine" in self.__dict__:
            self.engine.close()


def _made(
    asked: SweepSpec,
    whole: Sequence[Chunk],
    store: Store,
    door: EngineDoor,
    report: SweepReport,
    tell: Callable[[str], None],
) -> SweepReport:
    """All chunks that are not there yet."""

    # how groups are cut; measured while workers start
    def sizes_now() -> list[int]:
        started = door.engine.warm()
        cost = pilot.costs(whole, tell, lambda: wait(started))
        pilot.check_room(cost, asked.keep, asked.most_mb, store.folder)
        return [c.size for c in cost]

    sizes = store.sizes([group.digest for group in whole], sizes_now)
    cuts = [(c, len(c) < n) for g, n in zip(whole, sizes, strict=True) for c in cut(g, n)]
    chunks = {c.digest: (c, small) for c, small in cuts}
    # what is not there yet: small ones last, the others from anywhere on, so that runs that share
    # the folder do not make the same ones
    _keep_spec(store, asked, list(chunks))
    there = store.there()
    left = [digest for digest in chunks if digest not in there]
    turned = int.from_bytes(os.urandom(4), "big") % max(len(left), 1)
    left = sorted(left[turned:] + left[:turned], key=lambda digest: chunks[digest][1])
    todo = [(digest, chunks[digest][0]) for digest in left]
    if not todo:
        return replace(report, chunks=len(chunks), skipped=len(chunks))
    # their work
    progress = SweepProgress(len(todo), tell, store.megabytes() if asked.keep else 0.0)
    lost = _worked(door.engine, store, todo, progress, asked.most_mb)
    return replace(
        report,
        chunks=len(chunks),
        skipped=len(chunks) - progress.total,
        done=progress.done,
        lost=tuple(lost),
        seconds=perf_counter() - progress.began,
        work=progress.work,
        trajectories=progress.trajectories,
        megabytes=progress.megabytes,
    )


def _expected(
    report: SweepReport, whole: Sequence[Chunk], cost: Sequence[pilot.GroupCost], folder: Path
) -> SweepReport:
    """What a dry run tells: cut as an earlier run in that folder was, else as is measured now."""
    kept = Store(folder).kept_sizes([group.digest for group in whole])
    sizes = kept or [c.size for c in cost]
    return replace(
        report,
        chunks=sum(len(list(cut(g, n))) for g, n in zip(whole, sizes, strict=True)),
        expected=sum(c.seconds for c in cost),
        trajectories=sum(c.trajectories for c in cost),
        megabytes=sum(c.megabytes for c in cost),
        tried=sum(c.tried for c in cost),
        failures=dict(Counter(why for c in cost for why in c.failed).most_common()),
    )


def _spec(given: SweepSpec | Mapping[str, Any] | str | Path) -> SweepSpec:
    if isinstance(given, SweepSpec):
        return given
    return specs.of(given) if isinstance(given, Mapping) else specs.read(Path(given))


def _worked(
    door: WorkEngine,
    store: Store,
    todo: list[tuple[str, Chunk]],
    progress: SweepProgress,
    most_mb: float,
) -> list[str]:
    """All chunks, a few more under way than there are workers; what could not be made, and why."""
    token = temporary_path(
        store.folder / SPEC
    ).name  # removed by the next run if this one is killed
    (store.folder / token).touch()
    waiting, tries = deque(todo), dict.fromkeys((digest for digest, _ in todo), 0)
    under_way: dict[Future[Done], tuple[str, Chunk]] = {}
    lost: list[str] = []
    folder, versions = str(store.folder.resolve()), json_text(code())
    try:
        while waiting or under_way:
            # hand over
            while waiting and len(under_way) < 2 * door.slots:
                digest, chunk = waiting.popleft()
                if store.path(digest).exists():  # another run was quicker
                    progress.total -= 1
                    continue
                tries[digest] += 1
                given = chunk, digest, versions, folder, token
                under_way[door.submit(work, *given)] = digest, chunk
            # take what is done
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                digest, chunk = under_way.pop(future)
                error = future.exception()
                if error is None:
                    done = future.result()
                    if done.files is not None:
                        store.put(digest, done.files.rows, done.files.trajectories)
                    progress.add(len(chunk), done)
                    _check_budget(progress, most_mb)
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


def _check_budget(progress: SweepProgress, most_mb: float) -> None:
    """TarsusError where trajectories have become too much; what is there stays."""
    held = progress.megabytes_before + progress.megabytes
    if held > most_mb:
        raise UnmetCondition(
            f"the trajectories have reached {held:.0f} MB after {progress.done} of {progress.total}"
            " chunks: keep fewer, or raise most_mb under [trajectories]; the next run continues"
            " from there.",
            "trajectories.most_mb",
        )


def _keep_spec(store: Store, spec: SweepSpec, digests: Sequence[str]) -> None:
    """What was asked, beside the rows, for the report; its chunks alone are the rows."""
    axes = {name: {"kind": type(a).__name__, **vars(a)} for name, a in spec.axes.items()}
    text = json_text({**vars(spec), "axes": axes, "code": code(), CHUNKS: digests}, indent=1)
    with atomic_write(store.folder / SPEC) as temporary:
        temporary.write_text(text, encoding="utf-8")
