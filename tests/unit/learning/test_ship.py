"""Released files: one version, a complete wheel, consistent citations."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidFile
from tarsus_bench import history
from tarsus_bench.report import ROWS

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_defined_once() -> None:
    """The changelog and the citation agree with it."""
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[([\d.]+)\]", changes, re.MULTILINE)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert newest is not None and newest[1] == tarsus.__version__
    assert f"\nversion: {tarsus.__version__}\n" in citation


def test_python_m_tarsus_runs_the_command_line() -> None:
    command = [sys.executable, "-m", "tarsus", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"tarsus {tarsus.__version__}\n"


def test_workflows_run_the_documented_commands() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    called = set(re.findall(r"run: (\.ci/\w+)", text))
    assert called == {".ci/run", ".ci/wheel"}
    for name in called:
        assert (ROOT / name).stat().st_mode & 0o100, "it can be run"
    for system in ("ubuntu", "macos", "windows", "arm"):
        assert system in text
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f'"{version}"' in text
        assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]


FIGURES = {key: 2.0 for key, *_ in ROWS} | {
    "microseconds": {"one": 1.23456},
    "settings": {"processor": "p", "python": "3.12.1", "mujoco": "4.0, rollout"},
}


def test_a_benchmark_is_added_to_its_history(tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    history.append(file, FIGURES)
    history.append(file, FIGURES | {"batch_f64": 43.21987})
    first, second = history.read(file)
    assert first["ratios"]["batch_f64"] == 2.0 and second["ratios"]["batch_f64"] == 43.22
    assert second["version"] == metadata.version("tarsus") and second["mujoco"] == "4.0"
    table = history.markdown([first, second]).splitlines()
    assert "| 43.2 |" in table[2] and "| 43.2 |" not in table[3]
    file.write_text(json.dumps({"format": 99, "entries": []}))
    with refused(InvalidFile, file):
        history.append(file, FIGURES)


@pytest.mark.slow
def test_the_wheel_contains_the_package_and_runs(tmp_path: Path) -> None:
    if shutil.which("uv") is None:
        pytest.skip("there is no uv")
    subprocess.run(["uv", "build", "--out-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    (source,) = tmp_path.glob("*.tar.gz")
    assert tarsus.__version__ in wheel.name and tarsus.__version__ in source.name
    files = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("tarsus/")}
    here = {
        f"tarsus/{path.relative_to(ROOT / 'src' / 'tarsus').as_posix()}"
        for path in (ROOT / "src" / "tarsus").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files == here
