"""Simulate one chunk of worlds as a batch; return its rows as Parquet, and its trajectories."""

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
    unknown_name_error,
)
from tarsus.model.files import import_library
from tarsus.simulation import time_steps
from tarsus.simulation.contact_reports import scatter_to_candidates
from tarsus.simulation.simulation import Simulation
from tarsus.sweeps.chunk_simulation import ChunkPush, chunk_simulation
from tarsus.sweeps.groups import Chunk
from tarsus.sweeps.outcomes.base import StepBatch, SweepOutcome
from tarsus.sweeps.spec import SweepSpec
from tarsus.sweeps.store import TRAJECTORIES, WARNINGS
from tarsus.sweeps.trajectories import ALL, FAILED, simulate_trajectories

Array = NDArray[Any]
OUTCOMES = "tarsus.sweeps.outcomes"
TEXT_COLUMNS = ("failure", "warnings", "trajectory")  # columns that may be empty
BATCH_TIME = 0.05  # s between two measurements of outcomes
MAX_STATE = 1e9  # coordinates or velocities beyond it have left the physical range


@dataclass(frozen=True)
class ChunkFiles:
    """Files of a chunk: its rows as a Parquet file, and saved trajectories by file name."""

    rows: bytes
    trajectories: Mapping[str, bytes]


def simulate_chunk(chunk: Chunk, digest: str, versions: str) -> ChunkFiles:
    """Simulate a chunk; return a row for each world, and the saved trajectories.

    The row of a failed world contains the reason. The result depends only on the arguments, bit
    for bit.

    Parameters
    ----------
    chunk
        Worlds to simulate.
    digest
        Digest of the chunk.
    versions
        Versions of the code, as JSON.
    """
    outcomes, failure, notices = measure(chunk)
    saved = simulate_trajectories(chunk, outcomes, failure)
    files = [saved.get(sample) for sample in chunk.samples]
    paths = [None if f is None else f"{TRAJECTORIES}/{digest}/{f.name}" for f in files]
    codes = ", ".join(sorted({notice.code for notice in notices})) or None
    extra: dict[str, Any] = {"warnings": [codes if why is None else None for why in failure]}
    extra |= {"trajectory": paths} if chunk.keep else {}
    extra |= {"versions": [versions] * len(chunk)}
    rows = _write_parquet(chunk, digest, {**outcomes, "failure": failure, **extra}, notices)
    return ChunkFiles(rows, {f.name: f.content for f in files if f is not None})


def _write_parquet(
    chunk: Chunk, digest: str, measured: Mapping[str, Any], notices: Sequence[WarningRecord]
) -> bytes:
    """Write a Parquet file with a row for each world."""
    arrow = import_library("pyarrow", "a sweep", "sweeps")
    columns: dict[str, Any] = {"sample": np.asarray(chunk.samples, np.int64)}
    for name, value in chunk.structure.items():
        columns[name] = [value] * len(chunk)
    columns |= {name: list(values) for name, values in chunk.columns.items()}
    columns |= measured
    columns["chunk"] = [digest] * len(chunk)
    columns["tarsus_version"] = [metadata.version("tarsus")] * len(chunk)
    # numbers are float64, so that all files of a sweep have the same column types
    text = {"type": arrow.string()}
    arrays = {
        name: arrow.array(_with_float64(values), **(text if name in TEXT_COLUMNS else {}))
        for name, values in columns.items()
    }
    messages = {notice.code: notice for notice in one_per_code(notices)}
    table = arrow.table(arrays).replace_schema_metadata({WARNINGS: json.dumps(messages)})
    buffer = io.BytesIO()
    import_library("pyarrow.parquet", "a sweep", "sweeps").write_table(
        table, buffer, compression="zstd"
    )
    return buffer.getvalue()


def _with_float64(values: Any) -> Any:
    """Convert numbers to float64; Booleans and text are unchanged."""
    if isinstance(values, np.ndarray):
        return values
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return np.asarray(values, float)
    return values


def measure(chunk: Chunk) -> tuple[dict[str, Array], list[str | None], list[WarningRecord]]:
    """Simulate a chunk and measure its outcomes.

    If the parameters of one world are invalid, only that world fails.

    Returns
    -------
    outcomes : dict
        Outcomes by name, each of shape (worlds,); NaN for a failed world.
    failure : list
        Reason why each world failed; None for the others.
    notices : list
        Warnings of the simulation.
    """
    try:
        return _measure_batch(chunk)
    except TarsusError as error:
        if len(chunk) == 1:
            missing = {name: np.full(1, np.nan) for name in outcome_names(chunk)}
            return missing, [str(error)], []
    half = len(chunk) // 2
    parts = [measure(chunk.part(0, half)), measure(chunk.part(half, len(chunk)))]
    joined = {name: np.concatenate([p[0][name] for p in parts]) for name in parts[0][0]}
    notices = sorted({notice for part in parts for notice in part[2]})
    return joined, parts[0][1] + parts[1][1], notices


def _measure_batch(chunk: Chunk) -> tuple[dict[str, Array], list[str | None], list[WarningRecord]]:
    """Measure the outcomes of all worlds in one batch."""
    simulation = chunk_simulation(chunk)
    outcomes = {name: make(simulation) for name, make in outcome_makers(chunk).items()}
    total, dt = time_steps.step_count(chunk.structure["seconds"], simulation.dt), simulation.dt
    push = ChunkPush(chunk, dt)
    failure: list[str | None] = [None] * len(chunk)
    # batches of steps, which also end where a push starts or ends
    edges = {
        total,
        *(min(step, total) for step in push.steps),
        *range(0, total, _batch_steps(dt)),
    }
    done = 0
    for end in sorted(edge for edge in edges if edge > 0):
        if push.body is not None:
            simulation.set(push=push.at(done))
        before = np.atleast_2d(simulation.q), np.atleast_2d(simulation.u)
        batch = _advance(simulation, end - done, before, end * dt)
        diverged = ~_is_physical(batch)
        for k in np.flatnonzero(diverged):
            failure[k] = failure[k] or f"it left the physical range before t = {end * dt:.4g} s."
        with np.errstate(all="ignore"):
            for outcome in outcomes.values():
                outcome.update(batch)
        done = end
    # outcomes; NaN for worlds that failed
    succeeded = np.array([reason is None for reason in failure])
    measured = {}
    for name, outcome in outcomes.items():
        value = np.asarray(outcome.value(), float)
        if value.shape != (len(chunk),):
            raise InvalidValue(
                f"the outcome {name!r} must return one number per world, an array of shape"
                f" {(len(chunk),)}, not {value.shape}.",
                name,
            )
        measured[name] = np.where(succeeded, value, np.nan)
    return measured, failure, list(simulation.warnings)


def _batch_steps(dt: float) -> int:
    return max(round(BATCH_TIME / dt), 1)


def _is_physical(batch: StepBatch) -> NDArray[np.bool_]:
    """Find the worlds with a finite state within the physical range, shape (worlds,)."""
    state = np.concatenate([batch.q[-1], batch.u[-1]], -1)
    physical = np.isfinite(state) & (np.abs(np.nan_to_num(state)) < MAX_STATE)
    return np.asarray(physical.all(-1))


def _advance(
    simulation: Simulation, steps: int, before: tuple[Array, Array], time: float
) -> StepBatch:
    """Simulate and return the next steps."""
    log, scene = simulation.backend.record(steps), simulation.plan.scene
    impulse = log["impulse"].reshape(steps, simulation.worlds, -1, 3)
    if scene.slots:
        impulse = scatter_to_candidates(scene, impulse, log["memory"])
    tau = log.get("tau", np.zeros((steps, simulation.worlds, 0)))
    solved = log["converged"][..., 0] > 0
    return StepBatch(log["q"], log["u"], before, impulse, tau, solved, time)


# ---------------------------------------------------------------- outcomes by name


def outcome_makers(chunk: Chunk) -> dict[str, Callable[[Simulation], SweepOutcome]]:
    """Collect the function that makes each outcome; those of the user's file come last."""
    makers: dict[str, Callable[[Simulation], SweepOutcome]] = {
        name: registry.member_class(OUTCOMES, "outcome", name, SweepOutcome)
        for name in chunk.outcomes
    }
    if chunk.outcome_file:
        makers |= _load_user_outcomes(chunk.outcome_file)
    return makers


def outcome_names(chunk: Chunk) -> list[str]:
    """List the names of all outcomes."""
    return list(outcome_makers(chunk))


def _load_user_outcomes(path: str) -> dict[str, Callable[[Simulation], SweepOutcome]]:
    """Load the outcomes in a user's file: classes, and functions of the final state."""
    module = registry.load_file(path, "outcomes")
    makers: dict[str, Callable[[Simulation], SweepOutcome]] = {}
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type) and issubclass(value, SweepOutcome):
            makers[name] = value
        elif inspect.isfunction(value):
            makers[name] = lambda simulation, function=value: FinalOutcome(simulation, function)
    if not makers:
        raise InvalidFile(f"{path} must define a function or a SweepOutcome.", path)
    return makers


class FinalOutcome(SweepOutcome):
    """Outcome of a user's function, which is called once at the end of the simulation."""

    unit = "1"

    def __init__(self, simulation: Simulation, function: Callable[[Simulation], Any]) -> None:
        super().__init__(simulation)
        self._function = function

    def update(self, batch: StepBatch) -> None:
        return

    def value(self) -> Array:
        return np.asarray(self._function(self.simulation), float).reshape(-1)


def check_outcomes(spec: SweepSpec) -> None:
    """Raise UnknownName for an unknown outcome, also in the choice of trajectories."""
    for name in spec.outcomes:
        if name not in registry.names(OUTCOMES):
            raise unknown_name_error("outcome", name, registry.names(OUTCOMES))
    measured = (
        *spec.outcomes,
        *(_load_user_outcomes(spec.outcome_file) if spec.outcome_file else ()),
    )
    choices = (ALL, FAILED, *measured)
    if isinstance(spec.keep, str) and spec.keep not in choices:
        raise unknown_name_error("choice of trajectories", spec.keep, choices)
