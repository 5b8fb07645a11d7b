"""A joint as data: kind, axis, range, and what resists its motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidModel

JointKind = Literal["free", "ball", "hinge", "slide", "fixed"]
WIDTHS: dict[str, tuple[int, int]] = {
    "free": (7, 6),
    "ball": (4, 3),
    "hinge": (1, 1),
    "slide": (1, 1),
    "fixed": (0, 0),
}

Vector = NDArray[np.float64]  # any array-like is taken and frozen


def frozen_array(
    value: ArrayLike, shape: tuple[int, ...], what: str, owner: str
) -> NDArray[np.float64]:
    """Return a read-only float copy of `value`.

    Raises InvalidModel, with the element `owner` as its subject, unless the copy is finite and of
    this shape.
    """
    array = np.array(value, dtype=float)
    if array.shape != shape:
        raise InvalidModel(f"{what} must have shape {shape}, not {array.shape}.", owner)
    if not np.isfinite(array).all():
        raise InvalidModel(f"{what} must be finite, not {array.tolist()}.", owner)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Joint:
    """The motion of a body relative to its parent; "fixed" is for loop joints alone.

    axis: unit vector in the body's frame (hinge, slide)
    lower, upper: rad or m
    armature: reflected rotor inertia, kg m^2 (or kg)
    damping: N m s/rad (or N s/m)
    stiffness: of a spring, N m/rad (or N/m); of a ball along its rotation vector, and alike about
        all axes; a free joint has none
    rest: where the spring of a hinge or slide pulls to, rad or m; a ball's pulls to no rotation
    dry_friction: N m (or N)
    velocity_limit: rad/s (or m/s)
    """

    name: str
    kind: JointKind
    axis: Vector = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    lower: float = -np.inf
    upper: float = np.inf
    armature: float = 0.0
    damping: float = 0.0
    dry_friction: float = 0.0
    velocity_limit: float = np.inf
    stiffness: float = 0.0
    rest: float = 0.0

    def __post_init__(self) -> None:
        axis = np.array(self.axis, dtype=float)
        length = np.linalg.norm(axis)
        if axis.shape != (3,) or not length > 0:
            raise InvalidModel(
                f"joint {self.name!r}: the axis must be a non-zero 3-vector, not {self.axis}.",
                self.name,
            )
        exact = axis if abs(length - 1) < 1e-12 else axis / length
        if self.stiffness and self.kind not in ("hinge", "slide", "ball"):
            raise InvalidModel(
                f"joint {self.name!r}: only hinge, slide and ball joints can have a spring, not a"
                f" {self.kind} joint.",
                self.name,
            )
        axis = frozen_array(exact, (3,), f"joint {self.name!r}: axis", self.name)
        object.__setattr__(self, "axis", axis)

    @property
    def rubs(self) -> bool:
        """Whether it has dry friction; a symbol stands for some."""
        return not (isinstance(self.dry_friction, int | float) and self.dry_friction == 0)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return WIDTHS[self.kind][0]

    @property
    def nu(self) -> int:
        """Number of velocities."""
        return WIDTHS[self.kind][1]
