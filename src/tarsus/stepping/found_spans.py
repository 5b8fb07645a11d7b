"""The few spans that are near the ground, of many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Values
from tarsus.stepping.base import EMPTY

NOWHERE = 2.0  # the place of a span where the ground is nearest at none


@dataclass(frozen=True, eq=False)
class FoundSpans:
    """The lowest spans of those that are near, as many as there are slots.

    numbers: in the scene's order, EMPTY for none; gaps, m, infinite for none
    places: where on each the ground is nearest (`stepping.between`), NOWHERE for none
    touching: how many touch, those for which there was no place among them
    """

    numbers: list[SX]
    gaps: list[SX]
    places: list[SX]
    touching: SX

    @staticmethod
    def none(slots: int) -> FoundSpans:
        """As many places as slots."""
        empty, open_, nowhere = (
            entries(SX(np.full(slots, value))) for value in (EMPTY, np.inf, NOWHERE)
        )
        return FoundSpans(empty, open_, nowhere, SX(0))

    @staticmethod
    def of(values: Values) -> FoundSpans:
        """Of `values`."""
        lists = (entries(values[name]) for name in ("numbers", "gaps", "places"))
        return FoundSpans(*lists, values["touching"])

    def values(self) -> Values:
        """As a loop carries them."""
        lists = {"numbers": self.numbers, "gaps": self.gaps, "places": self.places}
        return {name: ca.vertcat(*own) for name, own in lists.items()} | {"touching": self.touching}

    @property
    def least(self) -> SX:
        """The least gap, m."""
        return reduce(ca.fmin, self.gaps)

    def with_one(self, number: SX, gap: SX, place: SX, touches: SX) -> FoundSpans:
        """With one more, in place of the highest."""
        most = reduce(ca.fmax, self.gaps)
        free = gap < most
        new: list[tuple[SX, SX, SX]] = []
        for before in zip(self.numbers, self.gaps, self.places, strict=True):
            here = ca.logic_and(free, before[1] == most)
            free = ca.logic_and(free, ca.logic_not(here))
            one = zip((number, gap, place), before, strict=True)
            a, b, c = (ca.if_else(here, mine, other) for mine, other in one)
            new.append((a, b, c))
        numbers, gaps, places = (list(own) for own in zip(*new, strict=True))
        return FoundSpans(numbers, gaps, places, self.touching + touches)

    def place(self, number: SX) -> SX:
        """Where the ground is nearest on the span of that number; NOWHERE if it was not found."""
        found = SX(NOWHERE)
        for own, place in zip(self.numbers, self.places, strict=True):
            found = ca.if_else(own == number, place, found)
        return found
