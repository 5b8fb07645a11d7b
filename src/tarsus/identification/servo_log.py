"""Logs of a robot's position servos: measured joint angles and their targets, as recorded.

The log has `time` (T,), the measured angles `q` (T, n) and the targets `q_desired` (T, n), in s and
rad, and optionally velocities and `joint_names`. What a recording often gets wrong is repaired with
a warning, or rejected with an error if it cannot be repaired.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from tarsus.dynamics.robot import Robot
from tarsus.errors import (
    InvalidFile,
    TarsusWarning,
    UnmetCondition,
    Unsupported,
    join_names,
)
from tarsus.exchange.ros_bag import is_bag, read_servo_bag
from tarsus.identification.recording import MotionLog, open_log
from tarsus.model.joint import Joint

Array = NDArray[np.float64]
MEASURED = ("q", "qpos", "position", "q_measured")
TARGETS = ("q_desired", "q_des", "q_target", "target", "desired_position", "action", "ctrl")
MAX_GAP = 10.0  # sampling intervals; longer gaps are not interpolated
JITTER_TOLERANCE = 1e-3  # relative, of the sampling interval
SMOOTHING = 9  # samples of the cubic that gives a rate
MIN_RANGE = 1e-3  # rad, m: a channel that varies less is constant
LIMIT_SLACK = 0.2  # rad: excess over joint limits that offset and gravity may cause
DEGREE_RATIO = 4.0  # angles so far beyond the range of the joints are in degrees
ORDER_MARGIN = 0.5  # correlation by which another column must fit better


def read_servo_log(log: Path | Mapping[str, Any], robot: Robot) -> MotionLog:
    """Read a log of measured joint angles and targets.

    Parameters
    ----------
    log
        File (.npz, .csv or .parquet), ROS 2 bag, or arrays by name.
    robot
        Robot with a fixed base; its joints give names, order and ranges.

    Returns
    -------
    MotionLog
        Motion with evenly spaced samples; the actions are the targets.

    Raises
    ------
    TarsusError
        If the log cannot be used.

    Warns
    -----
    TarsusWarning
        If the log was repaired.
    """
    arrays = _open(log) if isinstance(log, Path) else log
    if not isinstance(arrays, Mapping) or "q_start" in arrays:
        raise Unsupported(
            "servos are identified from a table, .npz file or ROS 2 bag with angles and targets;"
            " use a spec file (docs/identification.md) for a log of `tarsus run`.",
            "log",
        )
    joints = [body.joint for body in robot.bodies]
    if any(joint.kind not in ("hinge", "slide") for joint in joints):
        raise UnmetCondition(
            f"the servos of {robot.name} are identified while its base is fixed: add --fixed-base.",
            "fixed_base",
        )
    q_name, target_name = (_find_array(arrays, names) for names in (MEASURED, TARGETS))
    if "time" not in arrays:
        raise InvalidFile("the log has no array time, in s.", "time")
    time = np.asarray(arrays["time"], float).ravel()
    q, target = (_read_columns(arrays[n], n, len(time), joints) for n in (q_name, target_name))
    time, q, target = _drop_nonfinite(time, q, target)
    # joints, then times
    q, target = _sort_joints(q, target, arrays, joints)
    _check_units(q, q_name, joints)
    _check_units(target, target_name, joints)
    dt, q, target = _resample_evenly(time, q, target)
    _check_channels(q, target, joints)
    u = np.asarray(savgol_filter(q, SMOOTHING, 3, deriv=1, delta=dt, axis=0), float)
    # the target of sample k acts from there on
    action = np.concatenate([target[:1], target[:-1]])
    return MotionLog(dt, q, u, action, {})


def _open(path: Path) -> Any:
    return read_servo_bag(path) if is_bag(path) else open_log(path)


def _warn(text: str, code: str, subject: str = "") -> None:
    warnings.warn(TarsusWarning(text, code, subject), stacklevel=4)


def _find_array(arrays: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        if name in arrays:
            return name
    given = join_names([str(name) for name in arrays], 8)
    raise InvalidFile(f"the log lacks {names[0]}; it has {given}.", names[0])


def _read_columns(value: Any, name: str, count: int, joints: list[Joint]) -> Array:
    try:
        columns = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InvalidFile(f"{name} of the log must contain only numbers.", name) from None
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.shape != (count, len(joints)):
        raise InvalidFile(
            f"{name} of the log has the shape {columns.shape}, but must have"
            f" {(count, len(joints))}: {count} times and {len(joints)} joints"
            f" ({join_names([j.name for j in joints], 4)}).",
            name,
        )
    return columns


def _sort_joints(
    q: Array, target: Array, arrays: Mapping[str, Any], joints: list[Joint]
) -> tuple[Array, Array]:
    """Sort the columns in the order of the robot's joints."""
    names = [joint.name for joint in joints]
    if "joint_names" in arrays:
        given = [str(name) for name in np.asarray(arrays["joint_names"]).ravel()]
        matches = {_match_name(name, names) for name in given}
        if None in matches or len(matches) != len(names):
            raise InvalidFile(
                f"joint_names of the log must name each joint once: {join_names(names, 12)}.",
                "joint_names",
            )
        order = [[_match_name(g, names) for g in given].index(name) for name in names]
        if order != list(range(len(names))):
            _warn("the log's columns were sorted by joint_names.", "joints-reordered")
        q, target = q[:, order], target[:, order]
    else:
        _check_order(q, joints)
    # each joint must follow its own target
    followed = _correlate(q, target)
    best = followed.argmax(1)
    own = np.diag(followed)
    wrong = np.flatnonzero(followed.max(1) > own + ORDER_MARGIN)
    if len(wrong) and len(set(best)) == len(best):
        raise InvalidFile(
            f"q and q_desired have different joint orders: {names[wrong[0]]} follows the target of"
            f" {names[best[wrong[0]]]}; give both the order of the model.",
            "q_desired",
        )
    return q, target


def _match_name(name: str, names: list[str]) -> str | None:
    """Find the joint with this name, with or without the ending "_joint"."""
    for suffix in ("", "_joint"):
        if name + suffix in names:
            return name + suffix
    return None


def _check_order(q: Array, joints: list[Joint]) -> None:
    """Reject columns that violate the joints' ranges, if another order does not."""
    low, high = q.min(0), q.max(0)

    def fits(column: int, joint: Joint) -> bool:
        lowest, highest = low[column], high[column]
        return lowest >= joint.lower - LIMIT_SLACK and highest <= joint.upper + LIMIT_SLACK

    possible = np.array([[fits(c, joint) for joint in joints] for c in range(len(joints))])
    wrong = np.flatnonzero(~np.diag(possible))
    if not len(wrong) or not possible.any(1).all():
        return
    column = int(wrong[0])
    other = joints[int(np.flatnonzero(possible[column])[0])].name
    raise InvalidFile(
        f"the log's joints are not in the model's order: column {column} of q is outside the range"
        f" of {joints[column].name} but fits {other}; sort the columns as"
        f" {join_names([j.name for j in joints], 12)}, or add joint_names.",
        "q",
    )


def _correlate(q: Array, target: Array) -> Array:
    """Compute correlations of motions and targets, shape (n, n); 0 for constant channels."""
    parts = []
    for values in (q, target):
        centered = values - values.mean(0)
        size = np.linalg.norm(centered, axis=0)
        parts.append(centered / np.where(size > 0, size, 1))
    return parts[0].T @ parts[1]


def _check_units(values: Array, name: str, joints: list[Joint]) -> None:
    hinges = np.array([joint.kind == "hinge" for joint in joints])
    limits = np.array([max(abs(joint.lower), abs(joint.upper)) for joint in joints])
    limits = np.where(np.isfinite(limits), limits, np.pi)
    largest = np.abs(values).max(0)
    if hinges.any() and np.median((largest / np.maximum(limits, 0.1))[hinges]) > DEGREE_RATIO:
        k = int(np.argmax(np.where(hinges, largest / limits, 0)))
        raise InvalidFile(
            f"{name} of the log looks like degrees: {joints[k].name} reaches {largest[k]:.4g};"
            " convert it to radians.",
            name,
        )


def _drop_nonfinite(time: Array, q: Array, target: Array) -> tuple[Array, Array, Array]:
    """Drop samples with NaN or infinity, with a warning."""
    good = np.isfinite(time) & np.isfinite(q).all(1) & np.isfinite(target).all(1)
    bad = int((~good).sum())
    if bad:
        if bad > 0.1 * len(time):
            raise InvalidFile(
                f"{bad} of {len(time)} samples of the log contain NaN or infinity.", "q"
            )
        _warn(f"{bad} samples with NaN or infinity were dropped.", "samples-dropped")
    return time[good], q[good], target[good]


def _resample_evenly(time: Array, q: Array, target: Array) -> tuple[float, Array, Array]:
    """Resample at even times; return the interval, in s, and the samples."""
    if len(time) < 10:
        raise UnmetCondition(f"the log must have at least ten samples, not {len(time)}.", "time")
    steps = np.diff(time)
    if steps.min() < 0:
        k = int(np.argmin(steps))
        raise InvalidFile(
            f"the log's time runs backwards after sample {k} ({time[k]:.6g} s): sort the samples.",
            "time",
        )
    if repeated := int((steps == 0).sum()):
        _warn(
            f"{repeated} samples repeat the time of the one before and were dropped.",
            "times-repeated",
        )
        kept = np.concatenate([[True], steps > 0])
        time, q, target = time[kept], q[kept], target[kept]
        steps = np.diff(time)
    dt = float(np.median(steps))
    if steps.max() > MAX_GAP * dt:
        k = int(np.argmax(steps))
        raise InvalidFile(
            f"the log has a gap of {steps[k]:.3g} s after {time[k]:.6g} s: cut the log there.",
            "time",
        )
    if np.abs(steps - dt).max() <= JITTER_TOLERANCE * dt:
        return float((time[-1] - time[0]) / (len(time) - 1)), q, target
    missing = int((np.round(steps / dt) - 1).clip(0).sum())
    jitter = float(np.abs(steps - dt * np.maximum(np.round(steps / dt), 1)).max())
    _warn(
        f"the log is not evenly spaced (jitter {1e3 * jitter:.2g} ms, {missing} missing samples)"
        f" and was interpolated at {1e3 * dt:.4g} ms.",
        "log-resampled",
        "time",
    )
    even = np.arange(time[0], time[-1], dt)
    q = np.stack([np.interp(even, time, column) for column in q.T], 1)
    latest = np.searchsorted(time, even + 1e-9, side="right") - 1
    return dt, q, target[latest]


def _check_channels(q: Array, target: Array, joints: list[Joint]) -> None:
    """Reject targets that never move and warn of joints that do not."""
    still = [j.name for j, size in zip(joints, np.ptp(target, 0), strict=True) if size < MIN_RANGE]
    if len(still) == len(joints):
        raise InvalidFile("no target of the log moves: nothing can be identified.", "q_desired")
    if still:
        _warn(
            f"the targets of {join_names(still, 4)} are constant: their motors cannot be"
            " identified well.",
            "constant-target",
            still[0],
        )
    stuck = [
        j.name
        for j, size, wanted in zip(joints, np.ptp(q, 0), np.ptp(target, 0), strict=True)
        if size == 0 and wanted >= MIN_RANGE
    ]
    if stuck:
        raise InvalidFile(
            f"the measured angle of {stuck[0]} never changes although its target does: check its"
            " encoder, or leave this joint out.",
            stuck[0],
        )
