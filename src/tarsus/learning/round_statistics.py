"""Statistics of a training round, collected period by period."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment, Transition

AVERAGING_TIME = 0.5  # s over which errors are averaged


class RoundStatistics:
    """Rewards, falls and measures of the rounds of an environment.

    Sums stay on the environment's device until `fields`, so that no period waits for a GPU.

    Attributes
    ----------
    measured
        Measures of the periods of the last half second, shape (window, measures, worlds).
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        window = max(1, round(AVERAGING_TIME * environment.task.rate))
        shape = window, len(environment.measures), environment.worlds
        self.measured = environment.backend.arrays.zeros(shape, "f4")
        self.index = 0
        self.start_round()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copy the arrays that persist between rounds."""
        measured = self.environment.backend.to_host(self.measured)
        return {"measured": measured.copy(), "index": np.array([self.index])}

    def set_arrays(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays that `arrays` returned."""
        self.measured[...] = self.environment.backend.arrays.asarray(values["measured"])
        self.index = int(values["index"][0])

    def start_round(self) -> None:
        """Reset the statistics that are collected per round."""
        zeros = self.environment.backend.arrays.zeros
        self.periods = 0
        self.reward, self.falls, self.diverged, self.unconverged = (zeros(()) for _ in range(4))
        self.terms = zeros(len(self.environment.rewards))

    def add(self, out: Transition) -> None:
        """Add the results of a control period."""
        self.periods += len(out.reward)
        self.reward += out.reward.sum()
        self.terms += out.terms.sum(0)
        self.falls += out.terminated.sum()
        self.diverged += out.diverged.sum()
        self.unconverged += out.unconverged.sum()
        self.measured[self.index % len(self.measured)] = out.measures.T
        self.index += 1

    def fields(self) -> dict[str, Any]:
        """Compute the fields of `Round` that are collected here."""
        seconds, host = self.periods / self.environment.task.rate, self.environment.backend.to_host
        errors = host(abs(self.measured.mean(0)).mean(1))
        terms = host(self.terms) / seconds
        level = None
        if self.environment.task.has_levels:
            level = float(self.environment.backend.get("level").mean())
        return {
            "reward": float(host(self.reward)) / seconds,
            "falls": int(host(self.falls)) / seconds,
            "terms": dict(zip(self.environment.rewards, terms, strict=True)),
            "errors": dict(zip(self.environment.measures, errors.tolist(), strict=True)),
            "diverged": int(host(self.diverged)),
            "unconverged": int(host(self.unconverged)),
            "level": level,
        }
