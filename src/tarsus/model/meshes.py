"""Mesh files, read by trimesh from bytes that were checked, as are the files that they name."""

from __future__ import annotations

import io
import os
import re
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, TarsusError, Unsupported
from tarsus.model.check import LARGEST
from tarsus.model.files import needed_library
from tarsus.model.robot_files import MAX_ASSET_BYTES, RobotFiles, file_bytes

Array = NDArray[np.float64]
FORMATS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")


def mesh_vertices(path: Path, files: RobotFiles) -> Array:
    """Return the vertices (n, 3) on the convex hull of a mesh file (.stl, .obj, .dae, ...), m."""
    return _hull_vertices(path, path.stat().st_mtime_ns, files)


def load_scene(path: Path, files: RobotFiles, purpose: str, **options: Any) -> Any:
    """Return the trimesh scene of a mesh file.

    What the mesh names (buffers, images, materials) may be read as `files` allows.

    purpose: what trimesh is needed for; options: of trimesh's loaders

    Raises TarsusError if the mesh cannot be read or names a file that may not be.
    """
    # its format
    trimesh = needed_library("trimesh", purpose, "meshes")
    kind, refused = path.suffix.lower(), list[TarsusError]()
    if kind not in FORMATS:
        raise Unsupported(
            f"the mesh {path.name} has an unsupported format: convert it to one of"
            f" {', '.join(FORMATS)}.",
            path.name,
        )

    # how trimesh gets what it names
    class Checked(trimesh.resolvers.Resolver):
        """Hands trimesh the files that a mesh names."""

        def __init__(self, folder: Path) -> None:
            self.folder = folder

        def get(self, key: str) -> bytes:
            names = dict.fromkeys([key, key.strip(), unquote(key), key.replace("\\", "/")])
            try:
                found = files.existing(key, [self.folder / name for name in names])
                if found is None:
                    raise FileNotFoundError(key)
                return file_bytes(found, MAX_ASSET_BYTES)
            except TarsusError as error:  # trimesh goes on without some files
                refused.append(error)
                raise

        def namespaced(self, namespace: str) -> Checked:
            return Checked(self.folder / namespace)

        def write(self, name: str, data: Any) -> None:
            raise OSError(f"{name} is not to be written")

        def keys(self) -> list[str]:
            return sorted(os.listdir(self.folder))

    # the mesh itself
    data = file_bytes(path, MAX_ASSET_BYTES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # images that are not there, colors that overflow
            scene = trimesh.load_scene(
                io.BytesIO(data), file_type=kind[1:], resolver=Checked(path.parent), **options
            )
    except Exception as error:  # trimesh lets every decoder's own exceptions through
        refused.append(InvalidFile(f"the file cannot be read: {error}.", path.name))
    else:
        if not refused:
            return scene
    raise refused[0].within(f"the mesh {path.name}") from None


def meters(units: object) -> float:
    """Return the unit that trimesh tells of a mesh, in meters: COLLADA states one."""
    unit = re.fullmatch(r"([\d.eE+-]+) \* meters", str(units))
    return float(unit[1]) if unit else 1.0


@lru_cache(maxsize=512)
def _hull_vertices(path: Path, stamp: int, files: RobotFiles) -> Array:
    """The hull of one version (modification time `stamp`) of a mesh file."""
    from tarsus.model.candidates import hull

    scene = load_scene(path, files, "reading a mesh", skip_materials=True)
    mesh = scene.to_mesh()
    if len(mesh.vertices) == 0:
        raise InvalidFile(f"the mesh {path.name} has no vertices.", path.name)
    given = np.array(mesh.vertices, dtype=float) * meters(mesh.metadata.get("units"))
    if not (np.abs(given) <= LARGEST).all():
        raise InvalidFile(
            f"the mesh {path.name} has vertices that are not finite or lie beyond {LARGEST:g} m.",
            path.name,
        )
    vertices = hull(given)
    vertices.setflags(write=False)
    return vertices
