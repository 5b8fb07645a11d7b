"""Inertial parameters of bodies, parameterized so that they are always physical.

A mass is positive and a center of mass arbitrary. The second moments of mass about it, S =
trace(I)/2 1 - I, become U S U^T, with U upper triangular and exp(d) on its diagonal. They are
positive semidefinite for any six numbers, so the principal inertias obey the triangle inequality
(Rucker 2022).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidModel
from tarsus.identification.unknowns import AXES, PAIRS
from tarsus.model.mechanism import Inertia

Array = NDArray[np.float64]
ROWS, COLUMNS = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]  # xx, yy, zz, xy, xz, yz
ROUND_OFF = -1e-9  # smallest second moment, relative to the largest


def apply_values(inertia: Inertia, values: Mapping[str, Array]) -> tuple[Array, Array, Array]:
    """Apply changed values to inertial parameters.

    Parameters
    ----------
    inertia
        Inertia of the model.
    values
        Identified values, shape (n,) each, by name: "mass", "com.x", ..., "inertia.xx", ...

    Returns
    -------
    tuple of numpy.ndarray
        Masses, shape (n,), in kg; centers of mass, shape (n, 3), in m; inertias about them, shape
        (n, 3, 3), in kg m^2.
    """
    count = len(next(iter(values.values())))
    mass = values.get("mass", np.full(count, inertia.mass))
    com = np.tile(inertia.com, (count, 1))
    for k, axis in enumerate(AXES):
        if f"com.{axis}" in values:
            com[:, k] = values[f"com.{axis}"]
    # second moments of mass, which grow with the mass
    moments = 0.5 * np.trace(inertia.about_com) * np.eye(3) - inertia.about_com
    upper = np.zeros((count, 3, 3))
    for k, (i, j) in enumerate(zip(ROWS, COLUMNS, strict=True)):
        entry = values.get(f"inertia.{PAIRS[k]}", np.zeros(count))
        upper[:, i, j] = np.exp(entry) if i == j else entry
    moments = upper @ moments @ upper.transpose(0, 2, 1)
    trace = np.trace(moments, axis1=1, axis2=2)
    about = trace[:, None, None] * np.eye(3) - moments
    return mass, com, about * (mass / inertia.mass)[:, None, None]


def linear_parameter_changes(inertia: Inertia, values: Mapping[str, Array]) -> Array:
    """Compute changes of the ten linear parameters about the body's origin, shape (n, 10)."""
    new = _linear_parameters(*apply_values(inertia, values))
    old = _linear_parameters(np.array([inertia.mass]), inertia.com[None], inertia.about_com[None])
    return new - old


def check(name: str, inertia: Inertia) -> None:
    """Raise InvalidModel for a body whose inertia is zero or not physical."""
    moments = 0.5 * np.trace(inertia.about_com) * np.eye(3) - inertia.about_com
    smallest, _, largest = np.linalg.eigvalsh(moments)
    if not largest > 0 or smallest < ROUND_OFF * largest:
        raise InvalidModel(
            f"the inertia of {name!r} in the model is not physical: it must be positive definite"
            " and satisfy the triangle inequality.",
            name,
        )


def _linear_parameters(mass: Array, com: Array, about: Array) -> Array:
    """Compute m, m c, and the inertia about the origin: xx, yy, zz, xy, xz, yz."""
    outer = com[:, :, None] * com[:, None, :]
    square = (com * com).sum(1)[:, None, None] * np.eye(3)
    tensor = about + mass[:, None, None] * (square - outer)
    return np.concatenate([mass[:, None], mass[:, None] * com, tensor[:, ROWS, COLUMNS]], 1)
