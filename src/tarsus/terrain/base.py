"""The terrain interface.

To add a terrain: one file in `terrain/` with one frozen dataclass that derives from `Terrain`; its name on the
command line is the file's name. `parameters` gives what may differ between worlds, `surface` the geometry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from casadi import SX
from numpy.typing import NDArray


@dataclass(frozen=True)
class Terrain(ABC):
    """A surface the robot may touch."""

    def parameters(self) -> dict[str, NDArray]:
        """Numbers that enter the compiled code as parameters: each (size,), or (worlds, size) if they differ."""
        return {}

    @abstractmethod
    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        """Signed distance (m) of a world point (3,) from the surface, and the contact frame (3, 3) there.

        The frame's rows are the outward normal and two tangents, right-handed; p has the parameters' symbols.
        """
