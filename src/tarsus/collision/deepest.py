"""The few deepest of many secondary contacts: only these take part in a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.collision.geometry import EMPTY
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

OUTSIDE = 2.0  # position on a span that is nearest to the ground at an end


@dataclass(frozen=True, eq=False)
class DeepestContacts:
    """The deepest spans near the ground, or the deepest pairs that touch.

    Parameters
    ----------
    numbers : list of SX
        Contact numbers; EMPTY for none.
    gaps : list of SX
        Gaps, m; infinite for none.
    touching : SX
        Number of all contacts that touch, including those that are not among the deepest.
    positions : list of SX
        Position along each span at which the ground is nearest (`curve_ground`), OUTSIDE for none;
        empty for pairs.
    cross_positions : list of SX
        Position across a face at which the ground is nearest (`face_ground`), 0 for other spans;
        empty if the geometry has no faces.
    normals : list of SX
        Normal (3,) of the contact of a face with an edge of the ground (`face_edges`), 0 for other
        spans; empty if the ground has no such edges.
    """

    numbers: list[SX]
    gaps: list[SX]
    touching: SX
    positions: list[SX] = field(default_factory=list)
    cross_positions: list[SX] = field(default_factory=list)
    normals: list[SX] = field(default_factory=list)

    @staticmethod
    def empty(
        count: int, *, spans: bool, faces: bool = False, edges: bool = False
    ) -> DeepestContacts:
        """Create an empty table for `count` contacts."""
        numbers, gaps, positions, cross_positions = (
            entries(SX(np.full(count, value))) for value in (EMPTY, np.inf, OUTSIDE, 0)
        )
        normals = [SX.zeros(3)] * count if edges else []
        positions, cross_positions = positions if spans else [], cross_positions if faces else []
        return DeepestContacts(numbers, gaps, SX(0), positions, cross_positions, normals)

    @staticmethod
    def from_registers(values: Values) -> DeepestContacts:
        """Restore the table from its registers."""
        positions, cross_positions = (
            entries(values.get(name, SX(0, 1))) for name in ("positions", "cross_positions")
        )
        numbers, gaps = entries(values["numbers"]), entries(values["gaps"])
        normals = triples(values.get("normals", SX(0, 1)))
        return DeepestContacts(
            numbers, gaps, values["touching"], positions, cross_positions, normals
        )

    def to_registers(self) -> Values:
        """Return the registers that carry this through a loop."""
        values = {"numbers": ca.vertcat(*self.numbers), "gaps": ca.vertcat(*self.gaps)}
        more = {
            "positions": self.positions,
            "cross_positions": self.cross_positions,
            "normals": self.normals,
        }
        rest = {name: ca.vertcat(*column) for name, column in more.items() if column}
        return values | {"touching": self.touching} | rest

    @property
    def min_gap(self) -> SX:
        """Least gap, m."""
        return reduce(ca.fmin, self.gaps)

    def with_contact(
        self,
        number: SX,
        gap: SX,
        position: SX,
        touches: SX,
        cross_position: SX | float = 0.0,
        normal: SX | None = None,
    ) -> DeepestContacts:
        """Replace the contact with the largest gap by another one if the gap of that is smaller.

        A contact with an edge of the ground (`normal` is given) replaces any contact of the same
        number.
        """
        keys = self.gaps
        if normal is not None:
            same = [other == number for other in self.numbers]
            known = reduce(ca.logic_or, same)
            keys = [
                ca.if_else(known, ca.if_else(flag, current, -SX.inf()), current)
                for flag, current in zip(same, self.gaps, strict=True)
            ]
            touches = ca.logic_and(touches, ca.logic_not(known))
        largest = reduce(ca.fmax, keys)
        pending, replaces = gap < largest, list[SX]()
        for other in keys:
            replaces.append(ca.logic_and(pending, other == largest))
            pending = ca.logic_and(pending, ca.logic_not(replaces[-1]))

        def insert(new: SX | float, before: list[SX]) -> list[SX]:
            pairs = zip(replaces, before, strict=True)
            return [ca.if_else(flag, new, old) for flag, old in pairs]

        normal = SX.zeros(3) if normal is None else normal
        return DeepestContacts(
            *(insert(number, self.numbers), insert(gap, self.gaps), self.touching + touches),
            *(
                insert(position, self.positions),
                insert(cross_position, self.cross_positions) if self.cross_positions else [],
            ),
            insert(normal, self.normals) if self.normals else [],
        )

    def position(self, number: SX) -> SX:
        """Look up the position along the span with that number where the ground is closest."""
        return self._value_of(number, self.positions, OUTSIDE)

    def cross_position(self, number: SX) -> SX:
        """Look up the position across the span with that number; 0 if it is not a face."""
        return self._value_of(number, self.cross_positions, 0.0)

    def edge_contact(self, number: SX) -> tuple[SX, SX]:
        """Look up the normal (3,) and gap, m, of a contact with an edge of the ground, or zeros."""
        normal, gap = SX.zeros(3), SX(0)
        for other, its_normal, distance in zip(self.numbers, self.normals, self.gaps, strict=True):
            normal = ca.if_else(other == number, its_normal, normal)
            gap = ca.if_else(other == number, distance, gap)
        return normal, gap

    def _value_of(self, number: SX, values: list[SX], default: float) -> SX:
        result = SX(default)
        for other, value in zip(self.numbers, values, strict=True):
            result = ca.if_else(other == number, value, result)
        return result


def deepest_touching(
    gaps: list[SX], touch: list[SX], first: int, count: int, builder: Builder
) -> DeepestContacts:
    """Select the deepest contacts that touch, at most `count`.

    Parameters
    ----------
    gaps, touch : list of SX
        Gap of each contact, m, and 1 if it touches, else 0.
    first : int
        Contact number of the first of them.
    count : int
        Number of contacts to return.
    builder : Builder
        Traces the loop.
    """
    keys = [ca.if_else(flag, gap, SX.inf()) for flag, gap in zip(touch, gaps, strict=True)]
    keys = entries(builder.store("keys", ca.vertcat(*keys)))

    # one contact after the other
    def add_next(values: Values) -> tuple[Values, SX]:
        key, index = next_key(keys, values["key"], values["index"])
        new = key < SX.inf()
        is_next = [ca.logic_and(new, values["filled"] == k) for k in range(count)]

        def insert(value: SX, name: str) -> SX:
            pairs = zip(is_next, entries(values[name]), strict=True)
            return ca.vertcat(*(ca.if_else(flag, value, old) for flag, old in pairs))

        filled = values["filled"] + new
        after = {"numbers": insert(first + index, "numbers"), "gaps": insert(key, "gaps")}
        after |= {"key": key, "index": index, "filled": filled}
        return values | after, ca.logic_and(new, filled < count)

    begin = DeepestContacts.empty(count, spans=False).to_registers() | {
        "touching": sum(touch, SX(0))
    }
    begin |= {"key": -SX.inf(), "index": SX(-1), "filled": SX(0)}
    return DeepestContacts.from_registers(
        builder.loop(begin, add_next, count + 1, begin["touching"] > 0)
    )


def next_key(keys: list[SX], key: SX, index: SX) -> tuple[SX, SX]:
    """Find the smallest key that follows (key, index) in sorted order, and its index.

    Equal keys are ordered by index. The key is infinite if none follows.
    """
    best, best_index = SX.inf(), SX(-1)
    for k, other in enumerate(keys):
        later = ca.logic_or(other > key, ca.logic_and(other == key, index < k))
        better = ca.logic_and(later, other < best)
        best, best_index = ca.if_else(better, other, best), ca.if_else(better, k, best_index)
    return best, best_index
