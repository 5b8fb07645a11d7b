"""Search for the largest stable step of a contact law, by bisection."""

from __future__ import annotations

from collections.abc import Callable

INITIAL_DT, MIN_DT, MAX_DT = 1e-3, 1e-5, 3.2e-2  # s
BISECTIONS = 4  # of the last factor of two: to 4.5 %


def find_largest_dt(is_stable: Callable[[float], bool]) -> float | None:
    """Find the largest dt from MIN_DT to MAX_DT at which the robot still stands.

    A robot that stands at one dt is assumed to stand at every smaller one. From INITIAL_DT, dt is
    doubled or halved until the answer changes; the interval is then bisected on a logarithmic
    scale. The same sequence of dt is tried every time.

    Parameters
    ----------
    is_stable
        Function of dt in s that simulates the robot and returns whether it stands.

    Returns
    -------
    float or None
        Largest dt in s, at most 4.5 % too small; None if the robot never stands.
    """
    dt = INITIAL_DT
    if is_stable(dt):
        while 2 * dt <= MAX_DT and is_stable(2 * dt):
            dt *= 2
        if 2 * dt > MAX_DT:
            return dt
        low, high = dt, 2 * dt
    else:
        while dt / 2 >= MIN_DT and not is_stable(dt / 2):
            dt /= 2
        if dt / 2 < MIN_DT:
            return None
        low, high = dt / 2, dt
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if is_stable(middle) else (low, middle)
    return low
