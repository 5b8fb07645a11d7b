"""Features of all commands: help, examples, completion, JSON, quiet and verbose, exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.commands import _doctor_checks
from tarsus.commands._completion_scripts import SCRIPTS, CommandWords
from tarsus.commands._doctor_checks import BAD, MISSING, OK
from tarsus.commands._options import options
from tarsus.commands.base import Command
from tarsus.errors import InvalidValue, TarsusError, TarsusWarning, UnknownName
from tarsus.viewer.terminal import SideView, braille
from tarsus.viewer.track import Contacts, Track

COMMANDS = cli.commands()
KNOWN = [CommandWords(n, "what it does", tuple(options(kind))) for n, kind in COMMANDS.items()]


@pytest.mark.parametrize("name", COMMANDS)
def test_completion_offers_the_options_of_the_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Completion reads the fields for itself; the help is the parser's own."""
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    shown = capsys.readouterr().out
    taken = re.findall(r"^\S? {1,2}(?:-\w, )?(--[a-z][\w-]*)", shown, re.MULTILINE)
    found = options(COMMANDS[name])
    offered = [flag for option in found for flag in option.flags if flag.startswith("--")]
    assert sorted(offered) == sorted(set(taken) - {"--help"})
    assert all(option.about for option in found), "each is explained"


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_the_help_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind: Any = COMMANDS[name]
    assert kind.examples and set(kind.groups) & {"Arguments", "Output"} == set()
    for line in kind.examples:
        words = shlex.split(line)
        if words[0] == "tarsus":
            given = cli.parse_command(words[1 : words.index(">")] if ">" in words else words[1:])
            assert isinstance(given, kind)
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    out = capsys.readouterr().out
    assert all(line in out for line in kind.examples) and "Exit codes: 0" in out
    assert all(f" {heading} options " in out for heading in kind.groups)
    assert max(map(len, out.splitlines()[1:])) <= 80, "all but the usage"


def test_help_has_colors_only_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ([], ["run", "--help"], ["help", "run"]):
        with pytest.raises(SystemExit):
            cli.main(line)
        assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("list laws", {"laws"}),
        ("list gaits --parameters", {"gaits"}),
        ("cite mini_cheetah", {"entries", "without"}),
        ("completion fish", {"shell", "script"}),
    ],
)
def test_json_is_one_document(
    line: str, said: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*line.split(), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run", "error: tarsus run needs ROBOT; see `tarsus run --help`."),
        ("run hyq --frition 1", "has no option '--frition'; did you mean --friction or"),
        ("run hyq --zzzz=1", "'--zzzz'; see `tarsus run --help`."),
        ("run hyq --engine mujco", "--engine does not accept 'mujco'; did you mean mujoco?"),
        ("run hyq --precision=half", "'half'; choose one of: float64, float32."),
        ("run hyq --duration long", "--duration: 'long' is not a number."),
        ("view hyq --worlds many", "--worlds: 'many' is not a whole number."),
        ("identify spec.toml --threads many", "--threads: 'many' is not a whole number."),
    ],
)
def test_bad_usage_is_one_sentence(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line.split()) == 2
    told = capsys.readouterr()
    assert said in told.err and told.err.startswith("error: ") and not told.out
    assert told.err.count("\n") == 1 and told.err.endswith((".\n", "?\n"))


@pytest.mark.parametrize(
    ("line", "kind", "subject"),
    [
        ("run", InvalidValue, "ROBOT"),
        ("run hyq --frition 1", UnknownName, "--frition"),
        ("run hyq -x", UnknownName, "-x"),
        ("run hyq twice", UnknownName, "twice"),
        ("run hyq --engine mujco", UnknownName, "mujco"),
        ("run hyq --duration", InvalidValue, "--duration"),
        ("run hyq --duration long", InvalidValue, "--duration"),
        ("view hyq --worlds many", InvalidValue, "--worlds"),
        ("list lws --json", UnknownName, "lws"),
        ("learn velocity", InvalidValue, "--out"),
        ("learn velocity --ot folder", UnknownName, "--ot"),
        ("--json list", InvalidValue, "--json"),
    ],
)
def test_bad_usage_names_the_argument(line: str, kind: type[TarsusError], subject: str) -> None:
    with refused(kind, subject):
        cli.parse_command(line.split()).check_names()


def test_quiet_and_verbose_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "laws", "-q", "-v"]) == 2
    assert "--quiet" in capsys.readouterr().err


class Warns(Command):
    """Warn, as a command does that drops something."""

    def execute(self) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("something is left out.", TarsusWarning, stacklevel=1)
        return 0


def test_a_warning_is_a_line_unless_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = cli.parse_command(["list"])
    monkeypatch.setattr(type(given), "execute", Warns.execute)
    assert cli.main(["list"]) == 0
    assert capsys.readouterr().err == "warning: something is left out.\n"
    assert cli.main(["list", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_verbose_reports_compiled_and_cached_programs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path))
    (tmp_path / "ball.urdf").write_text(
        '<robot name="ball"><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1"'
        ' izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="0.1"/>'
        "</geometry></collision></link></robot>"
    )
    line = ["run", str(tmp_path / "ball.urdf"), "--gait", "free", "--duration", "0.01", "--json"]
    told = []
    for _ in range(2):
        assert cli.main([*line, "-v"]) == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)["robot"] == "ball"
        told.append(captured.err)
    assert "compiled in" in told[0] and "running ball" in told[0]
    assert cli.main(line) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("line", ["--help", "list laws"])
def test_ascii_only_pipes_get_all_lines(line: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "tarsus", *line.split()]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.returncode == 0 and done.stderr == b"" and done.stdout.isascii()


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("line", ["--version", "--help", "list laws", "list --json", "inspect hyq"])
@pytest.mark.parametrize("buffered", [True, False])
def test_closed_output_pipes_are_not_errors(line: str, buffered: bool) -> None:
    """`tarsus ... | head -3`: quiet and 0, whether print, rich or the end of Python meets it."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"}
    command = [sys.executable, "-m", "tarsus", *line.split()]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_command_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--json", "list"]) == 2
    assert "--json" in capsys.readouterr().err


# ---------------------------------------------------------------- completion


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_names(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPTS["bash"](KNOWN))
    asked = {
        "tarsus doc": ["doctor"],
        "tarsus run mini": ["mini_cheetah"],
        "tarsus run x --prec": ["--precision"],
        "tarsus run x --law hun": ["hunt_crossley"],
        "tarsus run x --law = hun": ["hunt_crossley"],
        "tarsus compare x --laws moreau,hun": ["moreau,hunt_crossley"],
        "tarsus bench --device c": ["cpu", "cuda"],
        "tarsus rerun --ver": ["--verbose"],
    }
    lines = "".join(
        f"COMP_WORDS=({words}); COMP_CWORD={len(words.split()) - 1}; _tarsus;"
        ' echo "${COMPREPLY[*]}"\n'
        for words in asked
    )
    code = f"source {shlex.quote(str(tmp_path / 'script'))}\n{lines}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert [row.split() for row in done.stdout.splitlines()] == list(asked.values())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_scripts_load_in_their_shells(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    (tmp_path / "script").write_text(SCRIPTS[shell](KNOWN))
    command = [shell, "-n", str(tmp_path / "script")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    if shell == "fish":
        code = f"source {tmp_path / 'script'}; complete -C 'tarsus run --law hun'"
        done = subprocess.run([shell, "-c", code], capture_output=True, text=True)
        assert done.stdout.startswith("hunt_crossley")


# ---------------------------------------------------------------- doctor, demo


def test_the_doctor_lists_working_and_missing_features(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs = ["numpy>=2.0", 'nothing-such>=1; extra == "view"', 'numpy>=99; extra == "peers"']
    monkeypatch.setattr(_doctor_checks.metadata, "requires", lambda name: needs)
    assert cli.main(["doctor", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert all(found[name]["state"] == OK for name in ("packages", "processor", "compiler"))
    assert found["[view]"]["state"] == MISSING and "nothing-such" in found["[view]"]["detail"]
    assert '[view]"' in found["[view]"]["remedy"] and "install" in found["[view]"]["remedy"]
    assert f"numpy>=99, not {np.__version__}" in found["[peers]"]["detail"]
    assert found["[exchange]"]["state"] == OK
    monkeypatch.setattr(_doctor_checks.metadata, "requires", lambda name: ["nothing-such>=1"])
    assert cli.main(["doctor"]) == 1
    assert "!!  packages" in capsys.readouterr().out


def test_the_doctor_reports_an_unusable_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "file"))
    (found,) = _doctor_checks._check_cache()
    assert found.state == MISSING and str(tmp_path / "file") in found.detail
    monkeypatch.setattr("tarsus.program.run.worlds.Worlds.advance", lambda self, steps: None)
    (found,) = _doctor_checks._check_compiler()
    assert found.state == BAD and "wrong numbers" in found.detail
    assert os.environ["TARSUS_CACHE"] == str(tmp_path / "file")


def test_braille_characters_encode_their_dots() -> None:
    dots = np.zeros((4, 4), bool)
    dots[0, 0] = dots[3, 3] = True
    assert braille(dots) == "\u2801\u2880"


def test_the_terminal_animation_shows_robot_and_ground() -> None:
    robot = tarsus.load("mini_cheetah")
    q = np.tile(robot.keyframes["stand"], (3, 1, 1))
    feet = np.zeros((3, 1, 4, 3))
    contacts = Contacts(feet, feet, feet, np.zeros((3, 1, 4), int), np.zeros((3, 1, 4)))
    seen = Track(robot, np.array([0.0, 0.1, 0.2]), q, contacts, {}, {})
    view = SideView(seen, 60, 12)
    frames = list(view.frames(10.0))
    assert len(frames) == 2 and frames[0] == frames[1]
    rows, blank = frames[0].splitlines(), "\u2800" * 60
    assert [len(row) for row in rows] == [60] * 12
    # its trunk, 1 of the 1.5 heights that are seen, and its legs down to the ground
    assert [row == blank for row in rows] == [True] * 3 + [False] * 9
    assert all(row[:8] == row[-8:] == "\u2800" * 8 for row in rows[:-1]), "it is in the middle"


@pytest.mark.slow
def test_the_demo_prints_its_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--no-film", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trot"]["unconverged_steps"] == 0 and found["trot"]["distance"] > 0.5
    laws = {row["law"]: row for row in found["laws"]}
    assert set(laws) == {"moreau", "compliant", "mujoco default", "mujoco tuned"}
    assert laws["mujoco tuned"]["creep_max"] < 0.01 * laws["mujoco default"]["creep_max"]
    assert laws["mujoco tuned"]["settings"]["impratio"] == 100
    stands = [row["upright"] for row in found["worlds"]["rows"]]
    assert stands[0] == 1.0 and stands[-1] < 0.1, "light pushes are withstood, heavy ones not"
