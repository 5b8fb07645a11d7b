"""Many worlds' registers as [entry][world], one thread per world, on a GPU or a test processor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tarsus.program.codegen.layout import Target, logged_size, record_size
from tarsus.program.ir.program import Program
from tarsus.program.run import machine, native
from tarsus.program.run.backend import Array, Backend

STEPS_A_LAUNCH = 100  # control steps: a driver may stop a kernel that runs for seconds


class Launcher(ABC):
    """Where the threads run: whose arrays hold the worlds, and how a kernel starts over them."""

    arrays: Any

    @abstractmethod
    def load(self, program: Program, bits: int) -> Any:
        """The compiled kernel of a program."""

    @abstractmethod
    def start(self, kernel: Any, worlds: int, arguments: tuple[Any, Any, Any, int]) -> None:
        """Start the kernel on `worlds` threads; arguments: worlds, tables, count, steps. Need not
        wait for its end.
        """

    @abstractmethod
    def wait(self) -> None:
        """Until every kernel that was started has ended."""

    @abstractmethod
    def described(self, kernel: Any) -> dict[str, Any]:
        """The device and what the kernel takes of it, by name."""

    @abstractmethod
    def fetched(self, array: Any) -> Array:
        """A copy of an array in this computer's memory."""


class HostLauncher(Launcher):
    """The GPU's kernel compiled for this processor, one thread after the other: for tests and for
    trying benchmarks.
    """

    arrays = np

    def load(self, program: Program, bits: int) -> Any:
        return native.compile_thread(program, bits)

    def start(self, kernel: Any, worlds: int, arguments: tuple[Any, Any, Any, int]) -> None:
        *pointers, steps = arguments
        addresses = [array.ctypes.data for array in pointers]
        for thread in range(worlds):
            kernel(*addresses, steps, thread)

    def wait(self) -> None:
        """Nothing: a kernel has ended when `start` returns."""

    def described(self, kernel: Any) -> dict[str, Any]:
        return {"name": f"{machine.host().cpu}, a thread after the other"}

    def fetched(self, array: Any) -> Array:
        return np.array(array)


class ThreadWorlds(Backend):
    """`worlds` copies of a program's persistent registers, data[entry, world], kept by a launcher.

    Everything but `get`, `first` and `record` stays there.
    """

    def __init__(self, program: Program, worlds: int, launcher: Launcher, bits: int = 32) -> None:
        super().__init__(program, worlds, Target(1, bits))
        self.launcher, self.arrays = launcher, launcher.arrays
        self.kernel = launcher.load(program, bits)
        self.data = self.arrays.zeros((record_size(program), worlds), self.dtype)
        tables = [np.zeros(1), *program.tables.values()]
        self._tables = self.arrays.asarray(
            np.concatenate(tables[bool(program.tables) :]).astype(self.dtype)
        )
        self._count = self.arrays.asarray(np.array([worlds], dtype=np.int64))

    def get(self, name: str) -> Array:
        return self.launcher.fetched(self._rows(name)).T.copy()

    def output(self, name: str) -> Any:
        return self._rows(
            name
        ).T.copy()  # also where one entry or one world makes the transpose contiguous as it is

    def view(self, name: str) -> Any:
        """The register of all worlds in place, (worlds, size), worlds side by side in memory."""
        self._lent.add(name)
        return self._rows(name).T

    def first(self, name: str) -> Array:
        return self.launcher.fetched(self._rows(name)[:, 0])

    def set(self, name: str, values: ArrayLike, where: Any = None) -> None:
        self._known.pop(name, None)
        rows = self._rows(name)
        full = self._for_all(name, values).T
        if where is not None:
            full = self.arrays.where(self.arrays.asarray(where, dtype=bool), full, rows)
        rows[...] = full

    def advance(self, steps: int = 1) -> None:
        for first in range(0, steps, STEPS_A_LAUNCH):
            arguments = (self.data, self._tables, self._count, min(STEPS_A_LAUNCH, steps - first))
            self.launcher.start(self.kernel, self.count, arguments)

    def compile_ahead(self) -> None:
        """All of it is compiled."""

    def record(self, steps: int) -> dict[str, Array]:
        log = self.arrays.empty((steps, logged_size(self.program), self.count), self.dtype)
        for step in range(steps):
            self.advance()
            log[step] = self.data[: log.shape[1]]
        rows, found, at = self.launcher.fetched(log).transpose(0, 2, 1), {}, 0
        for register in self.program.of_kind("state") + self.program.of_kind("report"):
            found[register.name] = rows[:, :, at : at + register.size]
            at += register.size
        return found

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def _rows(self, name: str) -> Any:
        return self.data[self._entries(name)]
