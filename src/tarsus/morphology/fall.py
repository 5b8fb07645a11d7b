"""Whether a robot has fallen, by its base."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]

MIN_UPRIGHT = 0.5  # [1] cos(60 degrees): a base that leans more has tipped over
MIN_HEIGHT_SHARE = 0.5  # [1] of the height at the start: a base below it has collapsed


def upright(robot: Mechanism, q: Array) -> Array:
    """Cosine (...) of the angle between the base's z axis and the vertical, at q (..., nq).

    A fixed base stays upright: 1.
    """
    if not robot.floating:
        return np.ones(q.shape[:-1])
    return 1 - 2 * (q[..., 4] ** 2 + q[..., 5] ** 2)


def has_fallen(robot: Mechanism, q: Array, height: Array) -> bool:
    """Whether the base tilted by more than 60 degrees or sank to half its first height.

    q (n, nq) at n instants; height (n,) m of the base above the ground then.
    """
    return first_fallen(robot, q, height) is not None


def first_fallen(robot: Mechanism, q: Array, height: Array) -> int | None:
    """Return the first of n instants at which the robot had fallen, as `fell` has it, or None."""
    if not robot.floating:
        return None
    down = (upright(robot, q) < MIN_UPRIGHT) | (height < MIN_HEIGHT_SHARE * height[0])
    return int(np.argmax(down)) if down.any() else None
