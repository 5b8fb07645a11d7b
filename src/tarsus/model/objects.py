"""Objects that stand beside a robot: solid, of even density, free to move."""

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

DENSITY = 500.0  # kg/m^3, of wood: where no mass is given


@dataclass(frozen=True)
class Thing(ABC):
    """A free body; mass: kg, None: that of wood; friction: factor on the law's friction [1]."""

    mass: float | None = None
    name: str = ""
    friction: float = 1.0

    @abstractmethod
    def shape(self) -> tuple[ShapeKind, tuple[float, ...]]:
        """Kind and sizes of its `Shape`, m."""

    @abstractmethod
    def volume(self) -> float:
        """m^3."""

    @abstractmethod
    def moments(self) -> tuple[float, float, float]:
        """Of inertia about its middle over its mass, m^2."""

    def mechanism(self) -> Mechanism:
        """It as a mechanism of one body on a free joint; TarsusError, naming it, for a number that
        is not positive.
        """
        name = self._checked()
        kind, size = self.shape()
        mass = DENSITY * self.volume() if self.mass is None else self.mass
        inertia = Inertia(mass, np.zeros(3), mass * np.diag(self.moments()))
        shapes = (Shape(kind, size, name=name, friction=self.friction),)
        part = Part(name, WORLD, joint=Joint(name, "free"), inertia=inertia, shapes=shapes)
        welded = weld([part], Report(name))
        touching, straight = welded.candidates, welded.edges
        return Mechanism(name, welded.bodies, touching, solids=welded.solids, edges=straight)

    def _checked(self) -> str:
        """Its name; TarsusError for a number that is none, or not positive."""
        if not isinstance(self.name, str):
            raise InvalidValue(
                f"the name of a {type(self).__name__} must be text, not {self.name!r}.", "name"
            )
        name = self.name or type(self).__name__.lower()
        for what in (field.name for field in fields(self) if field.name != "name"):
            given, size = getattr(self, what), np.shape(getattr(type(self), what))
            if what == "mass" and given is None:
                continue
            try:
                value = np.asarray(given, dtype=float)
            except (TypeError, ValueError):
                value = np.array(np.nan)
            low = value >= 0 if what == "friction" else value > 0
            if value.shape != size or not (low & np.isfinite(value)).all():
                wanted = "three positive numbers" if size else "a positive number"
                wanted = "a number that is not negative" if what == "friction" else wanted
                raise InvalidValue(f"{name}: the {what} must be {wanted}, not {given!r}.", what)
        return name


@dataclass(frozen=True)
class Ball(Thing):
    """A ball of a radius, m."""

    radius: float = 0.1

    def shape(self) -> tuple[ShapeKind, tuple[float, ...]]:
        return "sphere", (self.radius,)

    def volume(self) -> float:
        return 4 / 3 * pi * self.radius**3

    def moments(self) -> tuple[float, float, float]:
        own = 0.4 * self.radius**2
        return own, own, own


@dataclass(frozen=True)
class Box(Thing):
    """A box with edges (3,), m."""

    edges: tuple[float, float, float] = (0.2, 0.2, 0.2)

    def shape(self) -> tuple[ShapeKind, tuple[float, ...]]:
        return "box", tuple(0.5 * float(edge) for edge in self.edges)

    def volume(self) -> float:
        return float(np.prod(self.edges))

    def moments(self) -> tuple[float, float, float]:
        x, y, z = (edge**2 / 12 for edge in self.edges)
        return y + z, z + x, x + y


@dataclass(frozen=True)
class Cylinder(Thing):
    """A cylinder that stands on its end: radius and length, m."""

    radius: float = 0.1
    length: float = 0.2

    def shape(self) -> tuple[ShapeKind, tuple[float, ...]]:
        return "cylinder", (self.radius, 0.5 * self.length)

    def volume(self) -> float:
        return pi * self.radius**2 * self.length

    def moments(self) -> tuple[float, float, float]:
        across = self.radius**2 / 4 + self.length**2 / 12
        return across, across, self.radius**2 / 2
