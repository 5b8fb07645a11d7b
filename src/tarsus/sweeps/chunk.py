"""One task: a chunk of worlds simulated as one batch, its rows as Parquet, trajectories beside."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.errors import (
    InvalidFile,
    InvalidValue,
    TarsusError,
    WarningRecord,
    one_per_code,
    unknown_name,
)
from tarsus.model.files import needed_library
from tarsus.simulation import time_steps
from tarsus.simulation.contact_reports import scatter_to_candidates
from tarsus.simulation.simulation import Simulation
from tarsus.sweeps.built import ChunkPush, built
from tarsus.sweeps.groups import Chunk
from tarsus.sweeps.outcomes.base import Stretch, SweepOutcome
from tarsus.sweeps.spec import SweepSpec
from tarsus.sweeps.store import TRAJECTORIES, WARNINGS
from tarsus.sweeps.trajectories import ALL, FAILED, trajectories

Array = NDArray[Any]
OUTCOMES = "tarsus.sweeps.outcomes"
TEXTS = ("failure", "warnings", "trajectory")  # columns that may be empty
STRETCH = 0.05  # s
FINITE = 1e9  # a coordinate or velocity beyond it has left the physical range


@dataclass(frozen=True)
class ChunkFiles:
    """What a chunk leaves: its rows, a Parquet file, and the trajectories kept, by file name."""

    rows: bytes
    trajectories: Mapping[str, bytes]


def made(chunk: Chunk, digest: str, versions: str) -> ChunkFiles:
    """A row for each world, which says why if it could not be simulated, and trajectories.

    digest, versions: the chunk's, and in JSON those of the code, as whoever asks for it knows them
    The bytes depend on the chunk alone.
    """
    measured, failure, notices = simulated(chunk)
    kept = trajectories(chunk, measured, failure)
    files = [kept.get(sample) for sample in chunk.samples]
    named = [None if f is None else f"{TRAJECTORIES}/{digest}/{f.name}" for f in files]
    codes = ", ".join(sorted({notice.code for notice in notices})) or None
    beside: dict[str, Any] = {"warnings": [codes if why is None else None for why in failure]}
    beside |= {"trajectory": named} if chunk.keep else {}
    beside |= {"versions": [versions] * len(chunk)}
    whole = _rows(chunk, digest, {**measured, "failure": failure, **beside}, notices)
    return ChunkFiles(whole, {f.name: f.content for f in files if f is not None})


def _rows(
    chunk: Chunk, digest: str, measured: Mapping[str, Any], notices: Sequence[WarningRecord]
) -> bytes:
    """A Parquet file with a row for each world."""
    arrow = needed_library("pyarrow", "a sweep", "sweeps")
    columns: dict[str, Any] = {"sample": np.asarray(chunk.samples, np.int64)}
    for name, value in chunk.structure.items():
        columns[name] = [value] * len(chunk)
    columns |= {name: list(values) for name, values in chunk.columns.items()}
    columns |= measured
    columns["chunk"] = [digest] * len(chunk)
    columns["tarsus_version"] = [metadata.version("tarsus")] * len(chunk)
    # numbers as float64, so that files of one sweep have the same columns
    arrays = {
        name: arrow.array(_typed(values), **({"type": arrow.string()} if name in TEXTS else {}))
        for name, values in columns.items()
    }
    told = {notice.code: notice for notice in one_per_code(notices)}
    table = arrow.table(arrays).replace_schema_metadata({WARNINGS: json.dumps(told)})
    buffer = io.BytesIO()
    needed_library("pyarrow.parquet", "a sweep", "sweeps").write_table(
        table, buffer, compression="zstd"
    )
    return buffer.getvalue()


def _typed(values: Any) -> Any:
    """Numbers as float64, truth values and words as they are."""
    if isinstance(values, np.ndarray):
        return values
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return np.asarray(values, float)
    return values


def simulated(chunk: Chunk) -> tuple[dict[str, Array], list[str | None], list[WarningRecord]]:
    """Outcomes by name, why a world failed (None: it did not), and the simulation's notices.

    A world whose parameters are refused fails alone.
    """
    try:
        return _batch(chunk)
    except TarsusError as error:
        if len(chunk) == 1:
            nothing = {name: np.full(1, np.nan) for name in outcome_names(chunk)}
            return nothing, [str(error)], []
    half = len(chunk) // 2
    parts = [simulated(chunk.part(0, half)), simulated(chunk.part(half, len(chunk)))]
    joined = {name: np.concatenate([p[0][name] for p in parts]) for name in parts[0][0]}
    notices = sorted({notice for part in parts for notice in part[2]})
    return joined, parts[0][1] + parts[1][1], notices


def _batch(chunk: Chunk) -> tuple[dict[str, Array], list[str | None], list[WarningRecord]]:
    """All worlds at once."""
    simulation = built(chunk)
    watched = {name: make(simulation) for name, make in makers(chunk).items()}
    total, dt = time_steps.step_count(chunk.structure["seconds"], simulation.dt), simulation.dt
    push = ChunkPush(chunk, dt)
    failure: list[str | None] = [None] * len(chunk)
    # stretches, which also end where a push begins or ends
    edges = {
        total,
        *(min(step, total) for step in push.steps),
        *range(0, total, _stretch(dt)),
    }
    done = 0
    for end in sorted(edge for edge in edges if edge > 0):
        if push.body is not None:
            simulation.set(push=push.at(done))
        before = np.atleast_2d(simulation.q), np.atleast_2d(simulation.u)
        stretch = _advanced(simulation, end - done, before, end * dt)
        lost = ~_physical(stretch)
        for k in np.flatnonzero(lost):
            failure[k] = failure[k] or f"it left the physical range before t = {end * dt:.4g} s."
        with np.errstate(all="ignore"):
            for outcome in watched.values():
                outcome.see(stretch)
        done = end
    # what they saw; of worlds that were lost, nothing
    well = np.array([reason is None for reason in failure])
    measured = {}
    for name, outcome in watched.items():
        value = np.asarray(outcome.value(), float)
        if value.shape != (len(chunk),):
            raise InvalidValue(
                f"the outcome {name!r} must return one number per world, an array of shape"
                f" {(len(chunk),)}, not {value.shape}.",
                name,
            )
        measured[name] = np.where(well, value, np.nan)
    return measured, failure, list(simulation.warnings)


def _stretch(dt: float) -> int:
    return max(round(STRETCH / dt), 1)


def _physical(stretch: Stretch) -> NDArray[np.bool_]:
    both = np.concatenate([stretch.q[-1], stretch.u[-1]], -1)
    sane = np.isfinite(both) & (np.abs(np.nan_to_num(both)) < FINITE)
    return np.asarray(sane.all(-1))


def _advanced(
    simulation: Simulation, steps: int, before: tuple[Array, Array], time: float
) -> Stretch:
    """The next steps."""
    log, scene = simulation.backend.record(steps), simulation.plan.scene
    impulse = log["impulse"].reshape(steps, simulation.worlds, -1, 3)
    if scene.slots:
        impulse = scatter_to_candidates(scene, impulse, log["memory"])
    tau = log.get("tau", np.zeros((steps, simulation.worlds, 0)))
    solved = log["converged"][..., 0] > 0
    return Stretch(log["q"], log["u"], before, impulse, tau, solved, time)


# ---------------------------------------------------------------- outcomes by name


def makers(chunk: Chunk) -> dict[str, Callable[[Simulation], SweepOutcome]]:
    """What makes each outcome, those of the user's file after those named."""
    found: dict[str, Callable[[Simulation], SweepOutcome]] = {
        name: registry.member_class(OUTCOMES, "outcome", name, SweepOutcome)
        for name in chunk.outcomes
    }
    if chunk.own:
        found |= _own(chunk.own)
    return found


def outcome_names(chunk: Chunk) -> list[str]:
    """The columns of outcomes."""
    return list(makers(chunk))


def _own(path: str) -> dict[str, Callable[[Simulation], SweepOutcome]]:
    """Classes and functions of a user's file."""
    module = registry.load_file(path, "outcomes")
    found: dict[str, Callable[[Simulation], SweepOutcome]] = {}
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type) and issubclass(value, SweepOutcome):
            found[name] = value
        elif inspect.isfunction(value):
            found[name] = lambda simulation, asked=value: AtEnd(simulation, asked)
    if not found:
        raise InvalidFile(f"{path} must define a function or a SweepOutcome.", path)
    return found


class AtEnd(SweepOutcome):
    """A user's function of the simulation as it ended."""

    unit = "1"

    def __init__(self, simulation: Simulation, asked: Callable[[Simulation], Any]) -> None:
        super().__init__(simulation)
        self._asked = asked

    def see(self, stretch: Stretch) -> None:
        return

    def value(self) -> Array:
        return np.asarray(self._asked(self.simulation), float).reshape(-1)


def check_outcomes(spec: SweepSpec) -> None:
    """TarsusError for an outcome that there is not, also as whose trajectories are kept."""
    for name in spec.outcomes:
        if name not in registry.names(OUTCOMES):
            raise unknown_name("outcome", name, registry.names(OUTCOMES))
    measured = (*spec.outcomes, *(_own(spec.own) if spec.own else ()))
    words = (ALL, FAILED, *measured)
    if isinstance(spec.keep, str) and spec.keep not in words:
        raise unknown_name("worlds whose trajectories are kept", spec.keep, words)
