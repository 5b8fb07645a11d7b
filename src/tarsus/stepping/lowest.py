"""The few lowest of many rare contacts: so many are carried from where they are found, not all."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import EMPTY

NOWHERE = 2.0  # the place of a span where the ground is nearest at none


@dataclass(frozen=True, eq=False)
class Lowest:
    """The lowest of the spans that are near, or of the pairs that touch.

    numbers: in the scene's order, EMPTY for none; gaps, m, infinite for none
    touching: how many touch, those for which there was no place among them
    places: where on each span the ground is nearest (`stepping.between`), NOWHERE for none; empty
        for pairs
    asides: where across a face that is (`stepping.faces`), 0 of other spans; empty if none is one
    """

    numbers: list[SX]
    gaps: list[SX]
    touching: SX
    places: list[SX] = field(default_factory=list)
    asides: list[SX] = field(default_factory=list)

    @staticmethod
    def none(count: int, *, spans: bool, faces: bool = False) -> Lowest:
        """So many places, all free."""
        numbers, gaps, places, asides = (
            entries(SX(np.full(count, value))) for value in (EMPTY, np.inf, NOWHERE, 0)
        )
        return Lowest(numbers, gaps, SX(0), places if spans else [], asides if faces else [])

    @staticmethod
    def of(values: Values) -> Lowest:
        """Of `values`."""
        own = (entries(values.get(name, SX(0, 1))) for name in ("places", "asides"))
        numbers, gaps = entries(values["numbers"]), entries(values["gaps"])
        return Lowest(numbers, gaps, values["touching"], *own)

    def values(self) -> Values:
        """As a loop carries them."""
        values = {"numbers": ca.vertcat(*self.numbers), "gaps": ca.vertcat(*self.gaps)}
        more = {"places": self.places, "asides": self.asides}
        rest = {name: ca.vertcat(*own) for name, own in more.items() if own}
        return values | {"touching": self.touching} | rest

    @property
    def least(self) -> SX:
        """The least gap, m."""
        return reduce(ca.fmin, self.gaps)

    def with_one(
        self, number: SX, gap: SX, place: SX, touches: SX, aside: SX | float = 0.0
    ) -> Lowest:
        """With one span more, in place of the highest."""
        most = reduce(ca.fmax, self.gaps)
        free, here = gap < most, list[SX]()
        for own in self.gaps:
            here.append(ca.logic_and(free, own == most))
            free = ca.logic_and(free, ca.logic_not(here[-1]))

        def put(new: SX | float, before: list[SX]) -> list[SX]:
            pairs = zip(here, before, strict=True)
            return [ca.if_else(flag, new, old) for flag, old in pairs]

        return Lowest(
            *(put(number, self.numbers), put(gap, self.gaps), self.touching + touches),
            *(put(place, self.places), put(aside, self.asides) if self.asides else []),
        )

    def place(self, number: SX) -> SX:
        """Where the ground is nearest on the span of that number; NOWHERE if it was not found."""
        return self._of(number, self.places, NOWHERE)

    def aside(self, number: SX) -> SX:
        """Where across it that is; 0 if it is no face."""
        return self._of(number, self.asides, 0.0)

    def _of(self, number: SX, values: list[SX], usual: float) -> SX:
        found = SX(usual)
        for own, value in zip(self.numbers, values, strict=True):
            found = ca.if_else(own == number, value, found)
        return found


def touching_of(
    gaps: list[SX], touch: list[SX], first: int, count: int, builder: Builder
) -> Lowest:
    """Of contacts with these gaps, m, those that touch (1, else 0), so many at most.

    first: the number of the first of them
    """
    keys = [ca.if_else(flag, gap, SX.inf()) for flag, gap in zip(touch, gaps, strict=True)]
    keys = entries(builder.keep("touching", ca.vertcat(*keys)))

    # one after the other
    def one_more(now: Values) -> tuple[Values, SX]:
        key, place = behind(keys, now["key"], now["place"])
        new = key < SX.inf()
        here = [ca.logic_and(new, now["found"] == k) for k in range(count)]

        def put(own: SX, name: str) -> SX:
            pairs = zip(here, entries(now[name]), strict=True)
            return ca.vertcat(*(ca.if_else(at, own, old) for at, old in pairs))

        found = now["found"] + new
        after = {"numbers": put(first + place, "numbers"), "gaps": put(key, "gaps")}
        after |= {"key": key, "place": place, "found": found}
        return now | after, ca.logic_and(new, found < count)

    begin = Lowest.none(count, spans=False).values() | {"touching": sum(touch, SX(0))}
    begin |= {"key": -SX.inf(), "place": SX(-1), "found": SX(0)}
    return Lowest.of(builder.loop(begin, one_more, count + 1, begin["touching"] > 0))


def behind(keys: list[SX], key: SX, place: SX) -> tuple[SX, SX]:
    """The least of the keys behind the one at that place, and where it is; of equal ones the first.
    Infinite if there is none.
    """
    best, at = SX.inf(), SX(-1)
    for k, own in enumerate(keys):
        later = ca.logic_or(own > key, ca.logic_and(own == key, place < k))
        better = ca.logic_and(later, own < best)
        best, at = ca.if_else(better, own, best), ca.if_else(better, k, at)
    return best, at
