"""Friction and stiffness that vary over the ground: patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue
from tarsus.terrain import _graph


@dataclass(frozen=True)
class Patch:
    """Disc or rectangle, seen from above, in which the ground has another material.

    Attributes
    ----------
    center
        x and y, shape (2,) or (worlds, 2), m.
    size
        Radius of a disc, or both edge lengths of a rectangle, m.
    yaw
        Direction of the rectangle's first edge, from x, rad.
    friction
        Factor on the law's friction coefficients, shape () or (worlds,).
    stiffness
        Factor on its stiffness and damping, shape () or (worlds,).
    """

    center: ArrayLike = (0.0, 0.0)
    size: float | tuple[float, float] = 0.5
    yaw: float = 0.0
    friction: float | NDArray = 1.0
    stiffness: float | NDArray = 1.0

    def __post_init__(self) -> None:
        _graph.require_finite("Patch", center=self.center, yaw=self.yaw)
        _graph.require_positive("Patch", size=self.size)
        if np.shape(self.center)[-1:] != (2,) or np.ndim(self.center) > 2:
            raise InvalidValue(
                f"Patch: center must have shape (2,) or (worlds, 2), not {np.shape(self.center)}.",
                "center",
            )
        if np.shape(self.size) not in ((), (2,)):
            raise InvalidValue(
                "Patch: size must be a radius or two edge lengths, not an array of shape"
                f" {np.shape(self.size)}.",
                "size",
            )
        require_factors("Patch", self.friction, self.stiffness)

    def contains(self, point: SX, center: SX) -> SX:
        """Return 1 where a world point (3,) lies in the patch or on its border, else 0."""
        x, y = ca.vertsplit(point[:2] - center)
        if np.ndim(self.size) == 0:
            return x * x + y * y <= float(self.size) ** 2  # type: ignore[arg-type]
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        along, across = np.asarray(self.size) / 2
        return ca.logic_and(ca.fabs(c * x + s * y) <= along, ca.fabs(c * y - s * x) <= across)


def require_factors(owner: str, friction: ArrayLike, stiffness: ArrayLike) -> None:
    """Raise InvalidValue unless the factors are finite, friction >= 0 and stiffness > 0."""
    _graph.require_finite(owner, friction=friction)
    _graph.require_positive(owner, stiffness=stiffness)
    if (np.asarray(friction) < 0).any():
        raise InvalidValue(f"{owner}: friction must be >= 0, not {np.min(friction):g}.", "friction")


def parameters(patches: Sequence[Patch], **background: float | NDArray) -> dict[str, NDArray]:
    """Collect the parameters of patches and background, without factors of exactly 1."""
    parameters = {
        f"{name}_background": value for name, value in background.items() if not _is_one(value)
    }
    values = _graph.columns(**parameters)
    for k, patch in enumerate(patches):
        values[f"patch{k}_center"] = np.asarray(patch.center, float)
        for name in background:
            if not _is_one(getattr(patch, name)):
                values |= _graph.columns(**{f"patch{k}_{name}": getattr(patch, name)})
    return values


def factor(name: str, patches: Sequence[Patch], point: SX, p: Any) -> SX:
    """Compute the friction or stiffness at a world point (3,).

    The last patch that contains the point determines it; outside all patches, the background does.
    """
    value = getattr(p, f"{name}_background", SX(1))
    if not any(hasattr(p, f"patch{k}_{name}") for k in range(len(patches))):
        return value
    for k, patch in enumerate(patches):
        inside = patch.contains(point, getattr(p, f"patch{k}_center"))
        value = ca.if_else(inside, getattr(p, f"patch{k}_{name}", SX(1)), value)
    return value


def _is_one(value: float | NDArray) -> bool:
    """Return whether a factor is 1 in all worlds."""
    return bool(np.all(np.asarray(value) == 1))
