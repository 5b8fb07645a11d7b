"""Time steps, and how many make a time."""

from __future__ import annotations

import warnings
from math import ceil

from tarsus.errors import Notice, TarsusError, TarsusWarning
from tarsus.model.mechanism import Mechanism
from tarsus.simulation.options import positive

MOST_STEPS = 1e9  # of one call: more than a day's work
USUAL = 0.0025  # s, of a simulation where no other is given
ROUNDED = 0.1  # of a duration: what whole steps may make it differ by without a word
LONGEST = 0.1  # s: in less than three such steps a robot of our size falls over its whole height


def steps(seconds: float, dt: float) -> int:
    """The steps of dt nearest to a time, one at least: warned of if they make another; TarsusError
    if there is no end of them.
    """
    if positive("the duration", seconds, "seconds") / dt > MOST_STEPS:
        raise TarsusError(
            f"a duration of {seconds:g} s takes {seconds / dt:.3g} steps of {dt:g} s; at most"
            f" {MOST_STEPS:g} are run at once."
        )
    count = max(round(seconds / dt), 1)
    if abs(count * dt - seconds) > ROUNDED * seconds:
        text = (
            f"{seconds:g} s is no whole number of steps of {dt:g} s: {count * dt:g} s are run."
            f" Choose dt so that it is, such as dt={seconds / ceil(seconds / dt):.4g}."
        )
        warnings.warn(text, TarsusWarning, stacklevel=3)
    return count


def of_file(dt: float, robot: Mechanism) -> list[Notice]:
    """A notice where nobody chose a step, and the robot's file asks for another."""
    asked = robot.timestep
    if asked is None or dt != USUAL or asked == USUAL:
        return []
    text = (
        f"dt is {1e3 * dt:g} ms, but the file of {robot.name!r} asks for {1e3 * asked:g} ms"
        f" (<option timestep>): set dt={asked:g}, or --dt {asked:g}, to follow it."
    )
    return [Notice(text, "file-timestep-ignored", robot.name)]


def step(dt: float) -> float:
    """A time step, s; TarsusError for one that is not positive, or that no legged robot bears."""
    if positive("dt", dt, "seconds") > LONGEST:
        meant = f"; did you mean {dt / 1000:g}?" if dt / 1000 <= LONGEST else ""
        raise TarsusError(
            f"dt = {dt:g} s is longer than any step that a legged robot bears, {LONGEST:g} s"
            f"{meant or '.'}"
        )
    return float(dt)
