"""MJCF robots, one feature each, against MuJoCo: mass matrix, poses, keyframes, motors, ignored
elements.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.numpy_mechanics import mass_matrix, poses, random_state
from helpers.robots_of_the_field import robots_folder

from tarsus.dynamics.support_points import contact_point
from tarsus.errors import TarsusWarning
from tarsus.model.check import check
from tarsus.model.conventions import from_mujoco, to_mujoco
from tarsus.model.mechanism import Mechanism
from tarsus.model.mjcf import read_mjcf
from tarsus.model.read import read
from tarsus.model.to_mjcf import to_mjcf
from tarsus.model.urdf import read_urdf
from tarsus.robots import mini_cheetah

mujoco = pytest.importorskip("mujoco")

BALL = '<geom type="ellipsoid" size=".1 .2 .3" mass="2" pos=".1 .05 -.2" euler="10 20 30"/>'
MODELS = {
    "one hinge, tilted axis": f'<body pos="0 0 1" euler="5 6 7"><joint axis="1 2 3"/>{BALL}</body>',
    "hinge away from the origin": (
        f"""<body name="a" pos="0 0 1"><joint axis="0 1 1" pos=".1 .2 .3"/>{BALL}
        <site name="tip" pos="0 0 -1" euler="0 45 0"/>
        <body name="b" pos="0 .1 -.5" euler="20 0 0">
        <joint pos="-.1 0 .2" axis="1 0 0"/>{BALL}</body></body>"""
    ),
    "reference angles and lengths": (
        f"""<body name="a"><joint type="slide" axis="1 0 1" ref=".3"/>{BALL}
        <body name="b" pos="0 0 -.5"><joint axis="0 1 1" pos="0 .1 0" ref="40"/>{BALL}
        <site name="tip" pos="0 0 -1"/></body></body>"""
    ),
    "free body with a ball joint": (
        f"""<body name="base" pos="1 2 3" euler="30 0 0"><freejoint/>{BALL}
        <body name="arm" pos=".3 0 0" euler="0 0 90"><joint type="ball" pos="0 0 .2"/>{BALL}
        <site name="tip" pos="0 0 -1"/></body></body>"""
    ),
    "several joints on a body": (
        f"""<body name="base"><joint name="x" type="slide" axis="1 0 0"/>
        <joint name="z" type="slide" axis="0 0 1" ref="1.2"/>
        <joint name="pitch" axis="0 1 0" pos="0 0 .1"/>{BALL}
        <body name="hip" pos="0 0 -.3"><joint name="yaw" pos="0 .1 0"/>
        <joint name="roll" axis="1 0 0" ref="-20"/>
        <joint name="out" type="slide" axis="0 1 -2" pos=".1 0 0"/>{BALL}
        <site name="tip" pos="0 0 -.4"/></body></body>"""
    ),
    "welded links": (
        f"""<body name="base"><freejoint/>{BALL}
        <body name="plate" pos=".2 0 0" euler="0 0 45">{BALL}
        <site name="imu" pos="0 0 .1"/><body name="rod" euler="90 0 0">{BALL}
        <body name="leg" pos="0 0 -.3"><joint axis="0 1 0"/>{BALL}</body></body></body></body>"""
    ),
    "two trees, one on a welded stand": (
        f"""<body name="stand" pos="0 0 1"><body name="post" pos="0 0 1">
        <body name="arm" euler="0 30 0"><joint axis="0 1 0"/>{BALL}</body></body></body>
        <body name="puck"><freejoint/>{BALL}</body>"""
    ),
    "rotors": f'<body><freejoint/>{BALL}<body><joint name="j" armature=".3"/>{BALL}</body></body>',
}
MOTORS = '<actuator><motor name="m" joint="j" gear="-9" armature=".01"/></actuator>'


def mjcf(world: str, rest: str = "") -> str:
    """MJCF text around the bodies."""
    return f"<mujoco model='test'><worldbody>{world}</worldbody>{rest}</mujoco>"


def assert_like_mujoco(mechanism: Mechanism, text_or_model: object) -> None:
    """The same mass matrix, and sites and welded links at the same places, at random
    coordinates.
    """
    model = (
        mujoco.MjModel.from_xml_string(text_or_model)
        if isinstance(text_or_model, str)
        else text_or_model
    )
    data = mujoco.MjData(model)
    for seed in range(3):
        q, u = random_state(mechanism, seed)
        data.qpos[:], data.qvel[:] = to_mujoco(mechanism, model, q, u)
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        assert np.abs(mass_matrix(mechanism, q) - M).max() < 1e-10 * np.abs(M).max()
        placed = poses(mechanism, q)
        for frame in mechanism.frames:
            x, R = placed[frame.body]
            site = frame.name in [model.site(number).name for number in range(model.nsite)]
            name = frame.name.removesuffix("/origin")
            there, turn = (
                (data.site(name).xpos, data.site(name).xmat)
                if site
                else (data.body(name).xpos, data.body(name).xmat)
            )
            assert np.allclose(x + R @ frame.position, there, rtol=0, atol=1e-11), frame.name
            assert np.allclose(R @ frame.rotation, turn.reshape(3, 3), rtol=0, atol=1e-11), (
                frame.name
            )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_motion_matches_mujoco(name: str) -> None:
    text = mjcf(MODELS[name], MOTORS if name == "rotors" else "")
    assert_like_mujoco(check(read_mjcf(text)), text)


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_names() -> None:
    several = read_mjcf(mjcf(MODELS["several joints on a body"]))
    assert several.body_names == ("base/x", "base/z", "base", "hip/yaw", "hip/roll", "hip")
    assert several.joint_names == ("x", "z", "pitch", "yaw", "roll", "out")
    welded = read_mjcf(mjcf(MODELS["welded links"]))
    assert welded.body_names == ("base", "leg")
    assert {"plate", "rod", "imu"} == {frame.name for frame in welded.frames}
    two = read_mjcf(mjcf(MODELS["two trees, one on a welded stand"]))
    assert two.body_names == ("arm", "puck")
    assert any("stand, post" in note for note in two.notes)


def test_joint_data_and_motors() -> None:
    text = f"""<mujoco><option gravity="0 1 -3"/><worldbody><body>
        <joint name="j" range="-30 60" frictionloss=".4" damping=".5" armature=".1"/>{BALL}<body>
        <joint name="k" actuatorfrcrange="-7 8"/>{BALL}<body>
        <joint name="l"/>{BALL}</body></body></body></worldbody><actuator>
        <motor name="m" joint="j" gear="-9" ctrlrange="-2 3" armature=".01" damping=".2"/>
        <position name="servo" joint="k" kp="100" forcerange="-20 5" ctrlrange="-1 1"/>
        <velocity joint="k" kv="3"/>
        <motor joint="l"/></actuator></mujoco>"""
    mechanism = check(read_mjcf(text))
    joint = mechanism.bodies[0].joint
    assert np.allclose([joint.lower, joint.upper], np.radians([-30, 60]))
    assert (joint.dry_friction, joint.damping) == (0.4, pytest.approx(0.5 + 0.2 * 81))
    assert joint.armature == pytest.approx(0.1 + 0.01 * 81)
    assert mechanism.gravity_acceleration == (0, 1, -3)
    limits = {
        actuator.name: (actuator.joint, actuator.lower, actuator.upper)
        for actuator in mechanism.actuators
    }
    assert limits == {"m": ("j", -27, 18), "servo": ("k", -7, 8), "l": ("l", -np.inf, np.inf)}
    assert any("servo" in note for note in mechanism.notes)


def test_keyframes_are_in_our_coordinates() -> None:
    text = mjcf(
        MODELS["free body with a ball joint"],
        """<keyframe><key name="home" qpos="1 2 3 2 0 0 0 0 0 0 5"/>
        <key qpos="0 0 1 1 0 0 0 1 0 0 0"/></keyframe>""",
    )
    mechanism = check(read_mjcf(text))
    assert list(mechanism.keyframes) == ["home", "key_1", "qpos0"]
    assert np.allclose(mechanism.keyframes["home"], [1, 2, 3, 1, 0, 0, 0, 0, 0, 0, 1])
    base = mechanism.keyframes["qpos0"][:7]
    assert np.allclose(base[:3], [1, 2, 3]) and np.allclose(
        base[3:5], [np.cos(np.pi / 12), np.sin(np.pi / 12)]
    )


def test_candidates_of_every_shape() -> None:
    geoms = """<geom name="ball" size=".1" pos="1 0 0"/>
        <geom type="capsule" size=".1 .5" pos="0 1 0"/>
        <geom name="foot" type="box" size=".1 .2 .3" euler="0 0 90"/>
        <geom type="cylinder" size=".1 .5"/>
        <geom name="egg" type="ellipsoid" size=".1 .2 .3"/>
        <geom size="9" contype="0" conaffinity="0"/>"""
    mechanism = check(
        read_mjcf(
            mjcf(f'<geom type="plane" size="1 1 1"/><body name="a"><freejoint/>{geoms}</body>')
        )
    )
    found = {candidate.name: candidate for candidate in mechanism.candidates}
    assert set(found) == {
        "ball",
        *(f"a_{n}" for n in range(2 + 6)),
        *(f"foot_{n}" for n in range(8)),
        "egg",
    }
    assert np.allclose(found["ball"].position, [1, 0, 0]) and found["ball"].radius == 0.1
    assert (
        sorted(found[f"a_{n}"].position[2] for n in range(2)) == [-0.5, 0.5]
        and found["a_0"].radius == 0.1
    )
    corners = np.array([found[f"foot_{n}"].position for n in range(8)])
    assert np.allclose(corners.max(0), [0.2, 0.1, 0.3]) and found["foot_0"].radius == 0
    ups = np.eye(3)
    assert np.allclose([contact_point(found["egg"], up) for up in ups], np.diag([0.1, 0.2, 0.3]))
    assert np.allclose(contact_point(found["a_2"], ups[1]), [0, 0.1, 0.5], atol=1e-4)
    assert np.allclose(contact_point(found["a_5"], ups[0]), [0.1, 0, -0.5], atol=1e-4)
    standing = [contact_point(found[f"a_{n}"], -ups[2]) for n in (5, 6, 7)]
    assert np.allclose(np.mean(standing, axis=0), [0, 0, -0.5])
    assert np.allclose(np.linalg.norm(np.array(standing)[:, :2], axis=1), 0.1)


def test_ignored_elements_are_reported() -> None:
    world = f"""<geom type="plane" size="1 1 1" pos="0 0 .2"/><body name="target" mocap="true"/>
        <body name="wall"><geom name="w" type="box" size="1 1 1"/></body>
        <body name="a"><freejoint/>{BALL}<body name="b"><joint name="j" stiffness="3 1 0"/>
        {BALL}</body>
        <body name="c" gravcomp="1"><joint name="k" type="ball" range="0 30" stiffness="2"/>{BALL}
        <site name="s"/><site name="s2" pos="1 0 0"/></body></body>"""
    rest = """<equality><connect name="rod" body1="b" body2="c" anchor="0 0 0"/><joint joint1="j"/>
        <weld name="glue" body1="b" body2="c"/><joint joint1="j" active="false"/>
        <connect name="off" body1="b" body2="c" anchor="0 0 0" active="false"/>
        </equality>
        <tendon><spatial name="rope"><site site="s"/><site site="s2"/></spatial></tendon>
        <actuator><motor name="pull" tendon="rope"/></actuator>
        <contact><exclude body1="b" body2="c"/></contact>
        <sensor><jointpos name="angle" joint="j"/></sensor>"""
    text = mjcf(world, rest)
    with pytest.warns(TarsusWarning) as caught:
        mechanism = check(read_mjcf(text))
    assert "Sensors are ignored, a simulation has its own: angle." in mechanism.unsupported
    held = [(loop.joint.name, loop.joint.kind) for loop in mechanism.loops]
    assert held == [("rod", "ball"), ("glue", "fixed")]
    assert [coupling.joint for coupling in mechanism.couplings] == ["j"]
    assert mechanism.bodies[mechanism.joint_index("k")].joint.upper == pytest.approx(np.pi / 6)
    issued = [w.message for w in caught if isinstance(w.message, TarsusWarning)]
    found = {(warning.code, warning.subject) for warning in issued}
    assert found == {
        ("equalities-ignored", "joint of j"),
        ("tendons-ignored", "rope"),
        ("unsupported-actuators-ignored", "pull"),
        ("nonlinear-springs-ignored", "j"),
        ("mocap-bodies-ignored", "target"),
        ("gravity-compensation-ignored", "c"),
        ("ground-ignored", "geom 0"),
        ("fixed-shapes-ignored", "wall"),
    }
    assert mechanism.excluded == (("b", "c"),)
    assert len(mechanism.notes) > len(caught)


def test_a_plain_robot_is_read_without_warnings(tmp_path: Path) -> None:
    file = tmp_path / "plain.xml"
    file.write_text(mjcf('<geom type="plane" size="1 1 1"/>' + MODELS["welded links"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mechanism = read(file, driven=[])
    assert mechanism.name == "test" and mechanism.floating


def test_conversions_round_trip_in_a_batch() -> None:
    text = mjcf(MODELS["free body with a ball joint"])
    mechanism, model = read_mjcf(text), mujoco.MjModel.from_xml_string(text)
    states = [random_state(mechanism, seed) for seed in range(4)]
    q, u = (np.array([state[part] for state in states]) for part in (0, 1))
    back_q, back_u = from_mujoco(mechanism, model, *to_mujoco(mechanism, model, q, u))
    assert (back_q == q).all() and (back_u == u).all()


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_urdf_in_mujoco() -> None:
    folder = robots_folder()
    assert folder is not None
    root = ElementTree.parse(folder / "laikago_description" / "urdf" / "laikago.urdf").getroot()
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    text = ElementTree.tostring(root, encoding="unicode")
    mechanism = check(read_urdf(text, floating=False))
    assert mechanism.nu == 12
    assert_like_mujoco(replace(mechanism, frames=()), text)  # MuJoCo forgets the links it fuses


def test_exported_mjcf_round_trips() -> None:
    robot = mini_cheetah.describe()
    again = check(read_mjcf(to_mjcf(robot)))
    assert again.body_names == robot.body_names and again.joint_names == robot.joint_names
    assert [motor.upper for motor in again.actuators] == [motor.upper for motor in robot.actuators]
    names = [[point.name for point in each.candidates] for each in (again, robot)]
    assert sorted(names[0]) == sorted(names[1])  # in the file they are ordered by body
    for seed in range(2):
        q, _ = random_state(robot, seed)
        ours, theirs = mass_matrix(robot, q), mass_matrix(again, q)
        assert np.abs(ours - theirs).max() < 1e-12 * np.abs(ours).max()
