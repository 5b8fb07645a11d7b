"""Visual shapes of a robot's model as meshes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusWarning, join_names
from tarsus.model.mechanism import WORLD, Visual
from tarsus.model.poses import Pose
from tarsus.model.robot_files import RobotFiles
from tarsus.viewer import mesh_files, solids
from tarsus.viewer.drawn_shape import GRAY, Color, DrawnShape
from tarsus.viewer.solids import Mesh

MAX_NAMES = 3  # names that a warning shows


def model_shapes(robot: Robot) -> list[DrawnShape]:
    """Create the robot's visual shapes on its bodies.

    Mesh files are read here, because only rendering needs all their triangles. A TarsusWarning
    names those that are missing.
    """
    path = Path(robot.origin.file) if robot.origin.file else None
    files = mesh_files.files_of(robot, path)
    numbers = {name: number for number, name in enumerate(robot.body_names)} | {"": WORLD}
    missing: list[str] = []
    shapes: list[DrawnShape] = []
    for visual in robot.visuals:
        if visual.body in numbers:
            pose = Pose(visual.position, visual.rotation)
            for mesh, file_color in _load_meshes(visual, files, missing):
                color = visual.color or file_color or GRAY
                shapes.append(DrawnShape(numbers[visual.body], mesh.at(pose), color))
    if missing:
        listed = join_names(list(dict.fromkeys(missing)), MAX_NAMES)
        warnings.warn(
            TarsusWarning(
                f"{len(set(missing))} meshes were not found and are not drawn: {listed}.",
                "mesh-not-found",
                missing[0],
            ),
            stacklevel=2,
        )
    return shapes


def _load_meshes(
    visual: Visual, files: RobotFiles, missing: list[str]
) -> list[tuple[Mesh, Color | None]]:
    """Load the meshes of a shape with the colors of its file; append missing files."""
    size = visual.size
    if visual.kind == "mesh":
        path = files.find(visual.uri)
        if path is None:
            missing.append(visual.uri)
            return []
        factors = np.array(size)
        return [(mesh.scale(factors), color) for mesh, color in mesh_files.load(path, files)]
    makers = {
        "box": lambda: solids.box(np.array(size)),
        "sphere": lambda: solids.sphere(*size),
        "cylinder": lambda: solids.cylinder(*size),
        "capsule": lambda: solids.capsule(*size),
        "ellipsoid": lambda: solids.sphere(1.0).scale(np.array(size)),
    }
    return [(makers[visual.kind](), None)]
