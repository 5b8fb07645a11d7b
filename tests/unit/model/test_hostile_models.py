"""Hostile robot files are rejected with one sentence, within limits of time and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import numpy_mechanics
from helpers.numpy_mechanics import random_state
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidFile, InvalidModel, UnknownName, Unsupported
from tarsus.model.check import check
from tarsus.model.mass_matrix import mass_matrix
from tarsus.model.mjcf_source import AttachedToItself
from tarsus.model.read import read
from tarsus.model.robot_files import NotARegularFile
from tarsus.model.urdf import read_urdf

ROOT = Path(__file__).parents[3]
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
INERTIA = '<inertia ixx="1" iyy="1" izz="1"/>'
BODY = '<body name="b"><freejoint/><geom size="1"/></body>'
FREE = f"<worldbody>{BODY}</worldbody>"
BOMB = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(9)
)


def urdf(inside: str = "", mass: str = "1", inertia: str = INERTIA) -> str:
    """A link with more in it and after it."""
    base = f'<inertial><mass value="{mass}"/>{inertia}</inertial>'
    return f'<robot name="r"><link name="base">{base}</link>{inside}</robot>'


def hung(what: str, kind: str = "revolute") -> str:
    """A second link, and a joint of the first with something in it."""
    second = f'<link name="arm"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
    ends = '<parent link="base"/><child link="arm"/>'
    return urdf(f'{second}<joint name="j" type="{kind}">{ends}{what}</joint>')


def mesh(scale: str = "1 1 1", file: str = "t.obj") -> str:
    shape = f'<mesh filename="{file}" scale="{scale}"/>'
    inside = f'<link name="m"><collision><geometry>{shape}</geometry></collision></link>'
    ends = '<parent link="base"/><child link="m"/>'
    return urdf(f'{inside}<joint name="j" type="fixed">{ends}</joint>')


def mjcf(inside: str) -> str:
    return f'<mujoco model="m">{inside}</mujoco>'


HOSTILE = {
    # URDF: numbers
    "huge mass": (urdf(mass="1e39"), InvalidFile, "value"),
    "infinite mass": (urdf(mass="inf"), InvalidFile, "value"),
    "huge inertia": (urdf(inertia=INERTIA.replace('"1"', '"1e39"')), InvalidFile, "ixx"),
    "inertia off its diagonal": (
        urdf(inertia=INERTIA.replace("/>", ' ixy="3"/>')),
        InvalidModel,
        "root",
    ),
    "huge torque": (hung('<limit effort="1e39" velocity="1"/>'), InvalidFile, "effort"),
    "infinite torque": (hung('<limit effort="inf" velocity="1"/>'), InvalidFile, "effort"),
    "huge damping": (hung('<dynamics damping="1e39"/>'), InvalidFile, "damping"),
    "far joint": (hung('<origin xyz="0 1e300 0"/>'), InvalidFile, "xyz"),
    "endless turns": (hung('<origin rpy="0 inf 0"/>'), InvalidFile, "rpy"),
    "mesh of 1e308": (mesh("1e308 1e308 1e308"), InvalidFile, "scale"),
    "long number": (urdf(mass="9" * 1000), InvalidFile, "value"),
    # URDF: names, encodings, sizes
    "long file name": (mesh(file="x" * 10_000), InvalidFile, "x" * 10_000),
    "null in a name": (mesh(file="a&#0;b"), InvalidFile, "FILE"),
    "device for a mesh": (mesh(file="/dev/zero"), NotARegularFile, "/dev/zero"),
    "folder for a mesh": (mesh(file="/"), NotARegularFile, "/"),
    "too many links": (
        urdf("".join(f'<link name="l{k}"/>' for k in range(20_000))),
        Unsupported,
        "link",
    ),
    "entity bomb": (BOMB + "]>" + urdf("<x>&j;</x>"), InvalidFile, "FILE"),
    "unknown encoding": ('<?xml version="1.0" encoding="klingon"?>' + urdf(), InvalidFile, "FILE"),
    "no text encoding": ('<?xml version="1.0" encoding="hex"?>' + urdf(), InvalidFile, "FILE"),
    "wide encoding": ('<?xml version="1.0" encoding="big5"?>' + urdf(), InvalidFile, "FILE"),
    # MJCF: numbers
    "MJCF mass": (
        mjcf(FREE.replace('"/></', '" mass="1e39"/></')),
        InvalidFile,
        "mass",
    ),
    "MJCF density": (mjcf(FREE.replace('"/></', '" density="inf"/></')), InvalidFile, "density"),
    "MJCF place": (mjcf(FREE.replace('"b"', '"b" pos="0 nan 0"')), InvalidFile, "pos"),
    "mass by size": (mjcf(FREE.replace('size="1"', 'size="1e9"')), InvalidModel, "b"),
    "gravity": (mjcf('<option gravity="0 0 inf"/>' + FREE), InvalidFile, "gravity"),
    "keyframe": (
        mjcf(FREE + '<keyframe><key qpos="nan 0 0 1 0 0 0"/></keyframe>'),
        InvalidFile,
        "qpos",
    ),
    "zero quaternion": (
        mjcf(FREE.replace('"b"', '"b" quat="0 0 0 0"')),
        InvalidFile,
        "FILE",
    ),
    "empty anchor": (
        mjcf(FREE + '<equality><connect body1="b" anchor=""/></equality>'),
        InvalidFile,
        "anchor",
    ),
    "MJCF mesh of 1e308": (
        mjcf('<asset><mesh name="t" file="t.obj" scale="1e308 1 1"/></asset>' + FREE),
        InvalidFile,
        "scale",
    ),
    # MJCF: sizes
    "three million bodies": (
        mjcf(f'<worldbody><replicate count="3000000">{BODY}</replicate></worldbody>'),
        Unsupported,
        "body",
    ),
    "replicas of replicas": (
        mjcf(
            '<worldbody><replicate count="999"><replicate count="999"><geom size="1"/></replicate>'
            f"</replicate>{BODY}</worldbody>"
        ),
        Unsupported,
        "geom",
    ),
    "height field": (
        mjcf('<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>' + FREE),
        Unsupported,
        "hfield",
    ),
    "flexible grid": (
        mjcf(
            '<worldbody><flexcomp name="f" type="grid" count="2000 2000 200" spacing=".1 .1 .1"/>'
            "</worldbody>"
        ),
        Unsupported,
        "flexcomp",
    ),
    "deep": (
        mjcf("<worldbody>" + "<body>" * 900 + "</body>" * 900 + "</worldbody>"),
        Unsupported,
        "body",
    ),
    # MJCF: files
    "includes itself": (mjcf('<include file="robot.xml"/>' + FREE), AttachedToItself, "robot.xml"),
    "includes a device": (mjcf('<include file="/dev/zero"/>' + FREE), NotARegularFile, "/dev/zero"),
    "a device for a mesh": (
        mjcf('<asset><mesh name="t" file="/dev/zero"/></asset>' + FREE),
        NotARegularFile,
        "/dev/zero",
    ),
    "plugin": (
        mjcf('<extension><plugin plugin="no.such.thing"/></extension>' + FREE),
        InvalidFile,
        "FILE",
    ),
    "bomb in MJCF": (BOMB + "]>" + mjcf(FREE + "<x>&j;</x>"), InvalidFile, "FILE"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_rejected_quickly_in_one_sentence(name: str, tmp_path: Path) -> None:
    text, kind, subject = HOSTILE[name]
    (tmp_path / "t.obj").write_text(TETRAHEDRON)
    file = tmp_path / "robot.xml"
    file.write_text(text)
    began = time.process_time()
    with refused(kind, file if subject == "FILE" else subject) as caught:
        read(file)
    assert time.process_time() - began < 5
    assert "robot.xml" in str(caught.value) and "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500 + 2 * len("x" * 10_000) * (name == "long file name")


def test_two_joints_about_one_axis_are_rejected() -> None:
    text = urdf(
        '<link name="ring"/><link name="arm"><inertial><mass value="1"/>'
        + INERTIA
        + '</inertial></link><joint name="a" type="continuous"><parent link="base"/>'
        '<child link="ring"/></joint><joint name="b" type="continuous"><parent link="ring"/>'
        '<child link="arm"/></joint>'
    )
    with pytest.raises(InvalidModel) as caught:
        check(read_urdf(text))
    assert caught.value.subject in ("a", "b")


def test_files_that_are_not_text_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    for data in (
        mjcf(FREE.replace('"b"', '"bäse"')).encode("latin-1"),
        urdf().replace("base", "bäse").encode("latin-1"),
        b"\xff\xfe\x00\xd8",
    ):
        file.write_bytes(data)
        with refused(InvalidFile, file):
            read(file)
    file.write_text('<?xml version="1.0" encoding="latin-1"?>' + urdf(), encoding="latin-1")
    assert read(file).body_names == ("base",)
    for count in (300, 5000):
        with refused(InvalidFile, tmp_path / ("x" * count)):
            read(tmp_path / ("x" * count))


def test_what_mujoco_allows_but_xml_does_not(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(mjcf("<!-- a -- comment -->" + FREE))
    assert read(file).body_names == ("b",)


@pytest.mark.parametrize("name", ["mini_cheetah", "biped"])
def test_the_checked_mass_matrix_matches_the_robot(name: str) -> None:
    robot = tarsus.load(name)
    q = random_state(robot, 3)[0]
    np.testing.assert_allclose(
        mass_matrix(robot, q), numpy_mechanics.mass_matrix(robot, q), rtol=0, atol=1e-12
    )


def test_invalid_file_names_are_not_robots() -> None:
    for name in ("x" * 10_000, "a\0b"):
        with refused(UnknownName, name) as caught:
            tarsus.load(name)
        assert len(str(caught.value)) < 300


def test_a_hundred_mutated_files_cause_no_crash(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "tools" / "fuzz.py", "--kind", "small", "--seed", "11"]
    done = subprocess.run(
        [*command, "--count", "100", "--fault-folder", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
