"""The deepest few of many secondary contacts: only these are carried through a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.collision.geometry import EMPTY
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

OUTSIDE = 2.0  # place on a span whose inside is nowhere nearest to the ground


@dataclass(frozen=True, eq=False)
class Deepest:
    """The deepest of the spans that are near, or of the pairs that touch.

    Parameters
    ----------
    numbers : list of SX
        Contact numbers; EMPTY for none.
    gaps : list of SX
        Gaps, m; infinite for none.
    touching : SX
        How many touch in all, also those that are not among the deepest.
    places : list of SX
        Where along each span the ground is nearest (`curve_ground`), NOWHERE for none; empty for
        pairs.
    asides : list of SX
        Where across a face the ground is nearest (`face_ground`), 0 for other spans; empty if the
        geometry has no faces.
    """

    numbers: list[SX]
    gaps: list[SX]
    touching: SX
    places: list[SX] = field(default_factory=list)
    asides: list[SX] = field(default_factory=list)

    @staticmethod
    def none(count: int, *, spans: bool, faces: bool = False) -> Deepest:
        """Return room for `count` contacts, all of it free."""
        numbers, gaps, places, asides = (
            entries(SX(np.full(count, value))) for value in (EMPTY, np.inf, OUTSIDE, 0)
        )
        return Deepest(numbers, gaps, SX(0), places if spans else [], asides if faces else [])

    @staticmethod
    def of(values: Values) -> Deepest:
        """Restore from the registers that `values` returns."""
        own = (entries(values.get(name, SX(0, 1))) for name in ("places", "asides"))
        numbers, gaps = entries(values["numbers"]), entries(values["gaps"])
        return Deepest(numbers, gaps, values["touching"], *own)

    def values(self) -> Values:
        """Return the registers that carry this through a loop."""
        values = {"numbers": ca.vertcat(*self.numbers), "gaps": ca.vertcat(*self.gaps)}
        more = {"places": self.places, "asides": self.asides}
        rest = {name: ca.vertcat(*own) for name, own in more.items() if own}
        return values | {"touching": self.touching} | rest

    @property
    def least(self) -> SX:
        """Least gap, m."""
        return reduce(ca.fmin, self.gaps)

    def with_one(
        self, number: SX, gap: SX, place: SX, touches: SX, aside: SX | float = 0.0
    ) -> Deepest:
        """Insert a span in place of the one with the largest gap, if its own is smaller."""
        most = reduce(ca.fmax, self.gaps)
        free, here = gap < most, list[SX]()
        for own in self.gaps:
            here.append(ca.logic_and(free, own == most))
            free = ca.logic_and(free, ca.logic_not(here[-1]))

        def put(new: SX | float, before: list[SX]) -> list[SX]:
            pairs = zip(here, before, strict=True)
            return [ca.if_else(flag, new, old) for flag, old in pairs]

        return Deepest(
            *(put(number, self.numbers), put(gap, self.gaps), self.touching + touches),
            *(put(place, self.places), put(aside, self.asides) if self.asides else []),
        )

    def position(self, number: SX) -> SX:
        """Return where along the span of that number the ground is nearest, or NOWHERE."""
        return self._of(number, self.places, OUTSIDE)

    def aside(self, number: SX) -> SX:
        """Return where across the span of that number that is; 0 if it is not a face."""
        return self._of(number, self.asides, 0.0)

    def _of(self, number: SX, values: list[SX], usual: float) -> SX:
        found = SX(usual)
        for own, value in zip(self.numbers, values, strict=True):
            found = ca.if_else(own == number, value, found)
        return found


def deepest_touching(
    gaps: list[SX], touch: list[SX], first: int, count: int, builder: Builder
) -> Deepest:
    """Return the deepest of the contacts that touch, at most `count`.

    Parameters
    ----------
    gaps, touch : list of SX
        Gap of each contact, m, and 1 if it touches, else 0.
    first : int
        Contact number of the first of them.
    count : int
        How many to return.
    builder : Builder
        Takes the loop.
    """
    keys = [ca.if_else(flag, gap, SX.inf()) for flag, gap in zip(touch, gaps, strict=True)]
    keys = entries(builder.store("touching", ca.vertcat(*keys)))

    # one after the other
    def one_more(now: Values) -> tuple[Values, SX]:
        key, place = next_key(keys, now["key"], now["place"])
        new = key < SX.inf()
        here = [ca.logic_and(new, now["found"] == k) for k in range(count)]

        def put(own: SX, name: str) -> SX:
            pairs = zip(here, entries(now[name]), strict=True)
            return ca.vertcat(*(ca.if_else(at, own, old) for at, old in pairs))

        found = now["found"] + new
        after = {"numbers": put(first + place, "numbers"), "gaps": put(key, "gaps")}
        after |= {"key": key, "place": place, "found": found}
        return now | after, ca.logic_and(new, found < count)

    begin = Deepest.none(count, spans=False).values() | {"touching": sum(touch, SX(0))}
    begin |= {"key": -SX.inf(), "place": SX(-1), "found": SX(0)}
    return Deepest.of(builder.loop(begin, one_more, count + 1, begin["touching"] > 0))


def next_key(keys: list[SX], key: SX, place: SX) -> tuple[SX, SX]:
    """Return the least key that follows the given one in sorted order, and where it is.

    Of equal keys the first comes first. The key is infinite if none follows.
    """
    best, at = SX.inf(), SX(-1)
    for k, own in enumerate(keys):
        later = ca.logic_or(own > key, ca.logic_and(own == key, place < k))
        better = ca.logic_and(later, own < best)
        best, at = ca.if_else(better, own, best), ca.if_else(better, k, at)
    return best, at
