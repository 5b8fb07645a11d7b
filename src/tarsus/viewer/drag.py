"""Handle on a page with which the user drags the robot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.viewer.track import Track

Array = NDArray[np.float64]
FULL_PULL = 1.0  # distance of the handle at which it pulls with the robot's weight, in robot sizes
SCALE = 0.8  # length of the handle's arrows, in robot sizes


class DragHandle:
    """Handle that pulls a body like a spring while the user drags it, and otherwise follows it.

    Parameters
    ----------
    scene
        Scene of the page.
    track
        Track of the robot, whose size and weight scale the handle and its force.
    body
        Name of the body.
    """

    def __init__(self, scene: Any, track: Track, body: str) -> None:
        self._body, self._number = body, track.robot.body_names.index(body)
        size = track.size
        self.stiffness = track.weight / (FULL_PULL * size)  # N/m
        self._dragging = self._pulled = False
        self.control = scene.add_transform_controls(
            "/stage/drag",
            scale=SCALE * size,
            disable_rotations=True,
            disable_sliders=True,
            depth_test=False,  # visible inside the body
        )
        self.control.on_update(self._update)

    def _update(self, event: Any) -> None:
        if event.phase == "start":
            self.grab()
        elif event.phase == "end":
            self.release()

    def grab(self) -> None:
        """Begin to pull."""
        self._dragging = True

    def release(self) -> None:
        """Stop pulling."""
        self._dragging = False

    def push(self, positions: Array) -> dict[str, Array]:
        """Compute the push to set, by body: a force (3,) in N, zero once after the release.

        Parameters
        ----------
        positions
            Positions of the bodies, shape (bodies, 3), in m.
        """
        position, pulled = positions[self._number], self._pulled
        self._pulled = self._dragging
        if self._dragging:
            return {self._body: self.stiffness * (np.array(self.control.position) - position)}
        self.control.position = position
        return {self._body: np.zeros(3)} if pulled else {}
