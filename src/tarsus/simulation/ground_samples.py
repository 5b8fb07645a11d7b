"""Evaluate the height and friction of a terrain at many points."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.program.ir.trace import Builder
from tarsus.program.run.evaluation import evaluate
from tarsus.terrain.base import Terrain

Array = NDArray[np.float64]


def sample_ground(terrain: Terrain, places: Array) -> tuple[Array, Array]:
    """Sample the heights and friction factors of a terrain in the first world.

    Parameters
    ----------
    terrain
        The terrain.
    places
        Points x, y, shape (n, 2), in m.

    Returns
    -------
    tuple
        Heights in m and friction factors, shape (n,) each.
    """
    return ground_sampler(terrain)(places)


def ground_sampler(terrain: Terrain) -> Callable[[Array], tuple[Array, Array]]:
    """Compile `sample_ground` for one terrain, for repeated use."""
    builder = Builder(f"{type(terrain).__name__}_samples")
    position = builder.parameter("at", 2)
    p = terrain.symbols(builder)
    point = ca.vertcat(position, 0)
    program = builder.program(
        height=terrain.elevations([point], p)[0], friction=terrain.material(point, p)[0]
    )
    known = {register.name for register in program.of_kind("parameter")}
    values = {f"terrain.{name}": value for name, value in terrain.parameters().items()}
    constants = {
        name: np.asarray(value, float).reshape(-1, np.shape(value)[-1])[0]
        for name, value in values.items()
        if name in known
    }

    def look(places: Array) -> tuple[Array, Array]:
        samples = {
            name: np.tile(constant, (len(places), 1)) for name, constant in constants.items()
        }
        reports = evaluate(program, {"at": places, **samples})
        return reports["height"][:, 0], reports["friction"][:, 0]

    return look
