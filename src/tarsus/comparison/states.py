"""Forces of a MuJoCo run that recorded only states, from steps repeated from each state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.comparison.time_grid import row_spacing, steps_between
from tarsus.comparison.trajectory import check_finite
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
STATE_TOLERANCE = 1e-6  # m, rad or their rates: allowed distance from the next recorded state
ROUNDING_FACTOR = 10.0  # the same for float32 states, in rounding errors, which a step amplifies


def has_only_states(run: Any) -> bool:
    """Return whether arrays hold the states of a run without its forces."""
    return isinstance(run, Mapping) and set(run) <= {*STATES, "ctrl"} and set(run) >= STATES


def compile_mujoco_model(file: str) -> Any:
    """Compile a robot's file in MuJoCo as it is; raise TarsusError if MuJoCo cannot read it."""
    if not file or not is_file(Path(file)):
        raise IncompatibleOptions(
            "this run holds only states; give the MJCF file that MuJoCo simulated (--robot"
            " FILE.xml), or add contact_force to the run (docs/judge.md).",
            "robot",
        )
    try:
        return compile_model(replace(Source.of("", Path(file)), merges_base=False))
    except TarsusError as error:
        raise error.with_context(file) from None


def add_mujoco_forces(
    run: Mapping[str, Any], file: str, integrator: str | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Compute the forces of a run from its states with MuJoCo.

    Only the states are judged if `ctrl` is missing, or if rows are several steps apart and `ctrl`
    was not constant between them.

    Parameters
    ----------
    run
        Arrays `time`, `qpos`, `qvel` and optionally `ctrl` (T, nu). Row k of `ctrl` acted in the
        step that ended in row k, or in all steps since row k - 1.
    file
        MJCF file of the robot.
    integrator
        MuJoCo's integrator; by default that of the file.

    Returns
    -------
    arrays
        Trajectory with forces.
    reasons
        Criteria that cannot be judged, with the reason for each.

    Raises
    ------
    UnmetCondition
        If MuJoCo does not reach the next recorded state.
    """
    model = compile_mujoco_model(file)
    if integrator is not None:
        model.opt.integrator = getattr(mujoco().mjtIntegrator, f"mjINT_{integrator.upper()}")
    rows = np.size(run["time"])
    shapes = {"time": (), "qpos": (model.nq,), "qvel": (model.nv,), "ctrl": (model.nu,)}
    states = {
        name: check_finite(name, run[name], (rows, *shape))
        for name, shape in shapes.items()
        if name in run
    }
    spacing = row_spacing(states["time"])
    count = steps_between(spacing, model.opt.timestep)
    rounding = _rounding(states)
    if model.nu and "ctrl" not in states:
        reason = (
            f"the log has no ctrl, the control signals of the {model.nu} actuators: record"
            " data.ctrl of every step as ctrl"
        )
        return _contacts_of_states(model, states), dict.fromkeys(NEEDS_FORCES, reason)
    states.setdefault("ctrl", np.zeros((rows, model.nu)))
    # rows may be one step apart, or several time steps of the file
    attempts = [(1, model.opt.timestep if count == 1 else spacing)]
    attempts += [(count, model.opt.timestep)] if count > 1 else []
    misses: list[tuple[int, float]] = []
    for steps, dt in attempts:
        model.opt.timestep = dt
        recorder, row, distance = _step_through(model, states, steps, rounding)
        if row == rows:
            arrays = recorder.arrays()
            return arrays | {"time": states["time"][0] + dt * np.arange(len(arrays["time"]))}, {}
        misses.append((row, distance))
    if count > 1:
        reason = (
            f"rows are {count} steps of {attempts[-1][1]:g} s apart, and ctrl was not constant"
            " between them: record every step"
        )
        return _contacts_of_states(model, states), dict.fromkeys(NEEDS_FORCES, reason)
    row, distance = misses[0]
    raise UnmetCondition(
        f"MuJoCo steps from row {row - 1} to a state that differs from row {row} by"
        f" {distance:.2g}, so the run used options, control signals or activations other than those"
        f" in ctrl and {Path(file).name}.",
        "ctrl",
    )


def _rounding(states: Mapping[str, Array]) -> float:
    """Estimate the float32 rounding error of the states; 0 if they have more digits."""
    arrays = [states[name] for name in ("qpos", "qvel")]
    if any((values != values.astype(np.float32)).any() for values in arrays):
        return 0.0
    largest = max(1.0, *(float(np.abs(values).max(initial=0.0)) for values in arrays))
    return largest * float(np.finfo(np.float32).eps)


def _step_through(
    model: Any, states: Mapping[str, Array], steps: int, rounding: float
) -> tuple[Recorder, int, float]:
    """Step from every row to the next.

    Rounding of the base height may open a contact that barely touches. The step is then repeated
    with the base one rounding error lower and higher.

    Returns
    -------
    recorder
        Recorder of all steps.
    row
        First row that is not reached; the number of rows if all are.
    distance
        Largest difference from that row.
    """
    rows, distance = len(states["time"]), 0.0
    worlds = MujocoWorlds([model])
    [data] = worlds.data
    _set_state(data, states, 0)
    worlds.forward()
    recorder = Recorder(model, data)
    spacing = float(np.spacing(np.float32(np.abs(states["qpos"]).max(initial=1.0))))
    shifts = (0.0, -spacing, spacing) if rounding else (0.0,)
    # take the first shift that leads to the next row
    for k in range(1, rows):
        warm = data.qacc_warmstart.copy()
        for shift in shifts:
            _set_state(data, states, k - 1)
            data.qpos[2:3] += shift
            data.qacc_warmstart[:], data.ctrl[:] = warm, states["ctrl"][k]
            worlds.advance(steps, after=recorder.record)
            ends = ((data.qpos, states["qpos"][k]), (data.qvel, states["qvel"][k]))
            distance = max(float(np.abs(a - b).max(initial=0.0)) for a, b in ends)
            if distance <= max(STATE_TOLERANCE, ROUNDING_FACTOR * rounding):
                break
            recorder.drop(steps)
        else:
            return recorder, k, distance
    return recorder, rows, distance


def _contacts_of_states(model: Any, states: Mapping[str, Array]) -> dict[str, Any]:
    """Compute the contacts of every recorded state; their forces, which are unknown, are zero."""
    worlds = MujocoWorlds([model])
    [data] = worlds.data
    _set_state(data, states, 0)
    worlds.forward()
    recorder = Recorder(model, data)
    for k in range(1, len(states["time"])):
        _set_state(data, states, k)
        worlds.forward()
        recorder.record()
    arrays = recorder.arrays()
    return arrays | {"contact_force": 0.0 * arrays["contact_force"]}


def _set_state(data: Any, states: Mapping[str, Array], row: int) -> None:
    data.time, data.qpos[:], data.qvel[:] = (states[name][row] for name in ("time", "qpos", "qvel"))
