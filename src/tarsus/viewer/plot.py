"""Plot on a page: the last seconds of a selected signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.viewer.colors import COLORS
from tarsus.viewer.track import Signal

Array = NDArray[np.float64]
WINDOW = 2.0  # s shown
MAX_POINTS = 240  # of a line
DASH = (6.0, 4.0)  # pixels, of the lines of other logs
NO_SIGNAL = "none"


@dataclass(frozen=True, eq=False)
class OtherLog:
    """Signals of another log, which the plot shows as dashed lines.

    Attributes
    ----------
    name
        Name of the log.
    time
        Times of the signals, shape (n,), in s.
    signals
        Signals by title.
    """

    name: str
    time: Array
    signals: Mapping[str, Signal]


class Plot:
    """Plot with a selection of signals; `show` redraws it."""

    def __init__(self, gui: Any, titles: list[str]) -> None:
        self._gui, self._plot = gui, None
        self._names: tuple[str, ...] = ()
        with gui.add_folder("Plot"):
            options = [NO_SIGNAL, *titles]
            self._choice = gui.add_dropdown("Signal", options, initial_value=titles[0])
            self._folder = gui.add_folder(None)

    def show(
        self,
        time: Array,
        signals: Mapping[str, Signal],
        current_time: float,
        others: Sequence[OtherLog] = (),
    ) -> None:
        """Show the last seconds of the selected signal before the time `current_time`.

        Parameters
        ----------
        time
            Times of the signals, shape (n,), in s.
        signals
            Signals by title.
        current_time
            Current time in s.
        others
            Other logs, whose lines with the same names are shown too.
        """
        signal = signals.get(self._choice.value)
        if signal is None:
            self._clear()
            return
        window = np.flatnonzero((time > current_time - WINDOW) & (time <= current_time + 1e-9))
        window = window[:: max(len(window) // MAX_POINTS, 1)]
        if len(window) < 2:
            return
        lines = dict(zip(signal.names, signal.values[window].T, strict=True))
        for other in others:
            theirs = other.signals.get(self._choice.value)
            for name, values in zip(theirs.names, theirs.values.T, strict=True) if theirs else ():
                if name in signal.names:
                    inside = np.interp(time[window], other.time, values, np.nan, np.nan)
                    lines[f"{name}, {other.name}"] = inside
        data = tuple(np.ascontiguousarray(line, float) for line in (time[window], *lines.values()))
        if self._plot is None or self._names != tuple(lines):
            self._replace(signal, tuple(lines), data)
        else:
            self._plot.data = data

    def _replace(self, signal: Signal, names: tuple[str, ...], data: tuple[Array, ...]) -> None:
        """Replace the plot by one with other lines; those of other logs are dashed."""
        from viser import uplot

        self._clear()
        colors = dict(zip(signal.names, cycle(COLORS), strict=False))
        lines = []
        for name in names:
            own = name in colors
            color = colors[name if own else name.rpartition(", ")[0]]
            if own:
                lines.append(uplot.Series(label=name, stroke=color, width=2))
            else:
                lines.append(uplot.Series(label=name, stroke=color, width=2, dash=DASH))
        with self._folder:
            self._plot = self._gui.add_uplot(
                data=data,
                series=(uplot.Series(label="t / s"), *lines),
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                legend=uplot.Legend(show=True, live=False),
                aspect=1.5,
            )
        self._names = names

    def _clear(self) -> None:
        if self._plot is not None:
            self._plot.remove()
        self._plot, self._names = None, ()
