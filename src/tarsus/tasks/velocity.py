"""Follow a velocity forwards, sideways and turning, with a clock for the steps."""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.tasks._gait import GaitTask


@dataclass(frozen=True, kw_only=True)
class Velocity(GaitTask):
    """Follow a commanded velocity of the base.

    A clock prescribes which of two feet, or which diagonal of four, is on the ground. On two feet
    an action moves only the joints of the legs.

    The commands are `speed`, in m/s along the heading, `sideways`, in m/s to the left, and `turn`,
    in rad/s to the left.
    """
