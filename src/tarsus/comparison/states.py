"""States of a MuJoCo run, without forces: MuJoCo steps again from each of them and finds these."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.comparison.time_grid import step_of, steps_between
from tarsus.comparison.trajectory import finite
from tarsus.comparison.verdicts import NEEDS_FORCES
from tarsus.errors import IncompatibleOptions, TarsusError, UnmetCondition
from tarsus.files import is_file
from tarsus.model.mjcf_compile import compile_model
from tarsus.model.mjcf_source import Source
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.recorder import Recorder
from tarsus.mujoco_runs.worlds import MujocoWorlds

Array = NDArray[np.float64]
STATES = {"time", "qpos", "qvel"}
SAME = 1e-6  # m, rad or their rates: how far MuJoCo may land from the next recorded state
ROUNDINGS = 10.0  # of a float32 log's numbers: the same, as a step amplifies them


def holds_states_alone(run: Any) -> bool:
    """Return whether arrays hold a run's states without its forces."""
    return isinstance(run, Mapping) and set(run) <= {*STATES, "ctrl"} and set(run) >= STATES


def mujoco_model(file: str) -> Any:
    """Return MuJoCo's model of a robot's file; TarsusError if it cannot read it."""
    if not file or not is_file(Path(file)):
        raise IncompatibleOptions(
            "this run holds only states; give the MJCF file that MuJoCo simulated (--robot"
            " FILE.xml), or add contact_force to the run (docs/judge.md).",
            "robot",
        )
    try:
        return compile_model(Source.of("", Path(file)))
    except TarsusError as error:
        raise error.within(file) from None


def with_forces_of_mujoco(
    run: Mapping[str, Any], file: str, integrator: str | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the whole trajectory of states, and what cannot be judged of it, with the reasons.

    Row k of `ctrl` (T, nu) acted in the step that ended in row k, or in all steps since row k - 1.
    integrator: other than the file's

    Without `ctrl`, or where it was not constant between rows that are several steps apart, the
    states alone are judged. TarsusError if MuJoCo does not land in the next state.
    """
    model = mujoco_model(file)
    if integrator is not None:
        model.opt.integrator = getattr(mujoco().mjtIntegrator, f"mjINT_{integrator.upper()}")
    rows = np.size(run["time"])
    shapes = {"time": (), "qpos": (model.nq,), "qvel": (model.nv,), "ctrl": (model.nu,)}
    held = {
        name: finite(name, run[name], (rows, *shape))
        for name, shape in shapes.items()
        if name in run
    }
    spacing = step_of(held["time"])
    count = steps_between(spacing, model.opt.timestep)
    rounding = _rounding(held)
    if model.nu and "ctrl" not in held:
        reason = (
            f"the log has no ctrl, the control signals of the {model.nu} actuators: record"
            " data.ctrl of every step as ctrl"
        )
        return _of_states(model, held), dict.fromkeys(NEEDS_FORCES, reason)
    held.setdefault("ctrl", np.zeros((rows, model.nu)))
    # rows one step apart, or several of the file's own
    tries = [(1, model.opt.timestep if count == 1 else spacing)]
    tries += [(count, model.opt.timestep)] if count > 1 else []
    missed: list[tuple[int, float]] = []
    for steps, dt in tries:
        model.opt.timestep = dt
        recorder, row, off = _stepped(model, held, steps, rounding)
        if row == rows:
            found = recorder.arrays()
            return found | {"time": held["time"][0] + dt * np.arange(len(found["time"]))}, {}
        missed.append((row, off))
    if count > 1:
        reason = (
            f"rows are {count} steps of {tries[-1][1]:g} s apart, and ctrl was not constant between"
            " them: record every step"
        )
        return _of_states(model, held), dict.fromkeys(NEEDS_FORCES, reason)
    row, off = missed[0]
    raise UnmetCondition(
        f"MuJoCo steps from row {row - 1} to a state {off:.2g} away from row {row}, so the run had"
        " other options, control signals or activations than those in ctrl and"
        f" {Path(file).name}.",
        "ctrl",
    )


def _rounding(held: Mapping[str, Array]) -> float:
    """Return how far float32 rounded the states; 0 if they are not of float32."""
    parts = [held[name] for name in ("qpos", "qvel")]
    if any((part != part.astype(np.float32)).any() for part in parts):
        return 0.0
    largest = max(1.0, *(float(np.abs(part).max(initial=0.0)) for part in parts))
    return largest * float(np.finfo(np.float32).eps)


def _stepped(
    model: Any, held: Mapping[str, Array], steps: int, rounding: float
) -> tuple[Recorder, int, float]:
    """Step from every row; return also the first row that is not reached, and by how much.

    A contact that just touches may be lost as its height is rounded: then the base is tried a
    rounding higher and lower.
    """
    rows, off = len(held["time"]), 0.0
    worlds = MujocoWorlds([model])
    [data] = worlds.data
    _put(data, held, 0)
    worlds.forward()
    recorder = Recorder(model, data)
    near = float(np.spacing(np.float32(np.abs(held["qpos"]).max(initial=1.0))))
    shifts = (0.0, -near, near) if rounding else (0.0,)
    # each row by the first start that leads to it
    for k in range(1, rows):
        warm = data.qacc_warmstart.copy()
        for shift in shifts:
            _put(data, held, k - 1)
            data.qpos[2:3] += shift
            data.qacc_warmstart[:], data.ctrl[:] = warm, held["ctrl"][k]
            worlds.advance(steps, after=recorder.take)
            ends = ((data.qpos, held["qpos"][k]), (data.qvel, held["qvel"][k]))
            off = max(float(np.abs(a - b).max(initial=0.0)) for a, b in ends)
            if off <= max(SAME, ROUNDINGS * rounding):
                break
            recorder.drop(steps)
        else:
            return recorder, k, off
    return recorder, rows, off


def _of_states(model: Any, held: Mapping[str, Array]) -> dict[str, Any]:
    """The contacts of every recorded state, whose forces mean nothing."""
    worlds = MujocoWorlds([model])
    [data] = worlds.data
    _put(data, held, 0)
    worlds.forward()
    recorder = Recorder(model, data)
    for k in range(1, len(held["time"])):
        _put(data, held, k)
        worlds.forward()
        recorder.take()
    found = recorder.arrays()
    return found | {"contact_force": 0.0 * found["contact_force"]}


def _put(data: Any, held: Mapping[str, Array], row: int) -> None:
    data.time, data.qpos[:], data.qvel[:] = (held[name][row] for name in ("time", "qpos", "qvel"))
