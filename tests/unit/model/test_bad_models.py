"""Damaged files and invalid mechanisms: each is rejected with one clear sentence."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.refused import refused
from helpers.warned import warned

from tarsus.errors import (
    InvalidFile,
    InvalidModel,
    InvalidValue,
    TarsusWarning,
    UnknownName,
    Unsupported,
)
from tarsus.model.candidates import Shape, create_candidates, find_edges
from tarsus.model.check import check
from tarsus.model.conventions import to_mujoco
from tarsus.model.joint_coupling import JointCoupling, Leader, check_couplings
from tarsus.model.mechanism import Actuator, Body, Candidate, Frame, Inertia, Joint, Mechanism
from tarsus.model.mjcf import read_mjcf
from tarsus.model.read import read
from tarsus.model.sdf import read_sdf
from tarsus.model.urdf import read_urdf

MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'


def link(name: str, inside: str = MASS) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = LIMIT) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def urdf(*elements: str) -> str:
    return f'<robot name="r">{"".join(elements)}</robot>'


def mesh(uri: str) -> str:
    return f'<collision><geometry><mesh filename="{uri}"/></geometry></collision>'


TWO = link("a") + link("b")
LOOP = urdf(TWO, link("c"), joint("ab", "a", "b"), joint("ac", "a", "c"), joint("bc", "b", "c"))
BAD_URDF = {
    "no links": (urdf(), InvalidModel, "link"),
    "two parents": (LOOP, InvalidModel, "c"),
    "all in a circle": (
        urdf(TWO, joint("ab", "a", "b"), joint("ba", "b", "a")),
        InvalidModel,
        "a",
    ),
    "circle beside a root": (
        urdf(link("root"), TWO, joint("ab", "a", "b"), joint("ba", "b", "a")),
        InvalidModel,
        "a",
    ),
    "two roots": (urdf(TWO), InvalidModel, "b"),
    "same link twice": (urdf(link("a"), link("a")), InvalidModel, "a"),
    "same joint twice": (
        urdf(TWO, link("c"), joint("j", "a", "b"), joint("j", "b", "c")),
        InvalidModel,
        "j",
    ),
    "unknown link": (urdf(link("thigh"), joint("j", "thigh", "thing")), UnknownName, "thing"),
    "planar joint": (urdf(TWO, joint("j", "a", "b", "planar")), Unsupported, "j"),
    "floating inside": (urdf(TWO, joint("j", "a", "b", "floating")), Unsupported, "j"),
    "negative mass": (
        urdf(link("a", MASS.replace('value="1"', 'value="-1"'))),
        InvalidModel,
        "a",
    ),
    "not a number": (
        urdf(TWO, joint("j", "a", "b", inside='<origin xyz="0 one 0"/>')),
        InvalidFile,
        "xyz",
    ),
    "no child": (
        urdf(TWO, '<joint name="j" type="fixed"><parent link="a"/></joint>'),
        InvalidFile,
        "child",
    ),
    "zero axis": (
        urdf(TWO, joint("j", "a", "b", inside='<axis xyz="0 0 0"/>')),
        InvalidModel,
        "j",
    ),
    "half an inertia": (
        urdf(link("a", '<inertial><mass value="1"/></inertial>')),
        InvalidFile,
        "inertia",
    ),
    "negative effort": (
        urdf(TWO, joint("j", "a", "b", inside='<limit effort="-5" velocity="1"/>')),
        InvalidFile,
        "effort",
    ),
    "negative velocity": (
        urdf(TWO, joint("j", "a", "b", inside='<limit effort="5" velocity="-1"/>')),
        InvalidFile,
        "velocity",
    ),
    "reversed range": (
        urdf(TWO, joint("j", "a", "b", inside=LIMIT.replace("-1", "2"))),
        InvalidModel,
        "j",
    ),
    "lost collision mesh": (
        urdf(link("a", MASS + mesh("package://lost/a.stl") + mesh("b.stl"))),
        InvalidFile,
        "package://lost/a.stl",
    ),
    "lost mesh beside it": (urdf(link("a", MASS + mesh("b.stl"))), InvalidFile, "b.stl"),
    "xacro": ('<robot name="r"><link name="${name}"/></robot>', InvalidFile, "FILE"),
    "broken": ("<robot><link></robot>", InvalidFile, "FILE"),
}


@pytest.mark.parametrize("name", BAD_URDF)
def test_bad_urdf(name: str, tmp_path: Path) -> None:
    text, kind, subject = BAD_URDF[name]
    file = tmp_path / "robot.urdf"
    file.write_text(text)
    with refused(kind, file if subject == "FILE" else subject) as caught:
        read(file)
    assert str(caught.value).startswith(("robot.urdf: ", str(file)))
    assert "\n" not in str(caught.value)


def test_missing_files_get_suggestions(tmp_path: Path) -> None:
    (tmp_path / "quadruped.urdf").write_text(urdf(link("a")))
    with pytest.raises(InvalidFile, match=r"did you mean quadruped\.urdf\?"):
        read(tmp_path / "quadruped.xml")
    with refused(InvalidFile, tmp_path / "nowhere" / "robot.urdf"):
        read(tmp_path / "nowhere" / "robot.urdf")
    with refused(InvalidFile, tmp_path):
        read(tmp_path)


def test_other_files(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    for text, kind, subject in (
        ("<usd><model/></usd>", InvalidFile, "usd"),
        ("<sdf><model/></sdf>", InvalidFile, "version"),
        ("", InvalidFile, file),
        ("solid mesh", InvalidFile, file),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", InvalidFile, file),
        ("<mujoco><world/></mujoco>", InvalidFile, file),
        ("<mujoco/>", InvalidModel, "robot"),
    ):
        file.write_text(text)
        with refused(kind, subject) as caught:
            read(file)
        assert "robot.xml" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("of_joint", "of_motor", "subject", "numbers"),
    [
        ('range="60 -60"', "", "j", {"60", "-60"}),
        ('actuatorfrcrange="2 -2"', "", "j", {"2", "-2"}),
        ("", 'ctrlrange="1 -1"', "m", {"1", "-1"}),
        ("", 'forcerange="1 -1"', "m", {"1", "-1"}),
    ],
)
def test_reversed_ranges_in_mjcf_are_rejected(
    of_joint: str, of_motor: str, subject: str, numbers: set[str]
) -> None:
    text = (
        f'<mujoco><worldbody><body><joint name="j" {of_joint}/><geom size="1"/></body></worldbody>'
        f'<actuator><motor name="m" joint="j" {of_motor}/></actuator></mujoco>'
    )
    with refused(InvalidModel, subject) as caught:
        read_mjcf(text)
    assert set(re.findall(r"-?\d+", str(caught.value))) == numbers


@pytest.mark.parametrize(
    ("element", "name", "near"),
    [
        ('<equality><connect body1="trnk" anchor="0 0 0"/></equality>', "trnk", "mean trunk"),
        ('<equality><weld body1="trunk" body2="thihg"/></equality>', "thihg", "mean thigh"),
        ('<equality><joint joint1="hipp"/></equality>', "hipp", "mean hip"),
        ('<contact><exclude body1="trunk" body2="thih"/></contact>', "thih", "mean thigh"),
        ('<contact><pair geom1="bx" geom2="rod"/></contact>', "bx", "mean box"),
        ('<actuator><motor joint="hipp"/></actuator>', "hipp", "mean hip"),
        ('<sensor><framepos objtype="site" objname="tipp"/></sensor>', "tipp", "mean tip"),
        ('<sensor><actuatorpos actuator="servp"/></sensor>', "servp", "mean servo"),
        ('<worldbody><geom type="mesh" mesh="rock"/></worldbody>', "rock", ""),
        ('<worldbody><geom class="c" size="1"/></worldbody>', "c", "main"),
    ],
)
def test_unknown_mjcf_names_get_suggestions(element: str, name: str, near: str) -> None:
    text = (
        '<mujoco><default class="main"/><worldbody><body name="trunk"><freejoint/><geom name="box"'
        ' size="1"/><body name="thigh"><joint name="hip"/><geom name="rod" size="1"/><site'
        f' name="tip"/></body></body></worldbody>{element}'
        '<actuator><motor name="servo" joint="hip"/></actuator></mujoco>'
    )
    with refused(UnknownName, name) as caught:
        read_mjcf(text)
    assert near in str(caught.value) and "MuJoCo" not in str(caught.value)


def test_unsupported_urdf_elements_are_reported() -> None:
    visual = mesh("lost.dae").replace("collision", "visual")
    mimic = joint("m", "b", "c", inside=LIMIT + '<mimic joint="j"/>')
    locked = joint("k", "c", "feather")
    strange = "<collision><geometry><cone/></geometry></collision>"
    elements = [link("a", MASS + visual), link("b", MASS + strange), link("c"), link("feather", "")]
    with pytest.warns(TarsusWarning) as caught:
        mechanism = check(
            read_urdf(urdf(*elements, joint("j", "a", "b", inside=""), mimic, locked))
        )
    issued = [w.message for w in caught if isinstance(w.message, TarsusWarning)]
    assert {(warning.code, warning.subject) for warning in issued} == {
        ("visual-meshes-missing", "lost.dae"),
        ("massless-joints-locked", "k"),
        ("joints-without-range", "j"),
        ("unknown-shapes-ignored", "b"),
    }
    assert mechanism.joint_names == ("root", "j", "m")
    assert any("m (follows j)" in note for note in mechanism.notes)
    assert [frame.name for frame in mechanism.frames] == ["feather"]


EMPTY_URDF = urdf(link("a", MASS + "<visual><odd/></visual>"))
EMPTY_SDF = (
    '<sdf version="1.6"><model name="r"><link name="a"><visual name="v"><odd/></visual></link>'
    "</model></sdf>"
)


@pytest.mark.parametrize("touching", ["visual", "collision"])
@pytest.mark.parametrize(("reader", "text"), [(read_urdf, EMPTY_URDF), (read_sdf, EMPTY_SDF)])
def test_simplified_collision_shapes_are_reported(
    reader: Callable[..., Mechanism], text: str, touching: str
) -> None:
    text = text.replace("visual", touching)
    with warned("unknown-shapes-ignored", "a"):
        unsupported = reader(text, shapes=touching).unsupported[:2]
    assert unsupported[0].startswith(touching) and f"<{touching}> of a" in unsupported[0]
    assert "<odd> (1)" in unsupported[1]
    mesh = "<geometry><mesh filename='lost.stl'><uri>lost.stl</uri></mesh></geometry>"
    with refused(InvalidFile, "lost.stl"):
        reader(text.replace("<odd/>", mesh), shapes=touching)


def test_a_root_called_world_is_fixed() -> None:
    fixed = read_urdf(urdf(link("world", ""), link("b"), joint("j", "world", "b")))
    assert not fixed.floating and fixed.joint_names == ("j",)
    free = check(
        read_urdf(urdf(link("world", ""), link("b"), joint("j", "world", "b", "floating")))
    )
    assert free.floating and free.joint_names == ("j",)
    assert not read_urdf(urdf(TWO, joint("root", "a", "b")), floating=False).floating
    assert read_urdf(urdf(TWO, joint("root", "a", "b"))).joint_names == ("floating_base", "root")


def test_a_massless_root_is_fixed() -> None:
    """It could turn about that joint without force; with a mass fixed to it, it floats."""
    arm = (link("a", ""), link("b"), joint("j", "a", "b"))
    with warned("massless-root-fixed", "a"):
        assert not check(read_urdf(urdf(*arm))).floating
    # an inertia without mass is none: pybullet's cart on a bar
    bar = link("a").replace('<mass value="1"/>', '<mass value="0"/>')
    sliding = (bar, link("b"), joint("j", "a", "b", "prismatic"))
    with warned("massless-root-fixed", "a"):
        assert not check(read_urdf(urdf(*sliding))).floating
    held = (*arm, link("c"), joint("weld", "a", "c", "fixed", ""))
    assert check(read_urdf(urdf(*held))).floating


def test_package_paths_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "ws" / "dog" / "urdf").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    text = urdf(
        link("a", MASS + mesh("package://dog/a.obj").replace("<mesh", '<mesh scale="1 2 3"'))
    )
    file = tmp_path / "ws" / "dog" / "urdf" / "dog.urdf"
    file.write_text(text)
    (tmp_path / "elsewhere" / "a.obj").write_text(tetrahedron)
    mechanism = read(file, packages={"dog": tmp_path / "elsewhere"})
    assert [point.name for point in mechanism.candidates] == ["a_0", "a_1", "a_2", "a_3"]
    assert np.max([point.position for point in mechanism.candidates], axis=0).tolist() == [1, 2, 3]
    with refused(InvalidFile, "package://dog/a.obj"):
        read(file)
    (tmp_path / "path" / "dog").mkdir(parents=True)
    (tmp_path / "path" / "dog" / "a.obj").write_text(tetrahedron)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "path"))
    assert len(read(file).candidates) == 4
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    (tmp_path / "ws" / "dog" / "a.obj").write_text(tetrahedron)
    assert len(read(file).candidates) == 4
    # a path counts from the file's folder, or from the one above
    (tmp_path / "ws" / "dog" / "meshes").mkdir()
    (tmp_path / "ws" / "dog" / "meshes" / "b.obj").write_text(tetrahedron)
    file.write_text(urdf(link("a", MASS + mesh("meshes/b.obj"))))
    assert len(read(file).candidates) == 4


def test_undeclared_namespace_prefixes_are_ignored() -> None:
    drake = '<link name="a"><drake:capsule x="1"/>' + MASS + "</link>"
    assert read_urdf(f'<?xml version="1.0"?><robot name="r">{drake}</robot>').mass == 1


GOOD = Inertia(1.0, np.zeros(3), np.eye(3))
BASE = Body("base", -1, Joint("root", "free"), GOOD)
LEG = Body("leg", 0, Joint("hip", "hinge"), GOOD)
SOUND = Mechanism("r", (BASE, LEG))


def leg(**changes: object) -> Mechanism:
    """The sound mechanism with changes to its leg's joint or inertia."""
    joint_names = {"lower", "upper", "armature", "damping", "kind"}
    of_joint = {key: value for key, value in changes.items() if key in joint_names}
    of_body = {key: value for key, value in changes.items() if key not in joint_names}
    return replace(
        SOUND, bodies=(BASE, replace(LEG, joint=replace(LEG.joint, **of_joint), **of_body))
    )


UNSOUND = {
    "no body": (replace(SOUND, bodies=()), "r"),
    "negative mass": (leg(inertia=Inertia(-1.0)), "leg"),
    "parent after child": (leg(parent=1), "leg"),
    "same body twice": (leg(name="base"), "base"),
    "same joint twice": (replace(SOUND, bodies=(BASE, replace(LEG, joint=BASE.joint))), "root"),
    "free inside": (leg(kind="free"), "leg"),
    "mirror": (leg(rotation=-np.eye(3)), "leg"),
    "skew inertia": (leg(inertia=Inertia(1.0, np.zeros(3), np.eye(3, k=1))), "leg"),
    "empty range": (leg(lower=1.0, upper=0.0), "hip"),
    "negative damping": (leg(damping=-1.0), "hip"),
    "massless leg": (leg(inertia=Inertia(0.0)), "hip"),
    "point mass on the axis": (leg(inertia=Inertia(1.0, np.array([0, 0, 1.0]))), "hip"),
    "lost frame": (replace(SOUND, frames=(Frame("f", 2),)), "f"),
    "motor on the base": (replace(SOUND, actuators=(Actuator("m", "root"),)), "m"),
    "short keyframe": (replace(SOUND, keyframes={"home": np.zeros(7)}), "home"),
    "twin candidates": (
        replace(SOUND, candidates=(Candidate("foot", 1, np.zeros(3)),) * 2),
        "foot",
    ),
}
LOST = {
    "hop": replace(SOUND, actuators=(Actuator("m", "hop"),)),
    "log": replace(SOUND, excluded=(("base", "log"),)),
}


@pytest.mark.parametrize("name", UNSOUND)
@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_invalid_mechanisms_are_rejected(name: str) -> None:
    mechanism, subject = UNSOUND[name]
    with refused(InvalidModel, subject):
        check(mechanism)


@pytest.mark.parametrize("name", LOST)
def test_unknown_names_of_a_mechanism_are_rejected(name: str) -> None:
    with refused(UnknownName, name):
        check(LOST[name])


def test_valid_mechanisms_pass_without_warnings() -> None:
    hollow = Body("hollow", 0, Joint("yaw", "hinge"), Inertia(0.0))
    pitch = Joint("hip", "hinge", axis=np.array([1.0, 0.0, 0.0]))
    chain = replace(SOUND, bodies=(BASE, hollow, replace(LEG, parent=1, joint=pitch)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check(SOUND) is SOUND
        check(chain)
        check(leg(inertia=Inertia(0.0), armature=0.1))


def test_suspicious_inertias() -> None:
    for diagonal, code in (
        ([1, 1, 3], "inertia-triangle-inequality"),
        ([1, 1, -0.1], "inertia-not-positive-definite"),
        ([1, 1, 0], "inertia-not-positive-definite"),
    ):
        inertia = Inertia(1.0, np.array([1.0, 0, 0]), np.diag(np.array(diagonal, dtype=float)))
        with warned(code, "leg"):
            check(leg(inertia=inertia))


def test_converters_report_mismatches() -> None:
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><joint name="knee"/><geom size="1"/></body></worldbody></mujoco>'
    )
    with refused(InvalidModel, "root") as caught:
        to_mujoco(SOUND, model, SOUND.neutral(), np.zeros(7))
    assert all(name in str(caught.value) for name in ("root", "hip", "knee"))
    with refused(InvalidValue, "q"):
        to_mujoco(SOUND, model, np.zeros(3), np.zeros(7))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"CDF\x02\x00\x00\x00\x00", "log"),
        (b"\x89HDF\r\n\x1a\n", "log"),
        (b"[fixed]\nrobot = 'go2'\n", "not XML"),
        (b"  \n", "malformed"),
        (b"<robot", "malformed"),
    ],
)
def test_files_that_are_not_robots_are_rejected(content: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "given.nc"
    file.write_bytes(content)
    with refused(InvalidFile, file) as caught:
        read(file)
    assert why in str(caught.value)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_mimic_joints_must_not_be_cyclic(size: int) -> None:
    names = [f"j{k}" for k in range(size)]
    kinds = dict.fromkeys([*names, "tail"], "hinge")
    around = [
        JointCoupling(f"c{k}", name, 0.0, (Leader(names[(k + 1) % size], (2.0,)),))
        for k, name in enumerate(names)
    ]
    tail = JointCoupling("t", "tail", 0.0, (Leader(names[-1], (1.0,)),))
    with refused(InvalidModel, names[0]):
        check_couplings((tail, *around), kinds)
    check_couplings((tail, *around[:-1]), kinds)  # a chain is sound


@pytest.mark.parametrize("radius", [0.0, 0.03])
def test_both_rims_of_a_cylinder_are_paired(radius: float) -> None:
    shape = ("leg", 0, Shape("cylinder", (radius, 0.1)))
    names = [candidate.name for candidate in create_candidates([shape])]
    ((one, other),) = find_edges([shape])
    heights = {c.name: c.position[2] for c in create_candidates([shape])}
    assert {one, other} <= set(names) and heights[one] == -heights[other] == 0.1
