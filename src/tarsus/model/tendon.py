"""Tendons: lengths that depend on the joints, with actuators, springs and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tarsus.errors import InvalidModel

Point = tuple[float, float, float]
End = tuple[int, Point]  # body (-1: the world), and a point in its frame, in m


@dataclass(frozen=True)
class TendonSegment:
    """Straight part of a spatial tendon, which counts `scale` times in its length."""

    start: End
    end: End
    scale: float = 1.0

    @property
    def moves(self) -> bool:
        """Whether its ends are on different bodies, so that its length changes."""
        return self.start[0] != self.end[0]


@dataclass(frozen=True)
class Tendon:
    """Tendon whose length L is the sum of c q over joints of the tree, or of straight segments.

    L is in rad or m. A force f along a fixed tendon acts on each joint with c f; that along a
    spatial one acts on the ends of its segments.

    Attributes
    ----------
    name
        Unique among tendons and joints.
    terms
        Names of hinges and slides, with their coefficients c.
    segments
        Segments of a spatial tendon.
    lower, upper
        Range of the length, in rad or m.
    stiffness
        Stiffness of a spring, in N/m or N m/rad.
    rest
        Shortest and longest length at which the spring is relaxed, in rad or m.
    damping
        Damping coefficient, in N s/m or N m s/rad.
    dry_friction
        Largest force of dry friction, in N or N m.
    """

    name: str
    terms: tuple[tuple[str, float], ...] = ()
    segments: tuple[TendonSegment, ...] = ()
    lower: float = -np.inf
    upper: float = np.inf
    stiffness: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    damping: float = 0.0
    dry_friction: float = 0.0

    @property
    def is_passive(self) -> bool:
        """Whether it has limits, a spring, damping or dry friction."""
        limited = np.isfinite([self.lower, self.upper]).any()
        return bool(limited or self.stiffness or self.damping or self.dry_friction)

    def move_ends(self, move: Callable[[int, Point], End]) -> Tendon:
        """Replace the ends of all segments, each a body and a point in its frame."""
        segments = (
            replace(segment, start=move(*segment.start), end=move(*segment.end))
            for segment in self.segments
        )
        return replace(self, segments=tuple(segments))


def as_point(coordinates: Iterable[float]) -> Point:
    """Convert three coordinates, in m, to a point of plain numbers."""
    x, y, z = (float(coordinate) for coordinate in coordinates)
    return x, y, z


def check_tendons(tendons: tuple[Tendon, ...], kinds: Mapping[str, str]) -> None:
    """Check that tendons combine hinges and slides of the tree, with possible numbers.

    Parameters
    ----------
    tendons
        The tendons of a mechanism.
    kinds
        Kinds of the joints in the tree, by name.

    Raises
    ------
    InvalidModel
        If a tendon is invalid.
    """
    for tendon in tendons:
        moves = any(segment.moves for segment in tendon.segments)
        if not moves and not any(coefficient for _, coefficient in tendon.terms):
            raise InvalidModel(
                f"tendon {tendon.name!r} must have a joint with a coefficient other than zero, or a"
                " segment between two bodies.",
                tendon.name,
            )
        for segment in tendon.segments:
            numbers = (*segment.start[1], *segment.end[1], segment.scale)
            known = all(-1 <= end[0] < len(kinds) for end in (segment.start, segment.end))
            if not known or not np.isfinite(numbers).all():
                raise InvalidModel(
                    f"tendon {tendon.name!r}: a segment needs bodies of the mechanism and finite"
                    f" numbers, not {segment}.",
                    tendon.name,
                )
        for joint, coefficient in tendon.terms:
            if kinds.get(joint) not in ("hinge", "slide"):
                is_one = f"is a {kinds[joint]} joint" if joint in kinds else "is not in the tree"
                raise InvalidModel(
                    f"tendon {tendon.name!r}: joint {joint!r} {is_one}; only hinge and slide"
                    " joints of the tree can be parts of a tendon.",
                    joint,
                )
            if not np.isfinite(coefficient):
                raise InvalidModel(
                    f"tendon {tendon.name!r}: the coefficient of {joint!r} must be finite, not"
                    f" {coefficient}.",
                    tendon.name,
                )
        for what, value in (
            ("stiffness", tendon.stiffness),
            ("damping", tendon.damping),
            ("dry friction", tendon.dry_friction),
        ):
            if not 0 <= value < np.inf:
                raise InvalidModel(
                    f"tendon {tendon.name!r}: the {what} must be finite and >= 0, not {value}.",
                    tendon.name,
                )
        if not tendon.lower <= tendon.upper:
            raise InvalidModel(
                f"tendon {tendon.name!r}: the lower limit {tendon.lower} is above the upper limit"
                f" {tendon.upper}.",
                tendon.name,
            )
        if not (np.isfinite(tendon.rest).all() and tendon.rest[0] <= tendon.rest[1]):
            raise InvalidModel(
                f"tendon {tendon.name!r}: the relaxed lengths must be finite, the shortest first,"
                f" not {tendon.rest}.",
                tendon.name,
            )
