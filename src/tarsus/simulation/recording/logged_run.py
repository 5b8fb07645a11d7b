"""Run a simulation and log it: steps until the end, a fault or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xarray as xr

from tarsus.errors import WarningRecord, join_names
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.interpenetration import find_interpenetrations
from tarsus.program.run.backend import Array
from tarsus.simulation.inputs import to_numpy
from tarsus.simulation.recording import log
from tarsus.simulation.recording.divergence import Diverged, Fault, advice, find_fault
from tarsus.simulation.recording.interrupt import Interrupted
from tarsus.simulation.recording.partial_log import PartialLog, mark_partial
from tarsus.simulation.recording.provenance import Setup, log_attributes
from tarsus.simulation.recording.recorder import Interventions, Records, concatenate, record

MAX_NAMES = 3  # names that a notice shows
OBSERVED_BEFORE = ("q", "u", "memory")  # what the observer asks of the step before


@dataclass(frozen=True, eq=False)
class RunStart:
    """A simulation at the start of a run.

    Attributes
    ----------
    setup
        What the simulation was made of.
    dt
        Time step, in s.
    time
        Time at the start, in s.
    state
        Snapshot, shape (worlds, n).
    warnings
        Warnings of the simulation.
    between
        Actions between steps: a Python controller, pushes.
    """

    setup: Setup
    dt: float
    time: float
    state: Array
    warnings: Sequence[str]
    between: Interventions = field(default_factory=Interventions)


def run_logged(
    run: RunStart,
    steps: int,
    progress: Callable[[float], None] | None = None,
    to: str | Path | None = None,
) -> xr.Dataset:
    """Run a number of steps and return the log.

    Parameters
    ----------
    run
        The simulation at the start.
    steps
        Number of steps.
    progress
        Called with the simulated seconds so far.
    to
        File to write the log to, in parts while the run goes on.

    Raises
    ------
    Diverged, Interrupted
        With the log so far, as `Simulation.run` does.
    """
    # what the registers hold before the first step
    setup, worlds = run.setup, run.setup.worlds
    start = {name: worlds.get(name) for name in OBSERVED_BEFORE}
    start["state"] = to_numpy(worlds, run.state)
    chunks: list[Records] = []

    def part(first: int, last: int) -> xr.Dataset:
        before = max(first - 1, 0)  # whether a contact has just closed, the step before tells
        found = _log(run, start, chunks, (before, last))
        return mark_partial(found.isel(time=slice(first - before, None)))

    def fault_in(chunk: Records, done: int) -> Fault | None:
        return find_fault(setup.plan.scene.mechanism, chunk, done, run.time, run.dt)

    with PartialLog(to, part) as parts:
        # the steps, up to a fault or Ctrl-C; a controller that fails loses none of them
        looked = chunks, parts.look
        try:
            kept = record(worlds, steps, run.dt, fault_in, run.between, looked, progress)
        except Exception:
            parts.write(sum(len(chunk["q"]) for chunk in chunks))
            raise
        message, good = "", sum(len(chunk["q"]) for chunk in chunks)
        if kept.fault is not None:
            message = kept.fault.message + advice(setup.plan, setup.initial["q"], run.dt)
            good = kept.fault.good_steps if worlds.count == 1 else good
        # their log
        result = None
        if good:
            result = _log(run, start, chunks, (0, good))
            told = [message] if message else _warnings(setup, result)
            result.attrs["warnings"] = "\n".join([*run.warnings, *told])
            result.attrs["wall_time"] = kept.wall
        parts.finish(result)
    # how it ended
    if message and worlds.count == 1:
        raise Diverged(message, result, kept.fault.joint if kept.fault else "")
    if kept.interrupted:
        now = float(worlds.first("steps")[0]) * run.dt
        raise Interrupted(f"interrupted at t = {now:.4g} s.", result)
    assert result is not None
    return result


def _warnings(setup: Setup, result: xr.Dataset) -> list[WarningRecord]:
    """Return warnings about a complete log."""
    found = log.log_warnings(setup.robot, result)
    return found if setup.options.self_collision else found + _passed_through(setup.robot, result)


def _log(
    run: RunStart, start: Records, chunks: Sequence[Records], span: tuple[int, int]
) -> xr.Dataset:
    """Return the log of a range of steps, with the attributes of the run."""
    # the chunks that hold them, and what the registers held before the first
    first, last = span
    worlds, ends = run.setup.worlds, np.cumsum([0, *(len(chunk["q"]) for chunk in chunks)])
    held = [k for k in range(len(chunks)) if ends[k] < last and ends[k + 1] > first]
    records = concatenate([chunks[k] for k in held])
    records = {k: v[first - ends[held[0]] : last - ends[held[0]]] for k, v in records.items()}
    if first:
        before = next(k for k in range(len(chunks)) if ends[k + 1] >= first)
        held = {name: chunks[before][name][first - 1 - ends[before]] for name in OBSERVED_BEFORE}
        start = {**start, **held}
    # their log
    found = log.dataset(run.setup.plan, worlds, start, records, run.time + first * run.dt)
    found.attrs.update(log_attributes(run.setup), dt=run.dt)  # the registers' dt may be a float32
    if first:  # the very numbers that the whole log has
        time = run.time + run.dt * np.arange(first + 1, last + 1)
        found["time"] = found["time"].copy(data=time)
    return found


def _passed_through(mechanism: Mechanism, log: xr.Dataset) -> list[WarningRecord]:
    """Return a warning about shapes that passed through each other without self-collision.

    Only shapes of the robot (before cuts) that can collide according to its file.
    """
    end = "_uncut" if "q_uncut" in log else ""
    q = np.asarray(log[f"q{end}"].values, float).reshape(-1, mechanism.nq)
    start = q[:1] if end else np.asarray(log["q_start"].values, float).reshape(-1, mechanism.nq)
    found = find_interpenetrations(mechanism, start, q)
    if not found:
        return []
    named = [f"{p.first.name}:{p.second.name} (by {1e3 * deep:.3g} mm)" for p, deep in found]
    text = (
        f"shapes of {mechanism.name!r} passed through each other although they can collide:"
        f" {join_names(named, MAX_NAMES)}. Use self_collision=True, or --self-collision."
    )
    return [WarningRecord(text, "passed-through-itself", found[0][0].first.name)]
