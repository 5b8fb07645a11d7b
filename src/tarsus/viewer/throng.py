"""Many robots in a picture: a frame's meshes joined, one for each color and pose of the trunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import WORLD
from tarsus.morphology.fall import MIN_UPRIGHT, upright
from tarsus.viewer.coarse import affordable
from tarsus.viewer.drawn import Color, DrawnShape
from tarsus.viewer.picture import Placed, Solid
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.solids import Mesh

Array = NDArray[np.float64]
LYING: Color = (0.84, 0.27, 0.10)  # mixed into the colors of a robot whose trunk lies
MIXED = 0.65  # so much of it


class Throng:
    """Robots of one kind; those whose trunk has tipped over are red."""

    def __init__(self, robot: Robot, worlds: int) -> None:
        self._robot = robot
        self._shapes: dict[Color, list[DrawnShape]] = {}
        for shape in affordable(drawn_shapes(robot), worlds):
            self._shapes.setdefault(shape.color, []).append(shape)
        self._normals = {id(s): s.mesh.normals for own in self._shapes.values() for s in own}

    def placed(self, q: Array, positions: Array, rotations: Array) -> list[Placed]:
        """The solids of all of them, at q (worlds, nq): bodies at positions (worlds, bodies + 1,
        3), m, turned by rotations (worlds, bodies + 1, 3, 3).
        """
        lies = upright(self._robot, q) < MIN_UPRIGHT
        found = []
        for which, mix in ((~lies, 0.0), (lies, MIXED)):
            if which.any():
                for color, shapes in self._shapes.items():
                    seen = (1 - mix) * np.array(color) + mix * np.array(LYING)
                    solid = self._joined(shapes, positions[which], rotations[which], seen)
                    found.append(Placed(solid, np.zeros(3), np.eye(3)))
        return found

    def _joined(
        self, shapes: Sequence[DrawnShape], positions: Array, rotations: Array, color: Array
    ) -> Solid:
        """Shapes of one color of all robots, as one solid."""
        vertices, normals, faces, first = [], [], [], 0
        for shape in shapes:
            turn = rotations[:, shape.body].transpose(0, 2, 1)
            own = shape.mesh.vertices
            vertices.append((own @ turn + positions[:, None, shape.body]).reshape(-1, 3))
            normals.append((self._normals[id(shape)] @ turn).reshape(-1, 3))
            starts = first + len(own) * np.arange(len(positions))
            faces.append((shape.mesh.faces + starts[:, None, None]).reshape(-1, 3))
            first += len(own) * len(positions)
        mesh = Mesh(np.concatenate(vertices), np.concatenate(faces))
        red, green, blue = (float(part) for part in color)
        return Solid(DrawnShape(WORLD, mesh, (red, green, blue)), np.concatenate(normals))
