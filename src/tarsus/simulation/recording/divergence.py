"""Where a run stopped being finite, or turned faster than its steps can follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism

if TYPE_CHECKING:
    import xarray as xr


TURN = np.pi  # rad in one step: no step follows a joint that turns further
SPEED = 300.0  # m/s: no legged robot is that fast


class Diverged(TarsusError):
    """A run hit a NaN or left the range of motion of robots; `log` holds all up to there."""

    def __init__(self, message: str, log: xr.Dataset | None = None) -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True)
class Fault:
    """The steps of a run that are finite, and a sentence about the first that is not."""

    good_steps: int
    message: str


def first_fault(
    robot: Mechanism, part: Mapping[str, NDArray[Any]], done: int, end: float, dt: float
) -> Fault | None:
    """The first step of `part` (steps, worlds, size) that diverged; `done` before it ended at
    `end`, s.

    It holds a NaN or an infinity, turns a joint by more than TURN, or moves faster than SPEED.
    """
    u = part["u"]
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(u) <= _largest(robot, dt))
    if not bad.any():
        return None
    step, world, entry = (int(k[0]) for k in np.nonzero(bad))
    ends = zip(robot.bodies, robot.u_slices, strict=True)
    joint = next(body.joint.name for body, at in ends if entry < at.stop)
    where = f" of world {world}" if bad.shape[1] > 1 else ""
    when = end + (step + 1) * dt
    finite = np.isfinite(u[step, world, entry])
    how = "moves faster than its steps can follow" if finite else "is no longer finite"
    return Fault(
        done + step,
        f"the simulation{where} diverged at t = {when:.4f} s: joint {joint!r} {how}; "
        "use a smaller dt, softer gains or the law 'moreau'.",
    )


def _largest(robot: Mechanism, dt: float) -> NDArray[np.float64]:
    """The largest rate (nu,) of every velocity that a run may reach, rad/s or m/s."""
    largest = np.full(robot.nu, TURN / dt)
    for body, at in zip(robot.bodies, robot.u_slices, strict=True):
        if body.joint.kind == "slide":
            largest[at] = SPEED
        elif body.joint.kind == "free":
            largest[at.start : at.start + 3] = SPEED
    return largest
