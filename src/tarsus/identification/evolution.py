"""CMA-ES (Hansen 2016) over the ranges of the unknowns, for costs with several minima.

It needs the extra `identify`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.model.files import import_library

Array = NDArray[np.float64]
INITIAL_DEVIATION = 0.25  # in units of the ranges
MIN_POPULATION = 8
MAX_GENERATIONS = 40
TOLERANCE = 1e-4  # in units of the ranges


def minimize(costs: Callable[[Array], Array], first: Array, seed: int, candidates: int) -> Array:
    """Find the best shares, shape (p,), by CMA-ES from `first`.

    Parameters
    ----------
    costs
        Function from candidates, shape (c, p), to their costs, all at once.
    first
        Initial shares, shape (p,).
    seed
        Seed of the random numbers.
    candidates
        Candidates per generation.
    """
    cma: Any = import_library("cma", "CMA-ES", "identify")
    if len(first) < 2:  # CMA-ES needs two dimensions
        line = np.linspace(0, 1, max(candidates, 2))[:, None]
        return line[int(np.argmin(costs(line)))]
    population = max(candidates, MIN_POPULATION)
    settings = {
        "bounds": [0, 1],
        "popsize": population,
        "seed": seed + 1,  # 0 would take the clock
        "maxiter": MAX_GENERATIONS,
        "tolx": TOLERANCE,
        "verbose": -9,
    }
    # it draws from NumPy's global generator, which is restored afterwards
    state = np.random.get_state()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = cma.CMAEvolutionStrategy(np.clip(first, 0.01, 0.99), INITIAL_DEVIATION, settings)
        while not search.stop():
            samples = search.ask()
            search.tell(samples, [float(cost) for cost in costs(np.array(samples))])
    np.random.set_state(state)  # noqa: NPY002
    return np.clip(np.asarray(search.result.xbest, float), 0, 1)
