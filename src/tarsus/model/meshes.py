"""Reader of mesh files: trimesh gets checked bytes, also of the files that a mesh names."""

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
from tarsus.model.files import import_library
from tarsus.model.robot_files import MAX_ASSET_BYTES, RobotFiles, file_bytes

Array = NDArray[np.float64]
FORMATS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")


def mesh_vertices(path: Path, files: RobotFiles) -> Array:
    """Read the vertices, shape (n, 3), in m, on the convex hull of a mesh file."""
    return _hull_vertices(path, path.stat().st_mtime_ns, files)


def load_scene(path: Path, files: RobotFiles, purpose: str, **options: Any) -> Any:
    """Load the trimesh scene of a mesh file.

    Parameters
    ----------
    path
        The mesh file.
    files
        Files that the mesh may name, such as buffers, images and materials.
    purpose
        Purpose of trimesh, for the error message if it is not installed.
    options
        Options of trimesh's loaders.

    Raises
    ------
    TarsusError
        If the mesh cannot be read, or names a file that must not be read.
    """
    trimesh = import_library("trimesh", purpose, "meshes")
    kind, errors = path.suffix.lower(), list[TarsusError]()
    if kind not in FORMATS:
        raise Unsupported(
            f"the mesh {path.name} has an unsupported format: convert it to one of"
            f" {', '.join(FORMATS)}.",
            path.name,
        )

    class CheckedResolver(trimesh.resolvers.Resolver):
        """Resolver that checks the files to which the mesh refers."""

        def __init__(self, folder: Path) -> None:
            self.folder = folder

        def get(self, key: str) -> bytes:
            names = dict.fromkeys([key, key.strip(), unquote(key), key.replace("\\", "/")])
            try:
                file = files.find_existing(key, [self.folder / name for name in names])
                if file is None:
                    raise FileNotFoundError(key)
                return file_bytes(file, MAX_ASSET_BYTES)
            except TarsusError as error:  # trimesh continues without some files
                errors.append(error)
                raise

        def namespaced(self, namespace: str) -> CheckedResolver:
            return CheckedResolver(self.folder / namespace)

        def write(self, name: str, data: Any) -> None:
            raise OSError(f"{name} must not be written")

        def keys(self) -> list[str]:
            return sorted(os.listdir(self.folder))

    data = file_bytes(path, MAX_ASSET_BYTES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # missing images, colors that overflow
            scene = trimesh.load_scene(
                io.BytesIO(data),
                file_type=kind[1:],
                resolver=CheckedResolver(path.parent),
                **options,
            )
    except Exception as error:  # trimesh passes on the exceptions of all decoders
        errors.append(InvalidFile(f"the file cannot be read: {error}.", path.name))
    else:
        if not errors:
            return scene
    raise errors[0].with_context(f"the mesh {path.name}") from None


def meters(units: object) -> float:
    """Return the unit of a mesh in meters, as trimesh reads it from COLLADA files."""
    unit = re.fullmatch(r"([\d.eE+-]+) \* meters", str(units))
    return float(unit[1]) if unit else 1.0


@lru_cache(maxsize=512)
def _hull_vertices(path: Path, stamp: int, files: RobotFiles) -> Array:
    """Compute the hull of a mesh file with the modification time `stamp`, in ns."""
    from tarsus.model.candidates import hull_vertices

    scene = load_scene(path, files, "reading a mesh", skip_materials=True)
    mesh = scene.to_mesh()
    if len(mesh.vertices) == 0:
        raise InvalidFile(f"the mesh {path.name} has no vertices.", path.name)
    all_vertices = np.array(mesh.vertices, dtype=float) * meters(mesh.metadata.get("units"))
    if not (np.abs(all_vertices) <= LARGEST).all():
        raise InvalidFile(
            f"the mesh {path.name} has vertices that are not finite or lie beyond {LARGEST:g} m.",
            path.name,
        )
    vertices = hull_vertices(all_vertices)
    vertices.setflags(write=False)
    return vertices
