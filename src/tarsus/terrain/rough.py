"""Smooth random ground without an end: the same seed gives the same ground."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.errors import InvalidValue
from tarsus.parameters import parameter
from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain


@dataclass(frozen=True)
class Rough(Terrain):
    """A sum of plane waves with seeded headings and phases; a wave is as high as it is long."""

    seed: int | NDArray = parameter(0, "[1]", "seed of the random ground", "[0, inf)")
    amplitude: float | NDArray = parameter(0.02, "m", "bound on heights above and below zero")
    shortest: float = parameter(0.25, "m", "shortest wavelength", "(0, inf)")
    longest: float = parameter(1.5, "m", "longest wavelength", "(0, inf)")
    waves: int = parameter(
        8, "[1]", "number of waves, from the longest to the shortest", "[1, inf)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shortest > self.longest:
            raise InvalidValue(
                f"Rough: shortest ({self.shortest:g} m) must not exceed longest"
                f" ({self.longest:g} m).",
                "shortest",
            )

    def parameters(self) -> dict[str, NDArray]:
        seeds = np.asarray(self.seed)
        waves = np.array([self._waves(int(seed)) for seed in seeds.ravel()])
        share = np.geomspace(self.longest, self.shortest, self.waves)
        heights = np.multiply.outer(np.asarray(self.amplitude, float), share / share.sum())
        return {"waves": waves.reshape(*seeds.shape, -1), "heights": heights}

    def _waves(self, seed: int) -> NDArray[np.float64]:
        """Wave vector (2,), rad/m, and phase of each wave in a row (3 waves,)."""
        random = np.random.default_rng(seed)
        number = 2 * np.pi / np.geomspace(self.longest, self.shortest, self.waves)
        spread = np.pi * np.arange(self.waves) / self.waves  # headings that differ, in random order
        heading = random.permutation(spread) + random.uniform(0, np.pi)
        phase = random.uniform(0, 2 * np.pi, self.waves)
        return np.stack([number * np.cos(heading), number * np.sin(heading), phase], -1).ravel()

    def at_level(self, p: Any, level: SX) -> Any:
        return SimpleNamespace(**vars(p) | {"heights": level * p.heights})

    def steepest(self, p: Any) -> SX | None:
        vectors = [p.waves[3 * k : 3 * k + 2] for k in range(self.waves)]
        slopes = [ca.fabs(p.heights[k]) * ca.sqrt(ca.sumsqr(v)) for k, v in enumerate(vectors)]
        return sum(slopes, SX(0))

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        height, along = SX(0), SX(2, 1)
        for k in range(self.waves):
            wave, phase = p.waves[3 * k : 3 * k + 2], p.waves[3 * k + 2]
            angle = ca.dot(wave, point[:2]) + phase
            height += p.heights[k] * ca.sin(angle)
            along += p.heights[k] * ca.cos(angle) * wave
        return _graph.distance_and_frame(point, height, along[0], along[1])
