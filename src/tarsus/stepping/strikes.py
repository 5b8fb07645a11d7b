"""What a step keeps of the impacts that it locates: a fixed number of slots, in the order of time.

A compiled step has registers of fixed size, so it keeps the first few impacts whole and counts the
others; their impulses are in the sum of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.program.ir.trace import Values


@dataclass(frozen=True, eq=False)
class Strikes:
    """The impacts of one step so far.

    impulse_strikes (3n,): the sum of their impulses, N s
    strike_count: how many there were
    strike_rows (slots * size,): the first of them, one behind the other: seconds since the step's
        start, q (nq,), u before (nu,), u after (nu,), impulses (3n,); zero where there was none
    """

    impulse_strikes: SX
    strike_count: SX
    strike_rows: SX

    @classmethod
    def none(cls, nq: int, nu: int, contacts: int, slots: int) -> Strikes:
        """Before the first."""
        size = 1 + nq + 2 * nu + 3 * contacts
        return cls(SX.zeros(3 * contacts), SX(0), SX.zeros(slots * size))

    @classmethod
    def of(cls, values: Values) -> Strikes:
        """The inverse of `values`."""
        return cls(*(values[name] for name in cls.__dataclass_fields__))

    def values(self) -> Values:
        """By the names of registers, to be carried through a loop and reported."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def after(self, time: SX, q: SX, before: SX, after: SX, impulse: SX) -> Strikes:
        """With one more: at a time since the step's start, u (nu,) before and after it."""
        row = ca.vertcat(time, q, before, after, impulse)
        size, rows = row.numel(), [SX(0, 1)]
        for slot in range(self.strike_rows.numel() // size):
            old = self.strike_rows[slot * size : (slot + 1) * size]
            rows.append(ca.if_else(self.strike_count == slot, row, old))
        return Strikes(self.impulse_strikes + impulse, self.strike_count + 1, ca.vertcat(*rows))
