"""Back end of the CPU: registers of many worlds in lanes, and a compiled kernel."""

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
    effort_offset,
    lane_record_size,
    logged_size,
    record_size,
)
from tarsus.program.ir.program import Program
from tarsus.program.run import machine, native
from tarsus.program.run.backend import Array, Backend
from tarsus.program.run.grouping import Grouping, Indices

ALIGNMENT = 256  # bytes, at least the size of a vector
CHUNK_SECONDS = 0.05  # of work between two checks for Ctrl-C
FIRST_CHUNK = 64  # group-steps of the first chunk, whose time sets the size of the others


class Worlds(Backend):
    """Worlds stored as data[group, entry, lane], and a kernel compiled for this CPU.

    Worlds with similar effort are moved to the same group (`grouping`); users see them in order.

    Parameters
    ----------
    program
        Program to run.
    worlds
        Number of worlds.
    bits
        Bits of a number, 64 or 32.
    threads
        Number of threads; results do not depend on it.
    lanes
        Worlds per instruction; by default the vector width of the CPU for batches, 1 for a few
        worlds.
    quick
        Whether to compile without optimization, for a few runs (`tiers.optimizes`).
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
        width = machine.detect_host().lanes(bits)
        # the worlds and their kernel
        self.threads, self.lanes = threads, lanes or (width if worlds > width // 4 else 1)
        super().__init__(program, worlds, Target(self.lanes, bits))
        self.groups = -(-worlds // self.lanes)
        size = lane_record_size(program, self.target)
        self.data = aligned_zeros((self.groups, size, self.lanes), self.dtype)
        self._kernel, self._cold = native.compile_kernel(program, self.target, quick)
        self._failures = self._cold.failures if self._cold else []
        self._tables = [np.ascontiguousarray(t, self.dtype) for t in program.tables.values()]
        self._pointers = np.array([t.ctypes.data for t in self._tables] or [0], dtype=np.uintp)
        # threads and their spans of groups
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self._addresses = self.data.ctypes.data, self._pointers.ctypes.data
        edges = np.linspace(0, self.groups, min(threads, self.groups) + 1).astype(int).tolist()
        self._spans: list[tuple[int, int]] = list(pairwise(edges))
        self._states = {register.name for register in program.of_kind("state")}
        self._grouping = Grouping.of(self.data, effort_offset(program), edges)
        self._one_step = (
            self._addresses[0],
            None,
            self._addresses[1],
            0,
            self.groups,
            1,
            self.groups,
        )

    @property
    def _positions(self) -> Indices | None:
        """Position of each world; None while all are in order."""
        return self._grouping.positions if self._grouping else None

    @property
    def _order(self) -> Indices | None:
        """World at each position; None while all are in order."""
        return self._grouping.worlds if self._grouping else None

    def _rows(self, name: str) -> Array:
        return self.data[:, self._entries(name), :]

    def get(self, name: str) -> Array:
        rows, positions = self._rows(name).transpose(0, 2, 1), self._positions
        shape = (self.groups * self.lanes, rows.shape[2])
        if positions is None and self.groups > 1:
            return np.array(rows, order="C").reshape(shape)[: self.count]  # copies only once
        flat = rows.reshape(shape)
        return flat[: self.count].copy() if positions is None else flat[positions[: self.count]]

    def buffer(self, name: str, dtype: type | None = None) -> Array:
        """Create an array for `read`: (worlds padded to full groups, size)."""
        shape = (self.groups * self.lanes, self.program.sizes[name])
        return aligned_zeros(shape, np.dtype(dtype or self.dtype))

    def read(self, name: str, into: Array) -> None:
        rows, order = self._rows(name).transpose(0, 2, 1), self._order
        if order is None:
            into.reshape(rows.shape)[...] = rows
        else:
            into[order] = rows.reshape(into.shape)

    def to_host(self, array: Array) -> Array:
        return array

    def output(self, name: str) -> Array:
        return self.get(name)

    def _has_nonzero(self, name: str) -> bool:
        return bool(self._rows(name).any())

    def first(self, name: str) -> Array:
        entries = self._entries(name)
        return self.record_of(0)[entries.start : entries.stop].copy()

    def view(self, name: str) -> Array:
        """Return a view of the first world's register, (size,); with one lane only."""
        self._writable.add(name)
        return self._rows(name)[0, :, 0]

    def record_of(self, world: int) -> Array:
        """Return a view of a world's record, (entries,), with the offsets of `layout`."""
        index = world if self._positions is None else int(self._positions[world])
        return self.data[index // self.lanes, : record_size(self.program), index % self.lanes]

    def set(self, name: str, values: ArrayLike, where: NDArray[np.bool_] | None = None) -> None:
        self._nonzero.pop(name, None)
        rows, size = self._rows(name), self.program.sizes[name]
        if self._grouping and where is None and name in self._states:
            self._grouping.reset_backoff()
        array = np.asarray(values)
        if where is None and array.shape == (size,):
            rows[...] = array[:, None]
            return
        full = self._for_all(name, values)
        if where is not None:
            full = np.where(np.asarray(where)[:, None], full, self.get(name))
        padded = np.concatenate(
            [full, np.repeat(full[-1:], self.groups * self.lanes - self.count, axis=0)]
        )
        if (order := self._order) is not None:
            padded = padded[order]
        rows[...] = padded.reshape(self.groups, self.lanes, size).transpose(0, 2, 1)

    def advance(self, steps: int = 1) -> None:
        if steps == 1 and len(self._spans) == 1:
            self._kernel(*self._one_step)
            if self._failures and self._cold:
                self._cold.raise_failures()
            if self._grouping:
                self._grouping.check(1)
        else:
            self._run(steps, None)

    def record(self, steps: int) -> dict[str, Array]:
        log = aligned_zeros((steps, self.groups, logged_size(self.program), self.lanes), self.dtype)
        orders = self._run(steps, log)
        registers, offset = {}, 0
        for register in self.program.of_kind("state") + self.program.of_kind("report"):
            entries = log[:, :, offset : offset + register.size, :].transpose(0, 1, 3, 2)
            rows = entries.reshape(steps, self.groups * self.lanes, register.size)
            for first, last, positions in orders:
                if positions is not None:
                    rows[first:last] = rows[first:last, positions]
            registers[register.name] = rows[:, : self.count]
            offset += register.size
        return registers

    def compile_ahead(self) -> None:
        if self._cold:
            self._cold.load_all()

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def _run(self, steps: int, log: Array | None) -> list[tuple[int, int, Indices | None]]:
        """Run `steps` times, in chunks of about CHUNK_SECONDS, so that Ctrl-C is handled soon.

        A kernel cannot be interrupted. Between chunks all worlds have made the same number of
        steps.

        Returns
        -------
        list of (int, int, Indices or None)
            First step and end of each chunk, and the positions of worlds in it.
        """
        done, chunk, orders = 0, max(1, FIRST_CHUNK // max(self._spans[0][1], 1)), []
        while True:
            chunk = min(chunk, steps - done)
            if self._grouping:
                chunk = int(min(chunk, self._grouping.steps()))
            start = perf_counter()
            self._run_chunk(chunk, None if log is None else log[done:].ctypes.data)
            if self._failures and self._cold:
                self._cold.raise_failures()
            orders.append((done, done + chunk, self._positions))
            done += chunk
            if self._grouping:
                self._grouping.check(chunk)
            if done == steps:
                return orders
            seconds = max(perf_counter() - start, 1e-9)
            chunk = max(1, int(chunk * CHUNK_SECONDS / seconds))

    def _run_chunk(self, steps: int, log: int | None) -> None:
        """Run `steps` times on every thread; `log`: address of the first step's row.

        Ctrl-C is raised after all threads have finished: no span is omitted or run twice.
        """
        data, tables = self._addresses
        if len(self._spans) == 1:
            return self._kernel(data, log, tables, *self._spans[0], steps, self.groups)
        claimed: dict[int, object] = {}
        finished: set[int] = set()
        all_finished, stop = Event(), None

        def work(k: int) -> None:
            if claimed.setdefault(k, token := object()) is token:
                self._kernel(data, log, tables, *self._spans[k], steps, self.groups)
                finished.add(k)
                if len(finished) == len(self._spans):
                    all_finished.set()

        # submit again what an interrupt prevented from being submitted
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
        """Start the threads; a forked process starts its own."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(len(self._spans))
        return self._pool[1]


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Create zeros, aligned so that no vector straddles two cache lines."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)
