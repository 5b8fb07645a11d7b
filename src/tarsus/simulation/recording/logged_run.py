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
from tarsus.simulation.recording.divergence import Diverged, Fault, complete_with_advice, find_fault
from tarsus.simulation.recording.interrupt import Interrupted
from tarsus.simulation.recording.partial_log import PartialLog, mark_partial
from tarsus.simulation.recording.provenance import Setup, log_attributes
from tarsus.simulation.recording.recorder import Interventions, Records, concatenate, record

MAX_NAMES = 3  # names in a message
OBSERVED_BEFORE = ("q", "u", "memory")  # registers before a step that the observer needs


@dataclass(frozen=True, eq=False)
class RunStart:
    """A simulation at the start of a run.

    Attributes
    ----------
    setup
        Parts from which the simulation was created.
    dt
        Time step, in s.
    time
        Time at the start, in s.
    state
        Snapshot, shape (worlds, n).
    warnings
        Warnings of the simulation.
    interventions
        Actions between steps: a Python controller, pushes.
    """

    setup: Setup
    dt: float
    time: float
    state: Array
    warnings: Sequence[str]
    interventions: Interventions = field(default_factory=Interventions)


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
    # registers before the first step
    setup, worlds = run.setup, run.setup.worlds
    start = {name: worlds.get(name) for name in OBSERVED_BEFORE}
    start["state"] = to_numpy(worlds, run.state)
    chunks: list[Records] = []

    def part(first: int, last: int) -> xr.Dataset:
        before = max(first - 1, 0)  # the step before shows whether a contact has just closed
        part_log = _build_log(run, start, chunks, (before, last))
        return mark_partial(part_log.isel(time=slice(first - before, None)))

    def find_fault_in_chunk(chunk: Records, done: int) -> Fault | None:
        return find_fault(setup.plan.scene.mechanism, chunk, done, run.time, run.dt)

    with PartialLog(to, part) as parts:
        # run until a fault or Ctrl-C; write the steps if a controller fails
        on_chunk = chunks, parts.write_if_due
        try:
            recording = record(
                worlds, steps, run.dt, find_fault_in_chunk, run.interventions, on_chunk, progress
            )
        except Exception:
            parts.write(sum(len(chunk["q"]) for chunk in chunks))
            raise
        message, good = "", sum(len(chunk["q"]) for chunk in chunks)
        if recording.fault is not None:
            message = recording.fault.message + complete_with_advice(
                setup.plan, setup.initial["q"], run.dt
            )
            good = recording.fault.good_steps if worlds.count == 1 else good
        # build the log
        result = None
        if good:
            result = _build_log(run, start, chunks, (0, good))
            messages = [message] if message else _collect_warnings(setup, result)
            result.attrs["warnings"] = "\n".join([*run.warnings, *messages])
            result.attrs["wall_time"] = recording.wall
        parts.finish(result)
    # report how it ended
    if message and worlds.count == 1:
        raise Diverged(message, result, recording.fault.joint if recording.fault else "")
    if recording.interrupted:
        now = float(worlds.first("steps")[0]) * run.dt
        raise Interrupted(f"interrupted at t = {now:.4g} s.", result)
    assert result is not None
    return result


def _collect_warnings(setup: Setup, result: xr.Dataset) -> list[WarningRecord]:
    """Collect warnings about a complete log."""
    records = log.log_warnings(setup.robot, result)
    return (
        records
        if setup.options.self_collision
        else records + _interpenetration_warnings(setup.robot, result)
    )


def _build_log(
    run: RunStart, start: Records, chunks: Sequence[Records], span: tuple[int, int]
) -> xr.Dataset:
    """Build the log of a range of steps, with the attributes of the run."""
    # select chunks, and the registers before the first step
    first, last = span
    worlds, ends = run.setup.worlds, np.cumsum([0, *(len(chunk["q"]) for chunk in chunks)])
    selected = [k for k in range(len(chunks)) if ends[k] < last and ends[k + 1] > first]
    records = concatenate([chunks[k] for k in selected])
    records = {
        k: v[first - ends[selected[0]] : last - ends[selected[0]]] for k, v in records.items()
    }
    if first:
        before = next(k for k in range(len(chunks)) if ends[k + 1] >= first)
        selected = {
            name: chunks[before][name][first - 1 - ends[before]] for name in OBSERVED_BEFORE
        }
        start = {**start, **selected}
    # build the log
    result = log.build_log(run.setup.plan, worlds, start, records, run.time + first * run.dt)
    result.attrs.update(log_attributes(run.setup), dt=run.dt)  # the register dt may be float32
    if first:  # use the same numbers as the complete log
        time = run.time + run.dt * np.arange(first + 1, last + 1)
        result["time"] = result["time"].copy(data=time)
    return result


def _interpenetration_warnings(mechanism: Mechanism, log: xr.Dataset) -> list[WarningRecord]:
    """Warn about shapes that passed through each other without self-collision.

    Only shapes that can collide according to the robot's file are checked.
    """
    end = "_uncut" if "q_uncut" in log else ""
    q = np.asarray(log[f"q{end}"].values, float).reshape(-1, mechanism.nq)
    start = q[:1] if end else np.asarray(log["q_start"].values, float).reshape(-1, mechanism.nq)
    passed = find_interpenetrations(mechanism, start, q)
    if not passed:
        return []
    named = [f"{p.first.name}:{p.second.name} (by {1e3 * deep:.3g} mm)" for p, deep in passed]
    text = (
        f"shapes of {mechanism.name!r} passed through each other although they can collide:"
        f" {join_names(named, MAX_NAMES)}. Use self_collision=True, or --self-collision."
    )
    return [WarningRecord(text, "passed-through-itself", passed[0][0].first.name)]
