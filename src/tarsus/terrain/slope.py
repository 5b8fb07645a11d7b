"""An inclined plane through the world's origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.parameters import parameter
from tarsus.terrain.base import Terrain


@dataclass(frozen=True)
class Slope(Terrain):
    """Inclined plane through the origin of the world.

    The ground rises by `angle` in the direction `heading`. Tangent 1 points uphill, tangent 2
    across.

    Parameters
    ----------
    angle : float or array_like
        Inclination, rad; 5 degrees by default.
    heading : float or array_like
        Direction of the rise, from x about z, rad.

    Examples
    --------
    >>> import numpy as np
    >>> from tarsus import Simulation, Slope
    >>> simulation = Simulation("mini_cheetah", terrain=Slope(angle=np.deg2rad(10)))
    >>> round(float(np.rad2deg(simulation.terrain.angle)))
    10
    """

    angle: float | NDArray = parameter(
        0.0872664625997165, "rad", "inclination; 5 degrees by default", "(-pi/2, pi/2)"
    )
    heading: float | NDArray = parameter(0.0, "rad", "direction of the rise, from x about z")

    def parameters(self) -> dict[str, NDArray]:
        angle, heading = np.broadcast_arrays(
            np.asarray(self.angle, float), np.asarray(self.heading, float)
        )
        uphill = np.stack(
            [np.cos(angle) * np.cos(heading), np.cos(angle) * np.sin(heading), np.sin(angle)], -1
        )
        across = np.stack([-np.sin(heading), np.cos(heading), np.zeros_like(heading)], -1)
        return {"frame": np.concatenate([np.cross(uphill, across), uphill, across], -1)}

    @property
    def flat(self) -> bool:
        return True

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        frame = ca.vertcat(p.frame[0:3].T, p.frame[3:6].T, p.frame[6:9].T)
        return ca.dot(p.frame[:3], point), frame
