"""The largest step at which a law is stable, by bisection."""

from __future__ import annotations

from collections.abc import Callable

FIRST, LEAST, MOST = 1e-3, 1e-5, 3.2e-2  # s
HALVINGS = 4  # of the last factor of two: to 4.5 %


def largest_dt(stands: Callable[[float], bool]) -> float | None:
    """The largest dt from LEAST to MOST at which the robot `stands`, s; None if there is none.

    The result is at most 4.5 % too small. A robot that stands at one dt is assumed to stand at
    every smaller one: dt doubles or halves from FIRST until the answer turns, then the interval is
    halved in logarithms. The same dts are tried in the same order every time.
    """
    dt = FIRST
    if stands(dt):
        while 2 * dt <= MOST and stands(2 * dt):
            dt *= 2
        if 2 * dt > MOST:
            return dt
        low, high = dt, 2 * dt
    else:
        while dt / 2 >= LEAST and not stands(dt / 2):
            dt /= 2
        if dt / 2 < LEAST:
            return None
        low, high = dt / 2, dt
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if stands(middle) else (low, middle)
    return low
