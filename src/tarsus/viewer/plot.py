"""Lines beside the scene: the last seconds of a chosen signal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.viewer.colors import COLORS
from tarsus.viewer.track import Signal

Array = NDArray[np.float64]
SECONDS = 2.0  # shown
POINTS = 240  # of a line, at most
NOTHING = "none"


class Plot:
    """A plot with a choice of signals; it is redrawn by `show`."""

    def __init__(self, gui: Any, titles: list[str]) -> None:
        self._gui, self._made, self._names = gui, None, ()
        with gui.add_folder("Plot"):
            self._choice = gui.add_dropdown("Signal", [NOTHING, *titles], initial_value=titles[0])
            self._folder = gui.add_folder(None)

    def show(self, time: Array, signals: Mapping[str, Signal], now: float) -> None:
        """The last seconds before `now`, s, of the chosen signal at times (n,)."""
        chosen = signals.get(self._choice.value)
        if chosen is None:
            self._clear()
            return
        window = np.flatnonzero((time > now - SECONDS) & (time <= now + 1e-9))
        window = window[:: max(len(window) // POINTS, 1)]
        if len(window) < 2:
            return
        data = (time[window], *chosen.values[window].T)
        data = tuple(np.ascontiguousarray(line, float) for line in data)
        if self._made is None or self._names != chosen.names:
            self._draw(chosen, data)
        else:
            self._made.data = data

    def _draw(self, chosen: Signal, data: tuple[Array, ...]) -> None:
        """The plot anew, with other lines."""
        from viser import uplot

        self._clear()
        lines = [
            uplot.Series(label=name, stroke=color, width=2)
            for name, color in zip(chosen.names, COLORS, strict=False)
        ]
        with self._folder:
            self._made = self._gui.add_uplot(
                data=data,
                series=(uplot.Series(label="t / s"), *lines),
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                legend=uplot.Legend(show=True, live=False),
                aspect=1.5,
            )
        self._names = chosen.names

    def _clear(self) -> None:
        if self._made is not None:
            self._made.remove()
        self._made, self._names = None, ()
