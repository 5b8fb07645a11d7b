"""Progress display on standard error: the current stage, a bar and the elapsed time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

COLD = "compiling rarely used code (cached for later runs)"


class Progress:
    """Progress bar in a `with` block; it disappears when the block ends.

    Parameters
    ----------
    quiet
        Whether to show nothing.
    verbose
        Whether to print one line per stage with the seconds since the start, even if standard error
        is not a terminal.
    """

    def __init__(self, quiet: bool, verbose: bool) -> None:
        self.verbose, self._quiet = verbose, quiet and not verbose
        self._drawn = sys.stderr.isatty() and (verbose or not quiet)
        self._bar: Any = None
        self._task: Any = None
        self._start, self._stage = perf_counter(), ""

    def __enter__(self) -> Progress:
        if self._drawn:
            from rich.console import Console
            from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            description = TextColumn("{task.description}", markup=False)
            self._bar = Bar(
                SpinnerColumn(),
                description,
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        if self._bar is not None or self.verbose:
            from tarsus.program.run.cold_functions import WAITING

            WAITING.append(self._on_compile)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None or self.verbose:
            from tarsus.program.run.cold_functions import WAITING

            WAITING.remove(self._on_compile)
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def show_stage(self, text: str) -> None:
        """Show the next stage, whose duration is unknown."""
        self._stage = text
        if self._bar is not None:
            self._bar.update(self._task, description=text, total=None, completed=0)
        self._log(text)

    def result(self, text: str) -> None:
        """Print a line that stays, such as one of several results, even without a terminal."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif not self._quiet:
            print(text, file=sys.stderr, flush=True)

    def _log(self, text: str) -> None:
        """Print a line with the elapsed time if `verbose` is set."""
        if self.verbose:
            line = f"[{perf_counter() - self._start:6.1f} s] {text}"
            print(line, file=sys.stderr, flush=True)

    def _on_compile(self, waiting: bool) -> None:
        """Show that the run waits for the compiler, or that it continues."""
        bar = self._bar  # another thread may end it
        if bar is not None:
            text = f"{self._stage}: {COLD}" if waiting else self._stage
            bar.update(self._task, description=text)
        self._log(COLD if waiting else "compiled")

    def create_callback(self, end: float) -> Callable[[float], None] | None:
        """Create a function that moves the bar to a value between 0 and `end`.

        Returns None if no bar is drawn.
        """
        bar, task = self._bar, self._task
        if bar is None:
            return None
        return lambda done: bar.update(task, completed=done, total=end)
