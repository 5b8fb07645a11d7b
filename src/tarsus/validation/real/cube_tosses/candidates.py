"""Which parameters are tried on a cube, and in which ranges (`tarsus.identification.ranges`).

Numbers beside the law's that a rigid cube on a flat board leaves open are `SCENE`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from tarsus.contact.base import Law
from tarsus.identification.ranges import SearchRange, default_ranges

Array = NDArray[np.float64]


BY_ROLE = {
    "friction": SearchRange(0.08, 0.3),
    "kinetic_friction": SearchRange(0.08, 0.3),
    "kinetic_ratio": SearchRange(0.5, 1.0),
    "restitution_normal": SearchRange(0.0, 0.5),
    "restitution_tangential": SearchRange(0.0, 0.5),
}
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
    return default_ranges(name, law, BY_ROLE)


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
