"""An MJCF file with all files that it names, read and checked before MuJoCo gets any of them.

MuJoCo gets the text and the files as bytes, under names that do not exist on the disk. It does not
open files itself, because it would wait forever on a pipe, and a model that attaches itself would
end the process.
"""

from __future__ import annotations

import hashlib
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tarsus.errors import InvalidFile, Unsupported
from tarsus.model.files import add_file_to_errors
from tarsus.model.mjcf_document import Document, format_xml, parse_xml
from tarsus.model.mjcf_schema import OBSOLETE
from tarsus.model.robot_files import (
    MAX_ASSET_BYTES,
    MAX_BYTES,
    LfsPointer,
    RobotFiles,
    file_bytes,
)

MAX_NESTED = 20  # files that include or attach each other
MAX_TOTAL_BYTES = 1 << 31  # of meshes and pictures
MAX_PIXELS = 10**8  # of a picture
PNG = b"\x89PNG\r\n\x1a\n"
FOLDERS = ("assetdir", "meshdir", "texturedir", "strippath")  # attributes of <compiler>
SIDES = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
UNNAMED = "MuJoCo Model"


class AttachedToItself(InvalidFile):
    """A file includes or attaches itself, directly or through others."""


@dataclass
class Source:
    """An MJCF model as MuJoCo compiles it.

    Attributes
    ----------
    document
        The main file.
    text
        The same as XML for MuJoCo.
    assets
        Contents of files, by the names that the text gives them.
    names
        Names of these files in the robot's file, by the same keys.
    missing
        Messages for meshes and textures that do not exist, by asset.
    missing_meshes
        Names of the meshes among them.
    obsolete
        Attributes of older MuJoCo versions that are ignored, as they are written.
    merges_base
        Whether joints on which the base moves freely are merged into a free joint.
    base_joints
        Names of the joints that are merged; set by compilation.
    """

    document: Document
    text: str = ""
    assets: dict[str, bytes] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    missing_meshes: set[str] = field(default_factory=set)
    obsolete: list[str] = field(default_factory=list)
    merges_base: bool = True
    base_joints: list[str] = field(default_factory=list)

    @staticmethod
    def of(text: str, path: Path | None, asset_folders: Sequence[str | Path] = ()) -> Source:
        """Read a model with the files that it names.

        Parameters
        ----------
        text
            MJCF text, read if `path` is None.
        path
            MJCF file.
        asset_folders
            Further folders that the model's files may lie in.

        Raises
        ------
        TarsusError
            If a file must not be read, or is missing and is not a picture.
        """
        data = text.encode() if path is None else file_bytes(path)
        return _Reader(RobotFiles.of(path, None, asset_folders)).source(data, path)

    def with_file_names(self, message: str) -> str:
        """Replace file names in a message of MuJoCo by those in the robot's file."""
        for key, name in self.names.items():
            message = message.replace(key, name)
        return message


@dataclass(frozen=True)
class _File:
    """File that is being read, or None for a string, and the files that include it."""

    path: Path | None
    trail: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        return Path.cwd() if self.path is None else self.path.parent

    def find_nested(self, path: Path, verb: str) -> _File:
        """Find a file that this one names.

        Raises
        ------
        AttachedToItself
            If that file led to this one.
        Unsupported
            If too many files are nested.
        """
        trail = self.trail if self.path is None else (*self.trail, self.path)
        real = [os.path.realpath(file) for file in trail]
        if os.path.realpath(path) in real:
            circle = [*trail[real.index(os.path.realpath(path)) :], path]
            names = " -> ".join(file.name for file in circle)
            raise AttachedToItself(f"{path.name} {verb} itself: {names}.", path.name)
        if len(trail) > MAX_NESTED:
            raise Unsupported(
                f"{path.name} is nested more than {MAX_NESTED} files deep: merge some files.",
                path.name,
            )
        return _File(path, trail)


@dataclass(frozen=True)
class _Folders:
    """Folders of a document's files by its <compiler>.

    Attributes
    ----------
    stripped
        Whether the folders in the names of files are ignored.
    """

    top: Path
    meshes: Path
    textures: Path
    stripped: bool

    @staticmethod
    def of(document: Document, top: Path) -> _Folders:
        given: dict[str, str] = {}
        for element in document.elements():
            if element.tag.lower() == "compiler":
                given |= {name: element.get(name, "") for name in FOLDERS if name in element.attrib}
        both = given.get("assetdir", "")
        meshes, textures = given.get("meshdir") or both, given.get("texturedir") or both
        meshes, textures = (top / name.replace("\\", "/") for name in (meshes, textures))
        return _Folders(top, meshes, textures, given.get("strippath") == "true")


class _Reader:
    """Reads a model and all files that it names."""

    def __init__(self, files: RobotFiles) -> None:
        self.files = files
        self.attached: dict[str, tuple[str, Document]] = {}  # asset and model by path
        self.text_bytes = self.asset_bytes = 0

    def source(self, data: bytes, path: Path | None) -> Source:
        """Read a model and the files that it names; `data` is the content of `path`."""
        root, lines = parse_xml(data)
        self.result = Source(Document(root, lines))
        main = _File(None if path is None else Path(os.path.abspath(path)))
        self.result.text = self._document(self.result.document, main)
        return self.result

    def _document(self, document: Document, main: _File) -> str:
        """Read the files that a document names; return its text with the assets' names."""
        files = {document.root: main}
        self._include(document, document.root, main, files)
        folders = _Folders.of(document, main.folder)
        for tree, file in files.items():
            for parent in tree.iter():
                for element in list(parent):
                    if not self._rename(document, element, file, folders):
                        parent.remove(element)
        # texts of included files, the innermost first
        included = {tree: include for include, tree in document.trees.items()}
        for tree in reversed(files):
            if tree in included:
                text, name = format_xml(tree, document.lines), included[tree].get("file", "")
                included[tree].set("file", self._add(text.encode(), name, ".xml", files[tree]))
        return format_xml(document.root, document.lines)

    def _include(
        self, document: Document, tree: ET.Element, main: _File, files: dict[ET.Element, _File]
    ) -> None:
        """Read the files that a tree includes into the document, and add them to `files`."""
        top = files[document.root].folder
        for include in [e for e in tree.iter() if e.tag.lower() == "include"]:
            name = include.get("file", "")
            path = self._require_file(name, [top, main.folder], "included file")
            file = main.find_nested(path, "includes")
            if any(file.path == other.path for other in files.values()):
                raise InvalidFile(f"{name} is included twice: remove one <include>.", name)
            with add_file_to_errors(name):
                root, lines = parse_xml(self._text(path))
            document.lines |= lines
            document.trees[include], files[root] = root, file
            self._include(document, root, file, files)

    def _rename(
        self, document: Document, element: ET.Element, file: _File, folders: _Folders
    ) -> bool:
        """Give an element the names of its assets.

        Return False if the element must go because its file is missing.
        """
        tag = element.tag.lower()
        self._remove_obsolete(element, tag)
        if tag == "compiler":
            for name in FOLDERS:
                element.attrib.pop(name, None)
        elif tag == "model" and "file" in element.attrib:
            self._attach(document, element, file, folders.top)
        elif tag == "mesh" and "filename" in element.attrib:  # of an attached URDF file
            path = self.files.relative_to(file.folder).find(element.get("filename", ""))
            self._set(element, "filename", path, file)
        elif tag in ("mesh", "texture", "skin", "hfield", "flexcomp"):
            folder = folders.textures if tag == "texture" else folders.meshes
            for key in ("file", *SIDES) if tag == "texture" else ("file",):
                name = element.get(key, "").replace("\\", "/")
                if name:
                    inner = name.rpartition("/")[2] if folders.stripped else name
                    path = self.files.find_existing(name, [folder / inner, file.folder / inner])
                    if tag == "skin" and path is None:
                        self._add_missing(name, name, [folder])
                        return False
                    self._set(element, key, path, file, [folder])
        return True

    def _remove_obsolete(self, element: ET.Element, tag: str) -> None:
        """Remove attributes of older MuJoCo versions that have no effect on motion."""
        for name, harmless in OBSOLETE.get(tag, {}).items():
            value = element.get(name)
            if value is not None and (harmless is None or value == harmless):
                del element.attrib[name]
                self.result.obsolete.append(f'<{tag} {name}="{value}">')

    def _set(
        self,
        element: ET.Element,
        key: str,
        path: Path | None,
        file: _File,
        folders: Iterable[Path] = (),
    ) -> None:
        """Read an asset; a stand-in takes the place of a missing mesh or texture.

        Raises
        ------
        TarsusError
            If any other file is missing.
        """
        tag, name = element.tag.lower(), element.get(key, "").replace("\\", "/")
        stem, suffix = os.path.splitext(name.rpartition("/")[2])
        if key == "file" and tag != "flexcomp":
            element.attrib.setdefault("name", stem)  # as MuJoCo calls it
        if path is not None:
            try:
                data = file_bytes(path, MAX_ASSET_BYTES)
            except LfsPointer:
                if tag not in ("mesh", "texture"):
                    raise
                reason = f"{name} (a pointer of Git LFS: `git lfs pull` fetches the file)"
            else:
                element.set(key, self._add(data, name, suffix.lower(), _File(path)))
                return
        elif tag not in ("mesh", "texture") or key == "filename":
            raise self._not_found(name, folders, f"file of a <{tag}>")
        else:
            reason = name
        element.attrib.pop("content_type", None)
        asset = self._asset_name(name.encode(), ".obj" if tag == "mesh" else ".png", file)
        element.set(key, asset)
        self.result.names[asset] = name
        self._add_missing(asset, reason, folders if path is None else ())
        if tag == "mesh":
            self.result.missing_meshes.add(element.get("name", ""))

    def _attach(self, document: Document, element: ET.Element, file: _File, top: Path) -> None:
        """Read a model that is attached."""
        name = element.get("file", "")
        path = self._require_file(name, [top, file.folder], "file of a <model>")
        inner = file.find_nested(path, "attaches")
        if str(path) not in self.attached:
            with add_file_to_errors(name):
                root, lines = parse_xml(self._text(path))
            if root.tag.lower() not in ("mujoco", "robot"):
                raise InvalidFile(
                    f"the attached file {name} must be MJCF or URDF, but its root tag is"
                    f" <{root.tag}>.",
                    name,
                )
            child = Document(root, lines)
            text, kind = self._document(child, inner), "xml" if root.tag != "robot" else "urdf"
            self.attached[str(path)] = self._add(text.encode(), name, f".{kind}", inner), child
        key, child = self.attached[str(path)]
        element.attrib.pop("content_type", None)
        element.set("file", key)
        model_name = element.get("name") or child.root.get("model") or UNNAMED
        document.models[model_name] = child

    def _text(self, path: Path) -> bytes:
        """Read the content of an XML file."""
        data = file_bytes(path)
        self.text_bytes += len(data)
        if self.text_bytes > MAX_BYTES:
            raise Unsupported(
                f"the files of this model have more than {MAX_BYTES >> 20} MiB of XML in total.",
                path.name,
            )
        return data

    def _require_file(self, name: str, folders: Iterable[Path], what: str) -> Path:
        """Find the file of a name relative to one of the folders.

        Raises
        ------
        InvalidFile
            If it is missing.
        """
        name = name.replace("\\", "/")
        path = (
            self.files.find_existing(name, [folder / name for folder in folders]) if name else None
        )
        if path is None:
            raise self._not_found(name, folders, what)
        return Path(os.path.abspath(path))

    def _not_found(self, name: str, folders: Iterable[Path], what: str) -> InvalidFile:
        return InvalidFile(
            f"the {what} is not found: {name}{self._suggestion(name, folders) or '.'}", name
        )

    def _suggestion(self, name: str, folders: Iterable[Path]) -> str:
        suggestions = [self.files.relative_to(folder).suggestion(name) for folder in folders]
        return next((f"; did you mean {name}?" for name in suggestions if name), "")

    def _add_missing(self, asset: str, reason: str, folders: Iterable[Path]) -> None:
        suggestion = self._suggestion(reason, folders).removeprefix("; ").rstrip("?")
        self.result.missing[asset] = f"{reason} ({suggestion}?)" if suggestion else reason

    def _add(self, data: bytes, name: str, suffix: str, file: _File) -> str:
        """Add an asset for MuJoCo, and return its name there."""
        self.asset_bytes += len(data)
        if self.asset_bytes > MAX_TOTAL_BYTES:
            raise Unsupported(
                f"the meshes and textures have more than {MAX_TOTAL_BYTES >> 30} GiB in total.",
                name,
            )
        if data.startswith(PNG) and _pixels(data) > MAX_PIXELS:
            raise Unsupported(f"the picture {name} has more than {MAX_PIXELS:g} pixels.", name)
        key = self._asset_name(data, suffix, file)
        self.result.assets[key], self.result.names[key] = data, name
        return key

    def _asset_name(self, data: bytes, suffix: str, file: _File) -> str:
        """Create a unique name: MuJoCo caches meshes by name, and compares names loosely."""
        return hashlib.sha256(f"{file.path}\0".encode() + data).hexdigest()[:32] + suffix


def _pixels(png: bytes) -> int:
    return int.from_bytes(png[16:20], "big") * int.from_bytes(png[20:24], "big")
