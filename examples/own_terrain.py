"""Write a terrain: how high may a washboard be before a blind trot fails?

Thirty-two worlds stand on as many grounds. The heights are parameters, so nothing is compiled
again. The script prints how far each robot walked in five seconds, and the motion of its trunk.
"""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import tarsus
from tarsus.parameters import parameter
from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain


@dataclass(frozen=True)
class Washboard(Terrain):
    """z = A (1 - cos(2 pi x / L)) / 2 from x = 0.5 m on, level before."""

    height: float | np.ndarray = parameter(0.02, "m", "from trough to crest", symbol="A")
    pitch: float | np.ndarray = parameter(0.4, "m", "from crest to crest", "(0, inf)", "L")

    def parameters(self) -> dict[str, np.ndarray]:
        return _graph.columns(height=self.height, wave=2 * np.pi / np.asarray(self.pitch, float))

    def surface(self, point: Any, p: Any) -> tuple[Any, Any]:
        x = ca.fmax(point[0] - 0.5, 0)
        z = p.height * (1 - ca.cos(p.wave * x)) / 2
        slope = p.height * p.wave * ca.sin(p.wave * x) / 2
        return _graph.distance_and_frame(point, z, slope, 0)


def main() -> None:
    """Trot over all of them."""
    heights = np.linspace(0.0, 0.08, 32)
    sim = tarsus.Simulation(
        "mini_cheetah", terrain=Washboard(heights), controller="trot", worlds=len(heights)
    )
    sim.set(command={"speed": 0.4})
    sim.advance(5.0)
    up = 1 - 2 * (sim.q[:, 4] ** 2 + sim.q[:, 5] ** 2)
    walks = (up > 0.8) & (sim.q[:, 0] > 1.0)
    for k in range(0, len(heights), 4):
        state = "trots" if walks[k] else "fails"
        print(f"{1e3 * heights[k]:5.0f} mm: {state}, {sim.q[k, 0]:5.2f} m")
    print(f"{walks.sum()} of {len(heights)} get over 1 m")


if __name__ == "__main__":
    main()
