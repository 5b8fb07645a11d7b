"""C code of a robot and its step: it compiles without a warning and gives the simulator's bits."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.errors import Unsupported
from tarsus.exchange.c_export import export_c
from tarsus.program.codegen.c_source import literal

BALL = """<mujoco model="my ball-1"><worldbody><geom type="plane" size="9 9 1"/><body name="ball"
pos="0 0 0.3"><freejoint name="free"/><geom name="foot" type="sphere" size=".1" mass="1"/>
<body name="arm"><joint name="a" type="hinge" axis="0 1 0" damping="0.01" range="-60 60"/>
<geom size=".02" pos="0 0 .2" mass="0.1" contype="0" conaffinity="0"/></body></body></worldbody>
<actuator><motor joint="a" gear="1" ctrlrange="-5 5"/></actuator></mujoco>"""
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ball with an arm thrown over a height field: loops, masks and a table in its step."""
    folder = tmp_path_factory.mktemp("c")
    (folder / "ball.xml").write_text(BALL)
    heights = 0.05 * np.random.default_rng(0).random((30, 30))
    ground = tarsus.HeightField(heights, cell=0.2)
    law = tarsus.Moreau(e_N=0.4)
    simulation = tarsus.Simulation(str(folder / "ball.xml"), law, terrain=ground)
    before = simulation.state()
    files = export_c(simulation, folder / "code")
    assert len(files) == 6
    np.testing.assert_array_equal(simulation.state(), before)
    return folder / "code"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_exported_c_matches_the_simulator_bitwise_without_warnings(
    compiler: str, written: Path, tmp_path: Path
) -> None:
    sources = [str(written / f"{name}.c") for name in ("my_ball_1", "test_my_ball_1")]
    command = [compiler, *FLAGS, "-O1", *sources, "-o", str(tmp_path / "test"), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    told = subprocess.run([str(tmp_path / "test")], check=False, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout
    found = re.search(r"(\d+) numbers compared, (\d+) not bit-identical", told.stdout)
    assert found and int(found[1]) > 1000 and int(found[2]) == 0


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_test_vectors_detect_a_wrong_number(written: Path, tmp_path: Path) -> None:
    """A mass that is wrong by 1e-9 fails; the example runs and allocates nothing."""
    text = (written / "my_ball_1.c").read_text()
    assert not re.search(r"\b(malloc|calloc|realloc|free|alloca)\s*\(", text)
    changed = text.replace("9.81", "9.81000001")
    assert changed != text
    (tmp_path / "my_ball_1.c").write_text(changed)
    include = ["-I", str(written), "-lm"]
    test = [str(tmp_path / "my_ball_1.c"), str(written / "test_my_ball_1.c")]
    subprocess.run([COMPILERS[0], *test, "-o", str(tmp_path / "test"), *include], check=True)
    told = subprocess.run([str(tmp_path / "test")], check=False, capture_output=True, text=True)
    assert told.returncode == 1 and "my_ball_1_gravity[" in told.stdout
    example = [str(written / name) for name in ("my_ball_1.c", "example.c")]
    command = [COMPILERS[0], *FLAGS, *example, "-o", str(tmp_path / "example"), "-lm"]
    subprocess.run(command, check=True)
    told = subprocess.run([str(tmp_path / "example")], check=True, capture_output=True, text=True)
    assert re.search(r"20000 steps of 0.0025 s: mean [\d.]+ us, longest [\d.]+ us", told.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cmake") or not COMPILERS, reason="no CMake")
@pytest.mark.parametrize(
    "arguments",
    [
        ["mini_cheetah", "--set", "solver=sor"],
        ["hoap1", "--gait", "none", "--law", "compliant", "--terrain", "rough", "--dt", "1e-4"],
        ["biped", "--stepper", "event_driven"],
        ["mini_cheetah", "--gait", "none", "--contacts", "all"],
    ],
)
def test_exported_c_steps_match_python(arguments: list[str], tmp_path: Path) -> None:
    code, build = tmp_path / "code", tmp_path / "build"
    assert cli.main(["export", *arguments, "--c", str(code)]) == 0
    subprocess.run(["cmake", "-S", code, "-B", build], check=True, capture_output=True)
    made = subprocess.run(["cmake", "--build", build], check=True, capture_output=True, text=True)
    assert "warning" not in made.stdout + made.stderr
    told = subprocess.run([build / f"test_{arguments[0]}"], capture_output=True, text=True)
    assert told.returncode == 0 and ", 0 not bit-identical" in told.stdout, told.stdout


def test_numbers_round_trip() -> None:
    assert [literal(x) for x in (0.1, -0.0, 1e-300)] == ["0.1", "(-0.0)", "1e-300"]
    assert literal(float("nan")) == "NAN" and literal(-np.inf) == "(-INFINITY)"
    assert float(literal(np.nextafter(1.0, 2.0))) == np.nextafter(1.0, 2.0)


def test_unsupported_exports_are_rejected(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for arguments, told in (
        (["mini_cheeta", "--c", str(tmp_path / "c")], "did you mean mini_cheetah"),
        (["mini_cheetah", "out.csv", "--c", str(tmp_path / "c")], "out.csv"),
        (["mini_cheetah", "--c", str(tmp_path / "c"), "--gait", "trott"], "did you mean trot"),
        (["mini_cheetah"], "mini_cheetah"),
    ):
        assert cli.main(["export", *arguments]) == 2
        assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    (tmp_path / "ball.xml").write_text(BALL)
    batch = tarsus.Simulation(str(tmp_path / "ball.xml"), worlds=2)
    with refused(Unsupported, "worlds"):
        export_c(batch, tmp_path / "c")
