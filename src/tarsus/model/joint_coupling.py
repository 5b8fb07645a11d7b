"""Couplings of joints: gears, tendon-driven fingers, mimic joints of URDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tarsus.errors import InvalidModel

T = TypeVar("T", int, str)


@dataclass(frozen=True)
class Leader:
    """Joint whose coordinate x contributes P(x) = c_1 x + c_2 x^2 + ... to another joint's.

    Attributes
    ----------
    joint
        Name of the joint.
    coefficients
        c_1, c_2, ...
    """

    joint: str
    coefficients: tuple[float, ...]

    def at(self, x: float) -> float:
        """Evaluate P with the joint at x."""
        return float(np.polynomial.Polynomial((0.0, *self.coefficients))(x))


@dataclass(frozen=True)
class JointCoupling:
    """Hinge or slide of the tree whose coordinate y follows the coordinates of other joints.

    y = c_0 + P_1(x_1) + P_2(x_2) + ..., in rad or m.

    Attributes
    ----------
    name
        Unique among couplings.
    joint
        Name of the joint that follows.
    constant
        c_0; the coordinate of a joint without leaders.
    leaders
        Joints that it follows, with their polynomials.
    """

    name: str
    joint: str
    constant: float = 0.0
    leaders: tuple[Leader, ...] = ()

    def __post_init__(self) -> None:
        leaders = []
        for leader in self.leaders:
            numbers = tuple(float(c) for c in leader.coefficients)
            while numbers and not numbers[-1]:
                numbers = numbers[:-1]
            leaders.append(Leader(leader.joint, numbers))
        values = [self.constant, *(c for leader in leaders for c in leader.coefficients)]
        if not np.isfinite(values).all():
            raise InvalidModel(
                f"coupling {self.name!r}: the coefficients must be finite, not {values}.",
                self.name,
            )
        if self.joint in self.leader_names:
            raise InvalidModel(
                f"coupling {self.name!r}: joint {self.joint!r} cannot follow itself.", self.joint
            )
        object.__setattr__(self, "leaders", tuple(leaders))

    @property
    def linear(self) -> bool:
        """Whether y is a linear function of the leaders' coordinates."""
        return all(len(leader.coefficients) <= 1 for leader in self.leaders)

    @property
    def leader_names(self) -> list[str]:
        """Names of the leaders."""
        return [leader.joint for leader in self.leaders]


def check_couplings(couplings: tuple[JointCoupling, ...], kinds: Mapping[str, str]) -> None:
    """Check that couplings join hinges and slides of the tree, and form no cycle.

    Parameters
    ----------
    couplings
        The couplings of a mechanism.
    kinds
        Kinds of the joints in the tree, by name.

    Raises
    ------
    InvalidModel
        If a coupling is invalid.
    """
    followers = [coupling.joint for coupling in couplings]
    leaders = {coupling.joint: coupling.leader_names for coupling in couplings}
    for first in followers:
        if chain := find_cycle(leaders, first):
            raise InvalidModel(
                f"joints follow each other in a circle: {' -> '.join(chain)}; remove one of these"
                " couplings.",
                first,
            )
    for coupling in couplings:
        if followers.count(coupling.joint) > 1:
            raise InvalidModel(
                f"joint {coupling.joint!r} is the follower in two couplings: keep one of them.",
                coupling.joint,
            )
        for name in (coupling.joint, *coupling.leader_names):
            if kinds.get(name) not in ("hinge", "slide"):
                is_one = f"is a {kinds[name]} joint" if name in kinds else "is not in the tree"
                raise InvalidModel(
                    f"coupling {coupling.name!r}: joint {name!r} {is_one}; only hinge and slide"
                    " joints of the tree can be coupled.",
                    name,
                )


def find_cycle(leaders: Mapping[T, Sequence[T]], first: T) -> list[T]:
    """Find a cycle of joints that follow each other; return an empty list if there is none.

    Parameters
    ----------
    leaders
        Leaders of each joint that follows others.
    first
        Joint at which the cycle starts and ends.
    """
    paths, seen = [[first]], set[T]()
    while paths:
        path = paths.pop()
        for leader in leaders.get(path[-1], ()):
            if leader == first:
                return [*path, leader]
            if leader not in seen:
                seen.add(leader)
                paths.append([*path, leader])
    return []
