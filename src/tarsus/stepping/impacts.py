"""Record of the impacts that a step locates: a fixed number of slots, in order of time.

A compiled step has registers of fixed size, so it records the first few impacts in full and counts
the others, whose impulses are in the sum of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.program.ir.loops import Values


def slot_size(nq: int, nu: int, contacts: int) -> int:
    """Count the entries that one impact takes."""
    return 1 + nq + 2 * nu + 3 * contacts


@dataclass(frozen=True, eq=False)
class ImpactRecord:
    """Impacts of one step so far.

    Attributes
    ----------
    impulse_in_impacts
        Sum of their impulses (3n,), N s.
    impact_count
        Number of impacts.
    impact_rows
        The first impacts (slots * size,), one after the other. Each has the time since the start of
        the step in s, q (nq,), u before (nu,), u after (nu,) and impulses (3n,). Unused slots are
        zero.
    """

    impulse_in_impacts: SX
    impact_count: SX
    impact_rows: SX

    @classmethod
    def empty(cls, size: int, contacts: int, slots: int) -> ImpactRecord:
        """Create an empty record; `size` is that of a slot."""
        return cls(SX.zeros(3 * contacts), SX(0), SX.zeros(slots * size))

    @classmethod
    def from_registers(cls, values: Values) -> ImpactRecord:
        """Restore the record from its registers."""
        return cls(*(values[name] for name in cls.__dataclass_fields__))

    def to_registers(self) -> Values:
        """Collect the record by register name, to be carried through a loop and reported."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def with_impact(self, time: SX, q: SX, before: SX, after: SX, impulse: SX) -> ImpactRecord:
        """Append an impact.

        `time` counts from the start of the step; `before` and `after` are u (nu,).
        """
        row = ca.vertcat(time, q, before, after, impulse)
        rows = _replace_row(self._rows(row.numel()), row, self.impact_count)
        return ImpactRecord(
            self.impulse_in_impacts + impulse, self.impact_count + 1, ca.vertcat(SX(0, 1), *rows)
        )

    def append_part(self, part: ImpactRecord, part_start: SX, size: int) -> ImpactRecord:
        """Append the impacts of a part of the step.

        It starts at `part_start`, s; `size` is that of a slot.
        """
        count = self.impact_count
        rows = self._rows(size)
        for slot, row in enumerate(part._rows(size)):
            there = part.impact_count > slot
            shifted = ca.vertcat(row[0] + part_start, row[1:])
            rows = _replace_row(rows, shifted, ca.if_else(there, count + slot, -1))
        return ImpactRecord(
            self.impulse_in_impacts + part.impulse_in_impacts,
            count + part.impact_count,
            ca.vertcat(SX(0, 1), *rows),
        )

    def _rows(self, size: int) -> list[SX]:
        """Return the slots (size,)."""
        ends = range(size, self.impact_rows.numel() + 1, size)
        return [self.impact_rows[end - size : end] for end in ends]


def _replace_row(rows: list[SX], row: SX, index: SX) -> list[SX]:
    """Replace the row at `index`; an index outside the rows replaces none."""
    return [ca.if_else(index == slot, row, old) for slot, old in enumerate(rows)]
