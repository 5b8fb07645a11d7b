"""Which worlds stand side by side: those that take alike many operations.

An instruction is done for all worlds of a group, so that a group takes what its slowest takes. What
a world takes changes slowly: a foot that slides does so for many steps. So worlds change places now
and then. Their results do not depend on it; when they do depends on operations alone.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tarsus.program.run.backend import Array

LOOK, LEAST = 50e3, 6e6  # operations of a group, and of all, between two looks
FINE = 8  # differences below one part of this of what the least world takes are none
GAIN = 0.01  # share of all operations that must be won
MOVING = 7  # operations that moving one number of a record takes, as far as time goes
LASTING = 0.5  # of what would have been won is won until the next look
RARELY = 16  # times as long between two looks, where worlds stay as they are
Numbers = NDArray[np.intp]


class Grouping:
    """Records (groups, entries, lanes) whose worlds change places within each of some spans.

    effort: the entry that counts operations; the next is the world's number
    edges: where spans of groups begin, and the last ends
    """

    def __init__(self, records: Array, effort: int, edges: list[int]) -> None:
        self._records, self._effort = records, effort
        self._spans = [slice(*span) for span in pairwise(edges)]
        self._widest = max(b - a for a, b in pairwise(edges))
        self._due = max(LOOK, LEAST / self._widest)
        self._steps, self._wait, self._takes = 0, 1.0, 0.0
        records[:, effort + 1] = np.arange(records.shape[0] * records.shape[2]).reshape(
            records.shape[0], -1
        )
        self._moved = False
        self._found: tuple[Numbers, Numbers] | None = None  # as long as they are known

    @staticmethod
    def of(records: Array, effort: int, edges: list[int]) -> Grouping | None:
        """None where no world could change places: one lane or group, or numbers that a record
        cannot hold.
        """
        groups, _, lanes = records.shape
        most = 2 ** (np.finfo(records.dtype).nmant + 1)
        several = lanes > 1 and max(b - a for a, b in pairwise(edges)) > 1
        return Grouping(records, effort, edges) if several and groups * lanes < most else None

    @property
    def worlds(self) -> Numbers | None:
        """The world at each place; None while all stand in order."""
        return self._order()[0] if self._moved else None

    @property
    def places(self) -> Numbers | None:
        """The place of each world; None while all stand in order."""
        return self._order()[1] if self._moved else None

    def _order(self) -> tuple[Numbers, Numbers]:
        if self._found is None:
            worlds = self._records[:, self._effort + 1].ravel().astype(np.intp)
            self._found = worlds, np.argsort(worlds)
        return self._found

    def moved_on(self) -> None:
        """All worlds are in other states than where they went by themselves: who takes long may be
        another one, so it is time to look soon.
        """
        self._wait = 1.0

    def steps(self) -> float:
        """How many to the next look, as far as is known: after a bit more there are not many."""
        if not self._takes:
            return math.inf
        whole = self._due * self._wait / self._takes
        return math.ceil(max(whole - self._steps, whole / 8))

    def look(self, steps: int) -> None:
        """After so many steps: put worlds side by side that take alike long, if it is time to."""
        self._steps += steps
        taken = float(self._records[0, self._effort, 0])
        if taken < self._due * self._wait:
            return
        self._takes, self._steps = taken / self._steps, 0
        # whatever interrupts, the records know where their worlds stand
        before = self._moved, self._found
        self._moved, self._found = True, None
        moved = [regrouped(self._records[span], self._effort) for span in self._spans]
        if any(moved):
            self._wait = 1
        else:
            self._wait = min(2 * self._wait, RARELY)
            self._moved, self._found = before


def regrouped(records: Array, effort: int) -> bool:
    """Put worlds side by side that took alike many operations; whether any changed places.

    records: (groups, entries, lanes); effort: the entry that says how many since the last look,
    which begin anew
    """
    # how many each took, and groups: as they stand, and if worlds stood in order
    took = records[:, effort].copy()
    records[:, effort] = 0
    unit = max(took.min(), 1) / FINE
    takes = np.floor(took / unit)
    ordered = np.sort(takes, axis=None)
    now, then = takes.max(1).sum(), ordered[takes.shape[1] - 1 :: takes.shape[1]].sum()
    if now - then < GAIN * now:
        return False
    # as few change places as can: all but those that stand where one of their effort belongs
    takes = takes.ravel()
    to = np.flatnonzero(takes != ordered)
    if LASTING * (now - then) * unit < MOVING * to.size * records.shape[1]:
        return False
    origin = to[np.argsort(takes[to], kind="stable")]
    (at, lane), (source, its) = (np.divmod(place, records.shape[2]) for place in (to, origin))
    records[at, :, lane] = records[source, :, its]  # at once, whatever interrupts
    return True
