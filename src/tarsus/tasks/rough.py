"""Follow a velocity over rough ground that becomes harder with success; a scan shows its heights.

Levels change as in Rudin 2021: an episode that went well is followed by harder ground, one that did
not by easier ground, and the hardest level by a random one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import casadi as ca
from casadi import SX

from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.tasks._gait import GaitTask
from tarsus.tasks.base import Observed, Range, StateView, TrainingDefaults

ALONG, ACROSS = (-2, -1, 0, 1, 2, 3), (0, 1)  # coordinates of the scan's points, in spacings


@dataclass(frozen=True, kw_only=True)
class RoughVelocity(GaitTask):
    """Follow a commanded velocity on rough ground, with a scan of the heights around the robot.

    Use it with ``--terrain rough``, or another terrain whose heights can be scaled.

    The commands are `speed`, in m/s along the heading, `sideways`, in m/s to the left, and `turn`,
    in rad/s to the left.
    """

    lift: float = parameter(0.1, "m", "lift of swing feet before any action", "[0, inf)")
    episode: float = parameter(8.0, "s", "duration of an episode", "(0, inf)")
    start_distance: float = parameter(
        10.0, "m", "largest initial distance from the origin along x and y", "[0, inf)"
    )
    levels: Range = parameter(
        (0.0, 4.0), "[1]", "factors on ground heights, from easy to hard", "[0, inf)"
    )
    spacing: float = parameter(0.12, "m", "distance between the scan's points", "(0, inf)")

    def training_defaults(self, mechanism: Mechanism) -> TrainingDefaults:
        few = {"fall_penalty": 5}
        four_legs = {"ppo": {"rounds": 400} | few, "rsl_ppo": {"rounds": 300} | few}
        methods = super().training_defaults(mechanism).methods or four_legs
        return TrainingDefaults(terrain="rough", methods=methods)

    def observations(self, state: StateView) -> Mapping[str, Observed]:
        return {**super().observations(state), **self._scan(state)}

    def progress(self, state: StateView) -> SX:
        command, v = state.command, state.velocity
        error = (v[0] - command["speed"]) ** 2 + (v[1] - command["sideways"]) ** 2
        return ca.exp(-error / 0.1)

    def _scan(self, state: StateView) -> Mapping[str, Observed]:
        """Build the scan of heights relative to the standing base.

        They are split into parts symmetric and antisymmetric in left and right.
        """
        origin, ahead = state.kin.world_position[0], state.heading
        left = ca.vertcat(-ahead[1], ahead[0])
        grid = [(x, y) for x, y in product(ALONG, (*ACROSS, *(-y for y in ACROSS if y)))]
        points = [
            ca.vertcat(origin[:2] + self.spacing * (x * ahead + y * left), origin[2])
            for x, y in grid
        ]
        depths = [origin[2] - height - state.stand[2] for height in state.heights(points)]
        depth_at = dict(zip(grid, depths, strict=True))
        even = [0.5 * (depth_at[x, y] + depth_at[x, -y]) for x, y in product(ALONG, ACROSS)]
        odd = [0.5 * (depth_at[x, y] - depth_at[x, -y]) for x in ALONG for y in ACROSS if y]
        return {
            "ground": Observed(10 * ca.vertcat(*even), 0.05, (1.0,) * len(even)),
            "slant": Observed(10 * ca.vertcat(*odd), 0.05, (-1.0,) * len(odd)),
        }
