"""Parameters that are identified for the cube, with their ranges, and candidates for them.

`SCENE` holds parameters of the cube, the board and the tracking, in addition to those of the law.
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
    "height": SearchRange(-0.003, 0.001),  # m, of the board above z = 0
    "tilt_x": SearchRange(-0.01, 0.01),  # slope of the board along x [1]
    "tilt_y": SearchRange(-0.01, 0.01),  # slope along y [1]
    "back": SearchRange(-0.004, 0.008),  # s, lag of recorded velocities
}
MEANINGS = {
    "height": ("m", "height of the board"),
    "tilt_x": ("[1]", "slope of the board along x"),
    "tilt_y": ("[1]", "slope of the board along y"),
    "back": ("s", "lag of the recorded velocity in flight"),
}


def ranges(name: str, law: Law) -> dict[str, SearchRange]:
    """Choose the search ranges of a law's parameters; parameters without a range stay fixed."""
    return default_ranges(name, law, BY_ROLE)


def draw_candidates(tried: Mapping[str, SearchRange], count: int, seed: int) -> dict[str, Array]:
    """Draw candidates over all ranges by a scrambled Sobol' sequence: name -> (count,)."""
    power_of_two = qmc.Sobol(max(len(tried), 1), rng=seed).random_base2(
        int(np.ceil(np.log2(max(count, 1))))
    )
    fractions = power_of_two[:count]
    return {name: range_.at(fractions[:, k]) for k, (name, range_) in enumerate(tried.items())}


def draw_candidates_around(
    tried: Mapping[str, SearchRange], best: Sequence[Mapping[str, float]], count: int, seed: int
) -> dict[str, Array]:
    """Draw `count` candidates near each of the best, with a spread of a tenth of each range."""
    random = np.random.default_rng(seed)
    columns: dict[str, list[Array]] = {name: [] for name in tried}
    for center in best:
        for name, range_ in tried.items():
            fractions = range_.share(center[name]) + 0.1 * random.standard_normal(count)
            columns[name].append(range_.at(np.clip(fractions, 0, 1)))
    return {name: np.concatenate(parts) for name, parts in columns.items()}
