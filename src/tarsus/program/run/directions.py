"""Run a tangent program of one world along many directions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike

from tarsus.program.codegen.layout import layout, record_size
from tarsus.program.codegen.tangent_kernel import DirectionLanes, SharedLayout
from tarsus.program.ir.program import Program
from tarsus.program.run import machine, native
from tarsus.program.run.backend import Array
from tarsus.program.run.worlds import aligned_zeros


class Directions:
    """Tangent program (`ir.tangent`) of one world along `count` directions at once.

    Parameters
    ----------
    program
        Tangent program.
    varying
        Registers that differ by direction; no other register depends on them.
    ends
        By register, the end of the range of directions in which it is seeded with the identity. The
        range begins at the end of the previous one; the first begins at zero.
    """

    def __init__(self, program: Program, varying: Collection[str], ends: Mapping[str, int]) -> None:
        lanes, count = machine.detect_host().lanes(64), max(ends.values())
        shell = DirectionLanes(frozenset(varying), lanes, _groups(ends, lanes))
        self.program, self.count, self._layout = program, count, SharedLayout(program, shell)
        self.record = aligned_zeros((record_size(program),), np.dtype(float))
        self._shared = aligned_zeros((self._layout.size,), np.dtype(float))
        self._offsets = layout(program)[0]
        self._kernel, self._cold = native.compile_directions(program, shell)
        self._tables = [np.ascontiguousarray(t, float) for t in program.tables.values()]
        pointers = [t.ctypes.data for t in self._tables] or [0]
        self._pointers = np.array(pointers, dtype=np.uintp)
        data = (self.record, self._pointers, self._shared)
        self._arguments = tuple(array.ctypes.data for array in data)
        seeds = np.eye(count)
        for name, end in ends.items():
            self.set(name, seeds[end - program.sizes[name] : end])

    def view(self, name: str) -> Array:
        """Return a view of a register: (size,), or (size, count) if it differs by direction."""
        size, width = self.program.sizes[name], self._layout.width
        if name in self._layout.vectors:
            offset = self._layout.vectors[name]
            columns = self._shared[offset : offset + size * width].reshape(size, width)
            return columns[:, : self.count]
        return self.record[self._offsets[name] : self._offsets[name] + size]

    def set(self, name: str, values: ArrayLike) -> None:
        """Write a register."""
        self.view(name)[...] = values

    def run(self) -> None:
        """Run the program once."""
        self._kernel(*self._arguments)
        if self._cold and self._cold.failures:
            self._cold.raise_failures()


def _groups(ends: Mapping[str, int], lanes: int) -> tuple[tuple[int, frozenset[str]], ...]:
    """Group the directions: those that seed the first register, and all others."""
    first, *others = [-(-end // lanes) for end in ends.values()]
    more = max(others, default=first) - first
    group = (first, frozenset(ends))
    return (group, (more, frozenset([*ends][1:]))) if more else (group,)
