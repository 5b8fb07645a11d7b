"""Find plug-ins: laws, robots, commands and other members that installed packages register.

A package registers a module with an entry point in the group of its kind, such as `tarsus.laws`:

    [project.entry-points."tarsus.laws"]
    soft_floor = "my_package.soft_floor"

The module has the content that a file in Tarsus's folder of that kind would have. Entry points are
read once per process, on first use, and a module is imported only when it is used.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from tarsus.errors import MissingPackage, PluginError, quote

GROUP_PREFIX = "tarsus."  # prefix of every entry-point group
KINDS_GROUP = "kinds"  # group of packages that add a kind with a folder of members
MODULE_NAME = re.compile(r"\w+(\.\w+)*")


@dataclass(frozen=True)
class Plugin:
    """A member of one kind that an installed package registers.

    Attributes
    ----------
    kind, name : str
        Kind in the plural, such as "laws", and the registered name.
    module : str
        Dotted name of its module.
    package, version : str
        Distribution that registers it.
    """

    kind: str
    name: str
    module: str
    package: str
    version: str

    @property
    def release(self) -> str:
        """Package and version, as in a log: "my-package 1.2"."""
        return f"{self.package} {self.version}"

    def broken_error(self, reason: object) -> PluginError:
        """Create an error for a plug-in that cannot be used."""
        return PluginError(
            f"the plug-in {self.name!r} ({GROUP_PREFIX}{self.kind}) of the package"
            f" {self.package!r} cannot be used: {reason}; update or uninstall {self.package}.",
            self.package,
        )

    def load(self) -> ModuleType:
        """Import the module.

        Raises
        ------
        PluginError
            If the import fails, whatever it raises.
        """
        self._check()
        try:
            return importlib.import_module(self.module)
        except Exception as error:
            raise self.broken_error(_first_line(error)) from error

    def file(self) -> Path:
        """Find the source file without running it; parent packages are imported to find it.

        Raises
        ------
        PluginError
            If there is no such module.
        """
        self._check()
        try:
            spec = importlib.util.find_spec(self.module)
        except Exception as error:
            raise self.broken_error(_first_line(error)) from error
        if spec is None or not spec.has_location:
            raise self.broken_error(f"there is no module {self.module}")
        return Path(str(spec.origin))

    def _check(self) -> None:
        if not MODULE_NAME.fullmatch(self.module):
            raise self.broken_error(f"its entry point must name a module, not {quote(self.module)}")


def find_plugins(kind: str) -> Mapping[str, Plugin]:
    """Find the plug-ins of a kind by name; raise PluginError if two packages share a name."""
    members: dict[str, Plugin] = {}
    for plugin in _find_registered().get(kind, ()):
        if plugin.name in members:
            raise name_conflict(kind, plugin.name, members[plugin.name].package, plugin.package)
        members[plugin.name] = plugin
    return members


def name_conflict(kind: str, name: str, first: str, second: str) -> PluginError:
    """Create an error for a name that two packages register."""
    return PluginError(
        f"the packages {first!r} and {second!r} both have {name!r} among their {kind}: rename it in"
        f" {second!r}, or uninstall that package.",
        second,
    )


def missing_plugin(kind: str, member: str, release: str) -> MissingPackage:
    """Create an error for a member that a log names but no installed package registers.

    Parameters
    ----------
    kind
        Kind in the singular, such as "law".
    member
        Name of the member.
    release
        Package and version that had it (`Plugin.release`).
    """
    package = release.partition(" ")[0]
    return MissingPackage(
        f"the {kind} {quote(member)} is a plug-in of {quote(release)}, which is not"
        f" installed or no longer has it: install {quote(package)}.",
        package,
    )


def find_by_module(module: str) -> Plugin | None:
    """Find the plug-in whose module has this dotted name, or None."""
    return _by_module().get(module)


@cache
def _find_registered() -> Mapping[str, tuple[Plugin, ...]]:
    """Find every plug-in by kind, in the order of the module search path."""
    from importlib import metadata  # not needed to import tarsus

    by_kind: dict[str, tuple[Plugin, ...]] = {}
    names: set[str] = set()
    for distribution in metadata.distributions():
        entries = [e for e in distribution.entry_points if e.group.startswith(GROUP_PREFIX)]
        if not entries or (name := distribution.metadata["Name"]) in names:
            continue
        names.add(name)
        for entry in entries:
            kind = entry.group.removeprefix(GROUP_PREFIX)
            plugin = Plugin(kind, entry.name, entry.value.strip(), name, distribution.version)
            by_kind[kind] = (*by_kind.get(kind, ()), plugin)
    return by_kind


@cache
def _by_module() -> Mapping[str, Plugin]:
    return {plugin.module: plugin for plugins in _find_registered().values() for plugin in plugins}


def clear_cache() -> None:
    """Read the entry points again on next use, after packages were added or removed."""
    _find_registered.cache_clear()
    _by_module.cache_clear()


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}".rstrip(": .")
