"""Distance at which a ray first meets the ground, found by even steps and bisection."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.terrain.base import Terrain

TOLERANCE = 1e-10  # of a distance, relative to `reach`


def first_hits(
    terrain: Terrain,
    p: Any,
    rays: tuple[SX, list[SX]],
    sizes: tuple[float, float],
    builder: Builder,
) -> SX:
    """Compute the distances (k,), m, at which rays first meet the ground.

    A ray that meets none has the distance `reach`; one that starts below the ground has 0.

    Parameters
    ----------
    terrain : Terrain
        The ground.
    p : namespace
        Symbols of the terrain.
    rays : tuple
        Origin (3,), and k unit directions (3,).
    sizes : tuple of float
        `reach` and spacing of the even steps, m.
    builder : Builder
        Traces the loops.
    """
    (origin, directions), (reach, spacing) = rays, sizes
    origin, directions = (
        builder.store_all("ray", origin),
        builder.store_all("directions", directions),
    )
    max_steps = int(np.ceil(reach / spacing))

    def above(s: SX) -> SX:
        """Compute the heights (k,) above the ground at distances (k,)."""
        points = [origin + s[k] * direction for k, direction in enumerate(directions)]
        heights = terrain.elevations(points, p)
        return ca.vertcat(*(point[2] - h for point, h in zip(points, heights, strict=True)))

    # even steps, until every ray has met the ground
    def advance(values: Values) -> tuple[Values, SX]:
        point = ca.fmin(reach / max_steps * values["steps"], reach)
        below = above(ca.repmat(point, len(directions), 1)) <= 0
        first = ca.logic_and(below, values["hit"] < 0)
        met = ca.if_else(first, point, values["hit"])
        done = values["steps"] + 1
        again = ca.logic_and(ca.mmin(met) < 0, done <= max_steps)
        return {"hit": met, "steps": done}, again

    begin = {"hit": SX(-np.ones(len(directions))), "steps": SX(0)}
    met = builder.loop(begin, advance, max_steps + 1)["hit"]

    # the ground lies between the last point above it and the first below
    def bisect(values: Values) -> tuple[Values, SX]:
        middle = 0.5 * (values["low"] + values["high"])
        below = above(middle) <= 0
        low, high = (
            ca.if_else(below, values["low"], middle),
            ca.if_else(below, middle, values["high"]),
        )
        return {"low": low, "high": high}, ca.mmax(high - low) > TOLERANCE * reach

    high = ca.if_else(met < 0, reach, met)
    low = ca.if_else(met < 0, reach, ca.fmax(met - reach / max_steps, 0))
    halvings = int(np.ceil(np.log2(1 / (TOLERANCE * max_steps)))) + 1
    return builder.loop({"low": low, "high": high}, bisect, max(halvings, 1))["high"]
