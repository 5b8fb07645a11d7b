"""Couplings of joints: gears, tendon-driven fingers, mimic joints of URDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tarsus.errors import InvalidModel


@dataclass(frozen=True)
class JointCoupling:
    """Hinge or slide of the tree whose coordinate y follows another joint's coordinate x.

    y = c_0 + c_1 x + c_2 x^2 + ..., in rad or m.

    Attributes
    ----------
    name
        Unique among couplings.
    joint
        Name of the joint that follows.
    leader
        Name of the joint that it follows, or "" for a constant y = c_0.
    coefficients
        c_0, c_1, ...
    """

    name: str
    joint: str
    leader: str
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers = tuple(float(c) for c in self.coefficients)
        if not numbers or not np.isfinite(numbers).all():
            raise InvalidModel(
                f"coupling {self.name!r}: the coefficients must be one or more finite numbers, not"
                f" {self.coefficients}.",
                self.name,
            )
        if self.joint == self.leader:
            raise InvalidModel(
                f"coupling {self.name!r}: joint {self.joint!r} follows itself.", self.joint
            )
        while len(numbers) > 1 and not numbers[-1]:
            numbers = numbers[:-1]
        object.__setattr__(self, "coefficients", numbers if self.leader else numbers[:1])

    @property
    def linear(self) -> bool:
        """Whether y = c_0 + c_1 x."""
        return len(self.coefficients) <= 2

    def at(self, x: float) -> float:
        """Evaluate y with the leader at x."""
        return float(np.polynomial.Polynomial(self.coefficients)(x))


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
    leaders = {coupling.joint: coupling.leader for coupling in couplings}
    for first in followers:
        chain = [first]
        while (leader := leaders.get(chain[-1], "")) and leader not in chain:
            chain.append(leader)
        if leader == first:
            raise InvalidModel(
                f"joints follow each other in a circle: {' -> '.join((*chain, first))}; remove one"
                " of these couplings.",
                first,
            )
    for coupling in couplings:
        if followers.count(coupling.joint) > 1:
            raise InvalidModel(
                f"joint {coupling.joint!r} follows in two couplings: keep one of them.",
                coupling.joint,
            )
        for name in filter(None, (coupling.joint, coupling.leader)):
            if kinds.get(name) not in ("hinge", "slide"):
                is_one = f"is a {kinds[name]} joint" if name in kinds else "is not in the tree"
                raise InvalidModel(
                    f"coupling {coupling.name!r}: joint {name!r} {is_one}; only hinge and slide"
                    " joints of the tree can be coupled.",
                    name,
                )
