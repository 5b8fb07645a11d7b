"""Functions that are compiled when a running kernel first asks for them (`codegen.on_entry`).

A kernel runs outside Python. What it calls to ask is a built-in function that starts a thread, so
that no line of Python stands between its call and its return, where Ctrl-C would be lost.
"""

from __future__ import annotations

import ctypes
import sys
from _thread import start_new_thread
from collections.abc import Callable
from functools import cache, partial
from threading import RLock
from time import perf_counter
from typing import Any

from llvmlite.binding.orcjit import ResourceTracker

from tarsus.program.codegen.on_entry import ASK, NAME, NOTHING, PAUSE, TABLE

Ask = ctypes.CFUNCTYPE(None)
Made = tuple[ResourceTracker, tuple[Any, "WhenEntered | None"]]
Failed = list[tuple[BaseException, "WhenEntered", int]]
Better = Callable[[ResourceTracker], None]  # told where a function is that is faster
WAITING: list[Callable[[bool], None]] = []  # told when a run waits for a function, and goes on


class WhenEntered:
    """The functions of one kernel.

    count: how many
    kernel: its module in memory, addresses by symbol
    make: function k's module in memory, and what has to live as long; it may tell of a better one
    failed: what could not be made and why, for whoever runs the kernel: `raise_failed`
    """

    def __init__(
        self,
        count: int,
        kernel: ResourceTracker,
        make: Callable[[int, Failed, Better], Made],
        failed: Failed,
    ) -> None:
        self._make, self._lock, self._nothing = make, RLock(), kernel[NOTHING]
        self.failed = failed
        self._kernels: list[ResourceTracker] = []  # stay in memory while a thread is late
        self._made: dict[int, Made] = {}
        self._better: dict[int, ResourceTracker] = {}
        self._tables: list[Any] = []
        self._asks = [Ask(partial(start_new_thread, self.fill, (k,))) for k in range(count)]
        self.serve(kernel)

    def serve(self, kernel: ResourceTracker) -> None:
        """The same functions for this module too, of the same program."""
        pointers = ctypes.c_void_p * len(self._asks)
        asks, table = (pointers.from_address(kernel[symbol]) for symbol in (ASK, TABLE))
        for k, ask in enumerate(self._asks):
            asks[k] = ctypes.cast(ask, ctypes.c_void_p)
        ctypes.c_void_p.from_address(kernel[PAUSE]).value = _pause()
        with self._lock:
            for k, made in self._made.items():
                table[k] = self._better.get(k, made[0])[NAME]
            self._kernels.append(kernel)
            self._tables.append(table)

    def _tell(self, k: int, address: int | None) -> None:
        """Where function k is."""
        for table in self._tables:
            table[k] = address

    def fill(self, k: int) -> None:
        """Make function k, if it is not there."""
        with self._lock:
            if k in self._made or any(owner is self and k == own for _, owner, own in self.failed):
                return
            try:
                _tell_that_it_waits(True)
                self._made[k] = self._make(k, self.failed, partial(self._improve, k))
                self._tell(k, self._made[k][0][NAME])
            except BaseException as reason:
                self.failed.append((reason, self, k))
                self._tell(k, self._nothing)
            finally:
                _tell_that_it_waits(False)

    def _improve(self, k: int, better: ResourceTracker) -> None:
        """Function k from its next call on; who is in the other one may go on."""
        with self._lock:
            self._better[k] = better
            self._tell(k, better[NAME])

    def fill_all(self) -> None:
        """Make all functions, and those that they ask for; raises why one cannot be made."""
        for k in range(len(self._asks)):
            self.fill(k)
        self.raise_failed()
        for _, (_, inner) in self._made.values():
            if inner is not None:
                inner.fill_all()

    def raise_failed(self) -> None:
        """Raise why a function is not there; the next run that needs it asks again."""
        with self._lock:
            reasons = list(self.failed)
            self.failed.clear()
            for _, owner, k in reasons:
                owner._tell(k, None)
        if reasons:
            raise reasons[0][0]


class WaitClock:
    """For how long runs have waited for functions in a `with` block: `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = list[float]()

    def __enter__(self) -> WaitClock:
        WAITING.append(self._waits)
        return self

    def __exit__(self, *error: object) -> None:
        WAITING.remove(self._waits)

    def _waits(self, so: bool) -> None:
        if so:
            self._began.append(perf_counter())
        elif self._began:  # a function within another's is waited for once
            began = self._began.pop()
            self.seconds += 0.0 if self._began else perf_counter() - began


def _tell_that_it_waits(so: bool) -> None:
    for told in tuple(WAITING):
        told(so)


@cache
def _pause() -> int | None:
    """The address of a function of the system's that waits."""
    if sys.platform == "win32":
        wait = ctypes.WinDLL("kernel32").SwitchToThread
    else:
        wait = ctypes.CDLL(None).usleep
    return ctypes.cast(wait, ctypes.c_void_p).value
