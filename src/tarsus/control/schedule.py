"""A trot's clock: which diagonal stands, which swings, and how much of the weight each may carry.

One phase in turns drives both diagonals, half a turn apart (reference [22] of Gehring 2014: a gait
is a table of lift-off and touch-down phases). Stance fills the first `duty` > 1/2 of a diagonal's
turn, so all four feet stand for a moment before a pair lifts off; there the clock waits while the
robot is commanded to stand.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca


class Clock(NamedTuple):
    """frequency: turns/s; duty: part of a turn in stance, more than 1/2 and less than 1."""

    frequency: float
    duty: float

    @property
    def stance_time(self) -> float:
        """Seconds a foot stands."""
        return self.duty / self.frequency

    @property
    def swing_time(self) -> float:
        """Seconds a foot is in the air."""
        return (1 - self.duty) / self.frequency

    @property
    def overlap(self) -> float:
        """The part of a turn, twice a turn, in which all feet stand."""
        return self.duty - 0.5


class Diagonal(NamedTuple):
    """Where a diagonal pair of legs is in its cycle.

    swinging: 0 or 1
    progress: of the swing, from 0 to 1
    load: what it may carry, from 0 to 1
    """

    swinging: ca.SX
    progress: ca.SX
    load: ca.SX


def both(
    clock: Clock, phase: ca.SX, loads: ca.SX, walk: ca.SX, dt: ca.SX
) -> tuple[list[Diagonal], ca.SX]:
    """Both diagonals at a phase in [0, 1), and phase and loads (3,) after dt; walk: 0 or 1, whether
    to go on.

    A load grows from touch-down and falls before lift-off at the rate that takes it from 0 to 1 in
    the overlap.
    """
    found, moving = [], walk
    own = [phase, phase + 0.5 - (phase >= 0.5)]
    for at, load in zip(own, ca.vertsplit(loads), strict=True):
        swinging = at >= clock.duty
        moving = ca.fmax(moving, swinging)
        progress = swinging * (at - clock.duty) * (1 / (1 - clock.duty))
        found.append(Diagonal(swinging, progress, load * (1 - swinging)))
    rate = dt * (clock.frequency / clock.overlap)
    after = [
        ca.fmin(
            ca.fmax(load + rate * (1 - 2 * (moving * (at >= clock.duty - clock.overlap))), 0.0), 1.0
        )
        for at, load in zip(own, ca.vertsplit(loads), strict=True)
    ]
    ahead = phase + moving * dt * clock.frequency
    return found, ca.vertcat(ahead - (ahead >= 1), *after)
