"""Uneven ground in MuJoCo: a terrain's heights on a grid, as its height field."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import Unsupported
from tarsus.mujoco_runs.library import mujoco
from tarsus.simulation.ground_samples import sample_ground
from tarsus.terrain.base import Terrain

HALF = 25.0  # m from the origin to the field's border, along x and y
CELL = 0.025  # m from height to height
BASE = 1.0  # m of ground below the lowest
LEAST = 1e-4  # m between the lowest and the highest: a field cannot be flat

Array = NDArray[Any]


def model_on(terrain: Terrain, text: str) -> Any:
    """The model of an MJCF text whose first geom, its floor, is a field of the terrain's heights;
    triangles between them. TarsusError for grounds that differ by world.
    """
    # a square of heights, rows along y
    places = np.arange(-round(HALF / CELL), round(HALF / CELL) + 1) * CELL
    z = heights(terrain, *np.meshgrid(places, places))
    low, span = float(z.min()), max(float(np.ptp(z)), LEAST)
    # in place of the floor
    mj = mujoco()
    spec = mj.MjSpec.from_string(text)
    field = spec.add_hfield(name="ground", size=[HALF, HALF, span, BASE])
    field.nrow, field.ncol = z.shape
    field.userdata = ((z - low) / span).ravel()
    floor = spec.geoms[0]
    floor.type, floor.hfieldname, floor.pos = mj.mjtGeom.mjGEOM_HFIELD, "ground", [0, 0, low]
    model = spec.compile()
    # feet stumble over the borders of cells by the other collider, on level fields too
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_NATIVECCD
    return model


def heights(terrain: Terrain, x: Array, y: Array) -> Array:
    """Of the ground at places of any shape, m."""
    if any(value.ndim > 1 for value in terrain.parameters().values()):
        raise Unsupported(
            "the terrain differs by world, but runs in MuJoCo have one ground.", "terrain"
        )
    return sample_ground(terrain, np.stack([x.ravel(), y.ravel()], -1))[0].reshape(x.shape)
