"""Compile functions of the cold path when a running kernel first needs them.

A kernel has a table of its cold functions, empty at first. Where a world needs one that is not
there, the kernel asks for it and waits, looking at the table every 0.2 ms; the function is compiled
(or read from the cache), and its address is written to the table. The kernel then calls it. From
then on it costs one look at the table.

A kernel runs outside Python. What it calls to ask is a built-in function that starts a thread, so
that no line of Python stands between its call and its return, where Ctrl-C would be lost. A
function that cannot be compiled is replaced by one that does nothing, and whoever runs the kernel
raises the error afterwards (`raise_failures`).
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

from tarsus.program.codegen.cold_table import ASK, NAME, NOTHING, PAUSE, TABLE

Ask = ctypes.CFUNCTYPE(None)
WAITING: list[Callable[[bool], None]] = []  # called when a run waits for a function, and goes on


@dataclass(frozen=True, eq=False)
class ColdFunction:
    """A compiled function.

    Attributes
    ----------
    module : ResourceTracker
        Its code in memory, with addresses by symbol.
    tables : list of arrays
        Tables that the code points to, which must live as long.
    inner : ColdFunctions or None
        Functions that it needs in turn.
    """

    module: ResourceTracker
    tables: list[Any]
    inner: ColdFunctions | None


@dataclass(frozen=True, eq=False)
class Failure:
    """A function that could not be compiled, and why."""

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
        Compiles the function of a number.
    failures : list of Failure
        Where failures are added, for whoever runs the kernel.
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
        self._asks = [Ask(partial(start_new_thread, self.load, (k,))) for k in range(count)]
        addresses = ctypes.c_void_p * count
        self._table = addresses.from_address(module[TABLE])
        asks = addresses.from_address(module[ASK])
        for k, ask in enumerate(self._asks):
            asks[k] = ctypes.cast(ask, ctypes.c_void_p)
        ctypes.c_void_p.from_address(module[PAUSE]).value = _pause()

    def load(self, number: int) -> None:
        """Compile a function and write its address to the table, if it is not there."""
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
        """Compile all functions, and those that they need; raise why one cannot be compiled."""
        for k in range(len(self._asks)):
            self.load(k)
        self.raise_failures()
        for function in self._functions.values():
            if function.inner is not None:
                function.inner.load_all()

    def raise_failures(self) -> None:
        """Raise why a function could not be compiled; the next run that needs it asks again."""
        with self._lock:
            failures = list(self.failures)
            self.failures.clear()
            for failure in failures:
                failure.owner._table[failure.number] = None
        if failures:
            raise failures[0].reason


class WaitClock:
    """Measure in a `with` block how long runs have waited for functions: `seconds`."""

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
        elif self._began:  # a function within another's counts once
            began = self._began.pop()
            self.seconds += 0.0 if self._began else perf_counter() - began


def _report_waiting(waits: bool) -> None:
    for report in tuple(WAITING):
        report(waits)


@cache
def _pause() -> int | None:
    """Return the address of a function of the system's that waits."""
    if sys.platform == "win32":
        wait = ctypes.WinDLL("kernel32").SwitchToThread
    else:
        wait = ctypes.CDLL(None).usleep
    return ctypes.cast(wait, ctypes.c_void_p).value
