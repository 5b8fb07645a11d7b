"""Clock of a trot: which diagonal stands, which swings, and how much weight each may carry.

One phase drives both diagonals, half a cycle apart (reference [22] of Gehring 2014: a gait is a
table of lift-off and touch-down phases). Stance takes the first `duty` > 1/2 of a diagonal's cycle,
so all four feet stand briefly before a pair lifts off. The clock stops there while the robot is
commanded to stand.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca


class Clock(NamedTuple):
    """Timing of a trot.

    Attributes
    ----------
    frequency
        Cycles per second.
    duty
        Stance fraction of a cycle, more than 1/2 and less than 1.
    """

    frequency: float
    duty: float

    @property
    def stance_time(self) -> float:
        """Duration of stance, in s."""
        return self.duty / self.frequency

    @property
    def swing_time(self) -> float:
        """Duration of swing, in s."""
        return (1 - self.duty) / self.frequency

    @property
    def overlap(self) -> float:
        """Fraction of a cycle for which all feet stand; this happens twice per cycle."""
        return self.duty - 0.5


class DiagonalPair(NamedTuple):
    """State of a diagonal pair of legs in its cycle.

    Attributes
    ----------
    swinging
        1 in swing, 0 in stance.
    progress
        Progress of the swing, 0 to 1.
    load
        Load that the pair may carry, 0 to 1.
    """

    swinging: ca.SX
    progress: ca.SX
    load: ca.SX


def advance_diagonals(
    clock: Clock, phase: ca.SX, loads: ca.SX, walk: ca.SX, dt: ca.SX
) -> tuple[list[DiagonalPair], ca.SX]:
    """Compute the state of both diagonals, and phase and loads after a step.

    A load grows from touch-down and falls before lift-off, at the rate that takes it from 0 to 1
    during the overlap.

    Parameters
    ----------
    clock
        Frequency and duty of the trot.
    phase
        Phase in [0, 1).
    loads
        Loads of the two diagonals, shape (2,).
    walk
        1 to trot, 0 to stop.
    dt
        Step size, in s.

    Returns
    -------
    tuple
        The two diagonals, and phase and loads after `dt`, shape (3,).
    """
    result, moving = [], walk
    phases = [phase, phase + 0.5 - (phase >= 0.5)]
    for own_phase, load in zip(phases, ca.vertsplit(loads), strict=True):
        swinging = own_phase >= clock.duty
        moving = ca.fmax(moving, swinging)
        progress = swinging * (own_phase - clock.duty) * (1 / (1 - clock.duty))
        result.append(DiagonalPair(swinging, progress, load * (1 - swinging)))
    rate = dt * (clock.frequency / clock.overlap)
    after = [
        ca.fmin(
            ca.fmax(
                load + rate * (1 - 2 * (moving * (own_phase >= clock.duty - clock.overlap))), 0.0
            ),
            1.0,
        )
        for own_phase, load in zip(phases, ca.vertsplit(loads), strict=True)
    ]
    ahead = phase + moving * dt * clock.frequency
    return result, ca.vertcat(ahead - (ahead >= 1), *after)
