"""One task: a chunk of worlds simulated as one batch, its rows as Parquet."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.errors import TarsusError, unknown
from tarsus.model.files import needed_library
from tarsus.simulation import inputs, resolve
from tarsus.simulation.by_candidate import by_candidate
from tarsus.simulation.simulation import Simulation
from tarsus.sweeps.groups import Chunk
from tarsus.sweeps.outcomes.base import Stretch, SweepOutcome

Array = NDArray[Any]
OUTCOMES = "tarsus.sweeps.outcomes"
STRETCH = 0.05  # s
FINITE = 1e9  # a coordinate or velocity beyond it has left the physical range


def rows(chunk: Chunk, digest: str) -> bytes:
    """A Parquet file with a row for each world; what could not be simulated says why.

    The bytes depend on the chunk alone.
    """
    measured, failure, notices = simulated(chunk)
    arrow = needed_library("pyarrow", "a sweep")
    columns: dict[str, Any] = {"sample": np.asarray(chunk.samples, np.int64)}
    for name, value in chunk.structure.items():
        columns[name] = [value] * len(chunk)
    columns |= {name: list(values) for name, values in chunk.columns.items()}
    columns |= measured
    columns |= {"failure": failure, "chunk": [digest] * len(chunk)}
    columns["tarsus_version"] = [metadata.version("tarsus")] * len(chunk)
    # numbers as float64, so that files of one sweep have the same columns
    arrays = {
        name: arrow.array(_typed(values), **({} if name != "failure" else {"type": arrow.string()}))
        for name, values in columns.items()
    }
    table = arrow.table(arrays).replace_schema_metadata({"notices": json.dumps(notices)})
    buffer = io.BytesIO()
    needed_library("pyarrow.parquet", "a sweep").write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _typed(values: Any) -> Any:
    """Numbers as float64, truth values and words as they are."""
    if isinstance(values, np.ndarray):
        return values
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return np.asarray(values, float)
    return values


def simulated(chunk: Chunk) -> tuple[dict[str, Array], list[str | None], list[str]]:
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


def _batch(chunk: Chunk) -> tuple[dict[str, Array], list[str | None], list[str]]:
    """All worlds at once."""
    simulation = built(chunk)
    watched = {name: make(simulation) for name, make in makers(chunk).items()}
    push = ChunkPush(chunk)
    total, dt = inputs.steps(chunk.structure["seconds"], simulation.dt), simulation.dt
    failure: list[str | None] = [None] * len(chunk)
    # stretches, which also end where a push begins or ends
    edges = {
        total,
        *(min(round(t / dt), total) for t in push.times),
        *range(0, total, _stretch(dt)),
    }
    done = 0
    for end in sorted(edge for edge in edges if edge > 0):
        push.at(simulation, done * dt)
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
            raise TarsusError(
                f"the outcome {name} must give one number a world, not {value.shape}."
            )
        measured[name] = np.where(well, value, np.nan)
    return measured, failure, list(simulation.notices)


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
        impulse = by_candidate(scene, impulse, log["memory"])
    tau = log.get("tau", np.zeros((steps, simulation.worlds, 0)))
    solved = log["converged"][..., 0] > 0
    return Stretch(log["q"], log["u"], before, impulse, tau, solved, time)


def built(chunk: Chunk) -> Simulation:
    """The simulation of all worlds of a chunk at their start."""
    own, columns = dict(chunk.structure), chunk.columns
    count = len(chunk)
    # parts with one number a world, the law's set later: chunks then share one step, traced once;
    # parameters of gait and stepper as on the command line
    plain = resolve.law(own["law"])
    later = {
        name[4:]: values
        for name, values in columns.items()
        if name.startswith("law.") and getattr(plain, name[4:]) is not None
    }
    law = _part(plain, "law", chunk, later)
    terrain = _part(resolve.terrain(own["terrain"]), "terrain", chunk)
    texts = [f"{n}={v}" for n, v in own.items() if n.partition(".")[0] in ("gait", "stepper")]
    options: dict[str, Any] = {n[7:]: v for n, v in own.items() if n.startswith("option.")}
    masses = {n[5:]: np.asarray(v, float) for n, v in columns.items() if n.startswith("mass.")}
    simulation = Simulation(
        own["robot"],
        law,
        own["stepper"],
        terrain,
        own["gait"],
        own["dt"],
        worlds=count,
        parameters=[text for text in texts if "." in text.partition("=")[0]],
        mass_scale=masses or None,
        pushes=(own["push.body"],) if "push.body" in own else (),
        **options,
    )
    each: dict[str, Any] = {
        name: np.asarray(values, float) if count > 1 else values[0]
        for name, values in later.items()
    }
    simulation.set(**each)
    # commands, and starts apart from one another
    command = {n[8:]: np.asarray(v) for n, v in columns.items() if n.startswith("command.")}
    if command:
        one = {n: v if count > 1 else float(v[0]) for n, v in command.items()}
        simulation.set(command=one)
    _disturbed(simulation, chunk)
    return simulation


def _part(default: Any, part: str, chunk: Chunk, later: Collection[str] = ()) -> Any:
    """A law or terrain with the chunk's parameters, but for what is set later; words and single
    numbers are structural.
    """
    changed = dict[str, Any]()
    for name, value in chunk.structure.items():
        if name.startswith(f"{part}."):
            changed[name.partition(".")[2]] = value
    for name, values in chunk.columns.items():
        if name.startswith(f"{part}.") and name.partition(".")[2] not in later:
            changed[name.partition(".")[2]] = (
                np.asarray(values, float) if len(chunk) > 1 else float(values[0])
            )
    return replace(default, **changed) if changed else default


def _disturbed(simulation: Simulation, chunk: Chunk) -> None:
    """Starts with `noise`, each world's by its own seed, whatever worlds stand beside it."""
    noise = {n[6:]: v for n, v in chunk.columns.items() if n.startswith("noise.")}
    if not noise:
        return
    seeds = chunk.columns.get("seed", chunk.samples)
    q, u = np.atleast_2d(simulation.q), np.atleast_2d(simulation.u)
    first = 7 if simulation.robot.floating else 0
    for k, seed in enumerate(seeds):
        random = np.random.default_rng(int(seed))
        drawn = random.standard_normal(q.shape[1] - first), random.standard_normal(u.shape[1])
        q[k, first:] += float(noise["q"][k]) * drawn[0] if "q" in noise else 0.0
        u[k] += float(noise["u"][k]) * drawn[1] if "u" in noise else 0.0
    simulation.set(q=q if len(chunk) > 1 else q[0], u=u if len(chunk) > 1 else u[0])


class ChunkPush:
    """The push of a chunk: its times, s, and the force at a time."""

    def __init__(self, chunk: Chunk) -> None:
        own = chunk.structure
        self.body = own.get("push.body")
        begin = float(own.get("push.at", 0.0))
        self.times = [begin, begin + float(own.get("push.seconds", 0.1))] if self.body else []
        axes = [chunk.columns.get(f"push.{axis}", [0.0] * len(chunk)) for axis in "xyz"]
        self.force = np.stack([np.asarray(axis, float) for axis in axes], -1)

    def at(self, simulation: Simulation, time: float) -> None:
        """Set it where it begins or ends."""
        if self.body is None:
            return
        inside = self.times[0] - 1e-9 <= time < self.times[1] - 1e-9
        force = self.force if inside else 0.0 * self.force
        simulation.set(push={self.body: force if len(force) > 1 else force[0]})


# ---------------------------------------------------------------- outcomes by name


def makers(chunk: Chunk) -> dict[str, Callable[[Simulation], SweepOutcome]]:
    """What makes each outcome, those of the user's file after those named."""
    found: dict[str, Callable[[Simulation], SweepOutcome]] = {
        name: registry.member(OUTCOMES, "outcome", name, SweepOutcome) for name in chunk.outcomes
    }
    if chunk.own:
        found |= _own(chunk.own)
    return found


def outcome_names(chunk: Chunk) -> list[str]:
    """The columns of outcomes."""
    return list(makers(chunk))


def _own(path: str) -> dict[str, Callable[[Simulation], SweepOutcome]]:
    """Classes and functions of a user's file."""
    module = registry.from_file(path, "outcomes")
    found: dict[str, Callable[[Simulation], SweepOutcome]] = {}
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type) and issubclass(value, SweepOutcome):
            found[name] = value
        elif inspect.isfunction(value):
            found[name] = lambda simulation, asked=value: AtEnd(simulation, asked)
    if not found:
        raise TarsusError(f"{path} defines neither a function nor an SweepOutcome.")
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


def check_outcomes(wanted: Sequence[str], own: str) -> None:
    """TarsusError for an outcome that there is not."""
    for name in wanted:
        if name not in registry.names(OUTCOMES):
            raise unknown("outcome", name, registry.names(OUTCOMES))
    if own:
        _own(own)
