"""Files that a robot may read: each is checked before it is opened.

A robot's file names meshes, textures and included files. They must be regular files in the robot's
own tree or in a folder that the user allows. So a downloaded robot cannot read other files of the
machine, or hang the process on a pipe.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from tarsus.errors import MIN_SIMILARITY, InvalidFile, Unsupported, quote

MAX_BYTES = 1 << 26  # of a robot's file
MAX_ASSET_BYTES = 1 << 29  # of a mesh or a texture
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
TREE_MARKS = (  # files in the folder of a package or repository
    *("package.xml", "model.config", ".git", ".hg"),
    *("pyproject.toml", "setup.py", "CMakeLists.txt"),
)
PACKAGE_MARKS = ("package.xml", "model.config")
SYSTEM_FOLDERS = (  # at the top of a file system, shared by all users
    *("bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private"),
    *("proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var", "Applications"),
    *("Library", "System", "Users", "Volumes", "Program Files", "ProgramData", "Windows"),
)


class NotARegularFile(InvalidFile):
    """Error: a pipe, socket, device or folder was given instead of a file."""


class OutsideTheTree(InvalidFile):
    """A file outside the robot's tree and all folders that the user allows."""


class LfsPointer(InvalidFile):
    """Error: a file contains only a Git LFS pointer."""


@dataclass(frozen=True)
class RobotFiles:
    """Files that one robot may read.

    Attributes
    ----------
    folder
        Folder to which relative paths refer.
    roots
        Resolved folders; files below them may be read.
    searched
        Folders that the user allows, in which packages are searched.
    packages
        Folders of packages by name.
    """

    folder: Path
    roots: tuple[Path, ...]
    searched: tuple[Path, ...] = ()
    packages: tuple[tuple[str, Path], ...] = ()

    @staticmethod
    def of(
        file: Path | None,
        packages: Mapping[str, str | Path] | None = None,
        asset_folders: Iterable[str | Path] = (),
    ) -> RobotFiles:
        """List the files that a robot may read.

        Parameters
        ----------
        file
            The robot's file; None for a text, which counts as lying in the working directory.
        packages
            Folders of packages by name.
        asset_folders
            Further folders that the user allows.
        """
        if isinstance(asset_folders, str | os.PathLike):
            asset_folders = (asset_folders,)
        given = {name: _expand(path) for name, path in (packages or {}).items()}
        allowed = [*map(_expand, asset_folders), *_from_environment()]
        folders = [Path.cwd()]
        if file is not None:
            folders = [Path(os.path.abspath(file)).parent, _real(file).parent]
        trees = [path for folder in folders for path in _find_tree(folder)]
        sources = [source for package in given.values() for source in _sources(package)]
        roots = dict.fromkeys(map(_real, [*trees, *allowed, *sources]))
        return RobotFiles(folders[0], tuple(roots), tuple(allowed), tuple(given.items()))

    def relative_to(self, folder: Path) -> RobotFiles:
        """Copy the object for relative paths that refer to another folder."""
        return replace(self, folder=folder)

    def find(self, uri: str) -> Path | None:
        """Find the file that a mesh's URI names, or None if it does not exist.

        A path refers to the robot's folder, or to the one above, because URDF files often lie in a
        folder next to that of their meshes. `package://name/rest` (and `model://`) refers to
        `packages[name]`, or to a folder `name` at or above the robot's, or in the folders that the
        user allows. A URI with only a file name, or without a package's name, refers to the robot's
        folder.

        Raises
        ------
        NotARegularFile, OutsideTheTree
            As for `find_existing`.
        """
        scheme, mark, rest = uri.partition("://")
        if mark and scheme != "file":
            name, _, inner = rest.lstrip("/").partition("/")
            for folder, roots in self._packages(name) if inner else ():
                wider = replace(self, roots=(*self.roots, *map(_real, roots)))
                if path := wider.find_existing(uri, [folder / inner]):
                    return path
            alone = rest.startswith("/") or not inner
            return self.find_existing(
                uri, self._list_nearby_paths(rest.lstrip("/")) if alone else ()
            )
        inner = rest if mark else uri
        if os.name == "nt":  # file:///C:/robot/leg.stl
            inner = re.sub(r"^/+(?=[A-Za-z]:)", "", inner)
        return self.find_existing(uri, self._list_nearby_paths(inner))

    def find_existing(self, name: str, paths: Iterable[Path]) -> Path | None:
        """Find the first path that exists, or None.

        Parameters
        ----------
        name
            Name in the robot's file, for error messages.
        paths
            Possible paths, the likeliest first.

        Raises
        ------
        NotARegularFile
            If it is a pipe, socket, device or folder.
        OutsideTheTree
            If it is not below one of the roots.
        """
        for path in paths:
            try:
                mode = os.stat(path).st_mode
            except (OSError, ValueError):  # also a path that is too long, or contains a null
                continue
            if not stat.S_ISREG(mode):
                raise NotARegularFile(f"{quote(name)} is {_kind(mode)}, not a file.", name)
            if not self.allows(path):
                raise OutsideTheTree(
                    f"{quote(name)} is outside the robot's folder {self._outermost()}: to allow"
                    f" it, pass --asset-folder {_real(path).parent} (in Python"
                    " asset_folders=[...]) or set ROS_PACKAGE_PATH.",
                    name,
                )
            return path
        return None

    def allows(self, path: Path) -> bool:
        """Return whether a path lies below one of the roots, after following links."""
        real = _real(path)
        return any(real.is_relative_to(root) for root in self.roots)

    def suggestion(self, uri: str) -> str:
        """Find the name of an existing file that a missing URI may mean, or "".

        The URI may be spelled in another case, with backslashes, percent signs or a typo.
        """
        scheme, mark, rest = uri.partition("://")
        scheme, rest = (scheme + mark, rest) if mark else ("", uri)
        rest = unquote(rest).replace("\\", "/").lstrip("/" if mark else "")
        name, _, inner = rest.partition("/")
        starts = [(self.folder, "", rest), (self.folder.parent, "", rest)]
        if mark and scheme != "file://":
            packages = [(folder, f"{name}/", inner) for folder, _ in self._packages(name)]
            starts = packages + starts
        for start, prefix, path in starts:
            similar = self._similar_path(start, path)
            if similar:
                return f"{scheme}{prefix}{similar}"
        return ""

    def _list_nearby_paths(self, inner: str) -> list[Path]:
        return [self.folder / inner, _real(self.folder).parent / inner] if inner else []

    def _outermost(self) -> Path:
        """Find the outermost root that contains the robot's folder."""
        around = [root for root in self.roots if _real(self.folder).is_relative_to(root)]
        return min(around or [self.folder], key=lambda root: len(root.parts))

    def _packages(self, name: str) -> Iterator[tuple[Path, Sequence[Path]]]:
        """Yield the folders that a package's name may mean, and further roots for each.

        The likeliest folder is the first.
        """
        resolved = dict(self.packages)
        if name in ("", ".", ".."):
            return
        if name in resolved:
            yield resolved[name], ()
            return
        # around the robot: in its tree, or marked as a package
        for parent in (self.folder, *self.folder.parents):
            for path in (parent, parent / name):
                if path.name == name and os.path.isdir(path):
                    if self.allows(path):
                        yield path, ()
                    elif any(os.path.isfile(path / mark) for mark in PACKAGE_MARKS):
                        yield path, [path]
            # a clone's folder may have another name than the package that it is
            if self.allows(parent) and _declared_name(parent) == name:
                yield parent, ()
        # in the folders that the user allows
        for folder in self.searched:
            for path in (folder, folder / name, folder / "share" / name):
                if path.name == name and os.path.isdir(path):
                    yield path, [*_sources(path)]

    def _similar_path(self, folder: Path, path: str) -> str:
        """Find the existing path below a folder that is most similar to a path, or ""."""
        similar: list[str] = []
        for part in path.split("/"):
            parent = folder.joinpath(*similar)
            if not part or not self.allows(parent) or not os.path.isdir(parent):
                return ""
            if part in (".", "..") or os.path.exists(parent / part):
                similar.append(part)
                continue
            names = {name.casefold(): name for name in sorted(os.listdir(parent))}
            matches = difflib.get_close_matches(part.casefold(), names, n=1, cutoff=MIN_SIMILARITY)
            if not matches:
                return ""
            similar.append(names[matches[0]])
        return "/".join(similar) if os.path.isfile(folder.joinpath(*similar)) else ""


def require_file(path: Path) -> Path:
    """Check that a path that the user gave is a regular file, and return it.

    Raises
    ------
    NotARegularFile
        If it is a pipe, a socket or a device.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise NotARegularFile(f"{path} is {_kind(mode)}, not a file.", path)
    return path


def file_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Read the content of a file that was checked.

    Raises
    ------
    Unsupported
        If it is larger than `max_bytes`.
    InvalidFile
        If it cannot be read.
    LfsPointer
        If it is a Git LFS pointer.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise NotARegularFile(f"{path} is {_kind(status.st_mode)}, not a file.", path)
        if status.st_size > max_bytes:
            raise Unsupported(
                f"{path.name} is larger than {max_bytes >> 20} MiB, the limit.", path.name
            )
        data = path.read_bytes()
    except OSError as error:
        raise InvalidFile(f"{path.name} cannot be read: {error.strerror}.", path.name) from None
    if data.startswith(LFS_POINTER):
        raise LfsPointer(
            f"{path.name} is a Git LFS pointer, not the file itself: run `git lfs pull` in its"
            " repository.",
            path.name,
        )
    return data


def _find_tree(folder: Path) -> list[Path]:
    """Find a robot's folder, its parent, and the package and repository around it.

    Shared folders do not belong to the tree: the home folder, that of temporary files, and those of
    the system.
    """
    tree, shared = [folder], _shared_folders()
    if folder in shared:
        return tree
    for level, parent in enumerate(folder.parents):
        if parent in shared:
            break
        if level == 0 or any(os.path.exists(parent / mark) for mark in TREE_MARKS):
            tree.append(parent)
    return tree


def _shared_folders() -> frozenset[Path]:
    folders = [Path(tempfile.gettempdir())]
    with suppress(RuntimeError):  # no home folder
        folders.append(Path.home())
    folders += [_real(folder) for folder in folders]
    tops = {Path(folder.anchor) for folder in folders}
    shared = {parent for folder in folders for parent in (folder, *folder.parents)} | tops
    return frozenset(shared | {top / name for top in tops for name in SYSTEM_FOLDERS})


def _from_environment() -> Iterator[Path]:
    """Yield the folders of ROS's environment variables."""
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        for entry in os.environ.get(variable, "").split(os.pathsep):
            if entry:
                yield _expand(entry)


def _sources(package: Path) -> Iterator[Path]:
    """Yield a package's folder, and the folder its package.xml links to, as colcon's links do."""
    yield package
    for mark in PACKAGE_MARKS:
        if os.path.isfile(package / mark):
            yield _real(package / mark).parent


def _declared_name(folder: Path) -> str:
    """Read the name that a folder's package.xml declares, or ""."""
    try:
        text = file_bytes(folder / PACKAGE_MARKS[0])
    except InvalidFile:
        return ""
    name = re.search(rb"<name>\s*([\w.-]+)\s*</name>", text)
    return name[1].decode() if name else ""


def _expand(path: str | Path) -> Path:
    return Path(os.path.abspath(os.path.expanduser(path)))


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.abspath(path))


def _kind(mode: int) -> str:
    """Name the kind of a file that is not regular, for a sentence."""
    kinds = {stat.S_IFIFO: "a pipe (FIFO)", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    kinds |= {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "something else")
