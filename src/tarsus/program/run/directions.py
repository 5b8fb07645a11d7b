"""One world's registers, directions of its tangents, and the compiled program that runs them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike

from tarsus.program.codegen.directional import OneWorld, SharedRoom
from tarsus.program.codegen.layout import layout, record_size
from tarsus.program.ir.program import Program
from tarsus.program.run import machine, native
from tarsus.program.run.backend import Array
from tarsus.program.run.worlds import aligned


class Directions:
    """A tangent program (`ir.tangent`) of one world along `count` directions at once.

    varying: the registers that differ by direction; of them no other depends
    ends: by register, where its directions end, which set it to the columns of the identity; those
        of the first begin at zero, those of others where those before end
    """

    def __init__(self, program: Program, varying: Collection[str], ends: Mapping[str, int]) -> None:
        lanes, count = machine.host().lanes(64), max(ends.values())
        frame = OneWorld(frozenset(varying), lanes, _parts(ends, lanes))
        self.program, self.count, self._room = program, count, SharedRoom(program, frame)
        self.record = aligned((record_size(program),), np.dtype(float))
        self._shared = aligned((self._room.size,), np.dtype(float))
        self._at = layout(program)[0]
        self._kernel, self._cold = native.compile_directions(program, frame)
        self._tables = [np.ascontiguousarray(t, float) for t in program.tables.values()]
        pointers = [t.ctypes.data for t in self._tables] or [0]
        self._pointers = np.array(pointers, dtype=np.uintp)
        data = (self.record, self._pointers, self._shared)
        self._given = tuple(array.ctypes.data for array in data)
        seeds = np.eye(count)
        for name, end in ends.items():
            self.set(name, seeds[end - program.sizes[name] : end])

    def view(self, name: str) -> Array:
        """A register in place: (size,), or (size, count) of one that differs by direction."""
        size, width = self.program.sizes[name], self._room.width
        if name in self._room.vectors:
            at = self._room.vectors[name]
            return self._shared[at : at + size * width].reshape(size, width)[:, : self.count]
        return self.record[self._at[name] : self._at[name] + size]

    def set(self, name: str, values: ArrayLike) -> None:
        """Write a register."""
        self.view(name)[...] = values

    def run(self) -> None:
        """Run the program once."""
        self._kernel(*self._given)
        if self._cold and self._cold.failures:
            self._cold.raise_failures()


def _parts(ends: Mapping[str, int], lanes: int) -> tuple[tuple[int, frozenset[str]], ...]:
    """Vectors of directions that the first register begins, and of the others alone."""
    first, *others = [-(-end // lanes) for end in ends.values()]
    more = max(others, default=first) - first
    whole = (first, frozenset(ends))
    return (whole, (more, frozenset([*ends][1:]))) if more else (whole,)
