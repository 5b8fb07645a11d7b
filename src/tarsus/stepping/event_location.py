"""When an event happens, known only by trying: the Illinois variant of regula falsi, safeguarded by
bisection.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.program.ir.loops import Values

SECANTS, TRIES = 15, 60  # tries that interpolate, and all of them


@dataclass(frozen=True, eq=False)
class Bracket:
    """A time too early and one too late, s, with what is measured there: above zero before the
    event, below after.

    early, late: the times, s
    before, after: measured at them
    repeated: 1 or -1 if the last try was too late or too early, 0 before the first
    tries: so far
    """

    early: SX
    late: SX
    before: SX
    after: SX
    repeated: SX
    tries: SX

    @classmethod
    def begin(cls, before: SX) -> Bracket:
        """Nothing tried yet."""
        return cls(SX(0), SX(0), before, SX(-1), SX(0), SX(0))

    @classmethod
    def of(cls, values: Values) -> Bracket:
        """The inverse of `values`."""
        return cls(*(values[name] for name in cls.__dataclass_fields__))

    def values(self) -> Values:
        """By name, to be carried through a loop."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def exhausted(self) -> SX:
        """1 once the last try is made: it was the time too late."""
        return self.tries >= TRIES

    def narrowed(self, time: SX, measured: SX, too_late: SX) -> Bracket:
        """After a try; the value at an end that stays twice in turn counts half (Illinois)."""
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
        """The time to try next, s; the last try is the time too late."""
        straight = ca.logic_and(self.tries < SECANTS, ca.logic_and(self.before > 0, self.after < 0))
        fall = ca.if_else(straight, self.before - self.after, 1)
        secant = self.early + (self.late - self.early) * (self.before / fall)
        inner = ca.if_else(straight, secant, 0.5 * (self.early + self.late))
        return ca.if_else(self.tries < TRIES - 1, inner, self.late)
