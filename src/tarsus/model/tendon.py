"""Fixed tendons: linear combinations of joint coordinates on which actuators act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tarsus.errors import InvalidModel


@dataclass(frozen=True)
class Tendon:
    """Tendon whose length L is the sum of c q over joints of the tree, in rad or m.

    A force f along the tendon acts on each joint with c f. All numbers are in N (or N m), N/m
    (N m/rad) and N s/m (N m s/rad) of the length.

    Attributes
    ----------
    name
        Unique among tendons and joints.
    terms
        Names of hinges and slides, with their coefficients c.
    """

    name: str
    terms: tuple[tuple[str, float], ...]


def check_tendons(tendons: tuple[Tendon, ...], kinds: Mapping[str, str]) -> None:
    """Check that tendons combine hinges and slides of the tree with finite coefficients.

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
        if not any(coefficient for _, coefficient in tendon.terms):
            raise InvalidModel(
                f"tendon {tendon.name!r} must have a joint with a coefficient other than zero.",
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
