"""Members that installed packages register through entry points are found, run and logged, and
reported if missing.

A package is installed as an installer leaves it: its modules and its metadata in a folder of the
module search path.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from helpers import throw_away
from helpers.refused import refused

import tarsus
from tarsus import cli, plugins, registry
from tarsus.errors import MissingPackage, PluginError, TarsusError, TarsusWarning, UnknownName
from tarsus.simulation.recording import part_serialization

ROOT = Path(__file__).parents[2]
LAWS = "tarsus.contact.laws"
MEMBERS = {  # kind: file of tests/helpers/throw_away, name that it is registered under
    "laws": "soft_mud",
    "robots": "pogo",
    "terrains": "ditch",
    "commands": "greet",
    "experiments": "sums",
}
NAMES = " or ".join(MEMBERS.values())
ENTRIES = {kind: {name: f"their_package.{kind}"} for kind, name in MEMBERS.items()}

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Write a package's modules and metadata, and have Python find both."""

    def write(
        package: str,
        entries: Mapping[str, Mapping[str, str]],
        modules: Mapping[str, str] | None = None,
    ) -> Path:
        folder = tmp_path / package
        home, info = folder / package, folder / f"{package}-1.2.dist-info"
        home.mkdir(parents=True)
        info.mkdir()
        for name, source in ({"__init__": ""} | dict(modules or {})).items():
            (home / f"{name}.py").write_text(source)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: 1.2\n"
        )
        lines = [
            line
            for kind, members in entries.items()
            for line in (f"[tarsus.{kind}]", *(f"{name} = {to}" for name, to in members.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(folder)
        plugins.clear_cache()
        return folder

    before = dict(sys.modules)
    yield write
    monkeypatch.undo()
    plugins.clear_cache()
    for name in sys.modules.keys() - before.keys():
        if name.partition(".")[0] in ("their_package", "other_package", "my_package"):
            sys.modules.pop(name)


@pytest.fixture
def theirs(install: Install) -> Path:
    """A package with one member of each kind; the folder that it is installed in."""
    files = Path(throw_away.__file__).parent
    sources = {kind: (files / f"{kind}.py").read_text() for kind in MEMBERS}
    sources["robots"] = sources["robots"].replace('"throw_away"', '"pogo"')
    return install("their_package", ENTRIES, sources)


def uninstall(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the package, as in a process that starts without it."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(folder)])
    monkeypatch.setattr(part_serialization, "_classes_of_process", {})
    for name in [name for name in sys.modules if name.startswith("their_package")]:
        sys.modules.pop(name)
    plugins.clear_cache()


def simulated() -> xr.Dataset:
    """A short run of their robot under their law on their terrain."""
    return tarsus.Simulation("pogo", "soft_mud", terrain="ditch", dt=1e-3).run(0.01)


def their_cases(path: str, *options: str) -> list[str]:
    """Output lines of pytest for the tests in a file that contain the members' names."""
    options = ("-o", "addopts=", "-p", "no:cacheprovider", "-k", NAMES, "-q", *options)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(ROOT / "tests" / path)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path[:1])},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


# ---------------------------------------------------------------- found


@pytest.mark.parametrize("kind", [kind for kind in MEMBERS if kind != "commands"])
def test_lists_show_plug_ins(kind: str, theirs: Path, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["list", kind, "--json"]) == 0
    listed = {row["name"]: row["summary"] for row in json.loads(capsys.readouterr().out)[kind]}
    assert listed[MEMBERS[kind]].startswith("Throw-away")


def test_lists_do_not_import_plug_ins(theirs: Path) -> None:
    assert cli.main(["list", "-q"]) == 0
    assert "their_package.laws" not in sys.modules


def test_plug_in_commands_run_and_have_help(theirs: Path, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["greet", "--word", "paper"]) == 0
    assert capsys.readouterr().out == "thrown away: paper\n"
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "  greet " in capsys.readouterr().out
    assert cli.main(["completion", "bash"]) == 0
    assert "greet" in capsys.readouterr().out


def test_run_accepts_plug_ins_by_name(theirs: Path, capsys: pytest.CaptureFixture) -> None:
    line = "run pogo --law soft_mud --terrain ditch --gait free --dt 0.001 --duration 0.01 --json"
    assert cli.main([*line.split(), "--set", "k=10000", "soft_mud.d=90"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["robot"], found["law"], found["terrain"]) == ("pogo", "soft_mud", "ditch")
    assert cli.main([*line.split(), "--set", "kk=1"]) == 2


def test_plug_in_laws_have_a_parameter_table(theirs: Path) -> None:
    tables = runpy.run_path(str(ROOT / "tools" / "make_docs.py"))
    assert "### `soft_mud`" in tables["law_parameters"]()


def test_contract_tests_cover_plug_ins(theirs: Path) -> None:
    cases = their_cases("contract", "--collect-only")
    missing = {name for name in MEMBERS.values() if not any(name in case for case in cases)}
    assert not missing


def test_the_example_of_the_documents_works(
    install: Install, capsys: pytest.CaptureFixture
) -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    block = page.partition("```toml\n")[2].partition("```")[0]
    groups = tomllib.loads(block)["project"]["entry-points"]
    files = Path(throw_away.__file__).parent
    modules = {
        module.rpartition(".")[2]: (files / f"{kind}.py").read_text()
        for kind in ("laws", "commands")
        for module in groups[f"tarsus.{kind}"].values()
    }
    entries = {group.removeprefix("tarsus."): found for group, found in groups.items()}
    install("my_package", entries, modules)
    assert cli.main(["drop_height", "--word", "paper"]) == 0
    assert cli.main(["list", "laws"]) == 0
    assert "\nsoft_mud " in capsys.readouterr().out


@pytest.mark.slow
def test_plug_ins_fulfill_their_contracts(theirs: Path) -> None:
    their_cases("contract/test_members.py")
    their_cases("contract/test_parameters.py")


# ---------------------------------------------------------------- logged


def test_logs_name_plug_in_packages_and_rerun(theirs: Path) -> None:
    log = simulated()
    told = {f"{kind}_package": log.attrs.get(f"{kind}_package") for kind in ("robot", "law")}
    assert set(told.values()) == {"their-package 1.2"}
    assert log.attrs["law"] == "soft_mud" and "law_file" not in log.attrs
    assert "stepper_package" not in log.attrs
    again = tarsus.rerun(log)
    assert not again.deviations and not again.changed


@pytest.mark.parametrize("part", ["robot", "law", "terrain"])
def test_logs_report_a_missing_package(
    part: str, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {"robot": "mini_cheetah", "law": "moreau", "terrain": "plane"}
    chosen = ours | {part: {"robot": "pogo", "law": "soft_mud", "terrain": "ditch"}[part]}
    log = tarsus.Simulation(
        chosen["robot"], chosen["law"], terrain=chosen["terrain"], controller=None, dt=1e-3
    ).run(0.002)
    uninstall(theirs, monkeypatch)
    with refused(MissingPackage, "their-package"):
        tarsus.rerun(log)


def test_a_log_cannot_name_another_module_of_the_package(theirs: Path) -> None:
    log = simulated()
    for module in ("commands", "nothing"):
        log.attrs["law_class"] = f"their_package.{module}:ThrowAway"
        with pytest.raises(TarsusError):
            tarsus.rerun(log)
        assert f"their_package.{module}" not in sys.modules


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize("name, first", [("soft_mud", "their-package"), ("moreau", "tarsus")])
def test_two_members_of_one_name_are_refused(
    name: str, first: str, theirs: Path, install: Install, capsys: pytest.CaptureFixture
) -> None:
    install("other_package", {"laws": {name: "other_package.laws"}})
    with pytest.raises(PluginError) as caught:
        registry.names(LAWS)
    assert {caught.value.subject} < {"other-package", "their-package"}
    assert first in str(caught.value) and "other-package" in str(caught.value)
    assert cli.main(["list", "gaits"]) == 0, "another kind is not concerned"
    assert cli.main(["list", "laws"]) == 2
    assert cli.main(["run", "mini_cheetah", "--law", name]) == 2


BROKEN = {
    "absent": "other_package.absent",
    "raises": "other_package.raises",
    "no_module": "other_package.raises:Law",
    "empty": "other_package.empty",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plug_in_is_an_error_when_used(name: str, install: Install) -> None:
    modules = {"raises": "raise RuntimeError('no')", "empty": '"""Nothing."""'}
    install("other_package", {"laws": {name: BROKEN[name]}}, modules)
    assert name in registry.names(LAWS)
    with refused(PluginError, "other-package"):
        tarsus.Simulation("mini_cheetah", name)


def test_a_broken_plug_in_causes_a_warning_in_lists(
    install: Install, capsys: pytest.CaptureFixture
) -> None:
    entries = {
        "laws": {"absent": "other_package.absent"},
        "commands": {"raises": "other_package.raises"},
        "kinds": {"frogs": "other_package.absent", "toads": "other_package.empty"},
    }
    install("other_package", entries, {"raises": "raise RuntimeError('no')", "empty": ""})
    for line, warned in (("list laws", 1), ("list", 3), ("list gaits", 0), ("--help", 1)):
        try:
            assert cli.main(line.split()) == 0
        except SystemExit as end:
            assert not end.code
        told = capsys.readouterr()
        assert told.out and told.err.count("warning: ") == warned, line
        assert told.err.count("'other-package'") == warned, line
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert "run" in cli.commands() and "raises" not in cli.commands()
    found: Any = [warning.message for warning in caught]
    assert all(isinstance(one, TarsusWarning) for one in found)
    assert {(one.code, one.subject) for one in found} == {("broken-plug-in", "other-package")}


def test_plug_in_names_are_suggested(theirs: Path, capsys: pytest.CaptureFixture) -> None:
    with refused(UnknownName, "soft_mood"):
        tarsus.Simulation("pogo", "soft_mood")
    assert cli.main(["run", "pogo", "--law", "soft_mood"]) == 2
    assert "soft_mud" in capsys.readouterr().err


# ---------------------------------------------------------------- start


def test_importing_tarsus_reads_no_entry_point() -> None:
    code = "import sys, tarsus, tarsus.registry; print('importlib.metadata' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
