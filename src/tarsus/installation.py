"""Find the commands that add optional packages to this installation of Tarsus."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tarsus.errors import MissingPackage

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def missing_package_error(package: str, purpose: str, extra: str = "") -> MissingPackage:
    """Create an error for a missing package, with the command that installs it.

    Parameters
    ----------
    package
        Name of the package.
    purpose
        Feature that needs the package, which starts the message.
    extra
        Extra of Tarsus that contains it.
    """
    return MissingPackage(
        f"{purpose} needs the package {package}: run {extra_install_command(extra)}.", package
    )


def extra_install_command(extra: str = "") -> str:
    """Build the command that installs an extra of Tarsus, or by default its requirements.

    The command repeats how Tarsus itself was installed (PEP 610): from a clone, a folder, a wheel
    or a version-control address. If that source is unknown or gone, it names the packages of the
    extra, which every package index has.
    """
    source = _find_source(f"[{extra}]" if extra else "")
    if source:
        return f"{_find_installer()} {source}"
    return package_install_command(*(f"{r.name}{r.specifier}" for r in requirements(extra)))


def package_install_command(*packages: str) -> str:
    """Build the command that installs packages into the environment of this Python."""
    quoted = (f'"{p}"' if set(p) & set("<>=!~[]; ") else p for p in packages)
    return " ".join((_find_installer(), *quoted))


def requirements(extra: str = "") -> list[Requirement]:
    """Read the requirements of an extra on this machine, or by default those of Tarsus."""
    from importlib import metadata

    from packaging.requirements import Requirement

    result = []
    for needed in map(Requirement, metadata.requires("tarsus") or ()):
        marker = needed.marker
        always = marker is None or marker.evaluate({"extra": ""})
        wanted = marker is None or marker.evaluate({"extra": extra})
        if wanted and (not extra or not always):
            result.append(needed)
    return result


def _find_source(extra: str) -> str:
    """Find what to install to get Tarsus again with an extra; empty if unknown."""
    from importlib import metadata
    from urllib.parse import urlparse
    from urllib.request import url2pathname

    try:
        text = metadata.distribution("tarsus").read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # Tarsus runs from a source folder
        return f'-e "{Path(__file__).parents[2]}{extra}"'
    if not text:
        return ""
    direct = json.loads(text)
    url = direct["url"]
    if vcs := direct.get("vcs_info"):
        revision = vcs.get("requested_revision") or vcs["commit_id"]
        return f'"tarsus{extra} @ {vcs["vcs"]}+{url}@{revision}"'
    if not url.startswith("file:"):
        return f'"tarsus{extra} @ {url}"'
    path = Path(url2pathname(urlparse(url).path))
    if not path.exists():
        return ""
    editable = "-e " if direct.get("dir_info", {}).get("editable") else ""
    return f'{editable}"{path}{extra}"'


def _find_installer() -> str:
    """Find the start of the install command for the environment of this Python."""
    if find_spec("pip") is None and shutil.which("uv"):
        folders = (Path.cwd(), *Path.cwd().parents)
        nearest = next((p / ".venv" for p in folders if (p / ".venv").is_dir()), None)
        here = nearest is not None and nearest.resolve() == Path(sys.prefix).resolve()
        return "uv pip install" if here else f'uv pip install --python "{sys.executable}"'
    pip = shutil.which("pip")
    here = pip is not None and Path(pip).parent == Path(sys.executable).parent
    return "pip install" if here else f'"{sys.executable}" -m pip install'
