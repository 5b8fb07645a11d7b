"""Scene that the pages of logs and of live simulations share: robot, forces and camera."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.terrain.base import Terrain
from tarsus.viewer.access import Address
from tarsus.viewer.arrows import Scale
from tarsus.viewer.ground import ground_shapes, level_height
from tarsus.viewer.page import Actor, ContactMarkers, Page
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.track import Contacts, Track

Array = NDArray[Any]
FRAME_RATE = 60.0  # 1/s
GROUND_BEHIND, GROUND_AHEAD = (-2.0, -4.0), (6.0, 4.0)  # m from a robot, corners of uneven ground


class PageScene:
    """Scene of a page: robot, contacts, other robots and the switches that hide them.

    Parameters
    ----------
    page
        Page to draw on.
    track
        Track of the robot whose forces are shown.
    """

    def __init__(self, page: Page, track: Track) -> None:
        self.page, self._robot = page, track.robot
        self.actor: Actor = page.add_actor("robot", drawn_shapes(track.robot))
        self.contacts = ContactMarkers(page.scene, Scale(track.size, track.weight))
        self._others: list[Actor] = []
        x, y, z = track.base()[0]
        page.look_at(np.array([x, y, z + track.middle]), 0.9 * float(track.extent.max()))

    def add_ground(self, terrain: Terrain, path: Array) -> None:
        """Add the ground around a path (n, 2) in m."""
        self.page.add_ground(level_height(terrain), ground_shapes(terrain, path))

    def add_ground_around(self, terrain: Terrain, position: Array) -> None:
        """Add the ground around a position (2,), in m, and ahead of it along x."""
        self.add_ground(terrain, np.stack([position + GROUND_BEHIND, position + GROUND_AHEAD]))

    def add_others(self, actors: Sequence[Actor]) -> None:
        """Add other robots, which a switch can hide."""
        self._others = list(actors)

    def add_switches(self, on_change: Callable[[], None]) -> None:
        """Add the switches of the folder "Show"; `on_change` is called after each change."""
        gui = self.page.gui
        with gui.add_folder("Show"):
            self._follow = gui.add_checkbox("Follow robot", self._robot.mobile)
            arrows = gui.add_checkbox("Contact forces", True)
            cones = gui.add_checkbox("Friction cones", True)
            shadows = gui.add_checkbox("Shadows", True)
            shadows.on_update(lambda _: self.page.set_shadows(shadows.value))
            self.page.add_legend()
            if self._others:
                others = gui.add_checkbox("Other robots", True)

                @others.on_update
                def _(_: Any) -> None:
                    for actor in self._others:
                        actor.show(others.value)

        def update(_: Any) -> None:
            self.contacts.arrows, self.contacts.cones = arrows.value, cones.value
            on_change()

        for switch in (self._follow, arrows, cones):
            switch.on_update(update)

    def move(self, positions: Array, rotations: Array, contacts: Contacts) -> None:
        """Show the robot at positions (bodies + 1, 3) and rotations (bodies + 1, 3, 3)."""
        self.actor.move(positions[None], rotations[None])
        self.contacts.update(contacts)
        base = self._robot.base if self._follow.value else None
        self.page.center_on(np.zeros(3) if base is None else positions[base])


def run_loop(draw: Callable[[float], None], until: Callable[[], bool] = lambda: False) -> None:
    """Call `draw` FRAME_RATE times per second until Ctrl-C.

    Parameters
    ----------
    draw
        Function of the time since the last call, in s.
    until
        Function that returns whether to stop.
    """
    last = time.perf_counter()
    while not until():
        now = time.perf_counter()
        draw(now - last)
        last = now
        time.sleep(max(1 / FRAME_RATE - (time.perf_counter() - now), 1e-3))


def serve_page(
    title: str, address: Address | None, build: Callable[[Page], Callable[[], None]]
) -> int:
    """Run the content of `build` on a page until Ctrl-C; return the exit code 0."""
    page = Page(title, address)
    try:
        run = build(page)
        page.print_url()
        run()
    except KeyboardInterrupt:
        return 0
    finally:
        page.stop()
    return 0
