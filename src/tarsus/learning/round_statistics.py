"""Statistics of a training round, collected period by period."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment, Transition

AVERAGING_TIME = 0.5  # s over which errors are averaged


class RoundStatistics:
    """Rewards, falls and measures of the rounds of an environment.

    Attributes
    ----------
    measured
        Measures of the periods of the last half second, shape (window, measures, worlds).
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        window = max(1, round(AVERAGING_TIME * environment.task.rate))
        self.measured = np.zeros((window, len(environment.measures), environment.worlds), "f4")
        self.index = np.zeros(1, int)
        self.start_round()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return views of the arrays that persist between rounds."""
        return {"measured": self.measured, "index": self.index}

    def start_round(self) -> None:
        """Reset the statistics that are collected per round."""
        self.periods = self.falls = self.diverged = self.unconverged = 0
        self.reward, self.terms = 0.0, np.zeros(len(self.environment.rewards))

    def add(self, out: Transition) -> None:
        """Add the results of a control period."""
        self.periods += len(out.reward)
        self.reward += float(out.reward.sum())
        self.terms += out.terms.sum(0)
        self.falls += int(out.terminated.sum())
        self.diverged += int(out.diverged.sum())
        self.unconverged += int(out.unconverged.sum())
        self.measured[self.index[0] % len(self.measured)] = out.measures.T
        self.index += 1

    def fields(self) -> dict[str, Any]:
        """Compute the fields of `Round` that are collected here."""
        seconds = self.periods / self.environment.task.rate
        errors = np.abs(self.measured.mean(0)).mean(1)
        level = None
        if self.environment.task.has_levels:
            level = float(self.environment.backend.get("level").mean())
        return {
            "reward": self.reward / seconds,
            "falls": self.falls / seconds,
            "terms": dict(zip(self.environment.rewards, self.terms / seconds, strict=True)),
            "errors": dict(zip(self.environment.measures, errors.tolist(), strict=True)),
            "diverged": self.diverged,
            "unconverged": self.unconverged,
            "level": level,
        }
