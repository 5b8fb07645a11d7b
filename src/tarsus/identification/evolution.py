"""CMA-ES (Hansen 2016) over the ranges of the unknowns: for costs with several valleys.

Needs the extra `identify`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.model.files import needed_library

Array = NDArray[np.float64]
WIDE = 0.25  # of the ranges: deviation at the start
LEAST = 8  # candidates of a generation
GENERATIONS = 40
NARROW = 1e-4  # of the ranges: where it ends


def best(costs: Callable[[Array], Array], first: Array, seed: int, candidates: int) -> Array:
    """The best shares (p,) that it finds, beginning at `first`, in at most 40 generations.

    costs: of candidates (c, p), all at once; candidates: of a generation
    """
    cma: Any = needed_library("cma", "CMA-ES", "identify")
    if len(first) < 2:  # it wants two dimensions
        line = np.linspace(0, 1, max(candidates, 2))[:, None]
        return line[int(np.argmin(costs(line)))]
    population = max(candidates, LEAST)
    settings = {
        "bounds": [0, 1],
        "popsize": population,
        "seed": seed + 1,  # 0 stands for the clock
        "maxiter": GENERATIONS,
        "tolx": NARROW,
        "verbose": -9,
    }
    # it draws from NumPy's global generator, which is put back
    before = np.random.get_state()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = cma.CMAEvolutionStrategy(np.clip(first, 0.01, 0.99), WIDE, settings)
        while not search.stop():
            asked = search.ask()
            search.tell(asked, [float(cost) for cost in costs(np.array(asked))])
    np.random.set_state(before)  # noqa: NPY002
    return np.clip(np.asarray(search.result.xbest, float), 0, 1)
