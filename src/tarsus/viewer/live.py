"""Live simulation in a browser, with controls for friction, law, commands and pushes."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tarsus.errors import TarsusError
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.access import Address
from tarsus.viewer.drag import DragHandle
from tarsus.viewer.extra_worlds import ExtraWorlds
from tarsus.viewer.live_panel import Choice, Panel
from tarsus.viewer.live_recorder import LiveRecorder
from tarsus.viewer.page import Page
from tarsus.viewer.page_scene import PageScene, run_loop, serve_page
from tarsus.viewer.plot import WINDOW, Plot
from tarsus.viewer.track import Signal

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2")
MAX_FRAME_TIME = 0.05  # s simulated for one frame
PLOT_INTERVAL, STATUS_INTERVAL = 6, 15  # frames
PUSH_DURATION = 0.15  # s


Make = Callable[[Choice], Simulation]


class Live:
    """Live simulation on a page. Requests of browsers are queued and handled between two frames.

    The first of several worlds is a separate simulation, with forces and plots; the others are
    `ExtraWorlds`.

    Parameters
    ----------
    page
        Page to draw on.
    make
        Function that builds the simulation.
    choice
        Initial settings of the simulation.
    vary
        First and last value of each parameter that varies between the worlds.
    """

    def __init__(
        self,
        page: Page,
        make: Make,
        choice: Choice,
        vary: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        # the simulation, and one step of it to draw
        self.page, self._make, self.choice = page, make, choice
        self.simulation = make(replace(choice, worlds=1))
        self._frame_time = 0.0
        self._requests: queue.Queue[Callable[[], None]] = queue.Queue()
        self._push_end, self._pending_time, self._frame_count = -1.0, 0.0, 0
        self.playing = True
        self._recorder = LiveRecorder(self.simulation)
        self._track = self._recorder.record(1)
        self._reset_first()
        # scene
        first = self._track
        self._scene = PageScene(page, first)
        self._scene.add_ground_around(self.simulation.terrain, first.base()[0, :2])
        pushed = self.simulation.plan.pushed_bodies
        self._drag = DragHandle(page.scene, first, pushed[0]) if pushed else None
        self.extra_worlds: ExtraWorlds | None = None
        if choice.worlds > 1:
            others = make(replace(choice, worlds=choice.worlds - 1))
            self.extra_worlds = ExtraWorlds(page, others, float(first.extent.max()), vary or {})
            self._scene.add_others([self.extra_worlds.actor])
        # control panel
        self._add_time_controls()
        self._panel = Panel(self)
        self._panel.fill()
        self._plot = Plot(page.gui, list(first.signals))
        self._history: dict[str, list[Any]] = {}
        self._scene.add_switches(lambda: self.request(self._show))
        self._show()

    def request(self, action: Callable[[], None]) -> None:
        """Queue an action that will run between two frames."""
        self._requests.put(action)

    def draw(self, seconds: float) -> None:
        """Handle the queued requests, simulate `seconds` of wall time, and show the result."""
        while not self._requests.empty():
            try:
                self._requests.get()()
            except TarsusError as error:
                self.notify("Not possible", str(error))
        if not self.playing:
            return
        self._frame_time += 0.1 * (seconds - self._frame_time)  # moving average
        # as many steps as fit into the elapsed time
        dt = self.simulation.dt
        elapsed = seconds * float(self._speed.value)
        self._pending_time = min(self._pending_time + elapsed, max(MAX_FRAME_TIME, dt))
        steps = int(self._pending_time / dt + 1e-9)
        if steps:
            self._pending_time -= steps * dt
            self.advance(steps)

    def advance(self, steps: int) -> None:
        """Simulate and show a number of steps."""
        simulation = self.simulation
        if self._push_end >= 0 and simulation.time >= self._push_end:
            self._set_push((0.0, 0.0, 0.0))
            self._push_end = -1.0
        positions, _ = self._track.poses(-1)
        if self._drag is not None and (push := self._drag.push(positions[0])):
            self.set(push=push)
        try:
            self._track = self._recorder.record(steps)
        except Diverged as error:
            self._set_playing(False)
            self._restart()
            self.notify("The simulation diverged", f"{error} It was reset.")
            return
        if self.extra_worlds is not None:
            self.extra_worlds.advance(steps)
            if self._reset_fallen.value:
                self.extra_worlds.reset_fallen()
        self._append_history()
        self._show()

    def _show(self) -> None:
        """Show the robots and contacts; update the plot and the clock every few frames."""
        track = self._track
        positions, rotations = track.poses(-1)
        with self.page.server.atomic():
            self._scene.move(positions[0], rotations[0], track.contacts_at(-1))
            if self.extra_worlds is not None:
                self.extra_worlds.show()
            if not self.playing or self._frame_count % STATUS_INTERVAL == 0:
                self._clock.content = self._status()
        if self._history and (not self.playing or self._frame_count % PLOT_INTERVAL == 0):
            time = np.concatenate(self._history["time"])
            signals = {
                name: Signal(track.signals[name].names, np.concatenate(parts))
                for name, parts in self._history.items()
                if name != "time"
            }
            self._plot.show(time, signals, float(time[-1]))
        self._frame_count += 1

    def _status(self) -> str:
        """Format the time; with many worlds, also the number of falls and the frame rate."""
        clock = f"t = {self.simulation.time:.2f} s"
        if self.extra_worlds is None:
            return clock
        fallen, rate = int(self.extra_worlds.fallen().sum()), 1 / max(self._frame_time, 1e-3)
        return f"{clock}; {self.choice.worlds} worlds, {fallen} fallen; {rate:.0f} frames/s"

    def set(self, **values: Any) -> None:
        """Set parameters and commands of all worlds."""
        self.simulation.set(**values)
        if self.extra_worlds is not None:
            self.extra_worlds.set(**values)

    def _append_history(self) -> None:
        """Append the new signals to the history that the plot shows."""
        track = self._track
        parts = {"time": track.time} | {n: s.values for n, s in track.signals.items()}
        for name, values in parts.items():
            self._history.setdefault(name, []).append(values)
        times, start = self._history["time"], track.time[-1] - WINDOW
        while len(times) > 1 and times[0][-1] < start:
            for values in self._history.values():
                values.pop(0)

    def _add_time_controls(self) -> None:
        """Add the controls for pause, step, reset and speed."""
        gui = self.page.gui
        with gui.add_folder("Time"):
            self._clock = gui.add_markdown("t = 0 s")
            self._play = gui.add_button("Pause")
            buttons = gui.add_button_group("", ("Step", "Reset"))
            self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            if self.extra_worlds is not None:
                self._reset_fallen = gui.add_checkbox("Reset fallen robots", False)

        @self._play.on_click
        def _(_: Any) -> None:
            self._set_playing(not self.playing)

        @buttons.on_click
        def _(event: Any) -> None:
            self.request(self._step if event.target.value == "Step" else self.reset)

    def _step(self) -> None:
        self._set_playing(False)
        self.advance(1)

    def reset(self) -> None:
        """Reset to the initial state; commands and parameters keep their values."""
        self._restart()
        self._history, self._pending_time = {}, 0.0
        self.advance(1)

    def _reset_first(self) -> None:
        self.simulation.reset()
        self._recorder.reset()

    def _restart(self) -> None:
        self._reset_first()
        if self.extra_worlds is not None:
            self.extra_worlds.simulation.reset()

    def _set_playing(self, playing: bool) -> None:
        self.playing = playing
        self._play.label = "Pause" if playing else "Resume"

    def push(self, direction: tuple[float, float], weights: float) -> None:
        """Push the trunk for PUSH_DURATION seconds.

        Parameters
        ----------
        direction
            Components forward and to the left, relative to the trunk's heading.
        weights
            Force in robot weights.
        """
        force = weights * self._track.weight
        _, rotations = self._track.poses(-1)
        forward = rotations[0, 0, :2, 0]
        forward = forward / max(float(np.linalg.norm(forward)), 1e-9)
        left = np.array([-forward[1], forward[0]])
        vector = direction[0] * forward + direction[1] * left
        self._set_push((force * vector[0], force * vector[1], 0.0))
        self._push_end = self.simulation.time + PUSH_DURATION
        self._set_playing(True)

    def _set_push(self, force: tuple[float, float, float]) -> None:
        body = self.simulation.plan.pushed_bodies[0]
        self.set(push={body: force})

    def rebuild(self, choice: Choice) -> None:
        """Continue from the current state with another law, gait or time step.

        Raises
        ------
        TarsusError
            If the robot cannot be simulated with this choice.
        """
        if choice == self.choice:
            return
        self.notify("Compiling", f"{choice.law}, {choice.gait}, {1e3 * choice.dt:g} ms", 2.0)
        old = self.simulation
        try:
            new = self._make(replace(choice, worlds=1))
            if self.extra_worlds is not None:
                others = self._make(replace(choice, worlds=choice.worlds - 1))
                self.extra_worlds.continue_with(others)
        except TarsusError:
            self._panel.fill()  # restore the previous choice
            raise
        new.set(q=old.uncut_state[0], u=old.uncut_state[1])
        self.simulation, self.choice = new, choice
        self._history, self._recorder = {}, LiveRecorder(new)
        self._push_end = -1.0
        self._panel.fill()

    def notify(self, title: str, text: str, seconds: float = 8.0) -> None:
        """Show a notification in every browser."""
        for client in self.page.server.get_clients().values():
            client.add_notification(title, text, auto_close_seconds=seconds)

    def run(self) -> None:
        """Run until Ctrl-C."""
        run_loop(self.draw)


def watch(
    make: Make,
    choice: Choice,
    address: Address | None = None,
    vary: Mapping[str, tuple[float, float]] | None = None,
) -> int:
    """Show a live simulation on a page until Ctrl-C and return the exit code 0.

    Parameters
    ----------
    make
        Function that builds the simulation.
    choice
        Initial settings of the simulation.
    address
        Address to serve the page on.
    vary
        First and last value of each parameter that varies between the worlds.
    """
    return serve_page("Tarsus", address, lambda page: Live(page, make, choice, vary).run)
