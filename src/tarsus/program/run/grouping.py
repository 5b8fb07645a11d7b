"""Group worlds so that those of one group need about the same number of operations.

An instruction runs for all worlds of a group, so a group takes as long as its slowest world. The
effort of a world changes slowly: a foot that slides does so for many steps. Worlds are therefore
sorted by their operation counts from time to time. Results do not depend on the order, and when to
sort depends on operation counts alone.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tarsus.program.run.backend import Array

# operations of a group, and of all groups, between two checks
CHECK_INTERVAL, MIN_TOTAL_INTERVAL = 50e3, 6e6
RESOLUTION = 8  # differences below the smallest effort divided by this are ignored
MIN_GAIN = 0.01  # of all operations, for which worlds are moved
MOVE_COST = 7  # operations that take as long as moving one number of a record
PERSISTENCE = 0.5  # share of the gain that lasts until the next check
MAX_BACKOFF = 16  # factor on the interval, if checks move no worlds
Indices = NDArray[np.intp]


class Grouping:
    """Records (groups, entries, lanes) whose worlds are moved within spans of groups.

    Parameters
    ----------
    records
        Records of all worlds.
    effort
        Entry of the operation count; the next entry is the index of the world.
    edges
        First group of each span, and the end of the last.
    """

    def __init__(self, records: Array, effort: int, edges: list[int]) -> None:
        self._records, self._effort = records, effort
        self._spans = [slice(*span) for span in pairwise(edges)]
        self._widest = max(b - a for a, b in pairwise(edges))
        self._interval = max(CHECK_INTERVAL, MIN_TOTAL_INTERVAL / self._widest)
        self._steps, self._backoff, self._per_step = 0, 1.0, 0.0
        records[:, effort + 1] = np.arange(records.shape[0] * records.shape[2]).reshape(
            records.shape[0], -1
        )
        self._moved = False
        self._cached_order: tuple[Indices, Indices] | None = None

    @staticmethod
    def of(records: Array, effort: int, edges: list[int]) -> Grouping | None:
        """Create the grouping of records; None if no world could be moved.

        Worlds cannot be moved with one lane or one group per span, or if a record cannot represent
        the indices.
        """
        groups, _, lanes = records.shape
        max_index = 2 ** (np.finfo(records.dtype).nmant + 1)
        movable = lanes > 1 and max(b - a for a, b in pairwise(edges)) > 1
        return Grouping(records, effort, edges) if movable and groups * lanes < max_index else None

    @property
    def worlds(self) -> Indices | None:
        """World at each position; None while all are in order."""
        return self._order()[0] if self._moved else None

    @property
    def positions(self) -> Indices | None:
        """Position of each world; None while all are in order."""
        return self._order()[1] if self._moved else None

    def _order(self) -> tuple[Indices, Indices]:
        if self._cached_order is None:
            worlds = self._records[:, self._effort + 1].ravel().astype(np.intp)
            self._cached_order = worlds, np.argsort(worlds)
        return self._cached_order

    def reset_backoff(self) -> None:
        """Check again soon, because worlds were set to other states."""
        self._backoff = 1.0

    def steps(self) -> float:
        """Estimate the number of steps to the next check, at least an eighth of the last one."""
        if not self._per_step:
            return math.inf
        interval = self._interval * self._backoff / self._per_step
        return math.ceil(max(interval - self._steps, interval / 8))

    def check(self, steps: int) -> None:
        """Sort worlds by effort, if it is time to; call it after every `steps` steps."""
        self._steps += steps
        operations = float(self._records[0, self._effort, 0])
        if operations < self._interval * self._backoff:
            return
        self._per_step, self._steps = operations / self._steps, 0
        # the records have the indices of their worlds, even if an interrupt comes here
        before = self._moved, self._cached_order
        self._moved, self._cached_order = True, None
        moved = [regroup(self._records[span], self._effort) for span in self._spans]
        if any(moved):
            self._backoff = 1
        else:
            self._backoff = min(2 * self._backoff, MAX_BACKOFF)
            self._moved, self._cached_order = before


def regroup(records: Array, effort: int) -> bool:
    """Sort worlds by their operation counts, and reset the counts.

    Parameters
    ----------
    records
        Records (groups, entries, lanes), sorted in place.
    effort
        Entry of the operation count since the last check.

    Returns
    -------
    bool
        Whether any world was moved.
    """
    # the cost of groups as they are, and sorted
    counts = records[:, effort].copy()
    records[:, effort] = 0
    unit = max(counts.min(), 1) / RESOLUTION
    levels = np.floor(counts / unit)
    ordered = np.sort(levels, axis=None)
    now, then = levels.max(1).sum(), ordered[levels.shape[1] - 1 :: levels.shape[1]].sum()
    if now - then < MIN_GAIN * now:
        return False
    # move as few worlds as possible: not those at a position of their own level
    levels = levels.ravel()
    to = np.flatnonzero(levels != ordered)
    if PERSISTENCE * (now - then) * unit < MOVE_COST * to.size * records.shape[1]:
        return False
    source = to[np.argsort(levels[to], kind="stable")]
    (group, lane), (from_group, from_lane) = (np.divmod(p, records.shape[2]) for p in (to, source))
    records[group, :, lane] = records[from_group, :, from_lane]  # at once, for interrupts
    return True
