"""Free objects in a robot's world: solid and of uniform density."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import pi

import numpy as np

from tarsus.errors import InvalidValue
from tarsus.model.candidates import Shape, ShapeKind
from tarsus.model.joint import Joint
from tarsus.model.mechanism import WORLD, Inertia, Mechanism
from tarsus.model.parts import Part, Report, weld

DENSITY = 500.0  # kg/m³, of wood: the default


@dataclass(frozen=True)
class FreeObject(ABC):
    """Free body.

    Attributes
    ----------
    mass
        In kg; by default that of wood.
    name
        Name of the object; by default its class in lower case.
    friction
        Factor on the law's friction coefficients.
    """

    mass: float | None = None
    name: str = ""
    friction: float = 1.0

    @abstractmethod
    def shape(self) -> tuple[ShapeKind, tuple[float, ...]]:
        """Return the kind and size of its `Shape`, in m."""

    @abstractmethod
    def volume(self) -> float:
        """Return the volume, in m³."""

    @abstractmethod
    def moments(self) -> tuple[float, float, float]:
        """Return the moments of inertia about its center over its mass, in m²."""

    def mechanism(self) -> Mechanism:
        """Convert the object to a mechanism of one body on a free joint.

        Raises
        ------
        InvalidValue
            If a number is not positive.
        """
        name = self._check_fields()
        kind, size = self.shape()
        mass = DENSITY * self.volume() if self.mass is None else self.mass
        inertia = Inertia(mass, np.zeros(3), mass * np.diag(self.moments()))
        shapes = (Shape(kind, size, name=name, friction=self.friction),)
        part = Part(name, WORLD, joint=Joint(name, "free"), inertia=inertia, shapes=shapes)
        welded = weld([part], Report(name))
        return Mechanism(
            name, welded.bodies, welded.candidates, solids=welded.solids, edges=welded.edges
        )

    def _check_fields(self) -> str:
        """Check all fields, and return the name."""
        if not isinstance(self.name, str):
            raise InvalidValue(
                f"the name of a {type(self).__name__} must be text, not {self.name!r}.", "name"
            )
        name = self.name or type(self).__name__.lower()
        for key in (field.name for field in fields(self) if field.name != "name"):
            given, shape = getattr(self, key), np.shape(getattr(type(self), key))
            if key == "mass" and given is None:
                continue
            try:
                value = np.asarray(given, dtype=float)
            except (TypeError, ValueError):
                value = np.array(np.nan)
            in_range = value >= 0 if key == "friction" else value > 0
            if value.shape != shape or not (in_range & np.isfinite(value)).all():
                required = "three positive numbers" if shape else "a positive number"
                required = "a number that is not negative" if key == "friction" else required
                raise InvalidValue(f"{name}: the {key} must be {required}, not {given!r}.", key)
        return name


@dataclass(frozen=True)
class Ball(FreeObject):
    """Ball with a radius, in m."""

    radius: float = 0.1

    def shape(self) -> tuple[ShapeKind, tuple[float, ...]]:
        return "sphere", (self.radius,)

    def volume(self) -> float:
        return 4 / 3 * pi * self.radius**3

    def moments(self) -> tuple[float, float, float]:
        moment = 0.4 * self.radius**2
        return moment, moment, moment


@dataclass(frozen=True)
class Box(FreeObject):
    """Box with edges, shape (3,), in m."""

    edges: tuple[float, float, float] = (0.2, 0.2, 0.2)

    def shape(self) -> tuple[ShapeKind, tuple[float, ...]]:
        return "box", tuple(0.5 * float(edge) for edge in self.edges)

    def volume(self) -> float:
        return float(np.prod(self.edges))

    def moments(self) -> tuple[float, float, float]:
        x, y, z = (edge**2 / 12 for edge in self.edges)
        return y + z, z + x, x + y


@dataclass(frozen=True)
class Cylinder(FreeObject):
    """Cylinder that stands on its end, with a radius and a length, in m."""

    radius: float = 0.1
    length: float = 0.2

    def shape(self) -> tuple[ShapeKind, tuple[float, ...]]:
        return "cylinder", (self.radius, 0.5 * self.length)

    def volume(self) -> float:
        return pi * self.radius**2 * self.length

    def moments(self) -> tuple[float, float, float]:
        across = self.radius**2 / 4 + self.length**2 / 12
        return across, across, self.radius**2 / 2
