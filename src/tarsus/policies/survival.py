"""Survival and velocity tracking of a policy, in the same trials in every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tarsus.algebra.intervals import wilson_interval
from tarsus.mujoco_runs.settings import ENGINE, SHOWN, find_settings, row_label
from tarsus.policies.rollout import Rollout
from tarsus.policies.worlds import PolicyEngine


@dataclass(frozen=True)
class Survival:
    """Number of trials without a fall, with Wilson's 95 % interval of their share."""

    stood: int
    trials: int

    @classmethod
    def of(cls, done: Rollout) -> Survival:
        """Count the trials of a rollout."""
        return cls(int(done.survived.sum()), len(done.survived))

    @property
    def share(self) -> float:
        """Share of the trials without a fall, 0 to 1."""
        return self.stood / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        return wilson_interval(self.stood, self.trials)

    def to_dict(self) -> dict[str, Any]:
        """Convert counts, share and interval to JSON values."""
        low, high = self.interval
        return asdict(self) | {"share": self.share, "low": low, "high": high}

    @property
    def cells(self) -> tuple[str, str]:
        """Table cells of count and interval in percent, such as "17 of 20" and "64 to 95"."""
        low, high = self.interval
        return f"{self.stood} of {self.trials}", f"{100 * low:.0f} to {100 * high:.0f}"


@dataclass(frozen=True)
class EngineResult:
    """Survival and tracking in one engine.

    Parameters
    ----------
    engine : str
        Name of the contact law, or "mujoco" with its settings.
    dt : float
        Step size, s.
    survival : Survival or None
        None if the trials could not be run, for the reason in `failure`.
    tracking_error : tuple of float
        Root mean square error of the velocity, median over the trials: forward and left in m/s,
        turning in rad/s.
    first_fall : float
        Time of the first fall in s, infinite without one.
    unconverged : float
        Share of control periods whose last step did not converge.
    failure : str
        Reason why the trials could not be run; empty if they were.
    """

    engine: str
    dt: float
    survival: Survival | None = None
    tracking_error: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    first_fall: float = np.inf
    unconverged: float = 0.0
    failure: str = ""

    @property
    def share(self) -> float:
        """Share of the trials without a fall; 0 if they could not be run."""
        return 0.0 if self.survival is None else self.survival.share

    @classmethod
    def of(cls, engine: str, dt: float, done: Rollout) -> EngineResult:
        """Summarize a rollout."""
        errors, tracking = done.tracking_error(), (np.nan, np.nan, np.nan)
        if np.isfinite(errors).any():
            forward, left, turning = np.nanmedian(errors, axis=0).tolist()
            tracking = forward, left, turning
        first = float(done.fell.min())
        return cls(engine, dt, Survival.of(done), tracking, first, done.unconverged)

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to JSON values."""
        counts = None if self.survival is None else self.survival.to_dict()
        return asdict(self) | {"survival": counts}


def engines_by_name(names: Sequence[str]) -> dict[str, PolicyEngine]:
    """Create engines from names; "mujoco" gives two, with default and with tuned settings."""
    chosen: dict[str, PolicyEngine] = {}
    for name in names:
        if name == ENGINE:
            chosen |= {row_label(kind): PolicyEngine("", find_settings(kind)) for kind in SHOWN}
        else:
            chosen[name] = PolicyEngine(name)
    return chosen
