"""Compile functions of the cold path when a running kernel first calls them.

A kernel has a table of addresses of its cold functions, null at first. If a world needs a function
with a null entry, the kernel requests it and polls the entry every 0.2 ms. A thread compiles the
function, or reads it from the cache, and writes its address to the table. The kernel then calls it.
Later calls only load the entry.

A kernel runs outside of Python. To request a function it calls a built-in that starts a thread. No
Python code runs in between, where Ctrl-C would be lost. If a function cannot be compiled, the table
gets a function that does nothing, and the caller of the kernel raises the error afterwards
(`raise_failures`).
"""

from __future__ import annotations

import ctypes
import sys
from _thread import start_new_thread
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from threading import RLock
from time import perf_counter
from typing import Any

from llvmlite.binding.orcjit import ResourceTracker

from tarsus.program.codegen.cold_table import NAME, NOTHING, PAUSE, REQUEST, TABLE

Request = ctypes.CFUNCTYPE(None)
WAITING: list[Callable[[bool], None]] = []  # called when a run begins and ends to wait


@dataclass(frozen=True, eq=False)
class ColdFunction:
    """Compiled cold function.

    Attributes
    ----------
    module : ResourceTracker
        Its code in memory, with addresses by symbol.
    tables : list of arrays
        Look-up tables that the code points to, kept alive here.
    inner : ColdFunctions or None
        Cold functions that it calls.
    """

    module: ResourceTracker
    tables: list[Any]
    inner: ColdFunctions | None


@dataclass(frozen=True, eq=False)
class Failure:
    """Function that could not be compiled, and the exception."""

    reason: BaseException
    owner: ColdFunctions
    number: int


class ColdFunctions:
    """The cold functions of one kernel, or of one of its cold functions.

    Parameters
    ----------
    count : int
        Number of functions.
    module : ResourceTracker
        The code that calls them.
    compile_function : callable
        Compiles the function with an index.
    failures : list of Failure
        List to which failures are added, for the caller of the kernel.
    """

    def __init__(
        self,
        count: int,
        module: ResourceTracker,
        compile_function: Callable[[int], ColdFunction],
        failures: list[Failure],
    ) -> None:
        self.failures = failures
        self._compile, self._lock, self._nothing = compile_function, RLock(), module[NOTHING]
        self._functions: dict[int, ColdFunction] = {}
        self._requests = [Request(partial(start_new_thread, self.load, (k,))) for k in range(count)]
        addresses = ctypes.c_void_p * count
        self._table = addresses.from_address(module[TABLE])
        requests = addresses.from_address(module[REQUEST])
        for k, request in enumerate(self._requests):
            requests[k] = ctypes.cast(request, ctypes.c_void_p)
        ctypes.c_void_p.from_address(module[PAUSE]).value = _find_pause()

    def load(self, number: int) -> None:
        """Compile a function and write its address to the table, unless that is done."""
        with self._lock:
            failed = any(f.owner is self and f.number == number for f in self.failures)
            if number in self._functions or failed:
                return
            try:
                _report_waiting(True)
                function = self._functions[number] = self._compile(number)
                self._table[number] = function.module[NAME]
            except BaseException as reason:
                self.failures.append(Failure(reason, self, number))
                self._table[number] = self._nothing
            finally:
                _report_waiting(False)

    def load_all(self) -> None:
        """Compile all functions and those that they call; raise the error if one fails."""
        for k in range(len(self._requests)):
            self.load(k)
        self.raise_failures()
        for function in self._functions.values():
            if function.inner is not None:
                function.inner.load_all()

    def raise_failures(self) -> None:
        """Raise the first failure, if any; the next run requests the functions again."""
        with self._lock:
            failures = list(self.failures)
            self.failures.clear()
            for failure in failures:
                failure.owner._table[failure.number] = None
        if failures:
            raise failures[0].reason


class WaitClock:
    """Measures the time that runs wait for functions in a `with` block, as `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = list[float]()

    def __enter__(self) -> WaitClock:
        WAITING.append(self._waits)
        return self

    def __exit__(self, *error: object) -> None:
        WAITING.remove(self._waits)

    def _waits(self, waits: bool) -> None:
        if waits:
            self._began.append(perf_counter())
        elif self._began:  # nested waits count once
            began = self._began.pop()
            self.seconds += 0.0 if self._began else perf_counter() - began


def _report_waiting(waits: bool) -> None:
    for report in tuple(WAITING):
        report(waits)


@cache
def _find_pause() -> int | None:
    """Find the address of a system function that sleeps or yields."""
    if sys.platform == "win32":
        wait = ctypes.WinDLL("kernel32").SwitchToThread
    else:
        wait = ctypes.CDLL(None).usleep
    return ctypes.cast(wait, ctypes.c_void_p).value
