"""Default search ranges of a law's parameters, by role, so that new laws have them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.contact.base import Law
from tarsus.parameters import declared_fields


@dataclass(frozen=True)
class SearchRange:
    """Range of a number, searched linearly or, with `log`, logarithmically."""

    low: float
    high: float
    log: bool = False

    def at(self, share: Any) -> Any:
        """Compute the values at fractions of the range, 0 to 1."""
        if self.log:
            return self.low * (self.high / self.low) ** share
        return self.low + (self.high - self.low) * share

    def share(self, value: float) -> float:
        """Compute the fraction of the range at which a value lies, 0 to 1."""
        if self.log:
            return float(np.log(value / self.low) / np.log(self.high / self.low))
        return (value - self.low) / (self.high - self.low)


BY_ROLE = {
    "friction": SearchRange(0.05, 1.5),
    "restitution_normal": SearchRange(0.0, 0.8),
}
RELATIVE_TO_DEFAULT = {"stiffness": (0.1, 10.0), "damping": (0.05, 4.0)}
BY_NAME = {  # parameters without a role
    "v_0": SearchRange(0.01, 1.0, log=True),
    "timeconst": SearchRange(0.004, 0.06, log=True),
    "dampratio": SearchRange(0.2, 2.0, log=True),
    "impratio": SearchRange(0.3, 30.0, log=True),
    "k_p": SearchRange(50.0, 50000.0, log=True),
    "k_v": SearchRange(20.0, 500.0, log=True),
    "alpha": SearchRange(0.05, 3.0, log=True),
    "v_s": SearchRange(0.01, 0.5, log=True),
    "eps": SearchRange(0.001, 0.1, log=True),
    "k": SearchRange(1000.0, 50000.0, log=True),
    "c": SearchRange(5.0, 200.0, log=True),
}
EXCLUDED = {("moreau", "alpha"), ("two_frictions", "alpha")}  # relaxation of solvers


def default_ranges(
    name: str, law: Law, by_role: Mapping[str, SearchRange] = BY_ROLE
) -> dict[str, SearchRange]:
    """Choose the search ranges of a law's own parameters, by name; others stay constant.

    Parameters
    ----------
    name
        Name of the law.
    law
        The law.
    by_role
        Ranges by the roles of parameters.
    """
    ranges: dict[str, SearchRange] = {}
    for parameter, declaration in declared_fields(type(law)).items():
        default = declaration.default
        if (
            not declaration.is_numeric
            or (name, parameter) in EXCLUDED
            or isinstance(default, tuple)
        ):
            continue
        if declaration.role in by_role:
            ranges[parameter] = by_role[declaration.role]
        elif declaration.role in RELATIVE_TO_DEFAULT and default:
            low, high = RELATIVE_TO_DEFAULT[declaration.role]
            ranges[parameter] = SearchRange(low * default, high * default, log=True)
        elif parameter in BY_NAME:
            ranges[parameter] = BY_NAME[parameter]
    return ranges
