"""Handle on a page with which the user drags the robot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FULL_PULL = 1.0  # distance of the handle at which it pulls with the robot's weight, in robot sizes
SCALE = 0.8  # length of the handle's arrows, in robot sizes


class DragHandle:
    """Handle that pulls a body like a spring while the user drags it, and else follows the body.

    Parameters
    ----------
    scene
        Scene of the page.
    size
        Size of the robot, m.
    weight
        Weight of the robot, N.
    """

    def __init__(self, scene: Any, size: float, weight: float) -> None:
        self._stiffness, self.dragging = weight / (FULL_PULL * size), False
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
        self.dragging = True

    def release(self) -> None:
        """Stop pulling."""
        self.dragging = False

    def force(self, position: Array) -> Array:
        """Compute the force (3,), in N, on the body at a position (3,), in m."""
        if not self.dragging:
            self.control.position = position
            return np.zeros(3)
        return self._stiffness * (np.asarray(self.control.position, float) - position)
