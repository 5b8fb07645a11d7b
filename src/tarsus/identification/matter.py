"""Inertial parameters of bodies that are identified: what a body can have, by construction.

A mass is positive, a center of mass anywhere, and the second moments of mass about it,
S = trace(I)/2 1 - I, become U S U^T with U upper triangular, exp(d) on its diagonal: positive
semidefinite whatever the six numbers are, so that principal inertias obey the triangle inequality
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
ROWS, COLUMNS = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]  # of xx, yy, zz, xy, xz, yz
LEAST = -1e-9  # of the largest second moment: round-off


def changed(made: Inertia, values: Mapping[str, Array]) -> tuple[Array, Array, Array]:
    """Masses (n,), kg, centers of mass (n, 3), m, and inertias about them (n, 3, 3), kg m^2.

    values: "mass", "com.x", ..., "inertia.xx", ..., each (n,), as far as they are identified
    """
    count = len(next(iter(values.values())))
    mass = values.get("mass", np.full(count, made.mass))
    com = np.tile(made.com, (count, 1))
    for k, axis in enumerate(AXES):
        if f"com.{axis}" in values:
            com[:, k] = values[f"com.{axis}"]
    # second moments of mass; they grow with the mass
    moments = 0.5 * np.trace(made.about_com) * np.eye(3) - made.about_com
    upper = np.zeros((count, 3, 3))
    for k, (i, j) in enumerate(zip(ROWS, COLUMNS, strict=True)):
        own = values.get(f"inertia.{PAIRS[k]}", np.zeros(count))
        upper[:, i, j] = np.exp(own) if i == j else own
    moments = upper @ moments @ upper.transpose(0, 2, 1)
    trace = np.trace(moments, axis1=1, axis2=2)
    about = trace[:, None, None] * np.eye(3) - moments
    return mass, com, about * (mass / made.mass)[:, None, None]


def change_of_ten(made: Inertia, values: Mapping[str, Array]) -> Array:
    """What the ten linear parameters about the body's origin (n, 10) change by."""
    new = _ten(*changed(made, values))
    old = _ten(np.array([made.mass]), made.com[None], made.about_com[None])
    return new - old


def check(name: str, made: Inertia) -> None:
    """TarsusError for a body whose inertia none has, or which has none to begin from."""
    moments = 0.5 * np.trace(made.about_com) * np.eye(3) - made.about_com
    least, _, most = np.linalg.eigvalsh(moments)
    if not most > 0 or least < LEAST * most:
        raise InvalidModel(
            f"the inertia of {name!r} in the model is not physical: it must be positive definite"
            " and satisfy the triangle inequality.",
            name,
        )


def _ten(mass: Array, com: Array, about: Array) -> Array:
    """m, m c, and the inertia about the origin: xx, yy, zz, xy, xz, yz."""
    outer = com[:, :, None] * com[:, None, :]
    square = (com * com).sum(1)[:, None, None] * np.eye(3)
    tensor = about + mass[:, None, None] * (square - outer)
    return np.concatenate([mass[:, None], mass[:, None] * com, tensor[:, ROWS, COLUMNS]], 1)
