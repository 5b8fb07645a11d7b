"""User-defined laws, by file path and from Python, and mistakes in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.commands import _inspection
from tarsus.comparison.laws import compare
from tarsus.comparison.picture import draw_comparison
from tarsus.comparison.report import build_rows
from tarsus.errors import InvalidFile, InvalidValue, UnknownName, Unsupported

DOCS = Path(__file__).parents[3] / "docs" / "add_a_law.md"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The law of the documentation, as a reader would copy it."""
    code = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert code is not None
    file = tmp_path / "my_floor.py"
    file.write_text(code.group(1))
    return file


def changed(file: Path, old: str, new: str) -> str:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return str(file)


def test_the_documented_law_runs_by_its_path(own: Path, capsys: pytest.CaptureFixture) -> None:
    assert (
        cli.main(
            [
                "run",
                "mini_cheetah",
                "--law",
                str(own),
                "--dt",
                "0.0005",
                "--duration",
                "1",
                "--json",
            ]
        )
        == 0
    )
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["law"] == "my_floor" and not numbers["fell"]
    assert numbers["residuals"]["equation_N"] < 1e-8


@pytest.mark.slow
def test_a_user_law_appears_in_compare(own: Path, tmp_path: Path) -> None:
    robot = tarsus.load("mini_cheetah")
    runs = compare(robot, f"moreau,{own},mujoco", [0.0005, 0.001], 1.0)
    found = build_rows(runs)
    assert [row["law"] for row in found] == ["moreau"] * 2 + [str(own)] * 2 + ["mujoco"] * 2
    assert all(row["mean_speed"] > 0.01 and not row["fell"] for row in found)
    hard, mine = found[0], found[2]
    assert hard["creep_max"] < 0.1 * mine["creep_max"]
    assert hard["mean_load"] == pytest.approx(1, abs=0.05)
    assert hard["energy_residual_J"] < 0.1
    draw_comparison(runs, robot, tmp_path / "laws.png")
    assert (tmp_path / "laws.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("old", "new", "kind", "subject"),
    [
        (
            "normal = ca.fmax(-p.k",
            "normal = 0 if contact.gap > 0 else ca.fmax(-p.k",
            Unsupported,
            "SpringyFloor.force",
        ),
        (
            "return ca.vertcat(normal, tangent), memory",
            "return ca.vertcat(normal, normal), memory",
            InvalidValue,
            "SpringyFloor",
        ),
        (
            "return ca.vertcat(normal, tangent), memory",
            "return ca.vertcat(normal, tangent)",
            InvalidValue,
            "SpringyFloor",
        ),
        ("p.k * contact", "p.kk * contact", UnknownName, "kk"),
        ("* contact.gap", "* contact.depth", UnknownName, "depth"),
        ("@dataclass(frozen=True)\n", "", InvalidValue, "SpringyFloor"),
        ("+ p.v_s**2", "", InvalidValue, "SpringyFloor"),  # 0 / 0 at rest
        (
            'k: Value = stiffness(20000.0, "N/m", "stiffness of the floor")',
            "k: float",
            InvalidFile,
            "FILE",
        ),
        (
            'k: Value = stiffness(20000.0, "N/m", "stiffness of the floor")',
            "k: float = 2e4",
            InvalidValue,
            "k",
        ),
        ("class SpringyFloor(ForceLaw)", "class SpringyFloor", InvalidFile, "FILE"),
        ("import casadi as ca", "import cassadi as ca", InvalidFile, "FILE"),
        ("friction(0.8)", "friction(-0.8)", InvalidValue, "mu"),
    ],
)
def test_mistakes_are_named(
    own: Path, old: str, new: str, kind: type[tarsus.TarsusError], subject: str
) -> None:
    with refused(kind, own if subject == "FILE" else subject):
        tarsus.Simulation("mini_cheetah", law=changed(own, old, new), controller="trot", dt=0.0005)


def test_a_law_that_returns_nan_stops_the_run_with_an_error(own: Path) -> None:
    law = changed(
        own, "normal = ca.fmax(", "normal = ca.sqrt(0.01 - contact.velocity[0] ** 2) + ca.fmax("
    )
    with refused(tarsus.Diverged, "floating_base"):
        tarsus.Simulation("mini_cheetah", law=law, controller="trot", dt=0.0005).run(1.0)


def test_inspect_counts_operations(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    robot, kernel = tmp_path / "ball.xml", tmp_path / "kernel.ptx"
    robot.write_text(
        '<mujoco><worldbody><body><freejoint/><geom type="sphere" size=".1"/></body></worldbody>'
        "</mujoco>"
    )
    assert cli.main(["inspect", str(robot), "--json", "--ptx", str(kernel)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(block["operations"] for block in found["blocks"]) > 1000
    assert any(not block["in_loop"] for block in found["blocks"])
    assert ".entry kernel" in kernel.read_text()


def test_inspect_limits_the_compile_time(
    capsys: pytest.CaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole robot's kernel takes LLVM minutes: the step's table is there all the same."""
    robot = tmp_path / "ball.xml"
    robot.write_text(
        '<mujoco><worldbody><body><freejoint/><geom type="sphere" size=".1"/></body></worldbody>'
        "</mujoco>"
    )
    monkeypatch.setattr(_inspection, "GPU_TIMEOUT", 1e-3)
    assert cli.main(["inspect", str(robot), "--code"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("lanes of") < shown.index(
        "not compiled within 0.001 s, so its registers are"
    )
    assert cli.main(["inspect", str(robot), "--code", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["blocks"] and found["ptx_resources"] is None
    assert "--ptx FILE" in found["ptx_unknown"]
