"""Find laws, robots, terrains, gaits and other members by name; one new file adds one member.

A kind of member is a folder, and the folder's files are the members. A folder with a `KIND` also
has the plug-ins that installed packages register for that kind (`tarsus.plugins`).

Names have two sources. A name that the user types may be a member or the path of a Python file,
which is then run (`import_class`). A name in data, such as a log or a policy, is that of a member
(`member_class`). Python files that data names are run only if the user trusts them (`trust`,
`trusted_file`).
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from tarsus import plugins
from tarsus.errors import (
    InvalidFile,
    PluginError,
    TarsusWarning,
    UntrustedFile,
    quote,
    unknown_name_error,
)

T = TypeVar("T")
PYTHON_SUFFIX = ".py"  # suffix of a user's file with a law, terrain, gait, ...
CHECKSUM_DIGITS = 12  # digits of a checksum in a message

_trusted: dict[str, None] = {}  # real paths of trusted files, in order
_names_untrusted: ContextVar[bool] = ContextVar("named_by_data", default=False)
_loaded_files: dict[str, tuple[str, ModuleType]] = {}  # checksum and module by real path


def names(package: str) -> tuple[str, ...]:
    """List the member names of a folder, sorted: its public files and plug-ins of its kind.

    Only the folder itself is imported.

    Raises
    ------
    PluginError
        If two packages register one name.
    """
    return tuple(sorted((*_list_public_modules(package), *_find_plugins(package))))


@cache
def _list_public_modules(package: str) -> frozenset[str]:
    """List the names of the public modules of a folder."""
    path = importlib.import_module(package).__path__
    return frozenset(
        m.name for m in pkgutil.iter_modules(path) if m.name not in ("base",) and m.name[0] != "_"
    )


def _find_plugins(package: str) -> Mapping[str, plugins.Plugin]:
    """Find the plug-ins of a folder's kind by name; none if the folder has no `KIND`."""
    kind = getattr(importlib.import_module(package), "KIND", "")
    members = plugins.find_plugins(kind) if kind else {}
    for name in sorted(members.keys() & _list_public_modules(package)):
        home = plugins.find_plugins(plugins.KINDS_GROUP).get(kind)
        raise plugins.name_conflict(
            kind, name, home.package if home else "tarsus", members[name].package
        )
    return members


def plugin(package: str, name: str) -> plugins.Plugin | None:
    """Find the plug-in of this name, or None if the member is a file in the folder."""
    return _find_plugins(package).get(name)


def member_of_module(package: str, module: str) -> str | None:
    """Find the name of the member that a module defines, or None."""
    above, _, name = module.rpartition(".")
    if above == package and name in _list_public_modules(package):
        return name
    return next((p.name for p in _find_plugins(package).values() if p.module == module), None)


def split_names(value: str) -> list[str]:
    """Split a list of names at commas and remove duplicates."""
    return list(dict.fromkeys(part.strip() for part in value.split(",")))


def check_name(package: str, kind: str, name: str, also: tuple[str, ...] = ()) -> None:
    """Raise UnknownName, with similar names, unless `name` is a member or one of `also`."""
    known = (*names(package), *also)
    if name not in known:
        raise unknown_name_error(kind, name, known)


def member_module(package: str, kind: str, name: str) -> ModuleType:
    """Import the module of a member; raise UnknownName if there is none."""
    check_name(package, kind, name)
    member = plugin(package, name)
    return member.load() if member else importlib.import_module(f"{package}.{name}")


def parse_member(package: str, name: str) -> ast.Module:
    """Parse the syntax tree of a member without running it."""
    if member := plugin(package, name):
        try:
            return ast.parse(member.file().read_text(encoding="utf-8"))
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            raise member.broken_error(error) from error
    spec = importlib.util.find_spec(f"{package}.{name}")
    return ast.parse(Path(str(spec.origin)).read_text(encoding="utf-8") if spec else "")


def parameter_names(package: str, name: str) -> tuple[str, ...]:
    """Read the parameters that a member declares, without running it."""
    return tuple(
        ast.unparse(field.target)
        for defined in parse_member(package, name).body
        if isinstance(defined, ast.ClassDef)
        for field in defined.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.value, ast.Call)
        and not ast.unparse(field.annotation).startswith("ClassVar")
    )


def member_class(package: str, kind: str, name: str, family: type[T]) -> Callable[..., T]:
    """Import the class of `family` that a member defines."""
    try:
        return single_class(member_module(package, kind, name), family)
    except InvalidFile as error:
        if broken := plugin(package, name):
            raise broken.broken_error(str(error).rstrip(".")) from None
        raise


def member_classes(package: str, kind: str, family: type[T]) -> dict[str, Callable[..., T]]:
    """Import the classes of all members by name; skip broken plug-ins with a warning."""
    classes: dict[str, Callable[..., T]] = {}
    for name in names(package):
        try:
            classes[name] = member_class(package, kind, name, family)
        except PluginError as error:
            warn_skipped(error)
    return classes


def warn_skipped(error: PluginError) -> None:
    """Warn about a plug-in that is skipped."""
    warnings.warn(TarsusWarning(str(error), "broken-plug-in", error.subject), stacklevel=3)


def name_of(member: object) -> str:
    """Return the name of a law, stepper, terrain or gait in lists: that of its file or plug-in."""
    home = type(member).__module__
    member_plugin = plugins.find_by_module(home)
    return member_plugin.name if member_plugin else home.rpartition(".")[2]


def import_class(package: str, kind: str, name: str, family: type[T]) -> Callable[..., T]:
    """Import the class of a member, or the class that a Python file defines.

    Within `distrust_files` the file is run only if the user trusts it.

    Parameters
    ----------
    package
        Dotted name of the folder, such as "tarsus.contact.laws".
    kind
        Singular name of the kind for messages, such as "law".
    name
        Name of a member, or the path of a Python file (.py).
    family
        Base class of the members.

    Raises
    ------
    UnknownName
        If there is no such member.
    UntrustedFile
        If data names a file that the user does not trust.
    InvalidFile
        If the file fails or does not define exactly one class of the family.
    """
    if not name.endswith(PYTHON_SUFFIX):
        return member_class(package, kind, name, family)
    if _names_untrusted.get():
        name = trusted_file(kind, name, None)
    return single_class(load_file(name, kind), family)


@contextmanager
def distrust_files() -> Iterator[None]:
    """Treat every path of a Python file as data: the file runs only if the user trusts it.

    Readers of logs create simulations within this context, so that no option of a simulation,
    whatever its type, can run code.
    """
    token = _names_untrusted.set(True)
    try:
        yield
    finally:
        _names_untrusted.reset(token)


def create(package: str, kind: str, name: str, family: type[T]) -> T:
    """Create the member or user's class that `import_class` finds, with its default parameters."""
    try:
        return import_class(package, kind, name, family)()
    except TypeError as error:
        if not name.endswith(PYTHON_SUFFIX):
            raise
        raise InvalidFile(
            f"{name}: every parameter of a {kind} needs a default value: {error}.", name
        ) from None


def trust(*files: str | Path) -> None:
    """Allow logs, policies and other data to run these Python files.

    A log of a run with your own law names the Python file that defines the law. Reading such a log
    runs the file only if you trust it, and only if its checksum is the recorded one.

    Parameters
    ----------
    *files : str or Path
        Python files with your own laws, terrains, gaits and so on.

    Raises
    ------
    InvalidFile
        If a file does not exist.

    Examples
    --------
    >>> import tarsus
    >>> from pathlib import Path
    >>> _ = Path("my_law.py").write_text("# a law of your own")
    >>> tarsus.trust("my_law.py")
    """
    for file in files:
        if not os.path.isfile(file):
            raise InvalidFile(f"there is no file {file} to trust.", file)
        _trusted[os.path.realpath(file)] = None


def trusted_file(kind: str, path: str, sha256: str | None) -> str:
    """Find the trusted file that data refers to.

    Every reader of a log, policy, sweep or specification decides here, and nowhere else, whether a
    Python file may be run. The path in the data is only printed: the returned file is one that the
    user trusts and that has the recorded checksum. It may have moved since.

    Parameters
    ----------
    kind : str
        Kind of object that the file defines, such as "law".
    path, sha256 : str
        Path and checksum in the data. A checksum of None, as in a specification that a person
        wrote, requires the very file at this path.

    Raises
    ------
    UntrustedFile
        If the user does not trust such a file.
    """
    # a trusted file
    if sha256 is None:
        if (real_path := os.path.realpath(path)) in _trusted:
            return real_path
    else:
        for file in _trusted:
            if sha256 and file_sha256(file) == sha256:
                return file
    # otherwise say which file is needed
    name = path.replace("\\", "/").rpartition("/")[2]
    other = next((file for file in _trusted if os.path.basename(file) == name), None)
    if sha256 and other is not None:
        raise UntrustedFile(
            f"{other} has changed since the run that used the {kind} in it (SHA-256"
            f" {sha256[:CHECKSUM_DIGITS]}...): give the original file.",
            name,
        )
    raise UntrustedFile(
        f"the {kind} is Python code in the file {quote(path)}, which runs only if you name it:"
        f" add --trust {quote(name)}, or call tarsus.trust({quote(name)}).",
        name,
    )


def file_sha256(path: str) -> str:
    """Compute the SHA-256 of a file in hexadecimal; empty if the file does not exist."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if os.path.isfile(path) else ""
    except OSError:
        return ""


class _UserModule(ModuleType):
    """Module made from a user's file."""


def load_file(path: str, kind: str) -> ModuleType:
    """Run a user's Python file and return its module; an unchanged file runs once.

    Raises
    ------
    InvalidFile
        If the file does not exist or fails; the message names the line.
    """
    if not os.path.isfile(path):
        raise InvalidFile(f"there is no file {path} to read the {kind} from.", path)
    real_path, source = os.path.realpath(path), Path(path).read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    _trusted[real_path] = None  # the user named it, so it is trusted
    if real_path in _loaded_files and _loaded_files[real_path][0] == digest:
        return _loaded_files[real_path][1]
    # name the module after the file, unless the name is taken
    name = Path(path).stem
    known = getattr(sys.modules.get(name), "__file__", "") or ""
    if (
        name in sys.modules
        and os.path.realpath(known) != real_path
        and not isinstance(sys.modules[name], _UserModule)
    ):
        raise InvalidFile(
            f"{path}: a Python module named {name!r} already exists: rename the file.", path
        )
    user_module = _UserModule(name)
    user_module.__file__ = real_path
    sys.modules[name] = user_module
    try:
        exec(compile(source, real_path, "exec"), vars(user_module))
    except Exception as error:
        sys.modules.pop(name)
        raise InvalidFile(
            f"{path}, line {_find_failing_line(error, real_path)}: the {kind} cannot be read:"
            f" {type(error).__name__}: {str(error).partition(chr(10))[0]}",
            path,
        ) from error
    _loaded_files[real_path] = digest, user_module
    return user_module


def _find_failing_line(error: Exception, file: str) -> int:
    """Find the last line of a file in the traceback of an error."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 1
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return (lines[-1] if lines else None) or 1


def single_class(source: ModuleType, family: type[T]) -> Callable[..., T]:
    """Find the only concrete class of `family` that a module defines."""
    classes = [
        value
        for value in vars(source).values()
        if isinstance(value, type)
        and issubclass(value, family)
        and value.__module__ == source.__name__
        and not inspect.isabstract(value)
    ]
    if len(classes) != 1:
        raise InvalidFile(
            f"{source.__file__ or source.__name__} must define exactly one {family.__name__}, not"
            f" {len(classes)}.",
            source.__file__ or source.__name__,
        )
    return classes[0]
