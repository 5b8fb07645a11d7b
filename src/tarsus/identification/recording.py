"""Logs as arrays: motion, actions and contact forces, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, InvalidValue, UnmetCondition
from tarsus.exchange.table import FORMATS, read_table
from tarsus.files import is_file, missing_file_error, read_npz
from tarsus.simulation.recording.log import read_log
from tarsus.simulation.recording.log_schema import check_log, check_robot

Array = NDArray[np.float64]
ALIASES = {"qpos": "q", "qvel": "u", "ctrl": "action"}  # names in other simulators
SPACING_TOLERANCE = 1e-3  # relative, of the time between samples


@dataclass(frozen=True, eq=False)
class MotionLog:
    """Recorded motion; sample k is the state after the step in which action[k] was applied.

    Attributes
    ----------
    dt
        Time between samples, in s.
    q, u
        Coordinates, shape (T, nq), and velocities, shape (T, nu); row 0 is the start.
    action
        Torques, in N m, or control signals, shape (T, n); row 0 was applied before the start, if
        known.
    force
        Mean force of each contact over the step, in its frame (normal, tangents), shape (T, 3), in
        N, by name.
    """

    dt: float
    q: Array
    u: Array
    action: Array
    force: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.q)

    def between(self, first: float | None, last: float | None) -> MotionLog:
        """Select the part between two times, in s from the start."""
        a = 0 if first is None else max(round(first / self.dt), 0)
        b = len(self) if last is None else min(round(last / self.dt) + 1, len(self))
        if b - a < 2:
            raise InvalidValue(
                "log.from and log.to must leave at least two samples of the log.", "log.from"
            )
        force = {name: value[a:b] for name, value in self.force.items()}
        return replace(self, q=self.q[a:b], u=self.u[a:b], action=self.action[a:b], force=force)

    def resample(self, seconds: float | None) -> MotionLog:
        """Resample states at a larger sample time, with mean actions and forces; None: unchanged.

        Raises
        ------
        InvalidValue
            Unless the time is a multiple of the sample time.
        """
        ratio = 1.0 if seconds is None else seconds / self.dt
        stride = round(ratio)
        if stride < 1 or abs(ratio - stride) > SPACING_TOLERANCE * ratio:
            raise InvalidValue(
                f"log.sample must be a multiple of the log's sample time of {self.dt:g} s, not"
                f" {seconds:g} s.",
                "log.sample",
            )
        if stride == 1:
            return self

        def mean(values: Array) -> Array:
            count = (len(values) - 1) // stride
            inside = values[1 : 1 + count * stride].reshape(count, stride, -1).mean(1)
            return np.concatenate([values[:1], inside])

        force = {name: mean(value) for name, value in self.force.items()}
        parts = self.q[::stride], self.u[::stride], mean(self.action), force
        return MotionLog(self.dt * stride, *parts)


def find_matching_files(path: Path) -> list[Path]:
    """Find the files that match a path, whose name may be a pattern, in order."""
    if not any(letter in path.name for letter in "*?["):
        return [path]
    files = sorted(path.parent.glob(path.name))
    if not files:
        raise InvalidFile(f"no file matches {path}.", path)
    return files


def open_log(path: Path) -> Any:
    """Read the content of a file: a log of `tarsus run`, or arrays by name."""
    if path.suffix == ".npz":
        if not is_file(path):
            raise missing_file_error(path, "a log (.nc) or arrays (.npz)")
        return read_npz(path)
    if path.suffix in FORMATS:
        table = read_table(path)
        return table if isinstance(table, xr.Dataset) else _read_arrays(table)
    return read_log(path)


def read_motion_log(log: Any, robot: Robot, action: str = "") -> MotionLog:
    """Convert a log of one world, or arrays, to a motion.

    Parameters
    ----------
    log
        A log, or arrays `time`, `q` (or `qpos`), `u` (`qvel`) and `action` (`ctrl`).
    robot
        The robot.
    action
        Name of the actions; default "action" if it exists, else "tau".

    Raises
    ------
    TarsusError
        For arrays that are missing or do not fit the robot.
    """
    if isinstance(log, xr.Dataset):
        return _read_dataset(check_log(log, ("q", "u")), robot, action)
    if not isinstance(log, Mapping):
        raise InvalidValue(
            f"a log must be a file, an xarray Dataset or a mapping of arrays, not {log!r}.",
            "logs",
        )
    arrays = {ALIASES.get(str(name), str(name)): value for name, value in log.items()}
    name = action or ("action" if "action" in arrays else "tau")
    if missing_names := [n for n in ("time", "q", "u") if n not in arrays]:
        raise InvalidFile(f"the log lacks {', '.join(missing_names)}.", missing_names[0])
    q, u = (_read_numbers(arrays[n], n) for n in ("q", "u"))
    actions = _read_numbers(arrays[name], name) if name in arrays else np.zeros((len(q), 0))
    if not np.isfinite(actions[0]).all():  # the action before the start is not always known
        actions = np.concatenate([actions[1:2], actions[1:]])
    force = {n[6:]: _read_numbers(v, n) for n, v in arrays.items() if n.startswith("force.")}
    return _check_log(MotionLog(_measure_spacing(arrays["time"]), q, u, actions, force), robot)


def _read_dataset(log: xr.Dataset, robot: Robot, action: str) -> MotionLog:
    """Convert a log to a motion, with the initial state before the first step."""
    if "world" in log.dims:
        raise InvalidValue(
            "this log contains several worlds: choose one with log.isel(world=0).", "world"
        )
    check_robot(log, robot)
    name = action or ("action" if "action" in log else "tau")
    dt = float(log.attrs.get("dt", 0.0)) or _measure_spacing(log["time"].values)
    q, u = log["q"].values.astype(float), log["u"].values.astype(float)
    actions = log[name].values.astype(float) if name in log else np.zeros((len(q), 0))
    force = {}
    if "force_contact" in log:
        force = {
            str(contact): log["force_contact"].sel(contact=contact).values.astype(float)
            for contact in log["contact"].values
        }
    if "q_start" in log:
        q = np.concatenate([log["q_start"].values[None], q])
        u = np.concatenate([log["u_start"].values[None], u])
        actions = np.concatenate([actions[:1], actions])
        force = {n: np.concatenate([v[:1], v]) for n, v in force.items()}
    return _check_log(MotionLog(dt, q, u, actions, force), robot)


def _check_log(log: MotionLog, robot: Robot) -> MotionLog:
    """Check a motion; raise TarsusError for wrong shapes and numbers that are not finite."""
    count = len(log.q)
    for name, value, size in (("q", log.q, robot.nq), ("u", log.u, robot.nu)):
        if value.shape != (count, size):
            raise InvalidFile(
                f"{name} of the log has the shape {value.shape}, but {robot.name} needs"
                f" {(count, size)}.",
                name,
            )
    if count < 3:
        raise UnmetCondition(f"the log must have at least three samples, not {count}.", "log")
    if len(log.action) != count:
        raise InvalidFile(
            f"the log has {len(log.action)} actions but {count} states: their numbers must agree.",
            "action",
        )
    for name, value in (("q", log.q), ("u", log.u), ("action", log.action)):
        if not np.isfinite(value).all():
            raise InvalidFile(
                f"{name} of the log contains NaN or infinity: end the log before it, with log.to.",
                name,
            )
    return log


def _measure_spacing(time: Any) -> float:
    """Compute the time between samples; raise InvalidFile unless they are evenly spaced."""
    times = np.asarray(time, float)
    if times.ndim != 1 or len(times) < 3:
        raise InvalidFile(
            "the log's time must be one-dimensional, with at least three samples.", "time"
        )
    intervals = np.diff(times)
    if not intervals.min() > 0 or np.ptp(intervals) > SPACING_TOLERANCE * intervals.mean():
        raise InvalidFile("the log's time must be evenly spaced and ascending.", "time")
    return float((times[-1] - times[0]) / (len(times) - 1))


def _read_numbers(value: Any, name: str) -> Array:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InvalidFile(f"{name} of the log must contain only numbers.", name) from None
    return array[:, None] if array.ndim == 1 else array


def _read_arrays(frame: Any) -> dict[str, Any]:
    """Assemble columns such as `time`, `q[0]` and `force.FL_foot[0]` to arrays, by index."""
    parts: dict[str, dict[int, Any]] = {}
    arrays: dict[str, Any] = {}
    for column in map(str, frame.columns):
        name, _, label = column.strip().rstrip("]").partition("[")
        if not label:
            arrays[name] = frame[column].to_numpy(float)
        elif label.isdigit():
            parts.setdefault(name, {})[int(label)] = frame[column].to_numpy(float)
        else:
            raise InvalidFile(
                f"the column {column!r} must have a numeric index, such as q[0], unless the table"
                " comes from `tarsus export`.",
                column,
            )
    return arrays | {
        n: np.stack([columns[k] for k in sorted(columns)], 1) for n, columns in parts.items()
    }
