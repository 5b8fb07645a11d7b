"""Plot on a page: the last seconds of a selected signal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.viewer.colors import COLORS
from tarsus.viewer.track import Signal

Array = NDArray[np.float64]
WINDOW = 2.0  # s shown
MAX_POINTS = 240  # of a line
NO_SIGNAL = "none"


class Plot:
    """Plot with a selection of signals; `show` redraws it."""

    def __init__(self, gui: Any, titles: list[str]) -> None:
        self._gui, self._plot, self._names = gui, None, ()
        with gui.add_folder("Plot"):
            options = [NO_SIGNAL, *titles]
            self._choice = gui.add_dropdown("Signal", options, initial_value=titles[0])
            self._folder = gui.add_folder(None)

    def show(self, time: Array, signals: Mapping[str, Signal], current_time: float) -> None:
        """Show the last seconds of the selected signal before the time `current_time`.

        Parameters
        ----------
        time
            Times of the signals, shape (n,), in s.
        signals
            Signals by title.
        current_time
            Current time in s.
        """
        signal = signals.get(self._choice.value)
        if signal is None:
            self._clear()
            return
        window = np.flatnonzero((time > current_time - WINDOW) & (time <= current_time + 1e-9))
        window = window[:: max(len(window) // MAX_POINTS, 1)]
        if len(window) < 2:
            return
        data = (time[window], *signal.values[window].T)
        data = tuple(np.ascontiguousarray(line, float) for line in data)
        if self._plot is None or self._names != signal.names:
            self._replace(signal, data)
        else:
            self._plot.data = data

    def _replace(self, signal: Signal, data: tuple[Array, ...]) -> None:
        """Replace the plot by one with other lines."""
        from viser import uplot

        self._clear()
        lines = [
            uplot.Series(label=name, stroke=color, width=2)
            for name, color in zip(signal.names, COLORS, strict=False)
        ]
        with self._folder:
            self._plot = self._gui.add_uplot(
                data=data,
                series=(uplot.Series(label="t / s"), *lines),
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                legend=uplot.Legend(show=True, live=False),
                aspect=1.5,
            )
        self._names = signal.names

    def _clear(self) -> None:
        if self._plot is not None:
            self._plot.remove()
        self._plot, self._names = None, ()
