"""Check time steps, and count the steps of a duration."""

from __future__ import annotations

import warnings
from math import ceil
from typing import TYPE_CHECKING

from tarsus.errors import InvalidValue, TarsusWarning, WarningRecord
from tarsus.parameters.checks import check_positive

if TYPE_CHECKING:
    from tarsus.model.mechanism import Mechanism

MAX_STEPS = 1e9  # per call
DEFAULT_DT = 0.0025  # s
MAX_ROUNDING = 0.1  # relative difference without a warning
MAX_DT = 0.1  # s; a robot falls by its height in three such steps


def step_count(seconds: float, dt: float) -> int:
    """Count the steps of dt closest to a duration, at least one.

    Warns if they take a noticeably different time.

    Raises
    ------
    InvalidValue
        If there are too many steps.
    """
    if check_positive("the duration", seconds, "seconds", "seconds") / dt > MAX_STEPS:
        raise InvalidValue(
            f"a duration of {seconds:g} s takes {seconds / dt:.3g} steps of {dt:g} s; one run is"
            f" limited to {MAX_STEPS:g} steps.",
            "seconds",
        )
    count = max(round(seconds / dt), 1)
    if abs(count * dt - seconds) > MAX_ROUNDING * seconds:
        text = (
            f"{seconds:g} s is not a whole number of steps of {dt:g} s, so {count * dt:g} s are"
            f" simulated; dt={seconds / ceil(seconds / dt):.4g} fits."
        )
        warnings.warn(TarsusWarning(text, "duration-rounded", "seconds"), stacklevel=3)
    return count


def file_timestep_warnings(dt: float, robot: Mechanism) -> list[WarningRecord]:
    """Warn if dt is the default and the robot's file requests a different one."""
    file_dt = robot.timestep
    if file_dt is None or dt != DEFAULT_DT or file_dt == DEFAULT_DT:
        return []
    text = (
        f"dt is {1e3 * dt:g} ms, but the file of {robot.name!r} asks for {1e3 * file_dt:g} ms"
        f" (<option timestep>): set dt={file_dt:g}, or --dt {file_dt:g}, to follow it."
    )
    return [WarningRecord(text, "file-timestep-ignored", robot.name)]


def check_time_step(dt: float) -> float:
    """Check a time step in s; raise InvalidValue unless it is positive and short enough."""
    if check_positive("dt", dt, "seconds") > MAX_DT:
        meant = f"; did you mean {dt / 1000:g}?" if dt / 1000 <= MAX_DT else "."
        raise InvalidValue(f"dt must be at most {MAX_DT:g} s, not {dt:g} s{meant}", "dt")
    return float(dt)
