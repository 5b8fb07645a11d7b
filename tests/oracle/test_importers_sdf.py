"""Cassie's SDF files against numbers read from their XML, and whether Cassie stands."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import cache

import numpy as np
import pytest
from helpers.numpy_mechanics import poses
from scipy.spatial.transform import Rotation

from tarsus.control import servo
from tarsus.dynamics.loop_closure import gaps
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Mechanism
from tarsus.model.read import read
from tarsus.model.robot_data import LEGGED, robots_folder
from tarsus.model.sdf import DRAWN
from tarsus.morphology import looped_posture, posture
from tarsus.morphology.feet import find_feet
from tarsus.simulation.default_controller import prepare
from tarsus.validation.robot_check import check_robots

folder = robots_folder()
if folder is None:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)
FILE = folder / LEGGED["cassie"]
NAMES = ("cassie_v2", "cassie", "cassie_simple", "cassie_reduced", "cassie_wo_gearbox_spring")
every_file = pytest.mark.parametrize("name", NAMES)
MOTORS = ("roll-op", "yaw-op", "pitch-op", "knee-op", "foot-op")
KNEE, HEEL = 1500.0, 1250.0  # N m/rad: the springs of the file
pytestmark = pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")


@cache
def cassie(name: str = "cassie_v2") -> tuple[Mechanism, ET.Element]:
    """Mechanism and <model> element of the file."""
    file = FILE.with_stem(name)
    model = ET.parse(file).getroot().find("model")
    assert model is not None
    return read(file), model


def numbers(element: ET.Element | None) -> np.ndarray:
    """Numbers in the text of an element."""
    assert element is not None
    return np.array([float(word) for word in (element.text or "").split()])


@every_file
def test_masses_poses_and_centers_match_the_file(name: str) -> None:
    mechanism, model = cassie(name)
    placed = dict(
        zip(mechanism.body_names, poses(mechanism, mechanism.keyframes[DRAWN]), strict=True)
    )
    assert set(placed) == {link.get("name") for link in model.findall("link")}
    for link in model.findall("link"):
        body = mechanism.bodies[mechanism.body_index(link.get("name", ""))]
        assert body.inertia.mass == float(numbers(link.find("inertial/mass"))[0])
        # the center of mass, by way of <pose> and of our coordinates
        at, center = numbers(link.find("pose")), numbers(link.find("inertial/pose"))
        turn = Rotation.from_euler("xyz", at[3:]).as_matrix()
        x, R = placed[body.name]
        np.testing.assert_allclose(x + R @ body.inertia.com, at[:3] + turn @ center[:3], atol=1e-12)
        np.testing.assert_allclose(R, turn, atol=1e-12)


@every_file
def test_loops_close_where_the_file_draws_the_robot(name: str) -> None:
    mechanism, model = cassie(name)
    assert np.abs(gaps(mechanism, mechanism.keyframes[DRAWN])).max() < 1e-14
    tree = len(mechanism.bodies) - mechanism.floating
    joints = [j for j in model.findall("joint") if j.get("type") != "gearbox"]
    assert tree + len(mechanism.loops) == len(joints)
    assert sum(loop.joint.kind == "ball" for loop in mechanism.loops) == 4


def test_springs_ranges_dampers_and_the_ten_motors() -> None:
    mechanism, model = cassie()
    for side in ("left", "right"):
        for joint, stiffness in (("knee-shin", KNEE), ("tarsus-spring", HEEL)):
            body = mechanism.bodies[mechanism.joint_index(f"{side}-{joint}-joint")]
            assert (body.joint.stiffness, body.joint.rest) == (stiffness, 0.0)
    motors = {f"{side}-{motor}" for side in ("left", "right") for motor in MOTORS}
    assert {actuator.joint for actuator in mechanism.actuators} == motors
    for element in model.findall("joint[@type='revolute']"):
        joint = mechanism.bodies[mechanism.joint_index(element.get("name", ""))].joint
        for field, tag in (("lower", "lower"), ("upper", "upper")):
            given = element.find(f"axis/limit/{tag}")
            wanted = np.copysign(np.inf, 1 if tag == "upper" else -1)
            assert getattr(joint, field) == (wanted if given is None else numbers(given)[0])
        damping = element.find("axis/dynamics/damping")
        assert joint.damping == (0.0 if damping is None else numbers(damping)[0])


def test_gearbox_rotors_have_the_gear_ratio_of_the_file() -> None:
    mechanism, model = cassie("cassie")
    ratios = {
        gearbox.get("name"): float(numbers(gearbox.find("gearbox_ratio"))[0])
        for gearbox in model.findall("joint[@type='gearbox']")
    }
    couplings = {c.name: c for c in mechanism.couplings}
    assert set(couplings) == set(ratios)
    for name, ratio in ratios.items():
        (leader,) = couplings[name].leaders
        assert couplings[name].constant == 0.0
        assert leader.coefficients == pytest.approx((-1 / ratio,))


def test_cassie_starts_on_level_soles_below_its_center_of_mass() -> None:
    robot = Robot.of(cassie()[0])
    q = looped_posture.find_standing_posture(robot)
    assert q is not None
    assert np.abs(gaps(robot, q)).max() < 1e-7
    notices: list[str] = []
    standing, _ = prepare(robot, "stand", 0.0025, notices)
    assert posture.is_balanced(standing, standing.keyframes["stand"])
    assert "its loops closed and level soles" in notices[0] and len(notices) == 2
    assert not servo.size_gains(standing, q, find_feet(standing), 0.0025).soft_joints
    assert [foot.name[-2:] for foot in find_feet(standing)] == [
        "_0",
        "_3",
    ] * 2  # both ends of each sole
    strained = [
        abs(b.joint.stiffness * q[at.start])
        for b, at in zip(robot.bodies, robot.q_slices, strict=True)
        if b.joint.stiffness
    ]
    assert len(strained) == 4 and max(strained) < 2.0  # N m


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cassie_v2", "cassie"])
def test_cassie_stands_under_sized_servos(name: str) -> None:
    file = str(FILE.with_stem(name))
    (row,) = check_robots({name: file}, 10.0, lambda text: None)
    assert row.passed and row.unconverged == 0
    assert row.tilt is not None and row.tilt < 6.0
