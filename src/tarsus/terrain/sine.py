"""Waves: an egg box, or a washboard along a heading."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.parameters import parameter
from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain


@dataclass(frozen=True)
class Sine(Terrain):
    """z = A sin(2 pi x / L) sin(2 pi y / L); with a heading z = A sin(2 pi s / L), s along it."""

    amplitude: float | NDArray = parameter(0.01, "m", "half the height of a wave", symbol="A")
    wavelength: float | NDArray = parameter(
        0.5, "m", "distance from crest to crest", "(0, inf)", "L"
    )
    heading: float | NDArray | None = parameter(
        None, "rad", "direction of the waves, from x about z; none: egg box"
    )

    def parameters(self) -> dict[str, NDArray]:
        wavenumber = 2 * np.pi / np.asarray(self.wavelength, float)
        if self.heading is None:
            return _graph.columns(amplitude=self.amplitude, wavenumber=wavenumber)
        wavenumber, heading = np.broadcast_arrays(wavenumber, np.asarray(self.heading, float))
        wave = np.stack([wavenumber * np.cos(heading), wavenumber * np.sin(heading)], -1)
        return _graph.columns(amplitude=self.amplitude) | {"wave": wave}

    def at_level(self, p: Any, level: SX) -> Any:
        return SimpleNamespace(**vars(p) | {"amplitude": level * p.amplitude})

    def steepest(self, p: Any) -> SX | None:
        wave = p.wavenumber if self.heading is None else ca.sqrt(ca.sumsqr(p.wave))
        return ca.fabs(p.amplitude) * wave

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        if self.heading is not None:
            phase = ca.dot(p.wave, point[:2])
            along = p.amplitude * ca.cos(phase) * p.wave
            return _graph.distance_and_frame(point, p.amplitude * ca.sin(phase), along[0], along[1])
        x, y, slope = p.wavenumber * point[0], p.wavenumber * point[1], p.amplitude * p.wavenumber
        height = p.amplitude * ca.sin(x) * ca.sin(y)
        return _graph.distance_and_frame(
            point, height, slope * ca.cos(x) * ca.sin(y), slope * ca.sin(x) * ca.cos(y)
        )
