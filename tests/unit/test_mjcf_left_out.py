"""What an MJCF file switches off, keeps off the ground or sets moving is named where it is not
taken.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusWarning
from tarsus.model.mjcf import read_mjcf

BALL = '<geom name="{0}" type="sphere" size=".1" {1}/>'
FLOOR = '<geom type="plane" size="1 1 1"/>'


def _body(name: str, bits: str = "") -> str:
    return f'<body name="{name}"><freejoint/>{BALL.format(name, bits)}</body>'


def _left_out(world: str, rest: str = "") -> str:
    return " ".join(read_mjcf(f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>").left_out)


def test_flags_and_groups_that_are_off() -> None:
    option = """<option actuatorgroupdisable="1 3"><flag contact="disable" limit="disable"
        gravity="disable" midphase="disable"/></option>"""
    with pytest.warns(TarsusWarning, match="switch something off"):
        told = _left_out(_body("a"), option)
    assert "are left out: limit, contact, actuator group 1, actuator group 3." in told


@pytest.mark.filterwarnings("ignore:.*velocities of keyframes")
def test_margins_and_velocities() -> None:
    hinge = f'<body><joint name="j" range="-1 1" margin=".1"/>{BALL.format("g", "")}</body>'
    with pytest.warns(TarsusWarning, match="margins of joint limits are left out: j"):
        told = _left_out(hinge, '<keyframe><key name="rest"/><key name="go" qvel="1"/></keyframe>')
    assert "velocities of keyframes are left out: go." in told


def test_geoms_that_the_file_keeps_off_the_ground() -> None:
    apart = _body("a", 'contype="2" conaffinity="2"') + _body("b") + _body("c")
    exclude = '<contact><exclude body1="world" body2="c"/></contact>'
    with pytest.warns(TarsusWarning, match="keep off all that the file fixes: a, c"):
        _left_out(FLOOR + apart, exclude)
    # without ground in the file its bits say nothing
    with pytest.warns(TarsusWarning, match="keep off all that the file fixes: c"):
        _left_out(apart, exclude)
    assert "keep off" not in _left_out(FLOOR + _body("a", 'contype="0"'))


@pytest.mark.parametrize(
    ("option", "dt", "told"),
    [
        ('<option timestep="0.0005"/>', {}, "dt is 2.5 ms, and the file of 'r' asks for 0.5 ms"),
        ('<option timestep="0.002"/>', {}, "dt is 2.5 ms, and the file of 'r' asks for 2 ms"),
        ('<option timestep="0.0005"/>', {"dt": 0.001}, ""),  # chosen
        ('<option timestep="0.0025"/>', {}, ""),
        ('<option integrator="Euler"/>', {}, ""),
        ("", {}, ""),
    ],
)
def test_a_step_that_is_not_the_file_s(option: str, dt: dict, told: str) -> None:
    text = f'<mujoco model="r">{option}<worldbody>{_body("a")}</worldbody></mujoco>'
    notices = tarsus.Simulation(Robot.of(read_mjcf(text)), controller=None, **dt).notices
    steps = [notice for notice in notices if "timestep" in notice]
    assert len(steps) == bool(told) and all(notice.startswith(told) for notice in steps)


def test_a_step_of_a_file_that_is_included(tmp_path: Path) -> None:
    (tmp_path / "option.xml").write_text('<mujoco><option timestep="0.002"/></mujoco>')
    file, body = tmp_path / "r.xml", f"<worldbody>{_body('a')}</worldbody>"
    for included, asked in (("", None), ('<include file="option.xml"/>', 0.002)):
        file.write_text(f"<mujoco>{included}{body}</mujoco>")
        assert read_mjcf(file).timestep == asked
