"""Every kind of member that a user may define in a Python file."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.refused import refused

import tarsus
from tarsus import cli, registry
from tarsus.errors import InvalidFile
from tarsus.planning import planner
from tarsus.planning.goals.base import Goal
from tarsus.simulation import resolve, sensors

SOURCE = Path(tarsus.__file__).parent
MEMBERS = {  # kind: a member of ours to copy
    "law": "contact/laws/hunt_crossley.py",
    "terrain": "terrain/sine.py",
    "gait": "control/gaits/stand.py",
    "stepper": "stepping/methods/heun.py",
    "task": "tasks/velocity.py",
    "goal": "planning/goals/stand.py",
    "sensor": "sensing/encoders.py",
}


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """A file of one's own for each kind."""
    found = {}
    for kind, member in MEMBERS.items():
        file = tmp_path / f"my_{kind}.py"
        file.write_text((SOURCE / member).read_text())
        found[kind] = str(file)
    return found


def test_every_kind_is_created_from_a_file(own: dict[str, str]) -> None:
    made = {
        "law": resolve.resolve_law(own["law"]),
        "terrain": resolve.resolve_terrain(own["terrain"]),
        "gait": resolve.resolve_controller(own["gait"]),
        "stepper": resolve.resolve_stepper(own["stepper"]),
        "task": resolve.resolve_task(own["task"]),
        "goal": planner._resolve(planner.GOALS, "goal", own["goal"], Goal),
        "sensor": sensors._create_sensor(own["sensor"]),
    }
    assert {kind: registry.name_of(part) for kind, part in made.items()} == {
        kind: f"my_{kind}" for kind in MEMBERS
    }


def test_a_run_can_use_only_user_files(own: dict[str, str], tmp_path: Path) -> None:
    flags = [f for kind in ("law", "terrain", "gait", "stepper") for f in (f"--{kind}", own[kind])]
    flags += ["--sensors", own["sensor"], "--set", "amplitude=0.001"]
    times = ["--duration", "0.01", "--dt", "0.0005", "--out", str(tmp_path)]
    assert cli.main(["run", "mini_cheetah", *flags, *times, "-q"]) == 0
    assert tarsus.rerun(tmp_path / "mini_cheetah.nc").reproduced


@pytest.mark.parametrize(
    ("source", "line"),
    [("x = 1\nimport nowhere_at_all\n", 2), ("def f(:\n", 1), ("\n\nraise ValueError('no')\n", 3)],
)
@pytest.mark.parametrize("kind", ["gait", "terrain"])
def test_an_error_in_a_file_names_its_line(
    kind: str, source: str, line: int, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(source)
    assert cli.main(["run", "mini_cheetah", f"--{kind}", str(file), "--duration", "0.01"]) == 2
    said = capsys.readouterr().err
    assert f"broken.py, line {line}" in said and said.count("\n") == 1


def test_user_files_must_define_one_member(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    with refused(InvalidFile, tmp_path / "empty.py"):
        resolve.resolve_terrain(str(tmp_path / "empty.py"))
    with refused(InvalidFile, tmp_path / "gone.py"):
        resolve.resolve_stepper(str(tmp_path / "gone.py"))
    (tmp_path / "json.py").write_text("")
    with refused(InvalidFile, tmp_path / "json.py"):
        resolve.resolve_law(str(tmp_path / "json.py"))
