"""A running simulation in the browser: friction, law, commands and pushes while it goes."""

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
from tarsus.viewer.crowd import Crowd
from tarsus.viewer.glance import Glances
from tarsus.viewer.live_panel import Choice, Panel
from tarsus.viewer.page import Page
from tarsus.viewer.plot import SECONDS, Plot
from tarsus.viewer.track import Signal
from tarsus.viewer.watch import Watched, paced, watched

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2")
HURRY = 0.05  # s: most that is simulated for one frame
PLOT_EVERY, TELL_EVERY = 6, 15  # frames
PUSH = 0.15  # s that a push lasts


Make = Callable[[Choice], Simulation]


class Live:
    """A simulation on a page. Browsers only leave wishes; they are granted between two frames.

    Of several worlds the first is a simulation of its own, with forces and plots; the others are
    a `Crowd`. vary: what differs between these.
    """

    def __init__(
        self,
        page: Page,
        make: Make,
        choice: Choice,
        vary: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        # the simulation, and one step of it to look at
        self.page, self._make, self.choice = page, make, choice
        self.simulation = make(replace(choice, worlds=1))
        self._seconds = 0.0
        self._wishes: queue.Queue[Callable[[], None]] = queue.Queue()
        self._pushed_until, self._debt, self._count = -1.0, 0.0, 0
        self.playing = True
        self._glances = Glances(self.simulation)
        self._seen = self._glances.take(1)
        self._reset_one()
        # the scene
        first = self._seen
        self._watched = Watched(page, first)
        base = first.base()
        way = np.stack([base[0, :2] - [2.0, 4.0], base[0, :2] + [6.0, 4.0]])
        self._watched.ground(self.simulation.terrain, way)
        self.crowd: Crowd | None = None
        if choice.worlds > 1:
            others = make(replace(choice, worlds=choice.worlds - 1))
            self.crowd = Crowd(page, others, float(first.extent.max()), vary or {})
            self._watched.ghosts([self.crowd.actor])
        # the panel
        self._time_panel()
        self._panel = Panel(self)
        self._panel.fill()
        self._plot = Plot(page.gui, list(first.signals))
        self._kept: dict[str, list[Any]] = {}
        self._watched.switches(lambda: self.wish(self._show))
        self._show()

    def wish(self, what: Callable[[], None]) -> None:
        """Have something done between two frames."""
        self._wishes.put(what)

    def draw(self, seconds: float) -> None:
        """Grant the wishes, simulate what `seconds` of the clock make, and show it."""
        while not self._wishes.empty():
            try:
                self._wishes.get()()
            except TarsusError as error:
                self.tell("Not possible", str(error))
        if not self.playing:
            return
        self._seconds += 0.1 * (seconds - self._seconds)  # a frame takes so long, lately
        # as many steps as fit into the time gone by
        dt = self.simulation.dt
        self._debt = min(self._debt + seconds * float(self._speed.value), max(HURRY, dt))
        steps = int(self._debt / dt + 1e-9)
        if steps:
            self._debt -= steps * dt
            self.advance(steps)

    def advance(self, steps: int) -> None:
        """Simulate and show steps."""
        simulation = self.simulation
        if self._pushed_until >= 0 and simulation.time >= self._pushed_until:
            self._push((0.0, 0.0, 0.0))
            self._pushed_until = -1.0
        try:
            self._seen = self._glances.take(steps)
        except Diverged as error:
            self._set_playing(False)
            self._restart()
            self.tell("The simulation diverged", f"{error} It stands at the start again.")
            return
        if self.crowd is not None:
            self.crowd.advance(steps)
            if self._raise.value:
                self.crowd.raise_fallen()
        self._keep()
        self._show()

    def _show(self) -> None:
        """The robot and its contacts as they are; now and then the plot and the clock."""
        seen = self._seen
        positions, rotations = seen.poses(-1)
        with self.page.server.atomic():
            self._watched.move(positions[0], rotations[0], seen.contacts_at(-1))
            if self.crowd is not None:
                self.crowd.show()
            if not self.playing or self._count % TELL_EVERY == 0:
                self._clock.content = self._told()
        if self._kept and (not self.playing or self._count % PLOT_EVERY == 0):
            time = np.concatenate(self._kept["time"])
            signals = {
                name: Signal(seen.signals[name].names, np.concatenate(parts))
                for name, parts in self._kept.items()
                if name != "time"
            }
            self._plot.show(time, signals, float(time[-1]))
        self._count += 1

    def _told(self) -> str:
        """The time; of many worlds how they fare, and how many frames a second are made."""
        clock = f"t = {self.simulation.time:.2f} s"
        if self.crowd is None:
            return clock
        lie, frames = int(self.crowd.fallen().sum()), 1 / max(self._seconds, 1e-3)
        return f"{clock}; {self.choice.worlds} worlds, {lie} lie; {frames:.0f} frames/s"

    def set(self, **values: Any) -> None:
        """Set parameters and commands, of the other worlds too."""
        self.simulation.set(**values)
        if self.crowd is not None:
            self.crowd.set(**values)

    def _keep(self) -> None:
        """The last seconds of all signals, for the plot."""
        seen = self._seen
        parts = {"time": seen.time} | {n: s.values for n, s in seen.signals.items()}
        for name, values in parts.items():
            self._kept.setdefault(name, []).append(values)
        while len(self._kept["time"]) > 1 and self._kept["time"][0][-1] < seen.time[-1] - SECONDS:
            for values in self._kept.values():
                values.pop(0)

    def _time_panel(self) -> None:
        """Pause, step, reset and speed."""
        gui = self.page.gui
        with gui.add_folder("Time"):
            self._clock = gui.add_markdown("t = 0 s")
            self._play = gui.add_button("Pause")
            buttons = gui.add_button_group("", ("Step", "Reset"))
            self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            if self.crowd is not None:
                self._raise = gui.add_checkbox("Raise who lies", False)

        @self._play.on_click
        def _(_: Any) -> None:
            self._set_playing(not self.playing)

        @buttons.on_click
        def _(event: Any) -> None:
            self.wish(self._step if event.target.value == "Step" else self.reset)

    def _step(self) -> None:
        self._set_playing(False)
        self.advance(1)

    def reset(self) -> None:
        """Back to the start; commands and parameters stay."""
        self._restart()
        self._kept, self._debt = {}, 0.0
        self.advance(1)

    def _reset_one(self) -> None:
        self.simulation.reset()
        self._glances.forget()

    def _restart(self) -> None:
        self._reset_one()
        if self.crowd is not None:
            self.crowd.simulation.reset()

    def _set_playing(self, playing: bool) -> None:
        self.playing = playing
        self._play.label = "Pause" if playing else "Go on"

    def push(self, way: tuple[float, float], weights: float) -> None:
        """Push the trunk for PUSH seconds, forward or to the left of how it stands."""
        force = weights * self._seen.weight
        _, rotations = self._seen.poses(-1)
        ahead = rotations[0, 0, :2, 0]
        ahead = ahead / max(float(np.linalg.norm(ahead)), 1e-9)
        left = np.array([-ahead[1], ahead[0]])
        along = way[0] * ahead + way[1] * left
        self._push((force * along[0], force * along[1], 0.0))
        self._pushed_until = self.simulation.time + PUSH
        self._set_playing(True)

    def _push(self, force: tuple[float, float, float]) -> None:
        body = self.simulation.plan.pushed_bodies[0]
        self.set(push={body: force})

    def remake(self, choice: Choice) -> None:
        """Another law, gait or step, from the state that is; TarsusError if it cannot be had."""
        if choice == self.choice:
            return
        self.tell("Compiling", f"{choice.law}, {choice.gait}, {1e3 * choice.dt:g} ms", 2.0)
        before = self.simulation
        try:
            made = self._make(replace(choice, worlds=1))
            if self.crowd is not None:
                self.crowd.take(self._make(replace(choice, worlds=choice.worlds - 1)))
        except TarsusError:
            self._panel.fill()  # the choice goes back
            raise
        made.set(q=before.uncut_state[0], u=before.uncut_state[1])
        self.simulation, self.choice = made, choice
        self._kept, self._glances = {}, Glances(made)
        self._pushed_until = -1.0
        self._panel.fill()

    def tell(self, title: str, text: str, seconds: float = 8.0) -> None:
        """A note for everyone who watches."""
        for client in self.page.server.get_clients().values():
            client.add_notification(title, text, auto_close_seconds=seconds)

    def run(self) -> None:
        """Until Ctrl-C."""
        paced(self.draw)


def watch(
    make: Make,
    choice: Choice,
    address: Address | None = None,
    vary: Mapping[str, tuple[float, float]] | None = None,
) -> int:
    """A live simulation on a page until Ctrl-C; returns the exit code 0."""
    return watched("Tarsus", address, lambda page: Live(page, make, choice, vary).run)
