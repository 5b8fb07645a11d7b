"""Files that models are made of: finding them, reading XML, loading the vertices of meshes."""

from __future__ import annotations

import difflib
import importlib
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError, shortened
from tarsus.files import is_file
from tarsus.installation import missing_package
from tarsus.model.check import LARGEST
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]
UNBOUND_PREFIX = 27  # expat's code for a tag such as <drake:capsule> whose prefix nothing declares


MOST_BYTES = 1 << 26  # of a robot's file


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Every TarsusError raised inside begins with the file's name."""
    try:
        yield
    except TarsusError as error:
        raise TarsusError(f"{file}: {error}") from None


def existing_file(path: str | Path) -> Path:
    """The path if a file is there; TarsusError that suggests near names in that folder if not."""
    try:
        path = Path(path).expanduser()
        there, folder = path.is_file(), path.is_dir()
    except (OSError, ValueError, RuntimeError):  # too long, a null in it, a home that nobody has
        raise TarsusError(f"{shortened(str(path))} cannot be a file's name.") from None
    if there:
        return path
    if folder:
        raise TarsusError(f"{path} is a folder: give the .urdf, .xml or .sdf file in it.")
    if not os.path.isdir(path.parent):
        raise TarsusError(f"there is no file {path}: the folder {path.parent} does not exist.")
    names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.4)
    hint = f" did you mean {' or '.join(near)}?" if near else ""
    raise TarsusError(f"there is no file {path};{hint}" if hint else f"there is no file {path}.")


def from_text_or_file(
    source: str | Path, text: str, read: Callable[[str | bytes, str, Path], Mechanism]
) -> Mechanism:
    """What `read` makes of a file, or of text (that begins with <).

    text: what errors call a text
    read: of what is in it, its name and the folder that its paths count from
    """
    if isinstance(source, str) and source.lstrip().startswith("<"):
        with naming(text):
            return read(source, text, Path.cwd())
    path = existing_file(source)
    with naming(path.name):
        return read(file_bytes(path), path.name, path.parent)


def file_bytes(path: Path) -> bytes:
    """What is in a file; TarsusError if it is larger than any robot's or cannot be read."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise TarsusError(f"it is larger than {MOST_BYTES >> 20} MiB: no robot's file is.")
        return path.read_bytes()
    except OSError as error:
        raise TarsusError(f"it cannot be read: {error.strerror}.") from None


def needed_library(name: str, purpose: str, extra: str = "") -> Any:
    """Import a package of an extra; TarsusError with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing_package(name.partition(".")[0], purpose, extra) from None


def xml_root(text: bytes | str) -> ET.Element:
    """The root element of XML text; TarsusError with the line if it is broken."""
    try:
        return ET.fromstring(text)
    except (LookupError, ValueError) as error:
        raise _unknown_encoding(error) from None
    except ET.ParseError as error:
        if error.code == UNBOUND_PREFIX:
            return xml_root(_with_prefixes(text))
        raise TarsusError(f"the XML is broken: {error}.") from None


def root_tag(path: Path) -> str:
    """The name of the first tag of an XML file, without a namespace; the rest is not read."""
    try:
        for _, element in ET.iterparse(path, events=("start",)):
            return element.tag.rpartition("}")[2]
    except (LookupError, ValueError) as error:
        raise _unknown_encoding(error) from None
    except OSError as error:
        raise TarsusError(f"it cannot be read: {error.strerror}.") from None
    except ET.ParseError as error:
        raise TarsusError(f"the XML is broken: {error}.") from None
    raise TarsusError("the XML is empty.")


def _unknown_encoding(error: Exception) -> TarsusError:
    return TarsusError(f"its encoding cannot be read ({error}): save it as UTF-8.")


def resolve(uri: str, folder: Path, packages: Mapping[str, str | Path]) -> Path | None:
    """The file that a mesh's `uri` names, or None.

    package://name/rest (and model://): `packages[name]`, else a folder `name` at or above `folder`,
    else one on ROS_PACKAGE_PATH or AMENT_PREFIX_PATH; other paths count from `folder`, or from the
    one above, where URDF files lie in a folder beside that of their meshes.
    """
    scheme, mark, rest = uri.partition("://")
    if not mark or scheme == "file":
        if os.name == "nt":  # file:///C:/robot/leg.stl
            rest = re.sub(r"^/+(?=[A-Za-z]:)", "", rest)
        inner = rest if mark else uri
        for root in (folder, folder.resolve().parent):
            if is_file(root / inner):
                return root / inner
        return None
    package, _, inner = rest.lstrip("/").partition("/")
    for root in _package_folders(package, folder, packages):
        if is_file(root / inner):
            return root / inner
    return None


def mesh_vertices(path: Path) -> Array:
    """The vertices (n, 3) on the convex hull of a mesh file (.stl, .obj, .dae, ...), m."""
    return _hull_vertices(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=512)
def _hull_vertices(path: str, stamp: int) -> Array:
    """The hull of one version (modification time `stamp`) of a mesh file."""
    trimesh = needed_library("trimesh", "reading a mesh", "meshes")
    from tarsus.model.candidates import hull

    try:
        mesh = trimesh.load_scene(path, skip_materials=True).to_mesh()
    except Exception as error:  # trimesh lets every decoder's own exceptions through
        raise TarsusError(f"the mesh {path} cannot be read: {error}.") from error
    if len(mesh.vertices) == 0:
        raise TarsusError(f"the mesh {path} has no vertices.")
    unit = re.fullmatch(
        r"([\d.eE+-]+) \* meters", str(mesh.metadata.get("units"))
    )  # COLLADA states its unit
    given = np.array(mesh.vertices, dtype=float) * (float(unit[1]) if unit else 1.0)
    if not (np.abs(given) <= LARGEST).all():
        raise TarsusError(f"the mesh {path} has vertices farther than {LARGEST:g} m, or none.")
    vertices = hull(given)
    vertices.setflags(write=False)
    return vertices


def _package_folders(
    package: str, folder: Path, packages: Mapping[str, str | Path]
) -> Iterator[Path]:
    if package in packages:
        yield Path(packages[package])
        return
    for above in (folder.resolve(), *folder.resolve().parents):
        if above.name == package:
            yield above
        if (above / package).is_dir():
            yield above / package
    for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry) if Path(entry).name == package else Path(entry) / package
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if prefix:
            yield Path(prefix) / "share" / package


def _with_prefixes(text: bytes | str) -> str:
    """The XML with every prefix of a tag or attribute declared on its root element."""
    decoded = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    decoded = re.sub(r"^\s*<\?xml[^>]*\?>", "", decoded)
    used = set(re.findall(r"[<\s/]([A-Za-z_][\w.-]*):[A-Za-z_][\w.-]*[\s=/>]", decoded))
    missing = sorted(used - set(re.findall(r"xmlns:([\w.-]+)", decoded)) - {"xml", "xmlns"})
    declared = "".join(f' xmlns:{prefix}="undeclared:{prefix}"' for prefix in missing)
    if not declared:
        raise TarsusError("the XML is broken: a prefix is not declared.")
    return re.sub(r"<([A-Za-z_][\w.-]*)(?=[\s>/])", rf"<\1{declared}", decoded, count=1)
