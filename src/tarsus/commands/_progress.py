"""One line on standard error that moves: what is being done, how far it is and for how long."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

COLD = "compiling for falls and joint stops, once"


class Progress:
    """A bar in a `with` block: on a terminal, unless quiet; it is gone when the block ends.

    verbose: each thing that is done stays as a line with the seconds since the start, also where
    standard error is no terminal.
    """

    def __init__(self, quiet: bool, verbose: bool) -> None:
        self.verbose, self._quiet = verbose, quiet and not verbose
        self._drawn = sys.stderr.isatty() and (verbose or not quiet)
        self._bar: Any = None
        self._task: Any = None
        self._began, self._said = perf_counter(), ""

    def __enter__(self) -> Progress:
        if self._drawn:
            from rich.console import Console
            from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            words = TextColumn("{task.description}", markup=False)
            self._bar = Bar(
                SpinnerColumn(),
                words,
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        if self._bar is not None or self.verbose:
            from tarsus.program.run.cold_functions import WAITING

            WAITING.append(self._waits)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None or self.verbose:
            from tarsus.program.run.cold_functions import WAITING

            WAITING.remove(self._waits)
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def say(self, text: str) -> None:
        """Something else is being done; nobody knows for how long."""
        self._said = text
        if self._bar is not None:
            self._bar.update(self._task, description=text, total=None, completed=0)
        self._add(text)

    def result(self, text: str) -> None:
        """One of several results, as soon as it is there: a line that stays, also where standard
        error is no terminal.
        """
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif not self._quiet:
            print(text, file=sys.stderr, flush=True)

    def _add(self, text: str) -> None:
        """A line, if all are kept."""
        if self.verbose:
            line = f"[{perf_counter() - self._began:6.1f} s] {text}"
            print(line, file=sys.stderr, flush=True)

    def _waits(self, so: bool) -> None:
        """A run waits for code, or goes on."""
        bar = self._bar  # another thread may end it
        if bar is not None:
            bar.update(self._task, description=f"{self._said}: {COLD}" if so else self._said)
        self._add(COLD if so else "compiled")

    def towards(self, end: float) -> Callable[[float], None] | None:
        """A function that tells how far it is on the way to `end`; None where nothing is drawn."""
        bar, task = self._bar, self._task
        if bar is None:
            return None
        return lambda done: bar.update(task, completed=done, total=end)
