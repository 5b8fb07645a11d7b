"""A robot may read only files in its tree and in folders that the user allows."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.refused import refused
from helpers.warned import warned

import tarsus
from tarsus import cli
from tarsus.errors import InvalidFile, Unsupported
from tarsus.model.mjcf import read_mjcf
from tarsus.model.mjcf_source import AttachedToItself, Source
from tarsus.model.read import read
from tarsus.model.robot_files import (
    MAX_BYTES,
    LfsPointer,
    NotARegularFile,
    OutsideTheTree,
    RobotFiles,
)
from tarsus.viewer.shapes import drawn_shapes

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1641284\n"
BODY = '<body name="b"><freejoint/><geom size="1"/></body>'
WORLD = f"<worldbody>{BODY}</worldbody>"
HIDDEN = 'contype="0" conaffinity="0"'
MATTER = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'


def urdf(mesh: str, kind: str = "collision") -> str:
    shape = f'<{kind}><geometry><mesh filename="{mesh}"/></geometry></{kind}>'
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    return f'<robot name="r"><link name="base">{mass}{shape}</link></robot>'


def sdf(mesh: str) -> str:
    inertia = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
    shape = f"<geometry><mesh><uri>{mesh}</uri></mesh></geometry>"
    return (
        f'<sdf version="1.7"><model name="m"><link name="base"><inertial><mass>1</mass>{inertia}'
        f'</inertial><collision name="c">{shape}</collision></link></model></sdf>'
    )


def mjcf(mesh: str) -> str:
    geom = '<geom type="mesh" mesh="m"/>'
    return (
        f'<mujoco><asset><mesh name="m" file="{mesh}"/></asset><worldbody><body name="b">'
        f"<freejoint/>{geom}</body></worldbody></mujoco>"
    )


LINKS = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
FORMATS: dict[str, Callable[[str], str]] = {"urdf": urdf, "sdf": sdf, "xml": mjcf}
NAMES: dict[str, str] = {  # what of an MJCF file names a file
    "include": '<include file="{}"/>' + WORLD,
    "mesh": '<asset><mesh name="m" file="{}"/></asset>' + WORLD,
    "texture": '<asset><texture name="t" type="2d" file="{}"/></asset>' + WORLD,
    "cube": '<asset><texture name="t" type="cube" fileup="{}"/></asset>' + WORLD,
    "height field": '<asset><hfield name="h" size="1 1 1 1" file="{}"/></asset>' + WORLD,
    "skin": '<asset><skin name="s" file="{}"/></asset>' + WORLD,
    "model": '<asset><model name="c" file="{}"/></asset>' + WORLD,
    "flexcomp": f'<worldbody>{BODY}<flexcomp name="f" type="mesh" file="{{}}"/></worldbody>',
}


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def pipe(tmp_path: Path) -> str:
    """A pipe in the robot's folder, on which a reader waits for ever."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes on this system")
    (tmp_path / "r").mkdir()
    for kind in ("obj", "xml", "png", "hf", "skn"):
        os.mkfifo(tmp_path / "r" / f"pipe.{kind}")
    return "pipe"


@pytest.mark.parametrize("kind", NAMES)
def test_pipes_are_rejected_anywhere_in_mjcf(kind: str, tmp_path: Path, pipe: str) -> None:
    suffix = {"include": "xml", "model": "xml", "texture": "png", "cube": "png", "skin": "skn"}
    name = f"{pipe}.{suffix.get(kind, 'obj')}"
    text = f"<mujoco>{NAMES[kind].format(name)}</mujoco>"
    with refused(NotARegularFile, name):
        read(written(tmp_path / "r", "robot.xml", text))


@pytest.mark.parametrize("kind", FORMATS)
def test_pipes_sockets_and_folders_are_rejected_as_meshes(
    kind: str, tmp_path: Path, pipe: str
) -> None:
    folder = tmp_path / "r"
    (folder / "folder.obj").mkdir()
    monkey = os.getcwd()
    os.chdir(folder)  # the name of a socket must be short
    try:
        socket.socket(socket.AF_UNIX).bind("socket.obj")
    finally:
        os.chdir(monkey)
    for name in (f"{pipe}.obj", "socket.obj", "folder.obj", "/dev/zero"):
        with refused(NotARegularFile, name):
            read(written(folder, f"robot.{kind}", FORMATS[kind](name)))


def test_pipes_are_rejected_as_robots(
    tmp_path: Path, pipe: str, capsys: pytest.CaptureFixture
) -> None:
    file = tmp_path / "r" / f"{pipe}.xml"
    with refused(NotARegularFile, file):
        tarsus.load(file)
    assert cli.main(["inspect", str(file)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_files_named_by_meshes_are_checked(tmp_path: Path, pipe: str) -> None:
    """Buffers and images of glTF, materials of OBJ, in collisions and in pictures."""
    folder = tmp_path / "r"
    buffer = '{"asset":{"version":"2.0"},"buffers":[{"uri":"pipe.obj","byteLength":36}]}'
    written(folder, "buffer.gltf", buffer)
    with refused(NotARegularFile, "pipe.obj"):
        read(written(folder, "robot.urdf", urdf("buffer.gltf")))
    written(folder, "drawn.obj", f"mtllib pipe.obj\nusemtl x\n{TETRAHEDRON}")
    robot = tarsus.load(written(folder, "robot.urdf", urdf("drawn.obj", "visual")))
    with refused(NotARegularFile, "pipe.obj"):
        drawn_shapes(robot)
    # of a picture that is not there nothing is said
    written(folder, "drawn.obj", f"mtllib gone.mtl\nusemtl x\n{TETRAHEDRON}")
    assert len(drawn_shapes(robot)) == 1


def test_mujoco_reads_no_element_that_tarsus_skipped(tmp_path: Path, pipe: str) -> None:
    """MuJoCo's parser takes the text between these attributes for elements, and opens the pipe;
    it accepts capital letters, too.
    """
    trick = '<custom><text name="<!--" data="x"/></custom><asset><mesh file="pipe.obj"/></asset>'
    trick += '<custom><text name="-->" data="x"/></custom>'
    file = written(tmp_path / "r", "robot.xml", f"<mujoco>{trick}{WORLD}</mujoco>")
    assert read(file).body_names == ("b",)
    file.write_text(f"<mujoco><INCLUDE file='pipe.xml'/>{WORLD}</mujoco>")
    with refused(NotARegularFile, "pipe.xml"):
        read(file)


@LINKS
@pytest.mark.parametrize("kind", FORMATS)
def test_meshes_outside_the_tree_need_permission(kind: str, tmp_path: Path) -> None:
    mesh = written(tmp_path / "elsewhere" / "deep", "m.obj", TETRAHEDRON)
    folder = tmp_path / "robots" / "r" / "urdf"
    folder.mkdir(parents=True)
    (folder / "link.obj").symlink_to(mesh)
    (folder / "way").symlink_to(mesh.parent)
    names = [str(mesh), "../../../elsewhere/deep/m.obj", "link.obj", "way/m.obj"]
    names += [f"file://{mesh}"] if kind != "xml" else []
    for name in names:
        file = written(folder, f"robot.{kind}", FORMATS[kind](name))
        with refused(OutsideTheTree, name) as caught:
            read(file)
        assert f"--asset-folder {mesh.parent}" in str(caught.value)
        assert len(read(file, asset_folders=[mesh.parent]).candidates) == 4
        robot = tarsus.load(file, asset_folders=str(mesh.parent))
        assert len(drawn_shapes(robot)) == 1


def test_the_flag_and_the_ros_variable_allow_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    mesh = written(tmp_path / "elsewhere", "m.obj", TETRAHEDRON)
    file = str(written(tmp_path / "a" / "b" / "c", "robot.xml", mjcf(str(mesh))))
    assert cli.main(["inspect", file]) == 2
    folders = ["--asset-folder", str(tmp_path / "none"), "--asset-folder", str(mesh.parent)]
    assert cli.main(["inspect", *folders, file]) == 0
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(mesh.parent))
    assert cli.main(["inspect", file]) == 0
    assert "Traceback" not in capsys.readouterr().err


@LINKS
def test_package_paths_stay_inside_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = written(tmp_path / "etc", "secret.obj", TETRAHEDRON)
    for name in ("package://etc/secret.obj", "package://dog/../../etc/secret.obj"):
        file = written(tmp_path / "ws" / "src" / "dog" / "urdf", "dog.urdf", urdf(name))
        with refused(InvalidFile, name):
            read(file)
    # a folder that says that it is a package is one, wherever it lies above the robot
    written(tmp_path / "etc", "package.xml", "<package/>")
    file.write_text(urdf("package://etc/secret.obj"))
    assert len(read(file).candidates) == 4
    # a path out of a package that the user names
    (outside.parent / "package.xml").unlink()
    pack = tmp_path / "share" / "cat"
    written(pack, "in.obj", TETRAHEDRON)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    (tmp_path / "prefix" / "share").mkdir(parents=True)
    (tmp_path / "prefix" / "share" / "cat").symlink_to(pack)
    file.write_text(urdf("package://cat/in.obj"))
    assert len(read(file).candidates) == 4
    file.write_text(urdf("package://cat/../../etc/secret.obj"))
    with refused(OutsideTheTree, "package://cat/../../etc/secret.obj"):
        read(file, packages={"cat": pack})


@LINKS
def test_colcon_links_resolve_to_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, share = tmp_path / "src" / "dog", tmp_path / "install" / "dog" / "share" / "dog"
    for folder, name, text in (
        ("", "package.xml", "<package/>"),
        ("urdf", "dog.urdf", urdf("package://dog/meshes/a.obj")),
        ("meshes", "a.obj", TETRAHEDRON),
    ):
        file = written(source / folder, name, text)
        (share / folder).mkdir(parents=True, exist_ok=True)
        (share / folder / name).symlink_to(file)
    assert len(read(share / "urdf" / "dog.urdf").candidates) == 4
    # from another package's file, by ROS's variable
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install" / "dog"))
    other = written(tmp_path / "other" / "a" / "b", "r.urdf", urdf("package://dog/meshes/a.obj"))
    assert len(read(other).candidates) == 4


@pytest.mark.parametrize(
    ("place", "name", "mark"),
    [
        ("dog/urdf", "../meshes/m.obj", ""),
        ("dog/urdf", "package://dog/meshes/m.obj", ""),
        ("dog/urdf/v2/deep", "../../../meshes/m.obj", "package.xml"),
        ("dog/models/v2/deep", "../../../meshes/m.obj", ".git"),
        ("dog/models/v2/deep", "package://dog/meshes/m.obj", "pyproject.toml"),
        ("dog", "package:///meshes/m.obj", ""),
        ("dog/meshes", "package:///m.obj", ""),
        ("dog/meshes", "package://m.obj", ""),
        ("dog/meshes", "file://m.obj", ""),
    ],
)
def test_meshes_of_real_robots_are_found(place: str, name: str, mark: str, tmp_path: Path) -> None:
    written(tmp_path / "dog" / "meshes", "m.obj", TETRAHEDRON)
    if mark:
        written(tmp_path / "dog", mark, "")
    file = written(tmp_path / place, "robot.urdf", urdf(name))
    assert len(read(file).candidates) == 4
    if mark:
        (tmp_path / "dog" / mark).unlink()
        with pytest.raises(InvalidFile):
            read(file)


def test_a_package_is_found_by_the_name_that_it_declares(tmp_path: Path) -> None:
    written(tmp_path / "dog-main" / "meshes", "m.obj", TETRAHEDRON)
    file = written(
        tmp_path / "dog-main" / "a" / "urdf", "r.urdf", urdf("package://dog/meshes/m.obj")
    )
    package = written(tmp_path / "dog-main", "package.xml", "<package><name> dog </name></package>")
    assert len(read(file).candidates) == 4
    package.write_text("<package><name>cat</name></package>")
    with refused(InvalidFile, "package://dog/meshes/m.obj"):
        read(file)


def test_home_and_system_folders_are_not_robot_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    written(home, ".git/config", "")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    own = RobotFiles.of(home / "robots" / "dog" / "dog.urdf").roots
    assert set(own) == {home / "robots" / "dog", home / "robots"}
    assert RobotFiles.of(home / "robots" / "dog.urdf").roots == (home / "robots",)
    assert RobotFiles.of(home / "dog.urdf").roots == (home,)
    assert Path("/") not in RobotFiles.of(Path("/opt/x/dog.urdf")).roots


@pytest.mark.parametrize("name", ["Meshes/M.OBJ", r"meshes\m.obj", "meshes/m%2Eobj", "mesh/n.obj"])
@pytest.mark.parametrize("before", ["", "package://dog/"])
def test_missing_meshes_get_suggestions(name: str, before: str, tmp_path: Path) -> None:
    written(tmp_path / "dog" / "meshes", "m.obj", TETRAHEDRON)
    for kind in ("urdf", "sdf"):
        file = written(tmp_path / "dog", f"robot.{kind}", FORMATS[kind](before + name))
        if name != "mesh/n.obj" and os.name == "nt":
            continue
        with refused(InvalidFile, before + name) as caught:
            read(file)
        assert f"{before}meshes/m.obj?" in str(caught.value)


def test_missing_mjcf_meshes_get_suggestions(tmp_path: Path) -> None:
    written(tmp_path, "meshes/foot.obj", TETRAHEDRON)
    text = mjcf("fooot.obj").replace("<asset>", '<compiler meshdir="meshes"/><asset>')
    with refused(InvalidFile, "fooot.obj") as caught:
        read(written(tmp_path, "robot.xml", text))
    assert " foot.obj?" in str(caught.value)
    with refused(InvalidFile, "robott.xml") as caught:
        read(written(tmp_path, "scene.xml", '<mujoco><include file="robott.xml"/></mujoco>'))
    assert " robot.xml?" in str(caught.value)


@pytest.mark.parametrize("kind", FORMATS)
def test_git_lfs_pointers_are_reported_with_the_command(kind: str, tmp_path: Path) -> None:
    written(tmp_path, "base.stl", POINTER)
    with pytest.raises(InvalidFile) as caught:
        read(written(tmp_path, f"robot.{kind}", FORMATS[kind]("base.stl")))
    assert caught.value.subject == "base.stl" and "git lfs pull" in str(caught.value)


def test_git_lfs_pointers_in_other_files(tmp_path: Path) -> None:
    with refused(LfsPointer, "robot.urdf"):
        tarsus.load(written(tmp_path, "robot.urdf", POINTER))
    written(tmp_path, "skin.png", POINTER)
    texture = '<asset><texture name="t" type="2d" file="skin.png"/></asset>'
    with warned("visual-meshes-missing", "skin.png"):
        read(written(tmp_path, "robot.xml", f"<mujoco>{texture}{WORLD}</mujoco>"))


def attaching(file: str, name: str = "m") -> str:
    return (
        f'<mujoco model="{name}"><asset><model name="c" file="{file}"/></asset><worldbody>'
        '<body name="b"><freejoint/><geom size="1"/></body><frame pos="0 0 9">'
        '<attach model="c" body="b" prefix="x_"/></frame></worldbody></mujoco>'
    )


@LINKS
def test_self_attached_models_are_rejected_before_mujoco(tmp_path: Path) -> None:
    for texts, circle in (
        ({"a.xml": attaching("a.xml")}, "a.xml -> a.xml"),
        ({"a.xml": attaching("b.xml"), "b.xml": attaching("a.xml")}, "a.xml -> b.xml -> a.xml"),
        (
            {
                "a.xml": f'<mujoco><include file="b.xml"/>{WORLD}</mujoco>',
                "b.xml": '<mujoco><asset><model file="a.xml"/></asset></mujoco>',
            },
            "a.xml -> b.xml -> a.xml",
        ),
        (
            {
                "a.xml": '<mujoco><include file="b.xml"/></mujoco>',
                "b.xml": '<mujoco><include file="a.xml"/></mujoco>',
            },
            "a.xml -> b.xml -> a.xml",
        ),
    ):
        for name, text in texts.items():
            written(tmp_path, name, text)
        with pytest.raises(AttachedToItself, match=circle):
            read(tmp_path / "a.xml")
    (tmp_path / "again.xml").symlink_to(tmp_path / "a.xml")
    written(tmp_path, "a.xml", attaching("again.xml"))
    with pytest.raises(AttachedToItself):
        read(tmp_path / "a.xml")


def test_deep_and_wide_attachments_are_bounded(tmp_path: Path) -> None:
    for k in range(40):
        written(tmp_path, f"{k}.xml", attaching(f"{k + 1}.xml"))
    written(tmp_path, "40.xml", f"<mujoco>{WORLD}</mujoco>")
    with refused(Unsupported, "21.xml"):
        read(tmp_path / "0.xml")
    # each has the next one nine times
    for k in range(12):
        inner = "".join(f'<attach model="c" body="b" prefix="p{j}_"/>' for j in range(9))
        text = attaching(f"w{k + 1}.xml").replace("</frame>", f"{inner}</frame>")
        written(tmp_path, f"w{k}.xml", text.replace("<freejoint/>", ""))
    written(tmp_path, "w12.xml", f"<mujoco>{WORLD}</mujoco>")
    with refused(Unsupported, "body"):
        read(tmp_path / "w0.xml")


def test_attached_and_included_files_are_read(tmp_path: Path) -> None:
    """Two meshes of one name in two folders, an attached model in a third with its own."""
    written(tmp_path, "a/m.obj", TETRAHEDRON)
    written(tmp_path, "b/m.obj", TETRAHEDRON.replace("1 0 0", "2 0 0"))
    written(tmp_path, "child/own/m.obj", TETRAHEDRON.replace("1 0 0", "3 0 0"))
    child = mjcf("m.obj").replace("<asset>", '<compiler meshdir="own"/><asset>')
    written(tmp_path, "child/child.xml", child)
    inner = '<mujoco><asset><mesh name="q" file="b/m.obj"/></asset></mujoco>'
    written(tmp_path, "part/part.xml", inner)
    file = written(
        tmp_path,
        "robot.xml",
        '<mujoco>\n<asset><mesh file="a/m.obj"/><model name="c" file="child/child.xml"/></asset>'
        '<include file="part/part.xml"/><worldbody><body name="one"><freejoint/>'
        '<geom type="mesh" mesh="m"/><geom type="mesh" mesh="q" pos="0 0 5"/></body>'
        '<frame><attach model="c" body="b" prefix="x_"/></frame></worldbody></mujoco>',
    )
    mechanism = read(file)
    assert mechanism.body_names == ("one", "x_b")
    wide = [np.ptp([c.position[0] for c in mechanism.candidates if c.body == k]) for k in (0, 1)]
    assert wide == pytest.approx([2, 3])
    # MuJoCo opens nothing: the same with the files gone
    import mujoco

    source = Source.of("", file)
    for gone in tmp_path.rglob("*.obj"):
        gone.unlink()
    model = mujoco.MjModel.from_xml_string(source.text, source.assets)
    assert model.nmesh == 3


def test_line_numbers_of_mujoco_errors_refer_to_the_file(tmp_path: Path) -> None:
    text = f'<?xml version="1.0"?>\n<!-- a\nb -->\n<mujoco>\n  <option\n   timestep="x"/>{WORLD}'
    with pytest.raises(InvalidFile, match="line 5"):
        read(written(tmp_path, "robot.xml", f"{text}</mujoco>"))


@pytest.mark.parametrize(
    "text",
    [
        '<link name="a"><visual><geometry><mesh filename="$(find x)/a.stl"/></geometry></visual>'
        "</link>",
        '<link name="a"/><xacro:leg prefix="FL"/>',
        '<link name="a"/><xacro:include filename="legs.xacro"/>',
        '<link name="${name}"/>',
    ],
)
@pytest.mark.parametrize("space", [' xmlns:xacro="http://www.ros.org/wiki/xacro"', ""])
def test_xacro_must_be_expanded(text: str, space: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="xacro"):
        read(written(tmp_path, "robot.urdf", f'<robot name="r"{space}>{text}</robot>'))


def test_root_namespaces_are_ignored(tmp_path: Path) -> None:
    for kind, head in (("urdf", "<robot"), ("sdf", "<sdf"), ("xml", "<mujoco")):
        text = FORMATS[kind]("m.obj").replace(head, f'{head} xmlns="http://www.ros.org"', 1)
        written(tmp_path, "m.obj", TETRAHEDRON)
        assert len(read(written(tmp_path, f"robot.{kind}", text)).candidates) == 4
        assert len(drawn_shapes(tarsus.load(tmp_path / f"robot.{kind}"))) == 1


def test_actuators_with_several_inputs_do_not_shift_others() -> None:
    """MuJoCo 4's orientation of a ball joint has three inputs and three outputs."""
    mujoco = pytest.importorskip("mujoco", minversion="4.0")
    assert mujoco
    text = f"""<mujoco><worldbody><body><freejoint/>{MATTER}<body><joint name="s" type="ball"/>
        {MATTER}<body><joint name="h" axis="0 1 0"/>{MATTER}</body></body></body></worldbody>
        <actuator><orientation name="o" joint="s" kp="10"/>
        <motor name="m" joint="h" gear="7" ctrlrange="-2 3"/></actuator></mujoco>"""
    with warned("unsupported-actuators-ignored", "o"):
        found = read_mjcf(text)
    assert [(a.name, a.lower, a.upper) for a in found.actuators] == [("m", -14.0, 21.0)]
    assert [(a.name, a.gear, a.control) for a in found.file_actuators] == [("m", 7.0, (-2.0, 3.0))]


def test_robot_files_are_limited_in_number_and_size(tmp_path: Path) -> None:
    with (tmp_path / "big.xml").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with refused(Unsupported, "big.xml"):
        read(written(tmp_path, "robot.xml", f'<mujoco><include file="big.xml"/>{WORLD}</mujoco>'))
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (90_000).to_bytes(4, "big") * 2
    (tmp_path / "huge.png").write_bytes(head)
    field = '<asset><hfield name="h" size="1 1 1 1" file="huge.png"/></asset>'
    with refused(Unsupported, "huge.png"):
        read(written(tmp_path, "robot.xml", f"<mujoco>{field}{WORLD}</mujoco>"))


def test_logs_cannot_allow_folders(tmp_path: Path) -> None:
    """Only the user does: a log that came with a robot cannot open the machine to it."""
    mesh = written(tmp_path / "elsewhere", "m.obj", TETRAHEDRON)
    file = written(tmp_path / "a" / "b" / "c", "robot.xml", mjcf(str(mesh)))
    robot = tarsus.load(file, asset_folders=[str(mesh.parent)])
    log = tarsus.Simulation(robot, controller=None, law="moreau").run(0.005)
    from tarsus.simulation.recording.log_robot import robot_of

    with pytest.raises(OutsideTheTree):
        robot_of(log)
