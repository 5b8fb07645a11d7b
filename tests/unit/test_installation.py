"""The command that installs an extra suits the way in which Tarsus was installed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tarsus.errors import MissingPackage
from tarsus.installation import (
    extra_install_command,
    missing_package_error,
    package_install_command,
    requirements,
)

METADATA = """Metadata-Version: 2.4
Name: tarsus
Version: 0.1
Requires-Dist: numpy>=2.0
Requires-Dist: viser>=1.1; extra == "view"
Requires-Dist: embreex>=4.4; (sys_platform != "amiga") and extra == "view"
Requires-Dist: nothing-such; (sys_platform == "amiga") and extra == "view"
Requires-Dist: pyarrow>=20.0; extra == "exchange"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that puts an installation of Tarsus, with this direct_url.json, first."""

    def install(direct: dict[str, Any] | None) -> None:
        folder = tmp_path / "site" / "tarsus-0.1.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(METADATA)
        if direct is not None:
            (folder / "direct_url.json").write_text(json.dumps(direct))
        monkeypatch.syspath_prepend(str(folder.parent))

    return install


@pytest.mark.parametrize(
    ("info", "name", "words"),
    [
        ({"dir_info": {"editable": True}}, "clone", ["-e", "SOURCE[view]"]),
        ({"dir_info": {}}, "clone", ["SOURCE[view]"]),
        ({"archive_info": {}}, "tarsus-0.1-py3-none-any.whl", ["SOURCE[view]"]),
        ({"archive_info": {}}, "gone.whl", ["viser>=1.1", "embreex>=4.4"]),
    ],
)
def test_extras_install_from_the_source_of_tarsus(
    info: dict[str, Any], name: str, words: list[str], tmp_path: Path, installed: Any
) -> None:
    source = tmp_path / "a folder" / name
    if "gone" not in name:
        source.mkdir(parents=True)
    installed({"url": source.as_uri(), **info})
    command = shlex.split(extra_install_command("view"))
    expected = [word.replace("SOURCE", str(source)) for word in words]
    assert command[command.index("install") + 1 :][-len(words) :] == expected


@pytest.mark.parametrize(
    ("direct", "last"),
    [
        (
            {"url": "https://a.org/t.git", "vcs_info": {"vcs": "git", "commit_id": "12ab"}},
            "tarsus[view] @ git+https://a.org/t.git@12ab",
        ),
        ({"url": "https://a.org/t.whl", "archive_info": {}}, "tarsus[view] @ https://a.org/t.whl"),
        (None, "embreex>=4.4"),
    ],
)
def test_an_extra_of_an_address_or_of_an_unknown_source(
    direct: dict[str, Any] | None, last: str, installed: Any
) -> None:
    installed(direct)
    assert shlex.split(extra_install_command("view"))[-1] == last


def test_requirements_match_this_machine(installed: Any) -> None:
    installed(None)
    assert [r.name for r in requirements("view")] == ["viser", "embreex"]
    assert [r.name for r in requirements()] == ["numpy"]


def test_the_command_is_for_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside the folder that has its `.venv` it names the interpreter."""
    monkeypatch.chdir(tmp_path)
    words = shlex.split(package_install_command("viser", "embreex>=4.4"))
    assert words[-2:] == ["viser", "embreex>=4.4"]
    assert sys.executable in words or words[0] == "pip"


def test_the_error_names_the_package_and_the_command() -> None:
    error = missing_package_error("viser", "watching", "view")
    assert type(error) is MissingPackage and error.subject == "viser"
    assert extra_install_command("view") in str(error)
