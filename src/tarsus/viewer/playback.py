"""Logs in the browser: a scrubber, play and pause, ghosts of other worlds and other logs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tarsus.viewer.access import Address
from tarsus.viewer.ground import terrain_of
from tarsus.viewer.page import GHOST, Actor, Page
from tarsus.viewer.placing import ALIKE, APART, square
from tarsus.viewer.plot import Plot
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.track import Track
from tarsus.viewer.watch import Watched, paced, watched

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4")
SLIDER_EVERY = 4  # frames
PLOT_EVERY = 6


class Playback:
    """Logs on a page; the first world of the first log is the one whose forces are shown."""

    def __init__(self, page: Page, tracks: Sequence[Track], names: Sequence[str]) -> None:
        # the scene
        self.page, self._tracks = page, list(tracks)
        first = self._tracks[0]
        self._watched = Watched(page, first)
        self._others = self._ghosts(names)
        path = np.concatenate([track.base(w)[:, :2] for track in tracks for w in (0, -1)])
        self._watched.ground(terrain_of(first.attributes), path)
        # its times
        self._first, self._last = float(first.time[0]), float(max(t.time[-1] for t in tracks))
        self._lock, self._dirty, self._count = threading.Lock(), True, 0
        self.time, self.playing = self._first, False
        self._panel(names)

    def _ghosts(self, names: Sequence[str]) -> list[tuple[Track, slice, Actor]]:
        """Other worlds of the first log, and other logs, each with the worlds it shows."""
        found = []
        for number, track in enumerate(self._tracks):
            shown = slice(1, None) if number == 0 else slice(0, None)
            count = track.worlds - (shown.start or 0)
            if count:
                shapes = drawn_shapes(track.robot)
                opacity = GHOST if count <= ALIKE else 1.0
                actor = self.page.actor(f"other/{number}", shapes, count, opacity)
                found.append((track, shown, actor))
        self._watched.ghosts([actor for _, _, actor in found])
        return found

    def _panel(self, names: Sequence[str]) -> None:
        """The controls."""
        gui = self.page.gui
        with gui.add_folder("Time"):
            step = float(f"{max((self._last - self._first) / 2000, 1e-4):.1g}")
            last = max(self._last, self._first + step)
            self._slider = gui.add_slider("Time / s", self._first, last, step, self._first)
            self._play = gui.add_button("Play", icon=None)
            self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            self._again = gui.add_checkbox("Loop", True)
            steps = gui.add_button_group("Step", ("back", "forward"))
        if self._others:
            titles = ", ".join(names[1:]) or f"worlds 1 to {self._tracks[0].worlds - 1}"
            gui.add_markdown(f"solid: **{names[0]}**; others: {titles}")
            crowd = self._tracks[0].worlds > ALIKE
            apart = APART * float(self._tracks[0].extent.max()) if crowd else 0.0
            self._apart = gui.add_slider("Apart / m", 0.0, max(4 * apart, 3.0), 0.05, apart)
            self._apart.on_update(lambda _: self._redraw())
        self._plot = Plot(gui, list(self._tracks[0].signals))
        self._watched.switches(self._redraw)

        # what they do
        @self._slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # else it was moved by us
                self.seek(self._slider.value)

        @self._play.on_click
        def _(_: Any) -> None:
            if not self.playing and self.time >= self._last:
                self.seek(self._first)
            self._set_playing(not self.playing)

        @steps.on_click
        def _(event: Any) -> None:
            self._set_playing(False)
            at = self._tracks[0].step_at(self.time) + (1 if event.target.value == "forward" else -1)
            self.seek(float(self._tracks[0].time[np.clip(at, 0, len(self._tracks[0].time) - 1)]))

    def seek(self, time: float) -> None:
        """Show another time, s."""
        with self._lock:
            self.time, self._dirty = float(np.clip(time, self._first, self._last)), True

    def draw(self, seconds: float) -> None:
        """The next frame, `seconds` after the last one."""
        # what time it is
        with self._lock:
            if self.playing:
                self.time += seconds * float(self._speed.value)
                self._dirty = True
            if self.time > self._last:
                self.time = self._first if self._again.value else self._last
                self._set_playing(bool(self._again.value))
            time, dirty, self._dirty = self.time, self._dirty, False
        if not dirty:
            return
        # the robots
        first = self._tracks[0]
        step = first.step_at(time)
        positions, rotations = first.poses(step)
        self._count += 1
        with self.page.server.atomic():
            self._watched.move(positions[0], rotations[0], first.contacts_at(step))
            stand = self.offsets()
            for track, shown, actor in self._others:
                places, turns = (
                    (positions, rotations) if track is first else track.poses(track.step_at(time))
                )
                own, stand = np.split(stand, [len(places[shown])])
                actor.move(places[shown] + own[:, None], turns[shown])
            if not self.playing or self._count % SLIDER_EVERY == 0:
                self._slider.value = round(time, 3)
        if not self.playing or self._count % PLOT_EVERY == 0:
            self._plot.show(first.time, first.signals, time)

    def offsets(self) -> np.ndarray:
        """Where others stand, those of all logs (n, 3), m: in a square behind the first one."""
        count = sum(track.worlds for track in self._tracks)
        return self._apart.value * square(count)[1:] if count > 1 else np.zeros((0, 3))

    def _set_playing(self, playing: bool) -> None:
        self.playing = playing
        self._play.label = "Pause" if playing else "Play"

    def _redraw(self) -> None:
        self._dirty = True

    def run(self) -> None:
        """Until Ctrl-C."""
        self._set_playing(True)
        paced(self.draw)


def watch(tracks: Sequence[Track], names: Sequence[str], address: Address | None = None) -> int:
    """Logs on a page until Ctrl-C; returns the exit code 0."""
    return watched(" | ".join(names), address, lambda page: Playback(page, tracks, names).run)


def titles(paths: Sequence[Path]) -> list[str]:
    """A name for each log: its file's, with the folder where two are the same."""
    stems = [path.stem for path in paths]
    alike = {stem for stem in stems if stems.count(stem) > 1}
    return [f"{p.parent.name}/{p.stem}" if p.stem in alike else p.stem for p in paths]
