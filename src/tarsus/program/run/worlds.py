"""Many worlds' registers in this computer's memory, and a compiled program run over them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.program.codegen.layout import (
    Target,
    effort_at,
    lane_record_size,
    logged_size,
    record_size,
)
from tarsus.program.ir.program import Program
from tarsus.program.run import machine, native
from tarsus.program.run.backend import Array, Backend
from tarsus.program.run.grouping import Grouping, Numbers

ALIGNMENT = 256  # bytes: no vector is wider
AT_A_TIME = 0.05  # s of work between two looks for Ctrl-C
FIRST = 64  # group-steps of the first piece of work, whose time says how long the others may be


class Worlds(Backend):
    """`worlds` copies of a program's persistent registers, in lanes: data[group, entry, lane].

    Those that take alike long come to stand side by side (`grouping`), whatever their numbers.
    bits: 64 or 32; threads: how many share the work (the results do not depend on it); lanes:
    worlds an instruction, by default the host's vector width for batches and 1 for a few worlds;
    quick: compiled without optimization, for a few runs (`tiers.optimizes`).
    """

    def __init__(
        self,
        program: Program,
        worlds: int = 1,
        *,
        bits: int = 64,
        threads: int = 1,
        lanes: int | None = None,
        quick: bool = False,
    ) -> None:
        wide = machine.host().lanes(bits)
        # the worlds and what runs over them
        self.threads, self.lanes = threads, lanes or (wide if worlds > wide // 4 else 1)
        super().__init__(program, worlds, Target(self.lanes, bits))
        self.groups = -(-worlds // self.lanes)
        size = lane_record_size(program, self.target)
        self.data = aligned((self.groups, size, self.lanes), self.dtype)
        self._kernel, self._cold = native.compile_kernel(program, self.target, quick)
        self._failures = self._cold.failures if self._cold else []
        self._tables = [np.ascontiguousarray(t, self.dtype) for t in program.tables.values()]
        self._pointers = np.array([t.ctypes.data for t in self._tables] or [0], dtype=np.uintp)
        # who runs over which of them
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self._addresses = self.data.ctypes.data, self._pointers.ctypes.data
        edges = np.linspace(0, self.groups, min(threads, self.groups) + 1).astype(int).tolist()
        self._spans: list[tuple[int, int]] = list(pairwise(edges))
        self._states = {register.name for register in program.of_kind("state")}
        self._grouping = Grouping.of(self.data, effort_at(program), edges)
        self._once = (self._addresses[0], None, self._addresses[1], 0, self.groups, 1, self.groups)

    @property
    def _places(self) -> Numbers | None:
        """The place of each world; None while all stand in order."""
        return self._grouping.places if self._grouping else None

    @property
    def _standing(self) -> Numbers | None:
        """The world at each place; None while all stand in order."""
        return self._grouping.worlds if self._grouping else None

    def _rows(self, name: str) -> Array:
        return self.data[:, self._entries(name), :]

    def get(self, name: str) -> Array:
        rows, places = self._rows(name).transpose(0, 2, 1), self._places
        shape = (self.groups * self.lanes, rows.shape[2])
        if places is None and self.groups > 1:
            return np.array(rows, order="C").reshape(shape)[: self.count]  # a copy, and no second
        lying = rows.reshape(shape)
        return lying[: self.count].copy() if places is None else lying[places[: self.count]]

    def room(self, name: str, dtype: type | None = None) -> Array:
        """An array for `read`, of another type if asked: (worlds and those that fill up, size)."""
        shape = (self.groups * self.lanes, self.program.sizes[name])
        return aligned(shape, np.dtype(dtype or self.dtype))

    def read(self, name: str, into: Array) -> None:
        """A register of all worlds into an array that `room` made."""
        rows, standing = self._rows(name).transpose(0, 2, 1), self._standing
        if standing is None:
            into.reshape(rows.shape)[...] = rows
        else:
            into[standing] = rows.reshape(into.shape)

    def output(self, name: str) -> Array:
        return self.get(name)

    def _looked_through(self, name: str) -> bool:
        return bool(self._rows(name).any())

    def first(self, name: str) -> Array:
        entries = self._entries(name)
        return self.record_of(0)[entries.start : entries.stop].copy()

    def view(self, name: str) -> Array:
        """The first world's register in place, (size,): writing changes it (one lane only)."""
        self._lent.add(name)
        return self._rows(name)[0, :, 0]

    def record_of(self, world: int) -> Array:
        """All persistent registers of one world in place, (entries,), as `layout` says."""
        place = world if self._places is None else int(self._places[world])
        return self.data[place // self.lanes, : record_size(self.program), place % self.lanes]

    def set(self, name: str, values: ArrayLike, where: NDArray[np.bool_] | None = None) -> None:
        self._known.pop(name, None)
        rows, size = self._rows(name), self.program.sizes[name]
        if self._grouping and where is None and name in self._states:
            self._grouping.moved_on()
        alike = np.asarray(values)
        if where is None and alike.shape == (size,):
            rows[...] = alike[:, None]
            return
        full = self._for_all(name, values)
        if where is not None:
            full = np.where(np.asarray(where)[:, None], full, self.get(name))
        padded = np.concatenate(
            [full, np.repeat(full[-1:], self.groups * self.lanes - self.count, axis=0)]
        )
        if (standing := self._standing) is not None:
            padded = padded[standing]
        rows[...] = padded.reshape(self.groups, self.lanes, size).transpose(0, 2, 1)

    def advance(self, steps: int = 1) -> None:
        if steps == 1 and len(self._spans) == 1:
            self._kernel(*self._once)
            if self._failures and self._cold:
                self._cold.raise_failures()
            if self._grouping:
                self._grouping.look(1)
        else:
            self._run(steps, None)

    def record(self, steps: int) -> dict[str, Array]:
        log = aligned((steps, self.groups, logged_size(self.program), self.lanes), self.dtype)
        orders = self._run(steps, log)
        found, at = {}, 0
        for register in self.program.of_kind("state") + self.program.of_kind("report"):
            part = log[:, :, at : at + register.size, :].transpose(0, 1, 3, 2)
            rows = part.reshape(steps, self.groups * self.lanes, register.size)
            for first, last, places in orders:
                if places is not None:
                    rows[first:last] = rows[first:last, places]
            found[register.name] = rows[:, : self.count]
            at += register.size
        return found

    def compile_ahead(self) -> None:
        if self._cold:
            self._cold.load_all()

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def _run(self, steps: int, log: Array | None) -> list[tuple[int, int, Numbers | None]]:
        """Run `steps` times in pieces of about AT_A_TIME, so that Ctrl-C is soon heard: a kernel
        hears nothing. Between two pieces all worlds have made the same number of steps. Returns
        from which step to which the worlds stood at which places.
        """
        done, piece, orders = 0, max(1, FIRST // max(self._spans[0][1], 1)), []
        while True:
            piece = min(piece, steps - done)
            if self._grouping:
                piece = int(min(piece, self._grouping.steps()))
            began = perf_counter()
            self._piece(piece, None if log is None else log[done:].ctypes.data)
            if self._failures and self._cold:
                self._cold.raise_failures()
            orders.append((done, done + piece, self._places))
            done += piece
            if self._grouping:
                self._grouping.look(piece)
            if done == steps:
                return orders
            took = max(perf_counter() - began, 1e-9)
            piece = max(1, int(piece * AT_A_TIME / took))

    def _piece(self, steps: int, log: int | None) -> None:
        """Run `steps` times on every thread; `log`: the address of the first step's row.

        Ctrl-C is raised when all have: whenever it comes, no span is left out or run twice.
        """
        data, tables = self._addresses
        if len(self._spans) == 1:
            return self._kernel(data, log, tables, *self._spans[0], steps, self.groups)
        claimed: dict[int, object] = {}
        finished: set[int] = set()
        all_finished, stop = Event(), None

        def work(k: int) -> None:
            if claimed.setdefault(k, own := object()) is own:
                self._kernel(data, log, tables, *self._spans[k], steps, self.groups)
                finished.add(k)
                if len(finished) == len(self._spans):
                    all_finished.set()

        # what an interrupt kept from being handed over is handed over again
        while not all_finished.is_set():
            try:
                for k in range(len(self._spans)):
                    if k not in claimed:
                        self._workers().submit(work, k)
                all_finished.wait()
            except KeyboardInterrupt as interrupt:
                stop = interrupt
        if stop is not None:
            raise stop

    def _workers(self) -> ThreadPoolExecutor:
        """The threads; a process that was forked has none of its parent's and starts its own."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(len(self._spans))
        return self._pool[1]


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Zeros where no vector straddles two lines of a cache."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)
