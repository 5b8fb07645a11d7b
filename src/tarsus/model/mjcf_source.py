"""An MJCF file with all files that it names, read and checked before MuJoCo sees any of them.

MuJoCo gets the text and the files as bytes, under names that no file on the disk has, and opens
nothing itself: it would wait for ever on a pipe, and a model that attaches itself ends the process.
"""

from __future__ import annotations

import hashlib
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tarsus.errors import InvalidFile, Unsupported
from tarsus.model.files import naming
from tarsus.model.mjcf_text import Document, parsed, written
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


OBSOLETE: dict[str, dict[str, str | None]] = {
    # attributes that later MuJoCo versions dropped, by element: the value that changes no motion,
    # or None where none does
    "option": {"apirate": None, "collision": "all", "mpr_iterations": None, "mpr_tolerance": None},
    "flag": {"sensornoise": None, "passive": "enable"},
    "compiler": {"convexhull": "true", "exactmeshinertia": "false"},
}


class AttachedToItself(InvalidFile):
    """A file includes or attaches itself, directly or through others."""


@dataclass
class Source:
    """What MuJoCo compiles.

    document: the main file; text: the same for MuJoCo
    assets: files by the names that they have in the text
    names: what the robot's file calls an asset
    missing: meshes and textures that are not there, by asset: what to say of each
    absent: names of the meshes among them
    obsolete: attributes of older MuJoCo versions that are left out, as they are written
    """

    document: Document
    text: str = ""
    assets: dict[str, bytes] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    obsolete: list[str] = field(default_factory=list)

    @staticmethod
    def of(text: str, path: Path | None, asset_folders: Sequence[str | Path] = ()) -> Source:
        """Return a text, or the file `path`, with the files that it names.

        Raises TarsusError if one of them may not be read, or is missing and no picture.
        """
        data = text.encode() if path is None else file_bytes(path)
        return _Reader(RobotFiles.of(path, None, asset_folders)).source(data, path)

    def told(self, said: str) -> str:
        """Return a message of MuJoCo's with the files called as the robot's file does."""
        for key, name in self.names.items():
            said = said.replace(key, name)
        return said


@dataclass(frozen=True)
class _Place:
    """A file that is being read, and the files that led to it; None is a text."""

    path: Path | None
    above: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        return Path.cwd() if self.path is None else self.path.parent

    def below(self, path: Path, verb: str) -> _Place:
        """The place of a file that this one names; TarsusError for one that led to it."""
        trail = self.above if self.path is None else (*self.above, self.path)
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
        return _Place(path, trail)


@dataclass(frozen=True)
class _Folders:
    """Where the files of a document lie by its <compiler>; stripped: all folders in names are not
    looked at.
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
    """Reads a file and all that it names."""

    def __init__(self, files: RobotFiles) -> None:
        self.files = files
        self.attached: dict[str, tuple[str, Document]] = {}  # by path: key and model
        self.text_bytes = self.asset_bytes = 0

    def source(self, data: bytes, path: Path | None) -> Source:
        root, lines = parsed(data)
        self.made = Source(Document(root, lines))
        here = _Place(None if path is None else Path(os.path.abspath(path)))
        self.made.text = self._document(self.made.document, here)
        return self.made

    def _document(self, document: Document, here: _Place) -> str:
        """Read what a document names; return its text with the assets' names."""
        places = {document.root: here}
        self._include(document, document.root, here, places)
        folders = _Folders.of(document, here.folder)
        for tree, place in places.items():
            for parent in tree.iter():
                for element in list(parent):
                    if not self._rename(document, element, place, folders):
                        parent.remove(element)
        # texts of included files, the innermost first
        included = {tree: include for include, tree in document.trees.items()}
        for tree in reversed(places):
            if tree in included:
                text, name = written(tree, document.lines), included[tree].get("file", "")
                included[tree].set("file", self._add(text.encode(), name, ".xml", places[tree]))
        return written(document.root, document.lines)

    def _include(
        self, document: Document, tree: ET.Element, here: _Place, places: dict[ET.Element, _Place]
    ) -> None:
        """Read the files that a tree includes into the document; `places` learns where they are."""
        top = places[document.root].folder
        for include in [e for e in tree.iter() if e.tag.lower() == "include"]:
            name = include.get("file", "")
            path = self._required(name, [top, here.folder], "included file")
            place = here.below(path, "includes")
            if any(place.path == other.path for other in places.values()):
                raise InvalidFile(f"{name} is included twice: remove one <include>.", name)
            with naming(name):
                root, lines = parsed(self._text(path))
            document.lines |= lines
            document.trees[include], places[root] = root, place
            self._include(document, root, place, places)

    def _rename(
        self, document: Document, element: ET.Element, place: _Place, folders: _Folders
    ) -> bool:
        """Give an element the names of its assets; False if it must go, for its file is missing."""
        tag = element.tag.lower()
        for name, harmless in OBSOLETE.get(tag, {}).items():
            value = element.get(name)
            if value is not None and (harmless is None or value == harmless):
                del element.attrib[name]
                self.made.obsolete.append(f'<{tag} {name}="{value}">')
        if tag == "compiler":
            for name in FOLDERS:
                element.attrib.pop(name, None)
        elif tag == "model" and "file" in element.attrib:
            self._attach(document, element, place, folders.top)
        elif tag == "mesh" and "filename" in element.attrib:  # of a URDF file that is attached
            found = self.files.counted_from(place.folder).find(element.get("filename", ""))
            self._set(element, "filename", found, place)
        elif tag in ("mesh", "texture", "skin", "hfield", "flexcomp"):
            folder = folders.textures if tag == "texture" else folders.meshes
            for key in ("file", *SIDES) if tag == "texture" else ("file",):
                name = element.get(key, "").replace("\\", "/")
                if name:
                    inner = name.rpartition("/")[2] if folders.stripped else name
                    found = self.files.existing(name, [folder / inner, place.folder / inner])
                    if tag == "skin" and found is None:
                        self._miss(name, name, [folder])
                        return False
                    self._set(element, key, found, place, [folder])
        return True

    def _set(
        self,
        element: ET.Element,
        key: str,
        found: Path | None,
        place: _Place,
        folders: Iterable[Path] = (),
    ) -> None:
        """Read an asset; a missing mesh or texture is remembered, another is a TarsusError."""
        tag, name = element.tag.lower(), element.get(key, "").replace("\\", "/")
        stem, suffix = os.path.splitext(name.rpartition("/")[2])
        if key == "file" and tag != "flexcomp":
            element.attrib.setdefault("name", stem)  # as MuJoCo calls it
        if found is not None:
            try:
                data = file_bytes(found, MAX_ASSET_BYTES)
            except LfsPointer:
                if tag not in ("mesh", "texture"):
                    raise
                reason = f"{name} (a pointer of Git LFS: `git lfs pull` fetches the file)"
            else:
                element.set(key, self._add(data, name, suffix.lower(), _Place(found)))
                return
        elif tag not in ("mesh", "texture") or key == "filename":
            raise self._not_found(name, folders, f"file of a <{tag}>")
        else:
            reason = name
        # a stand-in takes its place
        element.attrib.pop("content_type", None)
        asset = self._name(name.encode(), ".obj" if tag == "mesh" else ".png", place)
        element.set(key, asset)
        self.made.names[asset] = name
        self._miss(asset, reason, folders if found is None else ())
        if tag == "mesh":
            self.made.absent.add(element.get("name", ""))

    def _attach(self, document: Document, element: ET.Element, place: _Place, top: Path) -> None:
        """Read a model that is attached."""
        name = element.get("file", "")
        path = self._required(name, [top, place.folder], "file of a <model>")
        inner = place.below(path, "attaches")
        if str(path) not in self.attached:
            with naming(name):
                root, lines = parsed(self._text(path))
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
        own = element.get("name") or child.root.get("model") or UNNAMED
        document.models[own] = child

    def _text(self, path: Path) -> bytes:
        """What is in a file of XML."""
        data = file_bytes(path)
        self.text_bytes += len(data)
        if self.text_bytes > MAX_BYTES:
            raise Unsupported(
                f"the files of this model have more than {MAX_BYTES >> 20} MiB of XML in total.",
                path.name,
            )
        return data

    def _required(self, name: str, folders: Iterable[Path], what: str) -> Path:
        """The file of a name that counts from one of the folders; TarsusError if it is missing."""
        name = name.replace("\\", "/")
        places = [folder / name for folder in folders]
        found = self.files.existing(name, places) if name else None
        if found is None:
            raise self._not_found(name, folders, what)
        return Path(os.path.abspath(found))

    def _not_found(self, name: str, folders: Iterable[Path], what: str) -> InvalidFile:
        return InvalidFile(
            f"the {what} is not found: {name}{self._suggestion(name, folders) or '.'}", name
        )

    def _suggestion(self, name: str, folders: Iterable[Path]) -> str:
        near = [self.files.counted_from(folder).suggestion(name) for folder in folders]
        return next((f"; did you mean {found}?" for found in near if found), "")

    def _miss(self, asset: str, reason: str, folders: Iterable[Path]) -> None:
        near = self._suggestion(reason, folders).removeprefix("; ").rstrip("?")
        self.made.missing[asset] = f"{reason} ({near}?)" if near else reason

    def _add(self, data: bytes, name: str, suffix: str, place: _Place) -> str:
        """Hand an asset to MuJoCo; returns its name there."""
        self.asset_bytes += len(data)
        if self.asset_bytes > MAX_TOTAL_BYTES:
            raise Unsupported(
                f"the meshes and textures have more than {MAX_TOTAL_BYTES >> 30} GiB in total.",
                name,
            )
        if data.startswith(PNG) and _pixels(data) > MAX_PIXELS:
            raise Unsupported(f"the picture {name} has more than {MAX_PIXELS:g} pixels.", name)
        key = self._name(data, suffix, place)
        self.made.assets[key], self.made.names[key] = data, name
        return key

    def _name(self, data: bytes, suffix: str, place: _Place) -> str:
        """A name of an asset's own: MuJoCo keeps meshes by name, and compares them loosely."""
        return hashlib.sha256(f"{place.path}\0".encode() + data).hexdigest()[:32] + suffix


def _pixels(png: bytes) -> int:
    return int.from_bytes(png[16:20], "big") * int.from_bytes(png[20:24], "big")
