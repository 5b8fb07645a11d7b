"""SDF files: the same robot as its URDF in any frames; loops, gears, and rejected elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.numpy_mechanics import mass_matrix, poses, random_state
from helpers.refused import refused
from helpers.warned import warned

import tarsus
from tarsus.dynamics.loop_closure import gaps
from tarsus.errors import InvalidFile, InvalidModel, TarsusError, UnknownName, Unsupported
from tarsus.model.joint_coupling import Leader
from tarsus.model.mechanism import Mechanism
from tarsus.model.sdf import read_sdf
from tarsus.model.urdf import read_urdf
from tarsus.viewer.shapes import drawn_shapes

INERTIA = "<inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz><ixy>0.001</ixy></inertia>"
TRUNK = f"""
  <link name="trunk"><pose>0 0 0.5 0 0 0</pose>
    <inertial><pose>0.01 0 0.02 0 0 0.3</pose><mass>3</mass>{INERTIA}</inertial>
    <collision name="shell"><geometry><box><size>0.4 0.2 0.1</size></box></geometry></collision>
  </link>"""
MATTER = f"<inertial><pose>0 0 -0.1 0 0 0</pose><mass>0.5</mass>{INERTIA}</inertial>"
BALL = """<collision name="ball"><pose>0 0 -0.2 0 0 0</pose>
      <geometry><sphere><radius>0.03</radius></sphere></geometry></collision>"""
AXIS = """<limit><lower>-0.5</lower><upper>1</upper>
        <effort>20</effort><velocity>8</velocity></limit>
      <dynamics><damping>0.2</damping><friction>0.1</friction></dynamics>"""
URDF = """<robot name="leg">
  <link name="trunk">
    <inertial><origin xyz="0.01 0 0.02" rpy="0 0 0.3"/><mass value="3"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="0"/></inertial>
    <collision name="shell"><geometry><box size="0.4 0.2 0.1"/></geometry></collision></link>
  <link name="leg">
    <inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="0"/></inertial>
    <collision name="ball"><origin xyz="0 0 -0.2"/><geometry><sphere radius="0.03"/></geometry>
    </collision></link>
  <joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/>
    <origin xyz="0.1 0.2 -0.05" rpy="0.4 0 0.2"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-0.5" upper="1" effort="20" velocity="8"/>
    <dynamics damping="0.2" friction="0.1"/></joint>
</robot>"""


def sdf(body: str, version: str = "1.6") -> str:
    """A file with this in its model."""
    return f'<sdf version="{version}"><model name="leg">{body}</model></sdf>'


def in_model_axis() -> str:
    """The hip's axis in the trunk's axes, which are the model's."""
    urdf = read_urdf(URDF)
    return " ".join(map(str, urdf.bodies[1].rotation @ [0.0, 0.6, 0.8]))


def hip(axis: str, pose: str = "", ends: tuple[str, str] = ("trunk", "leg")) -> str:
    """The joint's element."""
    joined = f"<parent>{ends[0]}</parent><child>{ends[1]}</child>"
    return f'<joint name="hip" type="revolute">{pose}{joined}<axis>{axis}{AXIS}</axis></joint>'


PLACE = "0.1 0.2 0.45 0.4 0 0.2"
LEG = f'<link name="leg"><pose>{PLACE}</pose>{MATTER}{BALL}</link>'
OWN = "<xyz>0 0.6 0.8</xyz>"
WRITTEN = {
    "joint at its child": sdf(TRUNK + LEG + hip(OWN)),
    "axis in the model's frame": sdf(
        TRUNK
        + LEG
        + hip(f"<xyz>{in_model_axis()}</xyz><use_parent_model_frame>1</use_parent_model_frame>")
    ),
    "before 1.5": sdf(TRUNK + LEG + hip(f"<xyz>{in_model_axis()}</xyz>"), "1.4"),
    "relative to links and frames": sdf(
        TRUNK
        + '<frame name="side" attached_to="trunk"><pose>0.1 0.2 0 0 0 0</pose></frame>'
        + hip(
            f'<xyz expressed_in="trunk">{in_model_axis()}</xyz>',
            '<pose relative_to="side">0 0 -0.05 0.4 0 0.2</pose>',
        )
        + f'<link name="leg"><pose relative_to="hip"/>{MATTER}{BALL}</link>',
        "1.9",
    ),
    "link's frame off its joint": sdf(
        TRUNK
        + '<frame name="here"><pose>0.1 0.2 0.45 0.4 0 0.2</pose></frame>'
        + '<link name="leg"><pose relative_to="here">0 0 -0.1 0 0 0</pose>'
        + MATTER.replace("-0.1", "0")
        + BALL.replace("-0.2", "-0.1")
        + "</link>"
        + hip(OWN, "<pose>0 0 0.1 0 0 0</pose>"),
        "1.7",
    ),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_the_same_robot_as_urdf(how: str) -> None:
    ours, urdf = read_sdf(WRITTEN[how]), read_urdf(URDF)
    assert ours.joint_names == urdf.joint_names
    for seed in range(3):
        q, _ = random_state(urdf, seed)
        np.testing.assert_allclose(mass_matrix(ours, q), mass_matrix(urdf, q), atol=1e-12)
        for (x, R), (at, turned) in zip(poses(ours, q), poses(urdf, q), strict=True):
            np.testing.assert_allclose(x, at, atol=1e-12)
            np.testing.assert_allclose(R, turned, atol=1e-12)
    for mine, theirs in zip(ours.candidates, urdf.candidates, strict=True):
        assert (mine.name, mine.body, mine.radius) == (theirs.name, theirs.body, theirs.radius)
        np.testing.assert_allclose(mine.position, theirs.position, atol=1e-12)
    mine, theirs = (mechanism.bodies[1].joint for mechanism in (ours, urdf))
    for field in ("lower", "upper", "damping", "dry_friction", "velocity_limit"):
        assert getattr(mine, field) == getattr(theirs, field)
    assert ours.actuators == urdf.actuators and ours.file_actuators == urdf.file_actuators


def test_the_root_starts_at_its_file_pose() -> None:
    text = WRITTEN["joint at its child"].replace("<link", "<pose>0 1 2 0 0 0</pose><link", 1)
    ours = read_sdf(text)
    np.testing.assert_allclose(ours.keyframes["qpos0"], [0, 1, 2.5, 1, 0, 0, 0, 0], atol=1e-15)


@pytest.mark.filterwarnings("ignore:.*fixed to the world:tarsus.errors.TarsusWarning")
def test_a_joint_may_point_towards_the_root() -> None:
    """A robot on a stand, with the leg as the parent of a joint and the trunk as its child."""
    stand = '<joint name="bolt" type="fixed"><parent>world</parent><child>trunk</child></joint>'
    turned = hip("<xyz>0 -0.6 -0.8</xyz>", '<pose relative_to="leg"/>', ("leg", "trunk"))
    ours = read_sdf(sdf(TRUNK + LEG + turned + stand, "1.7"))
    urdf = read_urdf(URDF, floating=False)
    assert ours.joint_names == urdf.joint_names == ("hip",)
    for angle in (-0.4, 0.0, 0.9):
        ((x, R),), ((at, way),) = (poses(m, np.array([angle])) for m in (ours, urdf))
        np.testing.assert_allclose(x - at, [0, 0, 0.5], atol=1e-12)
        np.testing.assert_allclose(R, way, atol=1e-12)


def link(name: str, x: float, z: float) -> str:
    """A link at this place."""
    return f'<link name="{name}"><pose>{x} 0 {z} 0 0 0</pose>{MATTER}</link>'


def turning(name: str, ends: str, more: str = "", kind: str = "revolute") -> str:
    """A joint about y at its child."""
    parent, child = ends.split()
    axis = f"<axis><xyz>0 1 0</xyz>{more}</axis>"
    joined = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{joined}{axis}</joint>'


RANGE = "<limit><lower>-1</lower><upper>1</upper></limit>"
SPRING = (
    "<dynamics><spring_stiffness>50</spring_stiffness>"
    "<spring_reference>0.1</spring_reference></dynamics>"
)
FOUR_BAR = (
    link("base", 0, 1)
    + link("crank", 0, 1)
    + link("rod", 0, 0.8)
    + link("rocker", 0.3, 1)
    + turning("drive", "base crank", RANGE)
    + turning("knee", "crank rod")
)


def four_bar(last: str) -> Mechanism:
    """Closed by these joints of its rocker, the last at the rod's end."""
    return read_sdf(sdf(FOUR_BAR + last))


@pytest.mark.parametrize(("kind", "rows"), [("revolute", 5), ("ball", 3), ("fixed", 6)])
def test_joints_outside_the_tree_close_loops(kind: str, rows: int) -> None:
    mechanism = four_bar(
        turning("swing", "base rocker", RANGE) + turning("close", "rod rocker", "", kind)
    )
    if kind == "fixed":  # what is fixed is welded, and the last hinge is outside
        assert [loop.joint.name for loop in mechanism.loops] == ["swing"]
    else:
        assert [loop.joint.name for loop in mechanism.loops] == ["close"]
        assert np.shape(gaps(mechanism, mechanism.neutral())) == (rows,)
    assert np.abs(gaps(mechanism, mechanism.neutral())).max() < 1e-15
    assert [actuator.joint for actuator in mechanism.actuators] == ["drive"]


def test_joints_with_springs_stay_in_the_tree() -> None:
    mechanism = four_bar(turning("swing", "base rocker") + turning("close", "rod rocker", SPRING))
    assert [loop.joint.name for loop in mechanism.loops] == ["swing"]
    joint = mechanism.bodies[mechanism.joint_index("close")].joint
    assert (joint.stiffness, joint.rest) == (50.0, 0.1)


def test_a_gearbox_couples_its_links() -> None:
    gears = (
        "<gearbox_ratio>0.04</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>"
    )
    text = sdf(
        link("base", 0, 1)
        + link("rotor", 0, 1)
        + link("arm", 0, 1)
        + turning("fast", "base rotor")
        + turning("slow", "base arm", RANGE)
        + turning("gears", "rotor arm", "", "gearbox").replace("</joint>", gears + "</joint>")
    )
    (coupling,) = read_sdf(text).couplings
    assert coupling.joint == "fast" and coupling.constant == 0.0
    assert coupling.leaders == (Leader("slow", (-25.0,)),)


def followed(mimic: str) -> Mechanism:
    """Two arms on a base in the world, the second with this <mimic> on its axis."""
    second = turning("second", "base b", RANGE).replace("</axis>", mimic + "</axis>")
    base = '<joint name="hold" type="fixed"><parent>world</parent><child>base</child></joint>'
    parts = [link(name, 0, 1) for name in ("base", "a", "b")]
    return read_sdf(sdf("".join(parts) + base + turning("first", "base a", RANGE) + second))


def test_a_mimic_axis_follows_its_leader_without_a_motor() -> None:
    numbers = "<multiplier>-3</multiplier><offset>0.2</offset><reference>0.5</reference>"
    robot = followed(f'<mimic joint="first">{numbers}</mimic>')
    (coupling,) = robot.couplings
    (leader,) = coupling.leaders
    assert (coupling.joint, leader.joint) == ("second", "first")
    assert coupling.constant + leader.at(0.8) == pytest.approx(-3 * (0.8 - 0.5) + 0.2)
    assert [actuator.joint for actuator in robot.actuators] == ["first"]
    plain = followed('<mimic joint="first"/>').couplings[0]
    assert (plain.constant, plain.leaders) == (0.0, (Leader("first", (1.0,)),))


def test_a_mimic_axis_without_leader_is_free() -> None:
    with warned("mimic-leader-missing", "second"):
        robot = followed('<mimic joint="frist"/>')
    assert not robot.couplings and len(robot.actuators) == 2
    with refused(InvalidModel, "mimic"):
        followed("<mimic/>")
    fixed = followed('<mimic joint="hold"><offset>0.3</offset></mimic>').couplings[0]
    assert (fixed.constant, fixed.leaders) == (0.3, ())


def test_motors_may_be_named() -> None:
    text = sdf(FOUR_BAR + turning("swing", "base rocker", RANGE))
    assert [a.joint for a in read_sdf(text).actuators] == ["drive", "swing"]
    assert [a.joint for a in read_sdf(text, driven=["knee"]).actuators] == ["knee"]
    with refused(UnknownName, "kneee"):
        read_sdf(text, driven=["kneee"])


def test_ignored_elements_are_reported() -> None:
    text = sdf(FOUR_BAR + turning("swing", "base rocker") + '<plugin name="p"/>')
    plugin, motors = read_sdf(text).unsupported
    assert plugin == "Not read: <plugin> (1)."
    assert "gives no effort" in motors and "(drive)" in motors
    soft = RANGE.replace("</limit>", "<stiffness>1e4</stiffness></limit>")
    chain = link("base", 0, 1) + link("crank", 0.1, 1) + turning("drive", "base crank", soft)
    told = read_sdf(sdf(chain)).unsupported[0]
    assert "<stiffness>" in told and told.endswith(": drive.")


def test_visuals_match_the_file(tmp_path: Path) -> None:
    """A box on a link whose joint is off its frame, in a model that is drawn elsewhere."""
    size = "<size>0.2 0.4 0.6</size>"
    box = f'<visual name="v"><pose>0 0 -0.3 0 0 0</pose><geometry><box>{size}</box></geometry>'
    color = "<material><diffuse>1 0 0 1</diffuse></material></visual>"
    moved = '<joint name="knee" type="revolute"><pose>0 0 0.3 0 0 0</pose>'
    text = sdf("<pose>5 0 0 0 0 0</pose>" + FOUR_BAR + turning("swing", "base rocker"))
    text = text.replace('<joint name="knee" type="revolute">', moved)
    text = text.replace('<link name="rod">', '<link name="rod">' + box + color)
    (tmp_path / "bar.sdf").write_text(text)
    robot = tarsus.load(tmp_path / "bar.sdf")
    (shape,) = drawn_shapes(robot)
    assert robot.body_names[shape.body] == "rod" and shape.color == (1.0, 0.0, 0.0)
    x, R = poses(robot, robot.keyframes["qpos0"])[shape.body]
    corners = shape.mesh.vertices @ R.T + x
    np.testing.assert_allclose(corners.min(0), [4.9, -0.2, 0.2], atol=1e-9)
    np.testing.assert_allclose(corners.max(0), [5.1, 0.2, 0.8], atol=1e-9)


def framed(name: str, other: str) -> str:
    """A frame that stands in another."""
    return f'<frame name="{name}"><pose relative_to="{other}"/></frame>'


@pytest.mark.parametrize(
    ("text", "kind", "subject"),
    [
        (sdf(FOUR_BAR + turning("s", "base rocker", "", "universal")), Unsupported, "s"),
        (sdf(FOUR_BAR), InvalidModel, "rocker"),
        (sdf(FOUR_BAR + turning("s", "base rockr")), UnknownName, "rockr"),
        (sdf(FOUR_BAR + turning("knee", "base rocker")), InvalidModel, "knee"),
        (sdf(FOUR_BAR.replace("0 1 0<", "0 0 0<")), InvalidModel, "drive"),
        (sdf(FOUR_BAR.replace("0.8 0 0 0", "0.8 0 0")), InvalidFile, "pose"),
        (
            sdf(TRUNK + LEG + hip(OWN).replace("-0.5", "2")),
            InvalidModel,
            "hip",
        ),
        (
            sdf(FOUR_BAR.replace("<pose>", '<pose relative_to="bas">', 1), "1.7"),
            UnknownName,
            "bas",
        ),
        (sdf("<include><uri>model://x</uri></include>" + FOUR_BAR), Unsupported, "include"),
        (sdf("<static>true</static>" + FOUR_BAR), InvalidModel, "static"),
        (sdf(""), InvalidModel, "link"),
        ('<sdf version="1.6"/>', InvalidFile, "model"),
        ("<sdf><model name='a'/></sdf>", InvalidFile, "version"),
        (sdf(framed("b", "a") + framed("a", "b") + FOUR_BAR, "1.7"), InvalidModel, "b"),
        (
            sdf(
                "".join(framed(f"f{k}", f"f{k + 1}") for k in range(2000))
                + framed("f2000", "__model__")
                + FOUR_BAR,
                "1.7",
            ),
            Unsupported,
            "f301",
        ),
    ],
)
def test_rejections_name_the_element_at_fault(
    text: str, kind: type[TarsusError], subject: str
) -> None:
    with refused(kind, subject):
        read_sdf(text)


def test_the_gravity_of_a_world() -> None:
    moon = '<sdf version="1.7"><world name="w"><gravity>0 0.1 -1.6</gravity>'
    text = f'{moon}<model name="leg">{TRUNK}</model></world></sdf>'
    assert read_sdf(text).gravity_acceleration == (0.0, 0.1, -1.6)
    assert read_sdf(sdf(TRUNK)).gravity_acceleration == (0.0, 0.0, -9.81)
    with refused(InvalidFile, "gravity"):
        read_sdf(text.replace("0 0.1 -1.6", "down"))


def test_elements_of_a_urdf_file_that_are_not_read() -> None:
    more = '<gazebo reference="leg"><mu1>1</mu1></gazebo><!-- a word --><transmission/></robot>'
    safe = '<safety_controller soft_upper_limit="0.9" k_velocity="1"/></joint>'
    text = URDF.replace("</robot>", more).replace("</joint>", safe)
    told = "Not read: <gazebo> (1), <safety_controller> (1), <transmission> (1)."
    assert read_urdf(text).unsupported == (told,)
    assert not read_urdf(URDF).unsupported
