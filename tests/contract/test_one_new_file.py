"""A new robot, law, solver, stepper, terrain, gait, sensor, scene, engine, experiment, command or
peer is one file.

A copy of the packages gets one file of each kind (tests/helpers/throw_away) and no other change.
Everything that lists, runs, validates or compares must then offer it. All runs are separate
processes on the copy.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import throw_away

import tarsus

pytestmark = pytest.mark.slow  # the quick suite stays below fifteen minutes
TESTS = Path(__file__).parents[1]
NAME = "throw_away"

Python = Callable[..., str]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Python:
    """Run Python with the copies instead of the packages; return its output."""
    folder = tmp_path_factory.mktemp("copy")
    for package in {place.partition("/")[0] for place in throw_away.KINDS.values()}:
        shutil.copytree(Path(tarsus.__file__).parents[1] / package, folder / package)
    for kind, place in throw_away.KINDS.items():
        shutil.copy(
            Path(throw_away.__file__).with_name(f"{kind}.py"), folder / place / f"{NAME}.py"
        )

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert str(folder) in run("-c", "import tarsus; print(tarsus.__file__)")
    return run


def command(python: Python, line: str) -> str:
    """Run `tarsus ...` as a user types it."""
    code = "import sys; from tarsus.cli import main; sys.exit(main())"
    return python("-c", code, *line.split())


LISTED = [kind for kind in throw_away.KINDS if kind != "commands"]


@pytest.mark.parametrize("kind", LISTED)
def test_list_shows_new_members_with_their_summary(python: Python, kind: str) -> None:
    (line,) = [x for x in command(python, f"list {kind}").splitlines() if x.startswith(NAME)]
    assert "Temporary" in line


def test_list_shows_all_kinds(python: Python) -> None:
    assert command(python, "list").count(NAME) == len(LISTED)


def test_run_accepts_new_members_by_name(python: Python) -> None:
    line = f"run {NAME} --law {NAME} --stepper {NAME} --terrain {NAME} --gait {NAME}"
    numbers = json.loads(
        command(python, f"{line} --set k=10000 offset=0.01 --dt 0.001 --duration 0.3 --json")
    )
    named = {numbers[key] for key in ("robot", "law", "stepper", "terrain")}
    assert named == {NAME}
    assert 0.001 < numbers["penetration_max"] < 0.01, "10 kN/m under 2 kg, dropped by 1 mm"
    assert not numbers["fell"]


KNOWN = """
import json
import tarsus
from tarsus.comparison.laws import parse_laws
from tarsus_papers import gallery
from tarsus.validation.table import engines

name = "throw_away"
log = tarsus.Simulation(name, name, name, name, name, dt=0.001).run(0.3)
found = {
    "height": float(log["q"].sel(coordinate="base.z")[-1]),
    "engines": [[engine.law, engine.stepper] for engine in engines(None, None)],
    "compared": list(parse_laws("all")),
    "gallery": gallery(),
}
print(json.dumps(found))
"""


@pytest.mark.slow
def test_moreau_accepts_a_new_solver_by_name(python: Python) -> None:
    line = f"run mini_cheetah --gait stand --set solver={NAME} --duration 0.05 --json"
    numbers = json.loads(command(python, line))
    usual = json.loads(command(python, line.replace(NAME, "sor")))
    assert numbers["unconverged_steps"] == 0 and not numbers["fell"]
    assert numbers["iterations_mean"] != usual["iterations_mean"], "it was SOR that ran"


@pytest.fixture(scope="module")
def known(python: Python) -> dict[str, Any]:
    """List the members that Python code on the copy finds."""
    return json.loads(python("-c", KNOWN))


def test_simulation_accepts_new_members_by_name(known: dict[str, Any]) -> None:
    rest = 0.22 - 0.001 - 2 * 9.81 / 20000
    assert known["height"] == pytest.approx(rest, abs=1e-3)


def test_validate_enumerates_law_and_stepper(known: dict[str, Any]) -> None:
    assert [NAME, NAME] in known["engines"]


def test_compare_enumerates_the_law(known: dict[str, Any]) -> None:
    assert NAME in known["compared"]


def test_the_gallery_shows_a_new_experiment(known: dict[str, Any]) -> None:
    assert f"`{NAME}`: Sums" in known["gallery"]


def test_validate_measures_law_stepper_and_scene(python: Python) -> None:
    rows = json.loads(
        command(python, f"validate --law {NAME} --stepper {NAME} --scene {NAME} --json")
    )
    assert [(row["scene"], row["law"], row["status"]) for row in rows] == [(NAME, NAME, "pass")]


def test_validate_runs_the_other_scenes_for_a_new_law(python: Python) -> None:
    line = f"validate --law {NAME} --stepper midpoint --scene"
    (rest,) = json.loads(command(python, f"{line} spring_rest --json"))
    assert rest["status"] == "pass"
    (slide,) = json.loads(command(python, f"{line} sliding_cube --json"))
    assert slide["status"] == "not modeled" and "smooth" in slide["reason"]


@pytest.mark.slow
def test_compare_runs_law_robot_and_gait(python: Python) -> None:
    line = f"compare {NAME} --laws {NAME} --gait {NAME} --dts 0.001 --duration 0.1 --json"
    (row,) = json.loads(command(python, line))
    assert row["law"] == NAME and row["failure"] is None


def test_reproduce_runs_the_experiment(python: Python) -> None:
    assert "1 + 1" in command(python, f"reproduce {NAME} --quick --out .")


def test_the_command_line_offers_a_new_command(python: Python) -> None:
    assert "Print a word." in command(python, "--help")
    assert command(python, f"{NAME} --word paper") == "thrown away: paper\n"


EXAMINED = {
    "laws": "test_laws.py::test_the_ground_never_pulls",
    "solvers": "test_solvers.py::test_newton_s_impact_law",
} | {
    kind: f"test_members.py::test_a_{kind[:-1]}_"
    for kind in (
        "robots",
        "steppers",
        "terrains",
        "gaits",
        "sensors",
        "scenes",
        "commands",
        "peers",
    )
}
EXAMINED |= {
    kind: f"test_members.py::test_an_{kind[:-1]}_"
    for kind in ("actuators", "engines", "experiments")
}


def test_contract_tests_cover_new_members(python: Python) -> None:
    """Their cases are collected on the copy, but not run."""
    options = ("-o", "addopts=", "-p", "no:cacheprovider", "--collect-only", "-q")
    cases = python("-m", "pytest", *options, str(TESTS / "contract")).splitlines()
    own = [case for case in cases if NAME in case]
    missing = {kind for kind in throw_away.KINDS if not any(EXAMINED[kind] in c for c in own)}
    assert not missing


def test_temporary_members_fulfill_their_contracts(python: Python) -> None:
    """This shows that one file can pass the contract tests, and that these files are valid
    examples.
    """
    options = ("-o", "addopts=", "-p", "no:cacheprovider", "-q", "-k", NAME)
    python("-m", "pytest", *options, str(TESTS / "contract" / "test_members.py"))
