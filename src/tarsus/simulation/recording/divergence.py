"""Where a run stopped being finite."""

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


class Diverged(TarsusError):
    """A run hit a NaN or an infinity; `log` holds everything up to there."""

    def __init__(self, message: str, log: xr.Dataset | None) -> None:
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
    """The first step of `part` (steps, worlds, size) that is not finite; `done` steps before it
    ended at `end`, s.
    """
    bad = ~np.isfinite(part["u"])
    if not bad.any():
        return None
    step, world, entry = (int(k[0]) for k in np.nonzero(bad))
    ends = zip(robot.bodies, robot.u_slices, strict=True)
    joint = next(body.joint.name for body, at in ends if entry < at.stop)
    where = f" of world {world}" if bad.shape[1] > 1 else ""
    when = end + (step + 1) * dt
    return Fault(
        done + step,
        f"the simulation{where} diverged at t = {when:.4f} s: joint {joint!r} is no longer finite; "
        "use a smaller dt, softer gains or the law 'moreau'.",
    )
