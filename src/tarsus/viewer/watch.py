"""What the pages of logs and of live simulations share: the robot, its forces, the camera."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.terrain.base import Terrain
from tarsus.viewer.access import Address
from tarsus.viewer.arrows import Scale
from tarsus.viewer.ground import ground_shapes, level
from tarsus.viewer.page import Actor, ForceMarks, Page
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.track import Contacts, Track

Array = NDArray[Any]
FRAMES = 60.0  # a second


class Watched:
    """The scene of a page, and its switches."""

    def __init__(self, page: Page, first: Track) -> None:
        self.page, self._robot = page, first.robot
        self.actor: Actor = page.actor("robot", drawn_shapes(first.robot))
        self.forces = ForceMarks(page.scene, Scale(first.size, first.weight))
        self._ghosts: list[Actor] = []
        x, y, z = first.base()[0]
        page.look_at(np.array([x, y, z + first.middle]), 0.9 * float(first.extent.max()))

    def ground(self, terrain: Terrain, path: Array) -> None:
        """The ground under a path (n, 2), m."""
        self.page.ground(level(terrain), ground_shapes(terrain, path))

    def ghosts(self, actors: Sequence[Actor]) -> None:
        """Others beside the robot, that a switch hides."""
        self._ghosts = list(actors)

    def switches(self, changed: Callable[[], None]) -> None:
        """The panel's folder with what is shown; changed: called after each."""
        gui = self.page.gui
        with gui.add_folder("Show"):
            self._follow = gui.add_checkbox("Follow", self._robot.floating)
            arrows = gui.add_checkbox("Forces", True)
            cones = gui.add_checkbox("Cones", True)
            shadows = gui.add_checkbox("Shadows", True)
            shadows.on_update(lambda _: self.page.shadows(shadows.value))
            self.page.legend()
            if self._ghosts:
                seen = gui.add_checkbox("Others", True)

                @seen.on_update
                def _(_: Any) -> None:
                    for ghost in self._ghosts:
                        ghost.show(seen.value)

        def update(_: Any) -> None:
            self.forces.arrows, self.forces.cones = arrows.value, cones.value
            changed()

        for switch in (self._follow, arrows, cones):
            switch.on_update(update)

    def move(self, positions: Array, rotations: Array, contacts: Contacts) -> None:
        """The robot (bodies + 1, 3), (bodies + 1, 3, 3) and its contacts."""
        self.actor.move(positions[None], rotations[None])
        self.forces.move(contacts)
        followed = self._follow.value and self._robot.floating
        self.page.keep_below(positions[0] if followed else np.zeros(3))


def paced(draw: Callable[[float], None], until: Callable[[], bool] = lambda: False) -> None:
    """Call draw(seconds since the last call) FRAMES times a second, until Ctrl-C or `until`."""
    last = time.perf_counter()
    while not until():
        now = time.perf_counter()
        draw(now - last)
        last = now
        time.sleep(max(1 / FRAMES - (time.perf_counter() - now), 1e-3))


def watched(title: str, address: Address | None, made: Callable[[Page], Callable[[], None]]) -> int:
    """Run what `made` puts on a page until Ctrl-C; returns the exit code 0."""
    page = Page(title, address)
    try:
        run = made(page)
        page.announce()
        run()
    except KeyboardInterrupt:
        return 0
    finally:
        page.stop()
    return 0
