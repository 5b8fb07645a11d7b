"""What became of the periods of a round, counted as they pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment, Transition

AVERAGED = 0.5  # s over which a speed is averaged


class Tally:
    """Rewards, falls and what the task measures, of the rounds of an environment.

    measured (window, measures, worlds): errors of the last half second's periods
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        window = max(1, round(AVERAGED * environment.task.rate))
        self.measured = np.zeros((window, len(environment.measures), environment.worlds), "f4")
        self.at = np.zeros(1, int)
        self.begin()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What outlasts a round, in place."""
        return {"measured": self.measured, "at": self.at}

    def begin(self) -> None:
        """A round begins."""
        self.periods = self.falls = self.diverged = self.unconverged = 0
        self.paid, self.terms = 0.0, np.zeros(len(self.environment.rewards))

    def count(self, out: Transition) -> None:
        """A period has passed."""
        self.periods += len(out.reward)
        self.paid += float(out.reward.sum())
        self.terms += out.terms.sum(0)
        self.falls += int(out.terminated.sum())
        self.diverged += int(out.diverged.sum())
        self.unconverged += int(out.unconverged.sum())
        self.measured[self.at[0] % len(self.measured)] = out.measures.T
        self.at += 1

    def figures(self) -> dict[str, Any]:
        """Those of `Round` that are counted here."""
        seconds = self.periods / self.environment.task.rate
        missed = np.abs(self.measured.mean(0)).mean(1)
        level = None
        if self.environment.task.graded:
            level = float(self.environment.backend.get("level").mean())
        return {
            "paid": self.paid / seconds,
            "falls": self.falls / seconds,
            "terms": dict(zip(self.environment.rewards, self.terms / seconds, strict=True)),
            "missed": dict(zip(self.environment.measures, missed.tolist(), strict=True)),
            "diverged": self.diverged,
            "unconverged": self.unconverged,
            "level": level,
        }
