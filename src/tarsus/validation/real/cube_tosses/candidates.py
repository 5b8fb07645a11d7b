"""Which parameters are tried, and in which ranges: by their roles, so that a new law has them too.

Numbers beside the law's that a rigid cube on a flat board leaves open are `SCENE`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from tarsus.contact.base import Law
from tarsus.parameters import declared

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SearchRange:
    """A range in which a number is tried, evenly or, with `log`, in its logarithm."""

    low: float
    high: float
    log: bool = False

    def at(self, share: Array) -> Array:
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
    "friction": SearchRange(0.08, 0.3),
    "kinetic_friction": SearchRange(0.08, 0.3),
    "kinetic_ratio": SearchRange(0.5, 1.0),
    "restitution_normal": SearchRange(0.0, 0.5),
    "restitution_tangential": SearchRange(0.0, 0.5),
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
SCENE = {
    "height": SearchRange(-0.003, 0.001),  # m: of the board above z = 0
    "tilt_x": SearchRange(-0.01, 0.01),  # rise of the board along x [1]
    "tilt_y": SearchRange(-0.01, 0.01),  # along y
    "back": SearchRange(-0.004, 0.008),  # s: by how much recorded velocities are late
}
MEANINGS = {
    "height": ("m", "height of the board"),
    "tilt_x": ("[1]", "rise of the board along x"),
    "tilt_y": ("[1]", "rise of the board along y"),
    "back": ("s", "age of the recorded velocity in flight"),
}


def ranges(name: str, law: Law) -> dict[str, SearchRange]:
    """The law's own parameters that are tried; those without a range stay as they are."""
    found: dict[str, SearchRange] = {}
    for own, declaration in declared(type(law)).items():
        default = declaration.default
        if not declaration.numeric or (name, own) in NOT_OF or isinstance(default, tuple):
            continue
        if declaration.role in BY_ROLE:
            found[own] = BY_ROLE[declaration.role]
        elif own in BY_NAME:
            found[own] = BY_NAME[own]
        elif declaration.role in TIMES and default:
            low, high = TIMES[declaration.role]
            found[own] = SearchRange(low * default, high * default, log=True)
    return found


def sampled(tried: Mapping[str, SearchRange], count: int, seed: int) -> dict[str, Array]:
    """A scrambled Sobol' sequence (SciPy's) over all ranges: name -> (count,)."""
    with_power = qmc.Sobol(max(len(tried), 1), rng=seed).random_base2(
        int(np.ceil(np.log2(max(count, 1))))
    )
    shares = with_power[:count]
    return {name: own.at(shares[:, k]) for k, (name, own) in enumerate(tried.items())}


def around(
    tried: Mapping[str, SearchRange], best: Sequence[Mapping[str, float]], count: int, seed: int
) -> dict[str, Array]:
    """`count` sets near each of the best, spread by a tenth of each range: name -> (n count,)."""
    random = np.random.default_rng(seed)
    columns: dict[str, list[Array]] = {name: [] for name in tried}
    for center in best:
        for name, own in tried.items():
            spread = own.share(center[name]) + 0.1 * random.standard_normal(count)
            columns[name].append(own.at(np.clip(spread, 0, 1)))
    return {name: np.concatenate(parts) for name, parts in columns.items()}
