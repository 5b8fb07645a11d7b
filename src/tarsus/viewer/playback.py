"""Playback of logs in a browser, with a time slider and overlays of other worlds and logs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tarsus.viewer.access import Address
from tarsus.viewer.body_poses import GRID_SPACING, MAX_OVERLAID, grid_positions
from tarsus.viewer.ground import terrain_of
from tarsus.viewer.page import OVERLAY_OPACITY, Actor, Page
from tarsus.viewer.page_scene import PageScene, run_loop, serve_page
from tarsus.viewer.plot import OtherLog, Plot
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.track import Track

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4")
SLIDER_INTERVAL = 4  # frames
PLOT_INTERVAL = 6  # frames


class Playback:
    """Playback of logs on a page; forces are shown for the first world of the first log.

    Parameters
    ----------
    page
        Page to draw on.
    tracks
        Logs to play.
    names
        Name of each log.
    """

    def __init__(self, page: Page, tracks: Sequence[Track], names: Sequence[str]) -> None:
        # scene
        self.page, self._tracks = page, list(tracks)
        first = self._tracks[0]
        self._scene = PageScene(page, first)
        self._others = self._add_others()
        path = np.concatenate([track.base(w)[:, :2] for track in tracks for w in (0, -1)])
        self._scene.add_ground(terrain_of(first.attributes), path)
        # time
        self._first, self._last = float(first.time[0]), float(max(t.time[-1] for t in tracks))
        self._lock, self._dirty, self._frame_count = threading.Lock(), True, 0
        self.time, self.playing = self._first, False
        self._add_controls(names)

    def _add_others(self) -> list[tuple[Track, slice, Actor]]:
        """Add other worlds and logs; return each track with its shown worlds and its actor."""
        others = []
        for number, track in enumerate(self._tracks):
            worlds = slice(1, None) if number == 0 else slice(0, None)
            count = track.worlds - (worlds.start or 0)
            if count:
                shapes = drawn_shapes(track.robot)
                opacity = OVERLAY_OPACITY if count <= MAX_OVERLAID else 1.0
                actor = self.page.add_actor(f"other/{number}", shapes, count, opacity)
                others.append((track, worlds, actor))
        self._scene.add_others([actor for _, _, actor in others])
        return others

    def _add_controls(self, names: Sequence[str]) -> None:
        """Add the control panel."""
        gui = self.page.gui
        with gui.add_folder("Time"):
            step = float(f"{max((self._last - self._first) / 2000, 1e-4):.1g}")
            last = max(self._last, self._first + step)
            self._slider = gui.add_slider("Time / s", self._first, last, step, self._first)
            self._play = gui.add_button("Play", icon=None)
            self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            self._loop = gui.add_checkbox("Loop", True)
            steps = gui.add_button_group("Step", ("back", "forward"))
        if self._others:
            others = ", ".join(names[1:]) or f"worlds 1 to {self._tracks[0].worlds - 1}"
            gui.add_markdown(f"Solid: **{names[0]}**. Others: {others}")
            on_grid = self._tracks[0].worlds > MAX_OVERLAID
            spacing = GRID_SPACING * float(self._tracks[0].extent.max()) if on_grid else 0.0
            limit = max(4 * spacing, 3.0)
            self._spacing = gui.add_slider("Spacing / m", 0.0, limit, 0.05, spacing)
            self._spacing.on_update(lambda _: self._redraw())
        self._plot = Plot(gui, list(self._tracks[0].signals))
        self._other_logs = [
            OtherLog(name, track.time, track.signals)
            for name, track in zip(names[1:], self._tracks[1:], strict=False)
        ]
        self._scene.add_switches(self._redraw)

        # reactions
        @self._slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # moved by a user, not by the playback
                self.seek(self._slider.value)

        @self._play.on_click
        def _(_: Any) -> None:
            if not self.playing and self.time >= self._last:
                self.seek(self._first)
            self._set_playing(not self.playing)

        @steps.on_click
        def _(event: Any) -> None:
            self._set_playing(False)
            times, change = self._tracks[0].time, 1 if event.target.value == "forward" else -1
            step = self._tracks[0].step_at(self.time) + change
            self.seek(float(times[np.clip(step, 0, len(times) - 1)]))

    def seek(self, time: float) -> None:
        """Show another time, in s."""
        with self._lock:
            self.time, self._dirty = float(np.clip(time, self._first, self._last)), True

    def draw(self, seconds: float) -> None:
        """Draw the next frame, `seconds` after the previous one."""
        # time
        with self._lock:
            if self.playing:
                self.time += seconds * float(self._speed.value)
                self._dirty = True
            if self.time > self._last:
                self.time = self._first if self._loop.value else self._last
                self._set_playing(bool(self._loop.value))
            time, dirty, self._dirty = self.time, self._dirty, False
        if not dirty:
            return
        # robots
        first = self._tracks[0]
        step = first.step_at(time)
        positions, rotations = first.poses(step)
        self._frame_count += 1
        with self.page.server.atomic():
            self._scene.move(positions[0], rotations[0], first.contacts_at(step))
            offsets = self.offsets()
            for track, worlds, actor in self._others:
                poses = (
                    (positions, rotations) if track is first else track.poses(track.step_at(time))
                )
                shifts, offsets = np.split(offsets, [len(poses[0][worlds])])
                actor.move(poses[0][worlds] + shifts[:, None], poses[1][worlds])
            if not self.playing or self._frame_count % SLIDER_INTERVAL == 0:
                self._slider.value = round(time, 3)
        if not self.playing or self._frame_count % PLOT_INTERVAL == 0:
            self._plot.show(first.time, first.signals, time, self._other_logs)

    def offsets(self) -> np.ndarray:
        """Compute the offsets (n, 3) in m of all robots but the first, on a grid behind it."""
        count = sum(track.worlds for track in self._tracks)
        return self._spacing.value * grid_positions(count)[1:] if count > 1 else np.zeros((0, 3))

    def _set_playing(self, playing: bool) -> None:
        self.playing = playing
        self._play.label = "Pause" if playing else "Play"

    def _redraw(self) -> None:
        self._dirty = True

    def run(self) -> None:
        """Play until Ctrl-C."""
        self._set_playing(True)
        run_loop(self.draw)


def watch(tracks: Sequence[Track], names: Sequence[str], address: Address | None = None) -> int:
    """Show logs on a page until Ctrl-C and return the exit code 0."""
    return serve_page(" | ".join(names), address, lambda page: Playback(page, tracks, names).run)


def titles(paths: Sequence[Path]) -> list[str]:
    """Name each log after its file, with the folder if two are equal."""
    stems = [path.stem for path in paths]
    repeated = {stem for stem in stems if stems.count(stem) > 1}
    return [f"{p.parent.name}/{p.stem}" if p.stem in repeated else p.stem for p in paths]
