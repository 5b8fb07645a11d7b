"""Unsupported switches, exclusions and motions of an MJCF file are reported."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.refused import refused
from helpers.warned import warned

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, UnknownName, Unsupported
from tarsus.model.mjcf import read_mjcf

BALL = '<geom name="{0}" type="sphere" size=".1" {1}/>'
FLOOR = '<geom type="plane" size="1 1 1"/>'


def _body(name: str, bits: str = "") -> str:
    return f'<body name="{name}"><freejoint/>{BALL.format(name, bits)}</body>'


def _file(world: str, rest: str = "") -> str:
    return f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>"


def _unsupported(world: str, rest: str = "") -> str:
    return " ".join(read_mjcf(_file(world, rest)).unsupported)


def test_flags_and_groups_that_are_off() -> None:
    option = """<option actuatorgroupdisable="1 3"><flag contact="disable" limit="disable"
        gravity="disable" midphase="disable"/></option>"""
    with warned("disable-flags-ignored", "limit"):
        told = _unsupported(_body("a"), option)
    assert "are ignored: limit, contact, actuator group 1, actuator group 3." in told


@pytest.mark.filterwarnings("ignore:.*velocities of keyframes")
def test_margins_and_velocities() -> None:
    hinge = f'<body><joint name="j" range="-1 1" margin=".1"/>{BALL.format("g", "")}</body>'
    with warned("limit-margins-ignored", "j"):
        told = _unsupported(
            hinge, '<keyframe><key name="rest"/><key name="go" qvel="1"/></keyframe>'
        )
    assert "velocities of keyframes are ignored: go." in told


def test_geoms_excluded_from_ground_contact() -> None:
    apart = _body("a", 'contype="2" conaffinity="2"') + _body("b") + _body("c")
    exclude = '<contact><exclude body1="world" body2="c"/></contact>'
    with warned("ground-exclusion-ignored", "a"):
        told = _unsupported(FLOOR + apart, exclude)
    assert told.endswith(": a, c.")
    # without ground in the file its bits say nothing
    with warned("ground-exclusion-ignored", "c"):
        _unsupported(apart, exclude)
    assert "<exclude>" not in _unsupported(FLOOR + _body("a", 'contype="0"'))


def test_flags_that_are_on() -> None:
    with warned("enable-flags-ignored", "override"):
        _unsupported(_body("a"), '<option><flag override="enable" sleep="enable"/></option>')


def test_plugins() -> None:
    hinge = f'<body><joint name="j"/>{BALL.format("g", "")}</body>'
    extension = """<extension><plugin plugin="mujoco.pid"><instance name="servo">
        <config key="kp" value="4"/></instance></plugin></extension>"""
    drive = '<actuator><plugin name="m" joint="j" plugin="mujoco.pid" instance="servo"/></actuator>'
    with warned("plugins-ignored", "servo of actuator m"):
        found = Robot.of(read_mjcf(_file(hinge, extension + drive)))
    with refused(Unsupported, "m"):
        tarsus.Simulation(found, actuators="file")
    # its range of signals limits no torque
    assert found.actuators[0].upper == np.inf
    # a geom's, without a name
    field = """<extension><plugin plugin="mujoco.sdf.torus"><instance name="ring"/></plugin>
        </extension><asset><mesh name="ring"><plugin instance="ring"/></mesh></asset>"""
    ring = """<body><freejoint/><geom type="sdf" name="ring" mesh="ring"><plugin instance="ring"/>
        </geom></body>"""
    with warned("plugins-ignored", "ring of geom ring"):
        assert "A geom with a plugin touches by its mesh." in read_mjcf(_file(ring, field)).notes


def test_flexible_bodies() -> None:
    rope = """<flexcomp name="rope" type="grid" dim="1" count="4 1 1" spacing=".1 .1 .1" mass="1"
        pos="0 0 1"/>"""
    with warned("flexible-bodies-ignored", "rope"):
        _unsupported(_body("a") + rope)


def test_torsional_and_rolling_friction_of_the_files_own_ground() -> None:
    """They count only if no geom on the ground has priority or as much friction."""
    rolling_floor = FLOOR.replace("type", 'name="floor" condim="6" type')
    with warned("torsional-friction-ignored", "floor"):
        _unsupported(rolling_floor + _body("a"))
    foot = 'condim="6" friction=".8 .02 .01"'
    assert "rolling" not in _unsupported(rolling_floor + _body("a", foot))
    assert "rolling" not in _unsupported(rolling_floor + _body("a", 'priority="1"'))
    assert "rolling" not in _unsupported(FLOOR + _body("a"))


@pytest.mark.parametrize("plugin", ["of.nobody", "mujoco.elasticity.cable"])
def test_missing_plugins(plugin: str) -> None:
    needing = f'<extension><plugin plugin="{plugin}"/></extension>'
    with refused(InvalidFile, "MJCF text") as caught:
        read_mjcf(_file(_body("a"), needing))
    assert plugin in str(caught.value)


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ('surfacevel="1 0 0"', "surface-velocity-ignored"),
        ('adhesion="5"', "adhesion-ignored"),
    ],
)
def test_moving_or_adhesive_surfaces(what: str, code: str) -> None:
    fixed = f'<geom name="floor" type="plane" size="1 1 1" {what}/>'
    with warned(code, "floor"):
        assert _unsupported(fixed + _body("a", what)).endswith(": floor, a.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _unsupported(_body("a", what + ' contype="0" conaffinity="0"'))


def test_plastic_springs_and_nonlinear_dampers() -> None:
    joint = '<joint name="{0}" {1}/>'
    shapes = BALL.format("g", "")
    yielding = joint.format("i", 'stiffness="5" springyield="1"') + joint.format(
        "j", "axis='1 0 0'"
    )
    with warned("yielding-springs-ignored", "i"):
        _unsupported(f"<body>{yielding}{shapes}</body>")
    driven = f"<body>{joint.format('j', '')}{shapes}</body>"
    with warned("nonlinear-damping-ignored", "j"):
        _unsupported(driven, '<actuator><motor joint="j" damping=".1 .2"/></actuator>')


def test_soft_limits_of_joints_and_soft_dry_friction() -> None:
    hinge = '<body><joint name="j" {0}/>' + BALL.format("g", "") + "</body>"
    for soft in (
        'range="-1 1" solreflimit="0.1 1"',
        'range="-1 1" solimplimit=".5 .6 .1"',
        'frictionloss="1" solreffriction="0.1 1"',
    ):
        assert "both are rigid: j." in _unsupported(hinge.format(soft)), soft
    for other in ('range="-1 1"', 'solreflimit="0.1 1"', 'frictionloss="1"'):
        assert not _unsupported(hinge.format(other)), other


@pytest.mark.filterwarnings("ignore:.*equality constraints other than active")
def test_soft_equality_constraints() -> None:
    bodies = _body("a") + _body("b").replace("<body", '<body pos="1 0 0"')
    weld = '<equality><weld name="w" body1="a" body2="b" {0}/></equality>'
    for soft in ('solref="0.1 1"', 'solref="-100 -1"', 'solimp=".5 .9"'):
        assert "they are rigid: weld w of a and b." in _unsupported(bodies, weld.format(soft))
    for other in ("", 'solref=".001 1" solimp=".99 .999"', 'active="false" solref=".1 1"'):
        assert "rigid" not in _unsupported(bodies, weld.format(other))


@pytest.mark.parametrize(
    ("option", "given", "expected"),
    [
        ('<option timestep="0.0005"/>', {}, 0.0005),
        ('<option timestep="0.004"/>', {}, 0.004),
        ('<option timestep="0.0005"/>', {"dt": 0.001}, 0.001),
        ('<option timestep="0.02"/>', {}, 0.0025),  # too long for legs
        ('<option integrator="Euler"/>', {}, 0.0025),
        ("", {}, 0.0025),
    ],
)
def test_the_default_time_step_is_the_file_s(option: str, given: dict, expected: float) -> None:
    text = f'<mujoco model="r">{option}<worldbody>{_body("a")}</worldbody></mujoco>'
    assert tarsus.Simulation(Robot.of(read_mjcf(text)), controller=None, **given).dt == expected


def test_a_step_of_a_file_that_is_included(tmp_path: Path) -> None:
    (tmp_path / "option.xml").write_text('<mujoco><option timestep="0.002"/></mujoco>')
    file, body = tmp_path / "r.xml", f"<worldbody>{_body('a')}</worldbody>"
    for included, asked in (("", None), ('<include file="option.xml"/>', 0.002)):
        file.write_text(f"<mujoco>{included}{body}</mujoco>")
        assert read_mjcf(file).timestep == asked


def test_harmless_attributes_of_older_versions_are_ignored() -> None:
    option = """<option apirate="60" mpr_iterations="20"><flag sensornoise="enable"/></option>
        <compiler convexhull="true"/>"""
    with warned("obsolete-attributes", '<option apirate="60">'):
        robot = read_mjcf(_file(_body("a"), option))
    plain = read_mjcf(_file(_body("a")))
    assert robot.bodies[0].inertia.mass == plain.bodies[0].inertia.mass
    with pytest.raises(InvalidFile):
        read_mjcf(_file(_body("a"), '<option><flag passive="disable"/></option>'))


def test_the_scene_that_includes_a_robot_is_suggested(tmp_path: Path) -> None:
    pair = '<contact><pair geom1="a" geom2="floor"/></contact>'
    (tmp_path / "robot.xml").write_text(_file(_body("a"), pair))
    scene = '<mujoco><include file="robot.xml"/><worldbody>{}</worldbody></mujoco>'
    floor = FLOOR.replace("<geom", '<geom name="floor"')
    with refused(UnknownName, "floor") as caught:
        read_mjcf(tmp_path / "robot.xml")
    assert "world.xml" not in str(caught.value)
    (tmp_path / "world.xml").write_text(scene.format(floor))
    with refused(UnknownName, "floor") as caught:
        read_mjcf(tmp_path / "robot.xml")
    assert "world.xml" in str(caught.value)
    read_mjcf(tmp_path / "world.xml")
