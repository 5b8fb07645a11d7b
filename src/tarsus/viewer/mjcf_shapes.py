"""Shapes of an MJCF file's geoms, as MuJoCo compiles them, on the robot's bodies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tarsus.dynamics.poses import poses
from tarsus.dynamics.robot import Robot
from tarsus.model.files import import_library
from tarsus.model.mechanism import WORLD
from tarsus.model.mjcf_compile import compile_model
from tarsus.model.mjcf_source import Source
from tarsus.model.poses import Pose
from tarsus.viewer import mesh_files, solids
from tarsus.viewer.drawn_shape import GRAY, Color, DrawnShape
from tarsus.viewer.solids import Mesh

MAX_GROUP = 2  # MuJoCo's viewer shows groups 0 to 2 by default
UNCOLORED = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's default
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)  # mjtGeom


def mjcf_shapes(robot: Robot, path: Path) -> list[DrawnShape]:
    """Create the visible geoms of the moving bodies, or all their geoms if none is visible.

    Placeholders of missing mesh files are not drawn. If the robot has other joints than the file,
    such as elastic gears, the list is empty.
    """
    # body poses of MuJoCo and of Tarsus at the same coordinates
    mujoco = import_library("mujoco", "reading MJCF")
    source = Source.of("", path, robot.origin.options.get("asset_folders") or ())
    model = compile_model(source)
    if model.nq != robot.nq:
        return []
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    positions, rotations = poses(robot, np.array(data.qpos))
    visible, hidden = list[DrawnShape](), list[DrawnShape]()
    for geom in range(model.ngeom):
        body = _find_body(robot, model, int(model.geom_bodyid[geom]))
        mesh = _create_mesh(model, geom, source.missing_meshes)
        if body == WORLD or mesh is None:
            continue
        body_pose = Pose(positions[0, body], rotations[0, body])
        geom_pose = Pose(np.array(data.geom_xpos[geom]), data.geom_xmat[geom].reshape(3, 3).copy())
        world_to_body = Pose(-body_pose.rotation.T @ body_pose.position, body_pose.rotation.T)
        shape = DrawnShape(body, mesh.at(world_to_body @ geom_pose), _color(model, geom))
        is_visible = model.geom_group[geom] <= MAX_GROUP and _rgba(model, geom)[3] > 0
        (visible if is_visible else hidden).append(shape)
    return visible or hidden


def _find_body(robot: Robot, model: Any, number: int) -> int:
    """Find the Tarsus body of a MuJoCo body: that of the nearest joint above it."""
    while number:
        count = int(model.body_jntnum[number])
        if count:
            last = int(model.body_jntadr[number]) + count - 1
            start = int(model.jnt_qposadr[last])
            return [each.start for each in robot.q_slices].index(start)
        number = int(model.body_parentid[number])
    return WORLD


def _create_mesh(model: Any, geom: int, absent: set[str]) -> Mesh | None:
    """Create a geom's mesh in its own frame; None for ground geoms and missing mesh files."""
    kind, size = int(model.geom_type[geom]), np.array(model.geom_size[geom], float)
    if kind in (MESH, SDF):
        mesh = int(model.geom_dataid[geom])
        if model.mesh(mesh).name in absent:
            return None
        first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
        vertices = np.array(model.mesh_vert[first : first + count], float)
        return mesh_files.split_creases(
            vertices, np.array(model.mesh_face[face : face + faces], int)
        )
    makers = {
        SPHERE: lambda: solids.sphere(size[0]),
        CAPSULE: lambda: solids.capsule(size[0], size[1]),
        ELLIPSOID: lambda: solids.sphere(1.0).scale(size),
        CYLINDER: lambda: solids.cylinder(size[0], size[1]),
        BOX: lambda: solids.box(size),
    }
    return makers[kind]() if kind in makers else None


def _rgba(model: Any, geom: int) -> np.ndarray:
    material = int(model.geom_matid[geom])
    rgba = np.array(model.geom_rgba[geom], float)
    if material >= 0 and np.allclose(rgba, UNCOLORED):
        return np.array(model.mat_rgba[material], float)
    return rgba


def _color(model: Any, geom: int) -> Color:
    rgba = _rgba(model, geom)
    return GRAY if np.allclose(rgba, UNCOLORED) else mesh_files.color(rgba)
