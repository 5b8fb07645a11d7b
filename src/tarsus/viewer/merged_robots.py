"""Many robots in an image, merged into one mesh for each color, upright and fallen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import WORLD
from tarsus.morphology.fall import MIN_UPRIGHT, uprightness
from tarsus.viewer.drawn_shape import Color, DrawnShape
from tarsus.viewer.ray_caster import PlacedSolid, Solid
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.simplify import simplify_shapes
from tarsus.viewer.solids import Mesh

Array = NDArray[np.float64]
FALLEN_COLOR: Color = (0.84, 0.27, 0.10)  # mixed into the colors of a fallen robot
FALLEN_SHARE = 0.65  # of that color in the mix


class MergedRobots:
    """Robots of one kind in many worlds; fallen robots are red."""

    def __init__(self, robot: Robot, worlds: int) -> None:
        self._robot = robot
        self._shapes: dict[Color, list[DrawnShape]] = {}
        for shape in simplify_shapes(drawn_shapes(robot), worlds):
            self._shapes.setdefault(shape.color, []).append(shape)
        self._normals = {id(s): s.mesh.normals for group in self._shapes.values() for s in group}

    def place(self, q: Array, positions: Array, rotations: Array) -> list[PlacedSolid]:
        """Place the solids of all robots.

        Parameters
        ----------
        q
            Coordinates, shape (worlds, nq).
        positions
            Positions of the bodies, shape (worlds, bodies + 1, 3), in m.
        rotations
            Their rotation matrices, shape (worlds, bodies + 1, 3, 3).
        """
        fallen = uprightness(self._robot, q) < MIN_UPRIGHT
        solids = []
        for worlds, share in ((~fallen, 0.0), (fallen, FALLEN_SHARE)):
            if worlds.any():
                for color, shapes in self._shapes.items():
                    mixed = (1 - share) * np.array(color) + share * np.array(FALLEN_COLOR)
                    solid = self._merge(shapes, positions[worlds], rotations[worlds], mixed)
                    solids.append(PlacedSolid(solid, np.zeros(3), np.eye(3)))
        return solids

    def _merge(
        self, shapes: Sequence[DrawnShape], positions: Array, rotations: Array, color: Array
    ) -> Solid:
        """Merge the shapes of all robots into one solid of one color."""
        vertices, normals, faces, first = [], [], [], 0
        for shape in shapes:
            rotation = rotations[:, shape.body].transpose(0, 2, 1)
            points = shape.mesh.vertices
            vertices.append((points @ rotation + positions[:, None, shape.body]).reshape(-1, 3))
            normals.append((self._normals[id(shape)] @ rotation).reshape(-1, 3))
            starts = first + len(points) * np.arange(len(positions))
            faces.append((shape.mesh.faces + starts[:, None, None]).reshape(-1, 3))
            first += len(points) * len(positions)
        mesh = Mesh(np.concatenate(vertices), np.concatenate(faces))
        red, green, blue = (float(part) for part in color)
        return Solid(DrawnShape(WORLD, mesh, (red, green, blue)), np.concatenate(normals))
