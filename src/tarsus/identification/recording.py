"""A log as numbers: motion, what the motors were told, and contact forces, sample by sample."""

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
from tarsus.files import is_file, missing_file, read_npz
from tarsus.simulation.recording.log import read_log
from tarsus.simulation.recording.log_schema import check_log, check_robot

Array = NDArray[np.float64]
OTHERS = {"qpos": "q", "qvel": "u", "ctrl": "action"}  # names in other simulators
EVEN = 1e-3  # of a step: how unevenly samples may be spaced


@dataclass(frozen=True, eq=False)
class MotionLog:
    """A recorded motion: sample k is the state after the step in which action[k] acted.

    dt: s between samples; q (T, nq), u (T, nu): row 0 is the start
    action (T, n): torques, N m, or control signals; row 0 acted before the start, if known
    force: name of a contact -> (T, 3), N, in its frame: normal, tangents, mean of the step
    """

    dt: float
    q: Array
    u: Array
    action: Array
    force: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.q)

    def between(self, first: float | None, last: float | None) -> MotionLog:
        """The part from one time to another, s from its start."""
        a = 0 if first is None else max(round(first / self.dt), 0)
        b = len(self) if last is None else min(round(last / self.dt) + 1, len(self))
        if b - a < 2:
            raise InvalidValue(
                "log.from and log.to must leave at least two samples of the log.", "log.from"
            )
        force = {name: value[a:b] for name, value in self.force.items()}
        return replace(self, q=self.q[a:b], u=self.u[a:b], action=self.action[a:b], force=force)

    def sampled(self, seconds: float | None) -> MotionLog:
        """States so many seconds apart, with the mean action and force between them; None: as it
        is. TarsusError unless they are a whole number of samples.
        """
        ratio = 1.0 if seconds is None else seconds / self.dt
        each = round(ratio)
        if each < 1 or abs(ratio - each) > EVEN * ratio:
            raise InvalidValue(
                f"log.sample must be a multiple of the log's sample time of {self.dt:g} s, not"
                f" {seconds:g} s.",
                "log.sample",
            )
        if each == 1:
            return self

        def mean(values: Array) -> Array:
            count = (len(values) - 1) // each
            inside = values[1 : 1 + count * each].reshape(count, each, -1).mean(1)
            return np.concatenate([values[:1], inside])

        force = {name: mean(value) for name, value in self.force.items()}
        parts = self.q[::each], self.u[::each], mean(self.action), force
        return MotionLog(self.dt * each, *parts)


def matching(path: Path) -> list[Path]:
    """The files of a path whose name may be a pattern, in order; TarsusError if there is none."""
    if not any(letter in path.name for letter in "*?["):
        return [path]
    found = sorted(path.parent.glob(path.name))
    if not found:
        raise InvalidFile(f"no file matches {path}.", path)
    return found


def opened_log(path: Path) -> Any:
    """What a file holds: a log of `tarsus run`, or arrays by name."""
    if path.suffix == ".npz":
        if not is_file(path):
            raise missing_file(path, "a log (.nc) or arrays (.npz)")
        return read_npz(path)
    if path.suffix in FORMATS:
        found = read_table(path)
        return found if isinstance(found, xr.Dataset) else _arrays(found)
    return read_log(path)


def motion(given: Any, robot: Robot, action: str = "") -> MotionLog:
    """A log of one world, or arrays `time`, `q` (or `qpos`), `u` (`qvel`) and `action` (`ctrl`).

    action: the name of what the motors were told; by default "action" if it is there, else "tau"
    TarsusError for what is missing or does not fit the robot.
    """
    if isinstance(given, xr.Dataset):
        return _of_dataset(check_log(given, ("q", "u")), robot, action)
    if not isinstance(given, Mapping):
        raise InvalidValue(
            f"a log must be a file, an xarray Dataset or a mapping of arrays, not {given!r}.",
            "logs",
        )
    arrays = {OTHERS.get(str(name), str(name)): value for name, value in given.items()}
    name = action or ("action" if "action" in arrays else "tau")
    if lacking := [n for n in ("time", "q", "u") if n not in arrays]:
        raise InvalidFile(f"the log lacks {', '.join(lacking)}.", lacking[0])
    q, u = (_numbers(arrays[n], n) for n in ("q", "u"))
    acted = _numbers(arrays[name], name) if name in arrays else np.zeros((len(q), 0))
    if not np.isfinite(acted[0]).all():  # what acted before the start is not always known
        acted = np.concatenate([acted[1:2], acted[1:]])
    force = {n[6:]: _numbers(v, n) for n, v in arrays.items() if n.startswith("force.")}
    return _checked(MotionLog(_step(arrays["time"]), q, u, acted, force), robot)


def _of_dataset(log: xr.Dataset, robot: Robot, action: str) -> MotionLog:
    """The start of the run stands before the first step."""
    if "world" in log.dims:
        raise InvalidValue(
            "this log contains several worlds: choose one with log.isel(world=0).", "world"
        )
    check_robot(log, robot)
    name = action or ("action" if "action" in log else "tau")
    dt = float(log.attrs.get("dt", 0.0)) or _step(log["time"].values)
    q, u = log["q"].values.astype(float), log["u"].values.astype(float)
    acted = log[name].values.astype(float) if name in log else np.zeros((len(q), 0))
    force = {}
    if "force_contact" in log:
        force = {
            str(contact): log["force_contact"].sel(contact=contact).values.astype(float)
            for contact in log["contact"].values
        }
    if "q_start" in log:
        q = np.concatenate([log["q_start"].values[None], q])
        u = np.concatenate([log["u_start"].values[None], u])
        acted = np.concatenate([acted[:1], acted])
        force = {n: np.concatenate([v[:1], v]) for n, v in force.items()}
    return _checked(MotionLog(dt, q, u, acted, force), robot)


def _checked(log: MotionLog, robot: Robot) -> MotionLog:
    """TarsusError for shapes that do not fit the robot, and what is not finite."""
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


def _step(time: Any) -> float:
    """The time between samples; TarsusError unless they are even."""
    times = np.asarray(time, float)
    if times.ndim != 1 or len(times) < 3:
        raise InvalidFile(
            "the log's time must be one-dimensional, with at least three samples.", "time"
        )
    between = np.diff(times)
    if not between.min() > 0 or np.ptp(between) > EVEN * between.mean():
        raise InvalidFile("the log's time must be evenly spaced and ascending.", "time")
    return float((times[-1] - times[0]) / (len(times) - 1))


def _numbers(value: Any, name: str) -> Array:
    try:
        found = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InvalidFile(f"{name} of the log must contain only numbers.", name) from None
    return found[:, None] if found.ndim == 1 else found


def _arrays(frame: Any) -> dict[str, Any]:
    """Columns `time`, `q[0]`, `action[2]`, `force.FL_foot[0]` as arrays, in the order of their
    numbers.
    """
    parts: dict[str, dict[int, Any]] = {}
    found: dict[str, Any] = {}
    for column in map(str, frame.columns):
        name, _, label = column.strip().rstrip("]").partition("[")
        if not label:
            found[name] = frame[column].to_numpy(float)
        elif label.isdigit():
            parts.setdefault(name, {})[int(label)] = frame[column].to_numpy(float)
        else:
            raise InvalidFile(
                f"the column {column!r} must have a numeric index, such as q[0], unless the table"
                " comes from `tarsus export`.",
                column,
            )
    return found | {n: np.stack([own[k] for k in sorted(own)], 1) for n, own in parts.items()}
