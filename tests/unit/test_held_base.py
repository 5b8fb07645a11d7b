"""A base that is held in the world: the same robot as one whose file has no free joint."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.numpy_mechanics import poses

from tarsus import Simulation, cli, robots
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.model.mjcf import read_mjcf
from tarsus.model.sdf import read_sdf
from tarsus.model.urdf import read_urdf

FREE = "<freejoint/>"
TREE = """<mujoco model="rig"><worldbody><body name="base" pos=".1 .2 1" euler="20 30 40">{free}
<geom name="trunk" type="box" size=".2 .1 .05" mass="5"/>
<body name="leg" pos=".1 0 -.05" euler="0 10 0"><joint name="hip" axis="0 1 0" damping=".1"/>
<geom name="foot" type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass="1"/>
<body name="shin" pos="0 0 -.3"><joint name="knee" axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass=".5"/><site name="end" pos=".3 0 0"/>
</body></body></body>
<body name="ball" pos="2 0 1"><freejoint/><geom size=".1"/></body></worldbody>{more}
<contact><exclude body1="base" body2="shin"/><exclude body1="leg" body2="shin"/></contact>
<actuator><motor joint="hip"/></actuator></mujoco>"""
ENDS = {
    "no loop": "",
    "base second": '<equality><connect body1="shin" body2="base" anchor=".3 0 0"/></equality>',
    "base first": '<equality><connect body1="base" body2="shin" anchor=".3 0 -.35"/></equality>',
}
ARM = """<robot name="arm"><link name="root"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1"/></inertial></link><link name="rod"><inertial><mass value="2"/>
<origin xyz="0 0 .5"/><inertia ixx=".1" iyy=".1" izz=".1"/></inertial></link>
<joint name="j" type="continuous"><parent link="root"/><child link="rod"/>
<origin xyz="0 0 .1"/><axis xyz="0 1 0"/></joint></robot>"""


def rig(free: str, more: str = "", **options: object) -> Robot:
    return Robot.of(read_mjcf(TREE.format(free=free, more=more), **options))


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_it_moves_as_the_file_without_its_free_joint(ends: str) -> None:
    """Frames, contacts, loops to the base, a free body beside it: all as in the other file."""
    mine, theirs = rig(FREE, ENDS[ends], floating=False), rig("", ENDS[ends])
    assert not mine.floating and mine.body_names == theirs.body_names == ("leg", "shin", "ball")
    assert [c.name for c in mine.candidates] == [c.name for c in theirs.candidates]
    assert mine.excluded == theirs.excluded and len(mine.loops) == bool(ENDS[ends])
    np.testing.assert_allclose(mine.keyframes["qpos0"], theirs.keyframes["qpos0"])
    runs = []
    for robot in (mine, theirs):
        simulation = Simulation(robot, dt=1e-3, controller=lambda t, q, u: [3.0])
        simulation.advance(0.3)
        runs.append(simulation.q)
        frame = robot.position(simulation.q, "end")
        runs[-1] = np.append(runs[-1], frame)
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-9)


def test_a_height_is_that_of_the_base_s_origin() -> None:
    """The others keep their places below it, under every importer and for a built-in robot."""

    def hip(mechanism: Mechanism) -> np.ndarray:
        return poses(mechanism, mechanism.neutral())[0][0]

    drawn, raised = rig(FREE, floating=False), rig(FREE, floating=False, height=3.0)
    np.testing.assert_allclose(hip(raised) - hip(drawn), [0, 0, 2], atol=1e-12)
    np.testing.assert_allclose(hip(read_urdf(ARM, floating=False)), [0, 0, 0.1])
    np.testing.assert_allclose(hip(read_urdf(ARM, floating=False, height=0.7)), [0, 0, 0.8])
    sdf = (
        '<sdf version="1.6"><model name="m"><link name="a"><pose>1 2 3 0 0 0</pose></link>'
        '<link name="b"><pose>1 2 2.5 0 0 0</pose></link><joint name="j" type="revolute">'
        "<parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"
    )
    np.testing.assert_allclose(hip(read_sdf(sdf, floating=False)), [1, 2, 2.5])
    np.testing.assert_allclose(hip(read_sdf(sdf, floating=False, height=9.0)), [1, 2, 8.5])
    free, held = robots.load("hyq"), robots.load("hyq", floating=False)
    stood = poses(free, free.keyframes["stand"])[1:]
    for here, there in zip(poses(held, held.keyframes["stand"]), stood, strict=True):
        np.testing.assert_allclose(here[0], there[0], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"height": 1.0}, "give floating=False too"),
        ({"floating": False, "height": float("nan")}, "must be a finite number of meters"),
        ({"floating": False, "height": "high"}, "must be a finite number of meters, not 'high'"),
    ],
)
def test_a_wrong_height_is_one_sentence(options: dict[str, object], told: str) -> None:
    for read in (lambda: rig(FREE, **options), lambda: read_urdf(ARM, **options)):
        with pytest.raises(TarsusError, match=told):
            read()
    with pytest.raises(TarsusError, match=told):
        robots.load("hyq", **options)


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_what_cannot_be_held_is_told() -> None:
    body = '<body name="b"><freejoint/><geom size="1"/></body>'
    alone = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    with pytest.raises(TarsusError, match="nothing of 'mechanism' can move if its base 'b' is"):
        read_mjcf(alone, floating=False)
    with pytest.raises(TarsusError, match="has a base that stands in the world"):
        rig("", floating=False, height=1.0)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """A run, its log judged and run again, and every command that takes a robot has the flags."""
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    held = ["--fixed-base", "--base-height", "0.7"]
    given = ["--duration", "0.1", "--gait", "free", "--out", str(tmp_path), "--json"]
    assert cli.main(["run", str(file), *held, *given]) == 0
    assert json.loads(capsys.readouterr().out)["robot"] == "arm"
    assert cli.main(["rerun", str(tmp_path / "arm.nc")]) == 0
    assert cli.main(["inspect", str(file), *held]) == 0
    assert "its base is fixed to the world" in capsys.readouterr().out
    for wrong, said in (
        (["--base-height", "1"], "give --fixed-base too"),
        (["--fixed-base", "--base-height", "nan"], "--base-height must be finite, not nan"),
    ):
        assert cli.main(["run", str(file), *wrong]) == 2
        assert said in capsys.readouterr().err
    for command in ("compare", "view", "export", "cite", "judge", "render", "robots"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert "--fixed-base" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_an_arm_that_floats_is_told_how_to_hold_it() -> None:
    """No body of it looks like a foot: it would fall through the ground without a word on why."""
    corners = "".join(
        f'<collision><origin xyz="0 0 {z}"/><geometry><box size=".1 .1 .1"/></geometry></collision>'
        for z in (0.1, 0.2, 0.3)
    )
    text = ARM.replace('<link name="root">', f'<link name="root">{corners}')
    told = " ".join(Simulation(Robot.of(read_urdf(text)), controller="stand").notices)
    assert "An arm's base is held by --fixed-base" in told
    held = Simulation(Robot.of(read_urdf(text, floating=False)), controller="stand")
    assert "--fixed-base" not in " ".join(held.notices)
