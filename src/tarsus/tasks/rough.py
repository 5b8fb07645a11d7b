"""Follow a velocity over uneven ground, which a scan shows, and which grows with what is mastered.

How levels rise and fall is that of Rudin 2021: an episode that went well is followed by harder
ground, one that did not by easier, the hardest by any.
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
from tarsus.tasks.base import Advice, Glimpse, Observed, Range

ALONG, ACROSS = (-2, -1, 0, 1, 2, 3), (0, 1)  # of the scan's points, in spacings


@dataclass(frozen=True, kw_only=True)
class RoughVelocity(GaitTask):
    """As velocity does, on ground whose heights are seen around the robot; with --terrain rough or
    another of theirs whose heights can be scaled.

    Commands:
    speed: m/s along the heading
    sideways: m/s to the left
    turn: rad/s to the left
    """

    lift: float = parameter(0.1, "m", "of feet that the clock has in the air, unasked", "[0, inf)")
    episode: float = parameter(8.0, "s", "after which an episode is cut off", "(0, inf)")
    place: float = parameter(
        10.0, "m", "from the origin to where an episode begins, along x and y, at most", "[0, inf)"
    )
    levels: Range = parameter(
        (0.0, 4.0), "[1]", "factors on the ground's heights, easiest to hardest", "[0, inf)"
    )
    spacing: float = parameter(0.12, "m", "between the scan's points", "(0, inf)")

    def advice(self, mechanism: Mechanism) -> Advice:
        own = super().advice(mechanism).methods.get("ppo", {"rounds": 400, "fall": 5})
        return Advice(terrain="rough", methods={"ppo": own})

    def observations(self, now: Glimpse) -> Mapping[str, Observed]:
        return {**super().observations(now), **self._scan(now)}

    def progress(self, now: Glimpse) -> SX:
        asked, v = now.command, now.velocity
        missed = (v[0] - asked["speed"]) ** 2 + (v[1] - asked["sideways"]) ** 2
        return ca.exp(-missed / 0.1)

    def _scan(self, now: Glimpse) -> Mapping[str, Observed]:
        """Heights below the standing base: left and right together, and left over right."""
        origin, ahead = now.kin.world_position[0], now.forwards
        left = ca.vertcat(-ahead[1], ahead[0])
        places = [(x, y) for x, y in product(ALONG, (*ACROSS, *(-y for y in ACROSS if y)))]
        points = [
            ca.vertcat(origin[:2] + self.spacing * (x * ahead + y * left), origin[2])
            for x, y in places
        ]
        deep = [origin[2] - height - now.stand[2] for height in now.heights(points)]
        found = dict(zip(places, deep, strict=True))
        even = [0.5 * (found[x, y] + found[x, -y]) for x, y in product(ALONG, ACROSS)]
        odd = [0.5 * (found[x, y] - found[x, -y]) for x in ALONG for y in ACROSS if y]
        return {
            "ground": Observed(10 * ca.vertcat(*even), 0.05, (1.0,) * len(even)),
            "slant": Observed(10 * ca.vertcat(*odd), 0.05, (-1.0,) * len(odd)),
        }
