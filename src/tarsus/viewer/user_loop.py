"""Page that shows a simulation while the user's own loop advances it."""

from __future__ import annotations

import time
from types import TracebackType

import numpy as np

from tarsus.errors import InvalidValue
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.access import Address
from tarsus.viewer.drag import DragHandle
from tarsus.viewer.live_recorder import LiveRecorder
from tarsus.viewer.page import Page
from tarsus.viewer.page_scene import FRAME_RATE, PageScene

MIN_LOOP_TIME = 2.0  # that the loop has after a frame, over the time that drawing took
PAUSED_INTERVAL = 0.05  # s between looks at the buttons


class UserLoopPage:
    """Page of a simulation that the user's own loop advances; made by `view`.

    It shows the first world. The robot can be dragged with the mouse if the simulation has
    `pushes`.

    Attributes
    ----------
    url
        Address of the page.
    speed
        Simulated seconds per second, or None for no limit.
    """

    def __init__(self, simulation: Simulation, page: Page, speed: float | None) -> None:
        self._simulation, self._page, self.speed = simulation, page, speed
        self.url = page.url
        self._recorder = LiveRecorder(simulation)
        track = self._recorder.look()
        self._scene = PageScene(page, track)
        self._scene.add_ground_around(simulation.terrain, track.base()[0, :2])
        pushed = simulation.plan.pushed_bodies
        self._drag = DragHandle(page.scene, track, pushed[0]) if pushed else None
        self._paused, self._single = False, False
        with page.gui.add_folder("Time"):
            self._clock = page.gui.add_markdown("t = 0 s")
            self._play = page.gui.add_button("Pause")
            step = page.gui.add_button("Step")
        self._play.on_click(lambda _: self.pause(not self._paused))
        step.on_click(lambda _: self._pause_after_step())
        self._scene.add_switches(lambda: None)
        self._next = -np.inf  # wall time of the next frame, s
        self._anchor = time.perf_counter(), simulation.time
        self._last = simulation.time
        self._show()

    def sync(self) -> None:
        """Show the current state, at most 60 times per second, and wait for the wall clock.

        While the page is paused, this waits until the user resumes or asks for one step.
        """
        begin = time.perf_counter()
        if begin >= self._next or self._paused:
            self._show()
            end = time.perf_counter()
            self._next = max(begin + 1 / FRAME_RATE, end + MIN_LOOP_TIME * (end - begin))
        waited = self._paused
        while self._paused and not self._single:
            time.sleep(PAUSED_INTERVAL)
        self._single = False
        self._wait(restart=waited)

    def pause(self, paused: bool = True) -> None:
        """Let the next `sync` wait, or let the waiting one go on."""
        self._paused = paused
        self._play.label = "Resume" if paused else "Pause"

    def close(self) -> None:
        """Stop serving the page."""
        self._page.stop()

    def _pause_after_step(self) -> None:
        self.pause()
        self._single = True

    def _show(self) -> None:
        """Draw the first world, and apply the force of the mouse."""
        track = self._recorder.look()
        positions, rotations = track.poses(-1)
        with self._page.server.atomic():
            self._scene.move(positions[0], rotations[0], track.contacts_at(-1))
            self._clock.content = f"t = {self._simulation.time:.2f} s"
            if self._drag is not None and (push := self._drag.push(positions[0])):
                self._simulation.set(push=push)

    def _wait(self, restart: bool) -> None:
        """Sleep until the wall clock has caught up with the simulation."""
        now, simulated = time.perf_counter(), self._simulation.time
        if restart or simulated < self._last:
            self._anchor = now, simulated
        self._last = simulated
        if self.speed is None:
            return
        ahead = (simulated - self._anchor[1]) / self.speed - (now - self._anchor[0])
        if ahead > 0:
            time.sleep(ahead)
        elif ahead < -1 / FRAME_RATE:  # the loop is too slow; it does not catch up later
            self._anchor = now, simulated

    def __enter__(self) -> UserLoopPage:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def view(
    simulation: Simulation,
    speed: float | None = 1.0,
    port: int = 8080,
    host: str = "127.0.0.1",
) -> UserLoopPage:
    """Show a simulation in a browser while your own loop advances it.

    Parameters
    ----------
    simulation : Simulation
        The simulation; its first world is shown. If it was created with `pushes`, the first of
        these bodies can be dragged with the mouse.
    speed : float, optional
        Simulated seconds per second to which `sync` limits the loop. None: no limit.
    port : int
        Port of the page; if it is in use, the next free one of twenty is taken.
    host : str
        Address to serve the page on. If other machines can reach it, the URL contains an access
        token.

    Returns
    -------
    UserLoopPage
        Page whose `sync` shows the current state. Use it in a ``with`` statement, or call its
        `close`.

    Raises
    ------
    InvalidValue
        If the speed is not positive, or the port is out of range.
    UnmetCondition
        If no port is free.
    MissingPackage
        If the extra `view` is not installed.

    Examples
    --------
    >>> import tarsus
    >>> simulation = tarsus.Simulation("mini_cheetah", controller="stand", pushes=["base"])
    >>> with tarsus.view(simulation, speed=None, port=0) as page:
    ...     while simulation.time < 0.1:
    ...         simulation.step()
    ...         page.sync()
    """
    if speed is not None and not (speed > 0 and np.isfinite(speed)):
        raise InvalidValue(f"the speed must be positive, or None, not {speed!r}.", "speed")
    page = Page("Tarsus", Address(port, host))
    try:
        shown = UserLoopPage(simulation, page, speed)
    except BaseException:
        page.stop()
        raise
    page.print_url()
    return shown
