"""Which files a robot may read: each is checked before it is opened.

A robot's file names others: meshes, textures, included files. They must be regular files, and lie
in the robot's own tree or in a folder that the user names, so that a file from elsewhere cannot
read whatever else is on the machine or hang the process on a pipe.
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

from tarsus.errors import MIN_SIMILARITY, InvalidFile, Unsupported, quoted

MAX_BYTES = 1 << 26  # of a robot's file
MAX_ASSET_BYTES = 1 << 29  # of a mesh or a texture
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
TREE_MARKS = (  # what the folder of a package or a repository holds
    *("package.xml", "model.config", ".git", ".hg"),
    *("pyproject.toml", "setup.py", "CMakeLists.txt"),
)
PACKAGE_MARKS = ("package.xml", "model.config")
SYSTEM_FOLDERS = (  # at the top of a file system, shared by all of its users
    *("bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private"),
    *("proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var", "Applications"),
    *("Library", "System", "Users", "Volumes", "Program Files", "ProgramData", "Windows"),
)


class NotARegularFile(InvalidFile):
    """A pipe, socket, device or folder stands where a file is expected."""


class OutsideTheTree(InvalidFile):
    """A file lies outside the robot's tree and all folders that the user named."""


class LfsPointer(InvalidFile):
    """A Git LFS pointer stands in for the file."""


@dataclass(frozen=True)
class RobotFiles:
    """Where the files of one robot may lie.

    folder: that relative paths count from
    roots: resolved folders; a file below one of them may be read
    searched: folders that the user names, in which packages are looked for
    packages: folders of packages by name
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
        """Return what a robot's file may read; None is a text, which lies in the working folder."""
        if isinstance(asset_folders, str | os.PathLike):
            asset_folders = (asset_folders,)
        own = {name: _expanded(place) for name, place in (packages or {}).items()}
        named = [*map(_expanded, asset_folders), *_from_environment()]
        folders = [Path.cwd()]
        if file is not None:
            folders = [Path(os.path.abspath(file)).parent, _real(file).parent]
        trees = [place for folder in folders for place in _tree(folder)]
        sources = [source for place in own.values() for source in _sources(place)]
        roots = dict.fromkeys(map(_real, [*trees, *named, *sources]))
        return RobotFiles(folders[0], tuple(roots), tuple(named), tuple(own.items()))

    def counted_from(self, folder: Path) -> RobotFiles:
        """Return the same with relative paths counted from another folder."""
        return replace(self, folder=folder)

    def find(self, uri: str) -> Path | None:
        """Return the file that a mesh's URI names, or None if it does not exist.

        A path counts from the robot's folder, or from the one above, where URDF files lie in a
        folder next to that of their meshes. `package://name/rest` (and `model://`) is looked for in
        `packages[name]`, else in a folder `name` at or above the robot's, else in the folders that
        the user named; without a package's name, or with nothing but a file's, next to the robot.
        """
        scheme, mark, rest = uri.partition("://")
        if mark and scheme != "file":
            name, _, inner = rest.lstrip("/").partition("/")
            for place, roots in self._packages(name) if inner else ():
                wider = replace(self, roots=(*self.roots, *map(_real, roots)))
                if found := wider.existing(uri, [place / inner]):
                    return found
            alone = rest.startswith("/") or not inner
            return self.existing(uri, self._near_the_robot(rest.lstrip("/")) if alone else ())
        inner = rest if mark else uri
        if os.name == "nt":  # file:///C:/robot/leg.stl
            inner = re.sub(r"^/+(?=[A-Za-z]:)", "", inner)
        return self.existing(uri, self._near_the_robot(inner))

    def existing(self, told: str, places: Iterable[Path]) -> Path | None:
        """Return the first of these places where anything is, or None.

        told: what the robot's file says, for the errors

        Raises NotARegularFile if a pipe, socket, device or folder is there, OutsideTheTree if it is
        not below one of the roots.
        """
        for place in places:
            try:
                mode = os.stat(place).st_mode
            except (OSError, ValueError):  # also too long, or a null in it
                continue
            if not stat.S_ISREG(mode):
                raise NotARegularFile(f"{quoted(told)} is {_kind(mode)}, not a file.", told)
            if not self.allows(place):
                raise OutsideTheTree(
                    f"{quoted(told)} is outside the robot's folder {self._outermost()}: to allow"
                    f" it, pass --asset-folder {_real(place).parent} (in Python"
                    " asset_folders=[...]) or set ROS_PACKAGE_PATH.",
                    told,
                )
            return place
        return None

    def allows(self, place: Path) -> bool:
        """Whether a path, links followed, lies below one of the roots."""
        real = _real(place)
        return any(real.is_relative_to(root) for root in self.roots)

    def suggestion(self, uri: str) -> str:
        """Return the name of an existing file that a missing URI may mean, or an empty string.

        Spelled in another case, with backslashes, percent signs or a typo.
        """
        scheme, mark, rest = uri.partition("://")
        scheme, rest = (scheme + mark, rest) if mark else ("", uri)
        rest = unquote(rest).replace("\\", "/").lstrip("/" if mark else "")
        name, _, inner = rest.partition("/")
        starts = [(self.folder, "", rest), (self.folder.parent, "", rest)]
        if mark and scheme != "file://":
            own = [(place, f"{name}/", inner) for place, _ in self._packages(name)]
            starts = own + starts
        for start, before, wanted in starts:
            found = self._alike(start, wanted)
            if found:
                return f"{scheme}{before}{found}"
        return ""

    def _near_the_robot(self, inner: str) -> list[Path]:
        return [self.folder / inner, _real(self.folder).parent / inner] if inner else []

    def _outermost(self) -> Path:
        """Return the largest root around the robot's folder."""
        around = [root for root in self.roots if _real(self.folder).is_relative_to(root)]
        return min(around or [self.folder], key=lambda root: len(root.parts))

    def _packages(self, name: str) -> Iterator[tuple[Path, Sequence[Path]]]:
        """Folders that a package's name may mean, the likeliest first, and what may be read there
        besides the roots.
        """
        own = dict(self.packages)
        if name in ("", ".", ".."):
            return
        if name in own:
            yield own[name], ()
            return
        # around the robot: in its tree, or marked as a package
        for above in (self.folder, *self.folder.parents):
            for place in (above, above / name):
                if place.name == name and os.path.isdir(place):
                    if self.allows(place):
                        yield place, ()
                    elif any(os.path.isfile(place / mark) for mark in PACKAGE_MARKS):
                        yield place, [place]
        # in what the user names
        for folder in self.searched:
            for place in (folder, folder / name, folder / "share" / name):
                if place.name == name and os.path.isdir(place):
                    yield place, [*_sources(place)]

    def _alike(self, folder: Path, wanted: str) -> str:
        """Return the path below a folder that is likest to one, or an empty string."""
        found: list[str] = []
        for part in wanted.split("/"):
            place = folder.joinpath(*found)
            if not part or not self.allows(place) or not os.path.isdir(place):
                return ""
            if part in (".", "..") or os.path.exists(place / part):
                found.append(part)
                continue
            names = {name.casefold(): name for name in sorted(os.listdir(place))}
            near = difflib.get_close_matches(part.casefold(), names, n=1, cutoff=MIN_SIMILARITY)
            if not near:
                return ""
            found.append(names[near[0]])
        return "/".join(found) if os.path.isfile(folder.joinpath(*found)) else ""


def require_file(path: Path) -> Path:
    """Return a path that the user gave; NotARegularFile for a pipe, a socket or a device."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise NotARegularFile(f"{path} is {_kind(mode)}, not a file.", path)
    return path


def file_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return what is in a file that was checked.

    Raises Unsupported if it is larger than `most` bytes, InvalidFile if it cannot be read, and
    LfsPointer if it is a Git LFS pointer.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise NotARegularFile(f"{path} is {_kind(status.st_mode)}, not a file.", path)
        if status.st_size > most:
            raise Unsupported(
                f"{path.name} is larger than the {most >> 20} MiB that Tarsus reads.", path.name
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


def _tree(folder: Path) -> list[Path]:
    """Return a robot's folder, the one above it, and the package and repository around it.

    Folders that are shared by more than robots end it: the home folder, the one for temporary
    files, those of the system.
    """
    found, shared = [folder], _shared_folders()
    if folder in shared:
        return found
    for level, above in enumerate(folder.parents):
        if above in shared:
            break
        if level == 0 or any(os.path.exists(above / mark) for mark in TREE_MARKS):
            found.append(above)
    return found


def _shared_folders() -> frozenset[Path]:
    crowded = [Path(tempfile.gettempdir())]
    with suppress(RuntimeError):  # nobody's home
        crowded.append(Path.home())
    crowded += [_real(place) for place in crowded]
    tops = {Path(place.anchor) for place in crowded}
    found = {above for place in crowded for above in (place, *place.parents)} | tops
    return frozenset(found | {top / name for top in tops for name in SYSTEM_FOLDERS})


def _from_environment() -> Iterator[Path]:
    """The folders of ROS's variables, which the user sets."""
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        for entry in os.environ.get(variable, "").split(os.pathsep):
            if entry:
                yield _expanded(entry)


def _sources(package: Path) -> Iterator[Path]:
    """A package's folder, and where its package.xml leads, as colcon's links do."""
    yield package
    for mark in PACKAGE_MARKS:
        if os.path.isfile(package / mark):
            yield _real(package / mark).parent


def _expanded(path: str | Path) -> Path:
    return Path(os.path.abspath(os.path.expanduser(path)))


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.abspath(path))


def _kind(mode: int) -> str:
    """What is there, in a sentence."""
    kinds = {stat.S_IFIFO: "a pipe (FIFO)", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    kinds |= {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "something else")
