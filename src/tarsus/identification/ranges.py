"""In which ranges the parameters of a law are searched: by role, so that a new law has them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.contact.base import Law
from tarsus.parameters import declared


@dataclass(frozen=True)
class SearchRange:
    """A range in which a number is tried, evenly or, with `log`, in its logarithm."""

    low: float
    high: float
    log: bool = False

    def at(self, share: Any) -> Any:
        """Values at shares of the range, 0 to 1."""
        if self.log:
            return self.low * (self.high / self.low) ** share
        return self.low + (self.high - self.low) * share

    def share(self, value: float) -> float:
        """Where a value lies in the range, 0 to 1."""
        if self.log:
            return float(np.log(value / self.low) / np.log(self.high / self.low))
        return (value - self.low) / (self.high - self.low)


BY_ROLE = {
    "friction": SearchRange(0.05, 1.5),
    "restitution_normal": SearchRange(0.0, 0.8),
}
TIMES = {"stiffness": (0.1, 10.0), "damping": (0.05, 4.0)}  # of the default
BY_NAME = {  # without a role
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
NOT_OF = {("moreau", "alpha"), ("two_frictions", "alpha")}  # relaxation of two solvers


def usual(
    name: str, law: Law, by_role: Mapping[str, SearchRange] = BY_ROLE
) -> dict[str, SearchRange]:
    """The law's own parameters that are searched, by name; those without a range stay as they are.

    name: of the law; by_role: ranges by the parameters' roles
    """
    found: dict[str, SearchRange] = {}
    for own, declaration in declared(type(law)).items():
        default = declaration.default
        if not declaration.numeric or (name, own) in NOT_OF or isinstance(default, tuple):
            continue
        if declaration.role in by_role:
            found[own] = by_role[declaration.role]
        elif declaration.role in TIMES and default:
            low, high = TIMES[declaration.role]
            found[own] = SearchRange(low * default, high * default, log=True)
        elif own in BY_NAME:
            found[own] = BY_NAME[own]
    return found
