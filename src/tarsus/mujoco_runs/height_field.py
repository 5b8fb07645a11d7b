"""Uneven ground in MuJoCo: a terrain sampled on a grid as a height field."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import Unsupported
from tarsus.mujoco_runs.library import mujoco
from tarsus.simulation.ground_samples import sample_ground
from tarsus.terrain.base import Terrain

HALF_WIDTH = 25.0  # m from the origin to the border of the field, along x and y
CELL_SIZE = 0.025  # m between two heights
BASE_THICKNESS = 1.0  # m of ground below the lowest height
MIN_HEIGHT_RANGE = 1e-4  # m: MuJoCo does not accept a flat field

Array = NDArray[Any]


def compile_on_terrain(terrain: Terrain, text: str) -> Any:
    """Compile an MJCF text with its floor replaced by a height field of the terrain.

    Parameters
    ----------
    terrain
        Ground, the same in all worlds.
    text
        MJCF text whose first geom is the floor.

    Returns
    -------
    MjModel
        Compiled model; the ground is triangulated between the sampled heights.

    Raises
    ------
    Unsupported
        If the terrain differs by world.
    """
    # a square of heights, rows along y
    cells = round(HALF_WIDTH / CELL_SIZE)
    positions = np.arange(-cells, cells + 1) * CELL_SIZE
    z = sample_heights(terrain, *np.meshgrid(positions, positions))
    low, span = float(z.min()), max(float(np.ptp(z)), MIN_HEIGHT_RANGE)
    # replace the floor
    mj = mujoco()
    spec = mj.MjSpec.from_string(text)
    size = [HALF_WIDTH, HALF_WIDTH, span, BASE_THICKNESS]
    field = spec.add_hfield(name="ground", size=size)
    field.nrow, field.ncol = z.shape
    field.userdata = ((z - low) / span).ravel()
    floor = spec.geoms[0]
    floor.type, floor.hfieldname, floor.pos = mj.mjtGeom.mjGEOM_HFIELD, "ground", [0, 0, low]
    model = spec.compile()
    # with the native collider, feet stumble over the edges of cells even on level fields
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_NATIVECCD
    return model


def sample_heights(terrain: Terrain, x: Array, y: Array) -> Array:
    """Compute the height of the ground at positions of any shape, in m."""
    if any(value.ndim > 1 for value in terrain.parameters().values()):
        raise Unsupported(
            "the terrain differs by world, but runs in MuJoCo have one ground for all worlds; use"
            " the same terrain in every world.",
            "terrain",
        )
    return sample_ground(terrain, np.stack([x.ravel(), y.ravel()], -1))[0].reshape(x.shape)
