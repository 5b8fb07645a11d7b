"""Back end with one thread per world: on a GPU, or on the CPU for tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tarsus.program.codegen.layout import Target, logged_size, record_size
from tarsus.program.ir.program import Program
from tarsus.program.run import machine, native
from tarsus.program.run.backend import Array, Backend

STEPS_PER_LAUNCH = 100  # a driver may stop a kernel that runs for seconds


class Launcher(ABC):
    """Device of the threads: its arrays, and how to start a kernel."""

    arrays: Any

    @abstractmethod
    def load(self, program: Program, bits: int) -> Any:
        """Load the compiled kernel of a program."""

    @abstractmethod
    def start(self, kernel: Any, worlds: int, arguments: tuple[Any, Any, Any, int]) -> None:
        """Start a kernel on `worlds` threads, without waiting for its end.

        Its arguments are the arrays of worlds, tables and count, and the number of steps.
        """

    @abstractmethod
    def wait(self) -> None:
        """Wait until all started kernels have ended."""

    @abstractmethod
    def describe(self, kernel: Any) -> dict[str, Any]:
        """Describe properties of the device and the resources of a kernel."""

    @abstractmethod
    def to_host(self, array: Any) -> Array:
        """Copy an array to host memory."""


class HostLauncher(Launcher):
    """Runs the GPU kernel on the CPU, one thread after the other, for tests."""

    arrays = np

    def load(self, program: Program, bits: int) -> Any:
        return native.compile_thread(program, bits)

    def start(self, kernel: Any, worlds: int, arguments: tuple[Any, Any, Any, int]) -> None:
        *pointers, steps = arguments
        addresses = [array.ctypes.data for array in pointers]
        for thread in range(worlds):
            kernel(*addresses, steps, thread)

    def wait(self) -> None:
        """Do nothing: a kernel has ended when `start` returns."""

    def describe(self, kernel: Any) -> dict[str, Any]:
        return {"name": f"{machine.detect_host().cpu}, one thread after the other"}

    def to_host(self, array: Any) -> Array:
        return np.array(array)


class ThreadWorlds(Backend):
    """Worlds stored as data[entry, world] on the device of a launcher.

    Only `get`, `to_host`, `first` and `record` copy data to host memory.
    """

    def __init__(self, program: Program, worlds: int, launcher: Launcher, bits: int = 32) -> None:
        super().__init__(program, worlds, Target(1, bits))
        self.launcher, self.arrays = launcher, launcher.arrays
        self.kernel = launcher.load(program, bits)
        self.data = self.arrays.zeros((record_size(program), worlds), self.dtype)
        tables = [np.zeros(1), *program.expanded.tables.values()]
        self._tables = self.arrays.asarray(
            np.concatenate(tables[len(tables) > 1 :]).astype(self.dtype)
        )
        self._count = self.arrays.asarray(np.array([worlds], dtype=np.int64))

    def get(self, name: str) -> Array:
        return self.launcher.to_host(self._rows(name)).T.copy()

    def to_host(self, array: Any) -> Array:
        return self.launcher.to_host(array)

    def output(self, name: str) -> Any:
        # with one entry or one world the transpose is contiguous, but must be a copy too
        return self._rows(name).T.copy()

    def buffer(self, name: str, dtype: type | None = None) -> Any:
        return self.arrays.zeros((self.count, self.program.sizes[name]), dtype or self.dtype)

    def read(self, name: str, into: Any) -> None:
        into[...] = self._rows(name).T

    def view(self, name: str) -> Any:
        """Return a view of a register of all worlds, (worlds, size), stored entry by entry."""
        self._writable.add(name)
        return self._rows(name).T

    def first(self, name: str) -> Array:
        return self.launcher.to_host(self._rows(name)[:, 0])

    def set(self, name: str, values: ArrayLike, where: Any = None) -> None:
        self._nonzero.pop(name, None)
        rows = self._rows(name)
        full = self._for_all(name, values).T
        if where is not None:
            full = self.arrays.where(self.arrays.asarray(where, dtype=bool), full, rows)
        rows[...] = full

    def advance(self, steps: int = 1) -> None:
        for first in range(0, steps, STEPS_PER_LAUNCH):
            arguments = (self.data, self._tables, self._count, min(STEPS_PER_LAUNCH, steps - first))
            self.launcher.start(self.kernel, self.count, arguments)

    def compile_ahead(self) -> None:
        """Do nothing: all code is compiled already."""

    def record(self, steps: int) -> dict[str, Array]:
        log = self.arrays.empty((steps, logged_size(self.program), self.count), self.dtype)
        for step in range(steps):
            self.advance()
            log[step] = self.data[: log.shape[1]]
        rows, registers, offset = self.launcher.to_host(log).transpose(0, 2, 1), {}, 0
        for register in self.program.of_kind("state") + self.program.of_kind("report"):
            registers[register.name] = rows[:, :, offset : offset + register.size]
            offset += register.size
        return registers

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def _rows(self, name: str) -> Any:
        return self.data[self._entries(name)]
