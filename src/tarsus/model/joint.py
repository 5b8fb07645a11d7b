"""A joint as data: kind, axis, range, and what resists its motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidModel
from tarsus.model.friction import FrictionVariation

JointKind = Literal["free", "ball", "hinge", "slide", "fixed"]
WIDTHS: dict[str, tuple[int, int]] = {
    "free": (7, 6),
    "ball": (4, 3),
    "hinge": (1, 1),
    "slide": (1, 1),
    "fixed": (0, 0),
}

Vector = NDArray[np.float64]  # any array-like is accepted and frozen


def freeze_array(
    value: ArrayLike, shape: tuple[int, ...], what: str, owner: str
) -> NDArray[np.float64]:
    """Copy `value` to a read-only float array.

    Parameters
    ----------
    value
        Numbers of the required shape.
    shape
        Required shape.
    what
        Name of the value in error messages.
    owner
        Name of the element that has the value: the subject of errors.

    Raises
    ------
    InvalidModel
        If the copy is not finite or has another shape.
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
    """Motion of a body relative to its parent; only loop joints may be "fixed".

    Attributes
    ----------
    name
        Unique among joints.
    kind
        "free", "ball", "hinge", "slide" or "fixed".
    axis
        Unit vector, shape (3,), in the body's frame, of a hinge or slide.
    lower, upper
        Range, in rad or m. A ball joint may turn by the angle `upper` about any axis.
    armature
        Reflected rotor inertia, in kg m² (or kg).
    damping
        Damping coefficient, in N m s/rad (or N s/m).
    dry_friction
        Largest torque of dry friction, in N m (or N).
    velocity_limit
        Largest speed, in rad/s (or m/s).
    stiffness
        Stiffness of a spring, in N m/rad (or N/m). The spring of a ball joint acts along the
        rotation vector, equally about all axes; a free joint has none.
    rest
        Coordinate at which the spring of a hinge or slide is relaxed, in rad or m; that of a ball
        joint is relaxed without rotation.
    friction
        How dry friction varies with angle, rate and load; None: it is constant.
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
    friction: FrictionVariation | None = None

    def __post_init__(self) -> None:
        axis = np.array(self.axis, dtype=float)
        length = np.linalg.norm(axis)
        if axis.shape != (3,) or not length > 0:
            raise InvalidModel(
                f"joint {self.name!r}: the axis must be a non-zero 3-vector, not {self.axis}.",
                self.name,
            )
        exact = axis if abs(length - 1) < 1e-12 else axis / length
        if self.has_spring and self.kind not in ("hinge", "slide", "ball"):
            raise InvalidModel(
                f"joint {self.name!r}: only hinge, slide and ball joints can have a spring, not a"
                f" {self.kind} joint.",
                self.name,
            )
        axis = freeze_array(exact, (3,), f"joint {self.name!r}: axis", self.name)
        object.__setattr__(self, "axis", axis)

    @property
    def has_dry_friction(self) -> bool:
        """Whether the joint has dry friction, or a symbol for it."""
        constant = isinstance(self.dry_friction, int | float) and self.dry_friction == 0
        return not constant or self.friction is not None

    @property
    def has_spring(self) -> bool:
        """Whether the joint has a spring, or a symbol for its stiffness."""
        return not (isinstance(self.stiffness, int | float) and self.stiffness == 0)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return WIDTHS[self.kind][0]

    @property
    def nu(self) -> int:
        """Number of velocities."""
        return WIDTHS[self.kind][1]
