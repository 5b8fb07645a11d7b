"""A fixed base: the same robot as one whose file has no free joint."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.numpy_mechanics import poses
from helpers.refused import refused
from scipy.integrate import solve_ivp

import tarsus
from tarsus import Simulation, cli, robots
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidValue, TarsusError, Unsupported, WarningRecord
from tarsus.identification.spec import parse_spec
from tarsus.model.mechanism import Mechanism
from tarsus.model.mjcf import read_mjcf
from tarsus.model.sdf import read_sdf
from tarsus.model.urdf import read_urdf
from tarsus.simulation.default_controller import AUTO, prepare
from tarsus.sweeps import query, spec
from tarsus.sweeps.groups import group_worlds

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
def test_a_fixed_base_equals_a_file_without_free_joint(ends: str) -> None:
    """Frames, contacts, loops to the base, and another free body agree."""
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


def test_the_height_is_that_of_the_base_origin() -> None:
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
    ("options", "kind"),
    [
        ({"height": 1.0}, IncompatibleOptions),
        ({"floating": False, "height": float("nan")}, InvalidValue),
        ({"floating": False, "height": "high"}, InvalidValue),
    ],
)
def test_invalid_heights_are_rejected(options: dict[str, object], kind: type[TarsusError]) -> None:
    for read in (lambda: rig(FREE, **options), lambda: read_urdf(ARM, **options)):
        with refused(kind, "height"):
            read()
    with refused(kind, "height"):
        robots.load("hyq", **options)


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_robots_whose_base_cannot_be_fixed_are_rejected() -> None:
    body = '<body name="b"><freejoint/><geom size="1"/></body>'
    alone = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    with refused(Unsupported, "floating"):
        read_mjcf(alone, floating=False)
    with refused(IncompatibleOptions, "height"):
        rig("", floating=False, height=1.0)


def test_fixed_base_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
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
        (["--base-height", "1"], "add --fixed-base"),
        (["--fixed-base", "--base-height", "nan"], "--base-height: 'nan' is not a finite number"),
    ):
        assert cli.main(["run", str(file), *wrong]) == 2
        assert said in capsys.readouterr().err
    for command in ("compare", "view", "export", "cite", "judge", "render", "robots"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert "--fixed-base" in capsys.readouterr().out


SWUNG, WAY = 0.3, "def way(sim):\n    return sim.q[..., 0]\n"  # s
HIGH = 'def high(sim):\n    return sim.robot.position(sim.q, "rod")[..., 2]\n'


def held_rod(folder: Path) -> Robot:
    """The arm with its rod level, and its file and a sweep's outcomes in the folder."""
    text = ARM.replace('xyz="0 0 .5"', 'xyz=".5 0 0"')
    (folder / "arm.urdf").write_text(text)
    (folder / "own.py").write_text(WAY + HIGH)
    return Robot.of(read_urdf(text, floating=False))


def test_sweeps_can_vary_the_height_of_a_fixed_base(tmp_path: Path) -> None:
    """The rod swings as a pendulum at every height, because the base is rigid."""
    pytest.importorskip("pyarrow")
    held_rod(tmp_path)
    heights = [0.7, 5.0]
    fixed = {"robot": "arm.urdf", "gait": "free", "seconds": SWUNG, "dt": 1e-4, "fixed_base": True}
    given = {"fixed": fixed, "vary": {"base_height": heights}}
    given["outcomes"] = {"names": ["fell"], "file": "own.py"}
    tarsus.sweep(spec.from_tables(given, tmp_path), tmp_path / "out", "inline")
    table = query.run_sql(tmp_path / "out").sort_values("base_height")
    # I theta'' = m g l cos(theta), I about the pivot
    heavy, far = 0.1 + 2 * 0.5**2, 2 * 9.81 * 0.5

    def turned(_: float, y: np.ndarray) -> list[float]:
        return [y[1], far * np.cos(y[0]) / heavy]

    angle = solve_ivp(turned, (0, SWUNG), [0.0, 0.0], rtol=1e-10, atol=1e-12).y[0, -1]
    np.testing.assert_allclose(table["way"], angle, rtol=1e-4)
    np.testing.assert_allclose(table["high"], [height + 0.1 for height in heights], rtol=1e-12)


def test_identification_can_fix_the_base(tmp_path: Path) -> None:
    """A log without Tarsus attributes of an arm on a stand; with a floating base it would not
    fit.
    """
    truth = Simulation(held_rod(tmp_path), dt=2e-3, controller=None, varied={"damping": "j"})
    truth.set(damping=0.8)
    q, u = [truth.q], [truth.u]
    for _ in range(200):
        truth.step()
        q.append(truth.q)
        u.append(truth.u)
    log = {"time": 2e-3 * np.arange(201), "q": np.array(q), "u": np.array(u)}
    log["action"] = np.zeros((201, 1))
    free = {"damping.j": {"low": 0.0, "high": 2.0}}
    model = {"robot": str(tmp_path / "arm.urdf"), "fixed_base": True, "base_height": 1.0}
    search = {"windows": 4, "candidates": 4, "tries": 1}
    found = tarsus.identify({"model": model, "free": free, "search": search}, log)
    assert found["damping.j"].value == pytest.approx(0.8, abs=1e-3)
    with refused(IncompatibleOptions, "fixed_base"):
        tarsus.identify({"model": {"fixed_base": True}, "free": free}, Simulation("hyq").run(0.01))
    with refused(IncompatibleOptions, "floating"):
        named = {"robot": tarsus.load("hyq"), "fixed_base": True}
        tarsus.identify({"model": named, "free": free}, log)


@pytest.mark.parametrize(
    ("entries", "kind", "subject"),
    [
        ({"base_height": 1.0}, IncompatibleOptions, "base_height"),
        ({"fixed_base": False, "base_height": 1.0}, IncompatibleOptions, "base_height"),
        ({"fixed_base": "yes"}, InvalidValue, "fixed_base"),
        ({"fixed_base": True, "base_height": "high"}, InvalidValue, "base_height"),
        ({"fixed_base": True, "base_height": float("inf")}, InvalidValue, "base_height"),
    ],
)
def test_an_invalid_base_option_is_rejected(
    entries: dict[str, object], kind: type[TarsusError], subject: str
) -> None:
    free = {"damping.j": {"low": 0.0, "high": 2.0}}
    with refused(kind, subject):
        parse_spec({"model": {"robot": "hyq", **entries}, "free": free})
    with refused(kind, subject):
        group_worlds(spec.from_tables({"fixed": {"robot": "hyq", **entries}}))


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_a_floating_arm_is_reported_with_the_option_to_fix_it() -> None:
    """No body of it looks like a foot: all of it touches the ground, on which it falls over."""
    corners = "".join(
        f'<collision><origin xyz="0 0 {z}"/><geometry><box size=".1 .1 .1"/></geometry></collision>'
        for z in (0.1, 0.2, 0.3)
    )
    text = ARM.replace('<link name="root">', f'<link name="root">{corners}')
    floating = Simulation(Robot.of(read_urdf(text)), controller="stand")
    assert "no-feet" in {notice.code for notice in floating.warnings}
    floating.advance(2.0)
    assert floating.q[2] > -0.4, "above the ground"
    with refused(InvalidValue, "contacts"):
        Simulation(Robot.of(read_urdf(text)), contacts="feet")
    held = Simulation(Robot.of(read_urdf(text, floating=False)), controller="stand")
    assert "no-feet" not in {notice.code for notice in held.warnings}


@pytest.mark.filterwarnings("ignore::tarsus.TarsusWarning")
def test_no_gait_warning_for_an_arm() -> None:
    told = []
    for free in (FREE, ""):
        robot = Robot.of(read_mjcf(TREE.format(free=free, more="")))
        notices: list[WarningRecord] = []
        prepare(robot, AUTO, 0.0025, notices)
        told.append("stands" in {notice.code for notice in notices})
    assert told == [True, False]
