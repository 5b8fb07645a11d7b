"""The command line as a user types it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus import cli, registry
from tarsus.commands import _inspection
from tarsus.commands._joint_flags import JointFlags
from tarsus.commands.base import Command
from tarsus.comparison.laws import parse_laws, simulation_factory
from tarsus.contact.laws import compliant
from tarsus.errors import InvalidValue
from tarsus.mujoco_runs.settings import NAMED, MujocoSettings
from tarsus.simulation.recording.summary_lines import _format_factor

KEYS = {
    "robot", "law", "stepper", "dt", "duration", "distance", "mean_speed", "height_min",
    "height_final", "penetration_max", "creep_max", "iterations_mean", "iterations_max",
    "unconverged_steps", "fell", "realtime_factor", "steps_per_second", "residuals", "warnings",
}  # fmt: skip


def test_run_writes_a_log_and_a_picture_and_one_json_object(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert (
        cli.main(["run", "mini_cheetah", "--duration", "1", "--json", "--out", str(tmp_path)]) == 0
    )
    numbers = json.loads(capsys.readouterr().out)
    assert set(numbers) >= KEYS
    assert (
        numbers["fell"] is False
        and numbers["unconverged_steps"] == 0
        and numbers["distance"] > 0.05
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mini_cheetah.nc", "mini_cheetah.png"]
    log = xr.open_dataset(tmp_path / "mini_cheetah.nc")
    assert numbers["creep_max"] <= 1.3e-4, "docs/contact_truth.md says so"
    assert log["force_world"].dims == ("time", "contact", "xyz")
    assert (tmp_path / "mini_cheetah.png").read_bytes().startswith(b"\x89PNG")


def test_run_prints_a_readable_summary(capsys: pytest.CaptureFixture) -> None:
    arguments = (
        "run mini_cheetah --law compliant --gait stand --slope 5 --friction 0.9 --duration 0.5"
    )
    assert cli.main(arguments.split()) == 0
    out = capsys.readouterr().out
    assert "compliant" in out and "slope" in out and "real time" in out


@pytest.mark.parametrize("contacts", ["foot", "all"])
def test_a_robot_with_only_foot_contacts_sinks_and_is_reported(
    contacts: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """A pole on a ball: without contacts at its head it swings below the ground, and the run
    warns.
    """
    path = tmp_path / "pole.xml"
    path.write_text(
        """<mujoco><worldbody><body name="pole" pos="0 0 .5" euler="10 0 0"><freejoint/>
        <geom name="foot" size=".02" pos="0 0 -.48" mass=".2"/>
        <geom name="head" size=".05" pos="0 0 .1" mass="1"/></body></worldbody></mujoco>"""
    )
    arguments = ["run", str(path), "--contacts", contacts, "--duration", "1.5"]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    assert "fell at" in out
    assert ("through the ground" in out) == (contacts == "foot")


def test_quiet_runs_print_no_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.xml").write_text(ARM.replace('contype="0"', 'friction=".7 0 0"'))
    told = []
    for more in ([], ["--quiet"]):
        assert cli.main(["run", "arm.xml", "--duration", "0.01", *more]) == 0
        told.append(capsys.readouterr())
    assert "warning " in told[0].out and "mu 0.7" in told[0].out
    assert "warning" not in told[1].out and told[1].err == ""


def test_speed_is_printed_with_two_digits() -> None:
    assert [_format_factor(factor) for factor in (0.2345, 3.21, 12.3, 12345.6)] == [
        "0.23",
        "3.2",
        "12",
        "12,346",
    ]


def test_list_without_arguments_lists_every_kind(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["list"]) == 0
    out = capsys.readouterr().out
    assert "laws:" in out and "  moreau" in out and "experiments:" in out


def test_run_takes_the_law_s_parameters_contacts_and_coordinates(
    capsys: pytest.CaptureFixture,
) -> None:
    arguments = (
        "run mini_cheetah --set solver=exact kinetic=0.9 --contacts F*_foot,H*_foot"
        " --coordinates extended --duration 0.2 --json"
    )
    assert cli.main(arguments.split()) == 0
    assert json.loads(capsys.readouterr().out)["unconverged_steps"] == 0


ARM = """<mujoco><compiler angle="radian"/><worldbody><body name="arm" pos="0 0 1">
<joint name="j" type="hinge" axis="0 1 0" range="-0.5 0.3" limited="true" frictionloss="1"/>
<geom type="capsule" size=".02" fromto="0 0 0 .5 0 0" mass="1" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("flags", "options", "turned"),
    [
        ("", {}, (0.299999, 0.300001)),
        ("--no-limits", {"limits": False}, (0.9, 4.0)),
        ("--bounce 0.5 --no-stiction", {"bounce": 0.5, "stiction": False}, (0.2, 0.300001)),
    ],
)
def test_run_takes_limits_and_friction_of_joints_and_sensors(
    flags: str, options: dict, turned: tuple[float, float], tmp_path: Path
) -> None:
    (tmp_path / "arm.xml").write_text(ARM)
    start = ["run", str(tmp_path / "arm.xml"), "--gait", "free", "--duration", "0.6"]
    assert cli.main([*start, *flags.split(), "--sensors", "encoders", "--out", str(tmp_path)]) == 0
    (log,) = (xr.open_dataset(path) for path in tmp_path.glob("*.nc"))
    told = json.loads(log.attrs["options"])
    assert options.items() <= told.items() and told["sensors"][0]["name"] == "encoders"
    assert np.array_equal(log["sensed_encoders"].values[:, 0], log["q"].values[:, 0])
    assert turned[0] < log["q"].values.max() < turned[1]


def test_compare_passes_options_to_all_simulations_and_lists_what_mujoco_ignores() -> None:
    robot, options = tarsus.load("mini_cheetah"), JointFlags(no_limits=True, bounce=0.5).options
    for law, ignored in ((compliant.Compliant(), []), (MujocoSettings(), ["limits", "bounce"])):
        make, told = simulation_factory(robot, None, law, {}, options)
        assert [text.split("'")[1] for text in told] == ignored
        made = make(0.001)
        if isinstance(made, tarsus.Simulation):
            assert (made.options.limits, made.options.bounce) == (False, 0.5)


@pytest.mark.parametrize("what", ["robots", "laws", "steppers", "terrains", "gaits"])
def test_list_shows_all_members(what: str, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["list", what]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and all(len(line.split(None, 1)) == 2 for line in lines)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("run mini_chetah", "mini_chetah"),
        ("run mini_cheetah --set kinetik=0.8", "kinetik"),
        ("run mini_cheetah --set kinetic", "kinetic"),
        ("run mini_cheetah --set mu=slippery", "mu"),
        ("run mini_cheetah --coordinates extendet", "extendet"),
        ("run missing.urdf", "missing.urdf"),
        ("run mini_cheetah --law hertzz", "hertzz"),
        ("run mini_cheetah --gait trott", "trott"),
        ("run mini_cheetah --dt 0", "dt"),
        ("run mini_cheetah --duration=-1", "duration"),
        ("run mini_cheetah --friction=-1", "mu"),
        ("run mini_cheetah --slope 90", "--slope"),
        ("run mini_cheetah --bounce 1.5", "--bounce"),
        ("run mini_cheetah --bounce nan", "--bounce"),
        ("run mini_cheetah --bounce 0.5 --no-limits", "--bounce"),
        ("run mini_cheetah --sensors imuu", "imuu"),
        ("run mini_cheetah --sensors imu:FR_foott", "FR_foott"),
        ("run mini_cheetah --sensors encoders:trunk", "encoders"),
        ("run mini_cheetah --engine mujoco --no-limits", "--no-limits"),
        ("compare mini_cheetah --mujoco tuned,tund", "tund"),
        ("compare mini_cheetah --mujoco-set impratoi=10", "impratoi"),
        ("compare mini_cheetah --mujoco-set integrator=discret", "discret"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: str, name: str, capsys: pytest.CaptureFixture, tmp_path: Path
) -> None:
    assert cli.main([*arguments.split(), "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert (
        name in captured.err
        and captured.err.startswith("error: ")
        and "Traceback" not in captured.err
    )
    assert captured.out == "" and not (tmp_path / "out").exists()


def test_a_diverged_run_fails_and_keeps_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    arguments = [
        "run",
        "mini_cheetah",
        "--law",
        "compliant",
        "--dt",
        "0.02",
        "--set",
        "forces=once",
        "--json",
        "--out",
        str(tmp_path),
    ]
    assert cli.main(arguments) == 1
    captured = capsys.readouterr()
    assert "diverged at t" in captured.err
    assert "diverged" in json.loads(captured.out)
    assert (tmp_path / "mini_cheetah.nc").exists()


def test_importing_is_fast() -> None:
    code = (
        "import sys, tarsus; print([m for m in ('casadi', 'llvmlite', 'mujoco', 'xarray') if m in"
        " sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_overflowed_values_are_null_in_json(capsys: pytest.CaptureFixture) -> None:
    arguments = "compare mini_cheetah --laws moreau --dts 0.05,0.0025 --duration 1 --json"
    assert cli.main(arguments.split()) == 0
    rows = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
    failures = {row["dt"]: row["failure"] for row in rows}
    assert "diverged" in failures[0.05] and failures[0.0025] is None


def test_compare_rejects_duplicate_laws_and_steps(capsys: pytest.CaptureFixture) -> None:
    given = "--laws moreau,moreau --dts 0.002,0.0020,0.001 --duration 0.01 --no-bars --no-search"
    assert cli.main(["compare", "mini_cheetah", *given.split(), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["law"], row["dt"]) for row in rows] == [("moreau", 0.002), ("moreau", 0.001)]
    assert parse_laws("moreau,all,moreau") == parse_laws("moreau") | parse_laws("all")


def test_compare_shows_mujoco_at_each_setting_and_states_it(capsys: pytest.CaptureFixture) -> None:
    given = "--laws mujoco --dts 0.0025 --duration 0.05 --no-bars --no-search"
    own = "--mujoco all --mujoco-set solref=0.004,1 cone=elliptic"
    line = ["compare", "mini_cheetah", *given.split(), *own.split()]
    assert cli.main([*line, "--json"]) == 0
    rows = {row["law"]: row["settings"] for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == [*(f"mujoco {name}" for name in NAMED), "mujoco set"]
    assert rows["mujoco default"]["solref"] == [0.02, 1.0]
    assert rows["mujoco tuned"]["impratio"] == NAMED["tuned"].impratio
    assert (rows["mujoco set"]["solref"], rows["mujoco set"]["cone"]) == ([0.004, 1], "elliptic")
    assert cli.main(line) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert all(settings.description() in out for settings in NAMED.values())


def test_compare_rejects_invalid_steps(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["compare", "mini_cheetah", "--dts", "fast"]) == 2
    assert "--dts" in capsys.readouterr().err


def test_tarsus_without_arguments_prints_the_help(capsys: pytest.CaptureFixture) -> None:
    """Every command in one line of a terminal, the first that a newcomer needs at the top."""
    with pytest.raises(SystemExit) as done:
        cli.main([])
    assert done.value.code == 0
    out = capsys.readouterr().out
    places = [out.index(f"\n  {name} ") for name in ("demo", "run", "list", "compare", "bench")]
    assert places == sorted(places)


def test_version(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tarsus {tarsus.__version__}\n"


@pytest.mark.parametrize("name", registry.names("tarsus.commands"))
def test_help_uses_readable_value_names(name: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    out = capsys.readouterr().out
    for word in ("STR", "{None}", "FLOAT", "PATH", "default: None", "default: False"):
        assert word not in out, word
    for line in out.splitlines():
        example = line.lstrip().startswith("tarsus ")
        if "--no-" in line and not example:
            assert "Skip" in line, "a flag that switches off says so"


def test_summaries_of_commands_fit_a_line() -> None:
    for name in registry.names("tarsus.commands"):
        kind = registry.member_class("tarsus.commands", "command", name, Command)
        summary = (kind.__doc__ or "").partition("\n\n")[0]
        assert "\n" not in summary and len(summary) <= 76 and summary.endswith("."), name


def test_list_prints_one_line_per_parameter(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["list", "gaits", "--parameters"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^    Name +Default +Unit +Range +Meaning$", printed, re.MULTILINE)
    assert re.search(r"^    kp +40 +N m/rad +0 to 1e7 +proportional gain", printed, re.MULTILINE)
    assert cli.main(["list", "robots", "--parameters"]) != 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("freq=2", "did you mean frequency (gait squat or gait trot or gait virtual_model)"),
        ("kp=60,60", "kp of the gait must be one number or 12 numbers"),
        ("kp=1e308", "trot: kp must lie between 0 and 1e7"),
        ("frequency=nan", "trot: frequency must be finite, not NaN."),
        ("frequency=2,2", "trot: frequency must be a number, not 2 of them."),
        ("gait.mu=1", "no part of this run has a parameter named 'gait.mu'"),
        ("stepper.kp=1", "did you mean kp (gait stand or gait trot)"),
        (".kp=1", "no part of this run has a parameter named '.kp'"),
        ("xyzzy=1", "mu, kinetic"),
        ("kp", "NAME=VALUE"),
    ],
)
def test_parameters_are_checked_by_their_declaration(
    setting: str, message: str, capsys: pytest.CaptureFixture
) -> None:
    assert cli.main(["run", "mini_cheetah", "--set", setting]) == 2
    assert message in capsys.readouterr().err


def test_repeated_set_options_accumulate(capsys: pytest.CaptureFixture) -> None:
    """The same parameter twice is a mistake, however it is spelled."""
    start = ["run", "mini_cheetah", "--gait", "stand", "--duration", "0.01", "--json"]
    assert cli.main([*start, "--set", "mu=0.7", "kd=2", "--set", "kp=50"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["law_parameters"]["mu"] == 0.7
    assert (told["gait_parameters"]["kp"], told["gait_parameters"]["kd"]) == (50, 2)
    for again in (["kp=50", "--set", "kp=60"], ["kp=50", "gait.kp=60"]):
        assert cli.main([*start, "--set", *again]) == 2
        assert "kp of the gait" in capsys.readouterr().err


def test_parameters_of_nested_terrains_can_be_set(capsys: pytest.CaptureFixture) -> None:
    arguments = ["run", "mini_cheetah", "--slope", "5", "--set", "terrain.angle=x"]
    assert cli.main(arguments) == 2
    assert "slope: angle must be a number" in capsys.readouterr().err


def test_set_reaches_the_terrain_and_the_stepper() -> None:
    simulation = tarsus.Simulation(
        "mini_cheetah",
        stepper="dormand_prince",
        law="compliant",
        terrain="slope",
        controller="trot",
        parameters=["rtol=1e-4", "heading=4", "terrain.heading=0.5", "mu=0.7"],
    )
    assert vars(simulation.stepper)["rtol"] == 1e-4 and vars(simulation.law)["mu"] == 0.7
    assert vars(simulation.controller)["heading"] == 4
    assert vars(simulation.terrain)["heading"] == 0.5
    with refused(InvalidValue, "kp"):
        tarsus.Simulation("mini_cheetah", controller="trot", parameters=["kp=1", "gait.kp=2"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rnu mini_cheetah", "no command named 'rnu'; did you mean run or rerun or learn?"),
        ("run mini_chetah", "did you mean mini_cheetah"),
        ("run mini_cheetah --law hertzz", "did you mean hertz"),
        ("run mini_cheetah --gait trott", "did you mean trot"),
        ("run mini_cheetah --stepper midpint", "did you mean midpoint"),
        ("run mini_cheetah --terrain plain", "did you mean plane"),
        ("run mini_cheetah --set kinetik=1", "did you mean kinetic (law moreau)?"),
        ("compare mini_cheetah --laws moreau,foo", "mujoco, soft_convex"),
        ("compare mini_cheetah --dts fast", "--dts"),
        ("validate --law foo", "choose from: compliant, hertz"),
        ("validate --scene boks", "there is no scene named 'boks'"),
        ("cite mini_cheetah --gait trott", "did you mean trot"),
        ("inspect mini_cheetah --law hertzz", "did you mean hertz"),
    ],
)
def test_typos_are_reported_before_heavy_imports(arguments: str, message: str) -> None:
    code = (
        "import sys; from tarsus import cli; code = cli.main(sys.argv[1:]); print(code, [m for m in"
        " ('casadi', 'llvmlite', 'mujoco', 'xarray', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()], capture_output=True, text=True
    )
    assert message in done.stderr and done.stdout == "2 []\n"


@pytest.mark.parametrize("option", ["--speed", "--dt", "--friction", "--slope", "--duration"])
def test_non_numbers_are_rejected_in_plain_words(
    option: str, capsys: pytest.CaptureFixture
) -> None:
    assert cli.main(["run", "mini_cheetah", option, "abc"]) == 2
    told = capsys.readouterr().err
    assert told == f"error: {option}: 'abc' is not a number.\n"
    assert cli.main(["run", "mini_cheetah", option, "inf"]) == 2
    assert capsys.readouterr().err == f"error: {option}: 'inf' is not a finite number.\n"


def test_endless_runs_are_rejected(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["run", "mini_cheetah", "--duration", "1e12"]) == 2
    assert "4e+14 steps" in capsys.readouterr().err


def test_validate_accepts_a_law_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    law = tmp_path / "my_law.py"
    law.write_text(Path(str(compliant.__file__)).read_text())
    arguments = ["validate", "--law", str(law), "--scene", "landing_impulse"]
    assert cli.main([*arguments, "--stepper", "symplectic_euler", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["law"] for row in rows} == {str(law)} and rows[0]["status"] != "fail"


def test_inspect_names_its_rows_in_80_columns(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    blocks = [
        {"in_loop": False, "makes": ["tau", "q_mid"], "operations": 5, "by_name": {"fma": 1}},
        {"in_loop": True, "makes": ["a", "b", "c", "d", "more"], "operations": 7, "by_name": {}},
    ]
    found = dict.fromkeys(("bytes_per_world", "lanes", "bits", "compile_seconds"), 1)
    _inspection.print_step({"robot": "x", "blocks": blocks} | found)
    out = capsys.readouterr().out
    assert "once: tau, q_mid" in out and "loop: a, b, c, ..." in out
    assert "…" not in out and "multiply-" in out and max(map(len, out.splitlines())) <= 80


def test_a_robot_prints_on_one_line() -> None:
    robot = tarsus.load("mini_cheetah")
    assert str(robot) == repr(robot) and "\n" not in repr(robot) and len(repr(robot)) < 120
    assert "mini_cheetah: 13 bodies, 18 degrees of freedom" in repr(robot)


def test_cite_includes_the_default_gait(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["cite", "mini_cheetah"]) == 0
    assert "% gait trot" in capsys.readouterr().out
