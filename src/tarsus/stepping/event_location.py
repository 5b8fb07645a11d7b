"""Locate an event in time by trial steps.

The root search is the Illinois variant of regula falsi, safeguarded by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.program.ir.loops import Values

MAX_SECANTS, MAX_TRIES = 15, 60  # trials that interpolate, and all trials


@dataclass(frozen=True, eq=False)
class Bracket:
    """Bracket of an event in time.

    A function is positive before the event and negative after it.

    Attributes
    ----------
    early, late
        Times before and after the event, s.
    before, after
        Value of the function at these times.
    repeated
        1 or -1 if the last trial was too late or too early, 0 before the first.
    tries
        Number of trials so far.
    """

    early: SX
    late: SX
    before: SX
    after: SX
    repeated: SX
    tries: SX

    @classmethod
    def begin(cls, before: SX) -> Bracket:
        """Create the bracket before the first trial."""
        return cls(SX(0), SX(0), before, SX(-1), SX(0), SX(0))

    @classmethod
    def from_registers(cls, values: Values) -> Bracket:
        """Restore the bracket from its registers."""
        return cls(*(values[name] for name in cls.__dataclass_fields__))

    def to_registers(self) -> Values:
        """Collect the bracket by name, to be carried through a loop."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def is_exhausted(self) -> SX:
        """1 after the last trial, which was at the late end."""
        return self.tries >= MAX_TRIES

    def narrow(self, time: SX, measured: SX, too_late: SX) -> Bracket:
        """Narrow the bracket after a trial.

        The value at an end retained twice in a row is halved (Illinois).
        """
        again_late, again_early = (
            ca.logic_and(too_late, self.repeated > 0),
            ca.logic_and(1 - too_late, self.repeated < 0),
        )
        return Bracket(
            early=ca.if_else(too_late, self.early, time),
            late=ca.if_else(too_late, time, self.late),
            before=ca.if_else(
                too_late, ca.if_else(again_late, self.before / 2, self.before), measured
            ),
            after=ca.if_else(
                too_late, measured, ca.if_else(again_early, self.after / 2, self.after)
            ),
            repeated=ca.if_else(too_late, 1, -1),
            tries=self.tries + 1,
        )

    def guess(self) -> SX:
        """Compute the time of the next trial, s; the last trial is at the late end."""
        straight = ca.logic_and(
            self.tries < MAX_SECANTS, ca.logic_and(self.before > 0, self.after < 0)
        )
        fall = ca.if_else(straight, self.before - self.after, 1)
        secant = self.early + (self.late - self.early) * (self.before / fall)
        inner = ca.if_else(straight, secant, 0.5 * (self.early + self.late))
        return ca.if_else(self.tries < MAX_TRIES - 1, inner, self.late)
