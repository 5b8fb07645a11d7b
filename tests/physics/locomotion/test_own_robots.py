"""Robots from files: generated posture and servos make them stand and trot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.robots_of_the_field import robots_folder

import tarsus
from tarsus.control import servo
from tarsus.control.gaits.stand import Stand
from tarsus.control.gaits.trot import Trot
from tarsus.control.gaits.virtual_model import VirtualModel
from tarsus.errors import TarsusError, WarningRecord
from tarsus.model.candidates import farthest_points, support_vertices
from tarsus.morphology import posture
from tarsus.morphology.feet import find_feet
from tarsus.simulation import default_controller
from tarsus.simulation.recording.summary import has_fallen

DT = 0.0025
FILES = {
    "go1": "go1_description/urdf/go1.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "solo": "solo_description/robots/solo.urdf",
    "anymal_b": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "talos": "talos_data/robots/talos_reduced_box.urdf",
    "talos_meshes": "talos_data/robots/talos_reduced.urdf",
}
THREE_JOINTS = ("go1", "solo12", "anymal_b", "anymal_c", "hyq")
QUICK = ("go1",)  # the others are the slow tests


def quick_first(names: Iterable[str]) -> list[object]:
    return [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in names]


def load(name: str) -> tarsus.Robot:
    folder = robots_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    return tarsus.load(folder / FILES[name])


@pytest.mark.parametrize("name", quick_first(FILES))
def test_it_stands(name: str) -> None:
    """For five seconds the trunk sinks by less than 0.5 % of its height and tilts by less than
    1.5 degrees (Talos stands on the meshes of its soles, whose corners are not quite level).
    """
    log = tarsus.Simulation(load(name), controller="stand", dt=DT).run(5.0)
    q, height = log["q"].values, log["q_start"].values[2]
    upright = 1 - 2 * (q[:, 4] ** 2 + q[:, 5] ** 2)
    assert abs(q[-1, 2] - height) < 0.005 * height and q[:, 2].min() > 0.995 * height
    assert upright.min() > np.cos(np.deg2rad(1.5))
    assert np.abs(log["u"].values[-1]).max() < 0.1


@pytest.mark.parametrize("name", quick_first(THREE_JOINTS))
def test_trot_reaches_the_commanded_speed(name: str) -> None:
    robot, gait = default_controller.prepare(load(name), "auto", DT, [])
    assert isinstance(gait, VirtualModel if name == "hyq" else Trot)
    log = tarsus.Simulation(robot, controller=gait, dt=DT).run(5.0)
    x = log["q"].values[:, 0]
    assert not has_fallen(robot, log)
    assert (x[-1] - x[999]) / (1000 * DT) == pytest.approx(gait.commands["speed"], rel=0.15)


@pytest.mark.parametrize("name", FILES)
def test_the_posture_has_bent_knees_and_feet_below_the_hips(name: str) -> None:
    robot = load(name)
    q = posture.find_standing_posture(robot)
    for body, where in zip(robot.bodies[1:], robot.q_slices[1:], strict=True):
        assert body.joint.lower <= q[where][0] <= body.joint.upper
    ends = {foot.body: robot.position(q, robot.bodies[foot.body].name) for foot in find_feet(robot)}
    zero = {body: robot.position(robot.neutral(), robot.bodies[body].name) for body in ends}
    assert posture.is_balanced(robot, q)
    for body, place in ends.items():
        assert (
            place[2] > zero[body][2]
        )  # the last link is nearer to the trunk than with a straight leg


def test_knees_that_bend_both_ways_bend_inwards() -> None:
    robot = load("solo12")
    q = posture.find_standing_posture(robot)
    for leg, front in {"FL": 1, "FR": 1, "HL": -1, "HR": -1}.items():
        hip, knee = (robot.position(q, f"{leg}_{link}") for link in ("UPPER_LEG", "LOWER_LEG"))
        assert front * (hip - knee)[0] > 0.05


@pytest.mark.parametrize("name", ["go1", "solo12", "talos"])
@pytest.mark.parametrize("dt", [0.0005, 0.0025, 0.005])
def test_no_servo_is_faster_than_the_step(name: str, dt: float) -> None:
    """Eigenvalues of dt M^-1 kd and dt^2 M^-1 kp by SciPy, with the mass matrix of the compiled
    program.
    """
    robot = load(name)
    q = posture.find_standing_posture(robot)
    found = servo.size_gains(robot, q, find_feet(robot), dt)
    mobility = np.linalg.inv(robot.mass_matrix(q))[6:, 6:]
    for values, bound in (
        (found.kd, servo.MAX_DAMPING / dt),
        (found.kp, servo.MAX_STIFFNESS / dt**2),
    ):
        assert np.linalg.eigvals(mobility * values).real.max() < 1.02 * bound
    effort = [motor.upper for motor in robot.actuators]
    assert np.all(np.array(found.kp) * servo.SATURATION_ERROR <= np.array(effort) * 1.005)


def test_gains_scale_with_weight() -> None:
    """Gains of Mini Cheetah are close to its tuned ones; with a sixth of gravity, stiffness is
    a sixth.
    """
    robot = tarsus.load("mini_cheetah")
    q = np.array(robot.keyframes["stand"])
    own = servo.size_gains(robot, q, find_feet(robot), DT)
    assert min(own.kp) > 0.7 * 40 and max(own.kp) < 1.3 * 40
    light = replace(robot, gravity_acceleration=(0.0, 0.0, -9.81 / 6))
    assert servo.size_gains(light, q, find_feet(light), DT).kp == pytest.approx(
        np.array(own.kp) / 6, rel=0.01
    )
    with pytest.raises(TarsusError, match="dt must be a positive"):
        servo.size_gains(robot, q, find_feet(robot), 0.0)


BALANCED = """<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody>
<body pos="0 0 1"><joint name="lift" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<body pos=".3 0 0"><joint name="flange" axis="1 0 0"/><geom type="box" size=".02 .1 .1"/></body>
</body></worldbody><actuator><motor joint="lift" ctrlrange="-50 50"/>
<motor joint="flange" ctrlrange="-50 50"/></actuator>
</mujoco>"""


def test_unloaded_joints_also_get_gains(tmp_path: Path) -> None:
    """A kicked flange returns as a servo of 2.5 rad/s with damping ratio 0.7, in closed form."""
    path = tmp_path / "arm.xml"
    path.write_text(BALANCED)
    simulation = tarsus.Simulation(path, controller="stand", dt=0.001)
    rest, kick = simulation.q[1], 0.5
    simulation.set(u=[0.0, kick])
    pace, damped = servo.MIN_FREQUENCY, servo.MIN_FREQUENCY * np.sqrt(1 - servo.DAMPING_RATIO**2)
    for t in (0.5, 1.0, 3.0):
        simulation.advance(t - simulation.time)
        swung = kick / damped * np.exp(-servo.DAMPING_RATIO * pace * t) * np.sin(damped * t)
        assert simulation.q[1] - rest == pytest.approx(swung, abs=2e-3)


def test_mini_cheetah_uses_its_tuned_gains() -> None:
    notices: list[str] = []
    for gait, tuned in (("trot", Trot()), ("stand", Stand())):
        robot = tarsus.load("mini_cheetah")
        same, fitted = default_controller.prepare(robot, gait, DT, notices)
        assert same is robot and fitted == tuned
    assert not notices


def test_a_file_robot_with_a_built_in_name_is_separate() -> None:
    notices: list[str] = []
    robot, gait = default_controller.prepare(load("hyq"), "stand", DT, notices)
    assert robot.name == "hyq" and min(gait.kp) > 400
    assert any("kp 7" in notice and "--set kp" in notice for notice in notices)
    assert default_controller.prepare(robot, "stand", DT, [])[1] == gait


def test_robots_that_cannot_stand_are_reported() -> None:
    folder = robots_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    notices: list[WarningRecord] = []
    default_controller.prepare(
        tarsus.load(folder / "bolt_description/robots/bolt.urdf"), "stand", DT, notices
    )
    assert "out-of-balance" in {notice.code for notice in notices}
    for dt, soft in ((0.0025, True), (0.0005, False)):
        notices = []
        default_controller.prepare(
            tarsus.load(folder / "g1_description/urdf/g1_29dof_rev_1_0.urdf"), "stand", dt, notices
        )
        assert any(n.code == "servos-too-soft" and "ankle" in n for n in notices) == soft


def test_the_default_time_step_suits_light_feet() -> None:
    """At 2.5 ms the servos of G1's ankles are softer than gravity; its walk needs no servos."""
    folder = robots_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    g1 = tarsus.load(folder / "g1_description/urdf/g1_29dof_rev_1_0.urdf")
    steps = {
        gait: default_controller.default_time_step(g1, gait) for gait in ("stand", "walk", None)
    }
    assert steps == {"stand": 0.001, "walk": 0.0025, None: 0.0025}
    assert default_controller.default_time_step(tarsus.load("mini_cheetah"), "auto") == 0.0025


def test_the_home_keyframe_is_the_standing_pose() -> None:
    cheetah = tarsus.load("mini_cheetah")
    home = cheetah.keyframes["stand"] + np.eye(cheetah.nq)[9] * 0.1
    robot = default_controller.prepare(
        replace(cheetah, name="mine", keyframes={"home": home}), "stand", DT, []
    )[0]
    assert np.array_equal(robot.keyframes["stand"], home)


@pytest.mark.slow
def test_gains_can_be_set_by_hand(capsys: pytest.CaptureFixture) -> None:
    """`--set` reaches the gait: with a soft servo the trunk of a robot from a file sinks,
    unless `hold` also compensates the weight.
    """
    folder = robots_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    from tarsus import cli

    run = f"run {folder / FILES['go1']} --gait stand --duration 1 --json --set"
    sunk = []
    twelve = "kp=" + ",".join(["12"] * 12)
    for gains in (
        "kp=76.5 feedforward=0",
        "kp=12 feedforward=0",
        f"{twelve} feedforward=0",
        "kp=12",
    ):
        cli.main([*run.split(), *gains.split()])
        sunk.append(capsys.readouterr().out.split('"height_min": ')[1].split(",")[0])
    assert float(sunk[1]) < float(sunk[0]) - 0.03 and sunk[1] == sunk[2]
    assert float(sunk[3]) > float(sunk[0])


def test_a_mesh_stands_on_the_corners_of_its_lowest_face() -> None:
    """The mesh has vertices in a plane and above it; the test rotates its upward axis."""
    random = np.random.default_rng(5)
    corners = np.array([[0.2, 0.1, 0], [0.2, -0.1, 0], [-0.2, 0.1, 0], [-0.2, -0.1, 0]])
    inside = np.c_[0.8 * random.uniform(-1, 1, (40, 2)) * [0.2, 0.1], np.zeros(40)]
    above = random.uniform(-1, 1, (40, 3)) * [0.15, 0.08, 0.04] + [0, 0, 0.05]
    vertices = np.concatenate([above, inside, corners])
    turn = np.linalg.qr(random.standard_normal((3, 3)))[0]
    for rotation in (np.eye(3), turn):
        found = support_vertices(vertices @ rotation.T, rotation[:, 2])
        assert sorted(found) == [80, 81, 82, 83]
    taken = farthest_points(vertices, first=[80, 81, 82, 83])
    assert len(taken) == 8 and np.array_equal(taken[:4], corners)


BESIDE = """<mujoco model="two"><worldbody><body name="trunk" pos="0 0 .32"><freejoint/>
    <geom type="box" size=".2 .1 .05" mass="4"/><geom name="left" size=".02" pos="0 .1 -.3"/>
    <geom name="front" size=".02" pos=".1 -.1 -.3"/><geom name="back" size=".02" pos="-.1 -.1 -.3"/>
    </body><body name="box" pos="1 0 .5" euler="30 0 0"><freejoint/>
    <geom name="box" type="box" size=".1 .1 .1" mass="1"/></body></worldbody></mujoco>"""


def test_a_free_object_starts_at_its_file_pose(
    tmp_path: Path,
) -> None:
    """It then falls and rests on a face; the robot stands on its feet from the start."""
    (tmp_path / "two.xml").write_text(BESIDE, encoding="utf-8")
    robot = tarsus.load(tmp_path / "two.xml")
    assert {foot.name for foot in find_feet(robot)} >= {"left", "front", "back"}
    assert not any(foot.name.startswith("box") for foot in find_feet(robot))
    simulation = tarsus.Simulation(robot, slots=12)
    q = simulation.q
    assert q[2] == pytest.approx(0.32, abs=1e-9)
    assert q[7:] == pytest.approx([1, 0, 0.5, np.cos(np.pi / 12), np.sin(np.pi / 12), 0, 0])
    simulation.advance(1.5)
    q, u = simulation.q, simulation.u
    assert q[2] == pytest.approx(0.32, abs=1e-3) and q[9] == pytest.approx(0.1, abs=2e-3)
    assert np.abs(u).max() < 1e-2
