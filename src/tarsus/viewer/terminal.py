"""Side view of a robot in Braille characters, for animations in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import WORLD
from tarsus.viewer.track import Track

Array = NDArray[np.float64]
BLANK = 0x2800  # Braille character without dots
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])  # rows from the top
ROWS, COLUMNS = 4, 2  # dots of a character
VIEW_HEIGHT = 1.5  # in robot heights


class SideView:
    """Side view of a track's first world in Braille characters, x to the right and z up.

    The view follows the robot.

    Parameters
    ----------
    track
        Log to draw.
    width, height
        Size of the view in characters.
    """

    def __init__(self, track: Track, width: int = 72, height: int = 14) -> None:
        self._track, self._width, self._height = track, width, height
        low = float(track.contacts.point[0, 0, :, 2].min()) if track.contacts.point.size else 0.0
        high = float(track.base()[0, 2])
        self._level = low
        self._scale = (height * ROWS - 2) / (VIEW_HEIGHT * max(high - low, 0.05))  # dots per m

    def frame(self, time: float) -> str:
        """Draw the view at a time in s."""
        step = self._track.step_at(time)
        dots = np.zeros((self._height * ROWS, self._width * COLUMNS), bool)
        middle = float(self._track.base()[step, 0])
        for start, end in self._segments(step):
            self._line(dots, start - [middle, 0], end - [middle, 0])
        # the ground, with a mark every 0.1 m that shows the motion
        dots[-1] = True
        columns = np.arange(dots.shape[1]) - dots.shape[1] / 2
        x = columns / self._scale + middle
        dots[-2] |= np.floor(x / 0.1) != np.floor((x - 1 / self._scale) / 0.1)
        return braille(dots)

    def frames(self, rate: float) -> Iterator[str]:
        """Yield the views of the whole track at a rate in 1/s."""
        first, last = float(self._track.time[0]), float(self._track.time[-1])
        for time in np.arange(first, last, 1 / rate):
            yield self.frame(float(time))

    def _segments(self, step: int) -> Iterator[tuple[Array, Array]]:
        """Yield lines (x, z) in m, between joints and from the last joints to contact points."""
        positions, rotations = self._track.poses(step)
        joints, robot = positions[0], self._track.robot
        parents = {body.parent for body in robot.bodies}
        for k, body in enumerate(robot.bodies):
            if body.parent != WORLD:
                yield joints[body.parent, ::2], joints[k, ::2]
        for point in robot.candidates:
            if point.body not in parents:
                end = joints[point.body] + rotations[0, point.body] @ point.position
                yield joints[point.body, ::2], end[::2]

    def _line(self, dots: NDArray[np.bool_], start: Array, end: Array) -> None:
        count = int(np.ceil(self._scale * float(np.linalg.norm(end - start)))) * 2 + 2
        x, z = np.linspace(start, end, count).T
        column = np.round(x * self._scale + dots.shape[1] / 2).astype(int)
        row = np.round(dots.shape[0] - 2 - (z - self._level) * self._scale).astype(int)
        inside = (column >= 0) & (column < dots.shape[1]) & (row >= 0) & (row < dots.shape[0])
        dots[row[inside], column[inside]] = True


def braille(dots: NDArray[np.bool_]) -> str:
    """Convert dots to lines of Braille characters; each has 4 rows and 2 columns of dots."""
    high, wide = dots.shape[0] // ROWS, dots.shape[1] // COLUMNS
    cells = dots.reshape(high, ROWS, wide, COLUMNS).transpose(0, 2, 1, 3)
    codes = BLANK + (cells * DOTS).sum(axis=(2, 3))
    return "\n".join("".join(map(chr, row)) for row in codes.tolist())
