"""What a step keeps of the impacts that it locates: a fixed number of slots, in the order of time.

A compiled step has registers of fixed size, so it keeps the first few impacts whole and counts the
others; their impulses are in the sum of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.program.ir.loops import Values


def slot_size(nq: int, nu: int, contacts: int) -> int:
    """Numbers that one impact takes."""
    return 1 + nq + 2 * nu + 3 * contacts


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
    def none(cls, size: int, contacts: int, slots: int) -> Strikes:
        """Before the first; size: of a slot."""
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
        rows = _put(self._rows(row.numel()), row, self.strike_count)
        return Strikes(
            self.impulse_strikes + impulse, self.strike_count + 1, ca.vertcat(SX(0, 1), *rows)
        )

    def followed_by(self, part: Strikes, begun: SX, size: int) -> Strikes:
        """With those of a part of the step that began at `begun`, s; size: of a slot."""
        count = self.strike_count
        rows = self._rows(size)
        for slot, row in enumerate(part._rows(size)):
            there = part.strike_count > slot
            shifted = ca.vertcat(row[0] + begun, row[1:])
            rows = _put(rows, shifted, ca.if_else(there, count + slot, -1))
        return Strikes(
            self.impulse_strikes + part.impulse_strikes,
            count + part.strike_count,
            ca.vertcat(SX(0, 1), *rows),
        )

    def _rows(self, size: int) -> list[SX]:
        """The slots (size,)."""
        ends = range(size, self.strike_rows.numel() + 1, size)
        return [self.strike_rows[end - size : end] for end in ends]


def _put(rows: list[SX], row: SX, at: SX) -> list[SX]:
    """The rows with one of them replaced; all as they were where `at` is none of them."""
    return [ca.if_else(at == slot, row, old) for slot, old in enumerate(rows)]
