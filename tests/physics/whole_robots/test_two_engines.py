"""The same robot file in Tarsus and in MuJoCo: events and poses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.capsule_biped import biped
from helpers.refused import refused
from helpers.robots_of_the_field import robots_folder

from tarsus.contact.material import restitution
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, UnmetCondition
from tarsus.model.mjcf import read_mjcf
from tarsus.validation.robot_check import select_robots
from tarsus.validation.two_engines import comparison, mujoco_run
from tarsus.validation.two_engines.robot_run import Array, RobotRun
from tarsus.validation.two_engines.run_difference import POSE_TOLERANCE, ComparisonRow
from tarsus.validation.two_engines.tarsus_run import run_in_tarsus

DT = 0.001  # s
EVENT_TOLERANCE = 2  # steps
LINK = """<body name="{name}" pos="{x} 0 {z}"><joint name="{name}" axis="0 1 0" range="{range}"/>
<geom name="{name}" type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="{mass}"/>{inner}</body>"""


def chain() -> str:
    """Return the MJCF of three links that swing down and fold; the first and last reach limits."""
    last = LINK.format(name="c", x=0.3, z=0, range="-100 100", mass=0.3, inner="")
    middle = LINK.format(name="b", x=0.3, z=0, range="-170 170", mass=0.6, inner=last)
    first = LINK.format(name="a", x=0, z=1, range="-170 170", mass=1.0, inner=middle)
    return f"<mujoco><compiler autolimits='true'/><worldbody>{first}</worldbody></mujoco>"


def both_engines(
    text: str, q: Array, u: Array, motors: int, seconds: float
) -> tuple[RobotRun, RobotRun]:
    """Run the same motion without torques in both engines, with equal steps."""
    robot, run = Robot.of(read_mjcf(text)), (DT, round(seconds / DT), comparison.PARTS)

    def limp(t: float, q: Array, u: Array) -> Array:
        return np.zeros(motors)

    ours, model = run_in_tarsus(robot, (q, u), limp, run), mujoco_run.compile_model(robot, text, DT)
    mujoco_run.apply_hardest_settings(model, DT / comparison.PARTS)
    return ours, mujoco_run.run_in_mujoco(model, robot, (q, u), limp, run)


@pytest.mark.parametrize(
    ("rates", "stops"), [((0, 6, 9), {"a"}), ((-2, 8, 10), {"c"}), ((0, 5, 12), {"a", "c"})]
)
def test_a_chain_reaches_its_joint_limits_when_mujoco_does(
    rates: tuple[float, ...], stops: set[str]
) -> None:
    """MuJoCo's limit acts once it is exceeded, that of Tarsus before, so MuJoCo is usually a
    step later.
    """
    q, u = np.array([0.0, 0.3, 0.3]), np.array(rates, float)
    ours, theirs = both_engines(chain(), q, u, 0, 0.5)
    delays = ours.delays(theirs)
    assert set(ours.limit_hits) == set(theirs.limit_hits) == set(delays) == stops
    assert max(map(abs, delays.values())) <= EVENT_TOLERANCE, delays
    assert not ours.first_touches and not theirs.first_touches


def rebound_speed(damping_ratio: float, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the rebound speed of a ball that hits MuJoCo's hardest ground at 1 m/s."""
    monkeypatch.setattr(mujoco_run, "DAMPING_RATIO", damping_ratio)
    ball = "<body name='b' pos='0 0 .05'><freejoint/><geom size='.05' mass='1'/></body>"
    text = f"<mujoco><option gravity='0 0 0'/><worldbody>{ball}</worldbody></mujoco>"
    robot = Robot.of(read_mjcf(text))
    model, start = mujoco_run.compile_model(robot, text, DT), np.array([0, 0, 0.0501, 1.0, 0, 0, 0])
    mujoco_run.apply_hardest_settings(model, DT)
    limp = (start, np.array([0, 0, -1.0, 0, 0, 0])), lambda t, q, u: np.zeros(0)
    return float(mujoco_run.run_in_mujoco(model, robot, *limp, (DT, 200, 1)).u[-1, 2])


def test_the_hardest_ground_of_mujoco_hardly_rebounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spring and damper that cannot pull returns exp(-2) of the speed at a damping ratio of 1.

    Time constants of two steps make that about a quarter. Tarsus uses `moreau` without rebound.
    """
    assert mujoco_run.DAMPING_RATIO == 3
    assert rebound_speed(mujoco_run.DAMPING_RATIO, monkeypatch) == pytest.approx(
        restitution(3.0), abs=0.005
    )
    assert rebound_speed(1.0, monkeypatch) == pytest.approx(0.24, abs=0.03)


SHAPES = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="base" pos="0 0 1">
<freejoint/><geom name="trunk" size=".1" contype="0" conaffinity="0"/>{arm}{leg}</body></worldbody>
<contact><pair geom1="toe" geom2="floor"/></contact></mujoco>"""
LIMB = """<body name="{name}" pos="{x} 0 0"><joint axis="0 1 0"/>
<geom name="{geom}" size=".05" pos="0 0 -.2" contype="{bit}" conaffinity="0"/></body>"""


@pytest.mark.parametrize(("bit", "touching"), [(0, {"leg"}), (1, {"leg", "arm"})])
def test_bodies_that_ignore_the_floor_do_so_in_both_engines(bit: int, touching: set[str]) -> None:
    """A foot touches by an explicit pair, an arm by its bits, and the trunk never."""
    arm = LIMB.format(name="arm", x=0.2, geom="hand", bit=bit)
    leg = LIMB.format(name="leg", x=-0.2, geom="toe", bit=0)
    text = SHAPES.format(arm=arm, leg=leg)
    robot = Robot.of(read_mjcf(text))
    model = mujoco_run.compile_model(robot, text, DT)
    assert mujoco_run.bodies_on_ground(model) == touching
    alike = comparison.with_same_ground(robot, text)
    assert {robot.body_names[c.body] for c in alike.candidates} == touching


class Brittle:
    """A robot that fails in one of its scenes."""

    name = "brittle"
    scenes = (comparison.FLIES, comparison.DROPS, comparison.STANDS, comparison.FALLS)

    def rows(self, scene: str, on_progress: Callable[[str], None]) -> list[ComparisonRow]:
        on_progress(scene)
        if scene == comparison.DROPS:
            raise TarsusError("brittle.xml: it broke.")
        return [ComparisonRow(self.name, scene)]


def test_a_scene_that_fails_does_not_lose_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison.EnginePair, "of", lambda name, file: Brittle())
    rows = list(comparison.compare_robots({"brittle": "brittle.xml"}, lambda text: None))
    assert [row.scene for row in rows] == list(Brittle.scenes)
    assert [row.reason for row in rows] == ["", "it broke.", "", ""]


def on_a_post(motors: str, damping: float = 0.0) -> str:
    """Return the chain on a post whose base is in a floor lower than that of the simulator."""
    floor = "<geom type='plane' size='1 1 1' pos='0 0 -.3'/><geom type='box' size='.1 .1 1.1'/>"
    text = chain().replace("<worldbody>", f"<worldbody>{floor}", 1)
    text = text.replace(' axis="0 1 0"', f' axis="0 1 0" damping="{damping}"')
    return text.replace("</mujoco>", f"<actuator>{motors}</actuator></mujoco>")


MOTORS = "".join(f"<motor joint='{name}'/>" for name in "abc")


@pytest.mark.parametrize(("motors", "scenes"), [("", ["swing"]), (MOTORS, ["swing", "hold"])])
def test_a_fixed_base_swings_and_holds(motors: str, scenes: list[str], tmp_path: Path) -> None:
    """A swing converges to MuJoCo with the second order of `midpoint`; with servos poses agree.

    No joint is lifted as a floating base would be.
    """
    file = tmp_path / "arm.xml"
    file.write_text(on_a_post(motors), encoding="utf-8")
    swing, *held = rows = list(comparison.compare_robots({"arm": str(file)}, lambda text: None))
    assert [row.scene for row in rows if row.settings in ("", comparison.HARD)] == scenes
    assert not any(row.reason for row in rows)
    assert [row.settings for row in held] == [comparison.HARD, "tuned", "default"][: len(held)]
    assert swing.difference is not None and swing.difference.angle < 0.01
    assert swing.order == pytest.approx(2, abs=0.1)
    for row in held[:1]:
        assert row.difference is not None and row.difference.agreement == pytest.approx(3.0)
        assert row.difference.angle < POSE_TOLERANCE.angle and not row.only_mujoco


def test_damping_that_is_stiff_for_mujoco_is_compared_with_shorter_steps(tmp_path: Path) -> None:
    """A joint whose rate decays in 0.01 ms: MuJoCo's RK4 is unstable with 0.05 ms."""
    file = tmp_path / "arm.xml"
    text = on_a_post("", 0.1).replace('mass="0.3"', 'mass="0.00003"')
    file.write_text(text, encoding="utf-8")
    (swing,) = comparison.compare_robots({"arm": str(file)}, lambda text: None)
    assert not swing.reason and swing.difference is not None
    assert swing.difference.angle < 0.01 and swing.order == pytest.approx(1, abs=0.2)


def test_a_warning_of_mujoco_is_raised_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = mujoco_run.compile_model(Robot.of(read_mjcf(chain())), chain(), DT)
    with refused(UnmetCondition, "MuJoCo") as caught:
        mujoco_run.free_flight(model, (np.zeros(3), np.array([0.0, 0.0, 1e12])), DT, 1)
    assert "Nan, Inf" in str(caught.value), "the warning of MuJoCo itself"
    assert not list(tmp_path.iterdir())


def test_bodies_that_overlap_initially_collide_in_neither_engine() -> None:
    """The last link is folded onto the first; the body welded to it is excluded as well."""
    folded = "<keyframe><key name='stand' qpos='0 3.1 0'/></keyframe>"
    text = chain().replace("</mujoco>", f"{folded}</mujoco>")
    inner = "<body name='tip' pos='.3 0 0'><geom name='tip' size='.03'/></body>"
    text = text.replace("</body></body></body>", f"{inner}</body></body></body>")
    robot = comparison.without_overlaps(Robot.of(read_mjcf(text)))
    assert robot.excluded == (("a", "c"),)
    found = mujoco_run.compile_model(robot, text, DT).exclude_signature.tolist()
    assert [(pair >> 16, pair & 0xFFFF) for pair in found] == [(1, 3), (1, 4)]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "rate", "stops"), [(0, 25.0, 5), (2, 40.0, 4)])
def test_a_flying_biped_reaches_its_joint_limits_when_mujoco_does(
    seed: int, rate: float, stops: int
) -> None:
    rng, q = np.random.default_rng(seed), np.zeros(13)
    q[2], q[3], q[7:] = 2.0, 1.0, [0.1, 0, 0.4, -0.1, -0.2, 0.6]
    u = np.concatenate([np.zeros(6), rate * rng.uniform(-1, 1, size=6)])
    ours, theirs = both_engines(biped(), q, u, 6, 0.25)
    delays = ours.delays(theirs)
    assert set(ours.limit_hits) == set(theirs.limit_hits) and len(delays) == stops
    assert max(map(abs, delays.values())) <= EVENT_TOLERANCE, delays


@pytest.mark.slow
@pytest.mark.skipif(robots_folder() is None, reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    ("name", "drops", "falls"),
    [("go2", 0.2, 0.32), ("anymal_c", 0.2, 0.41)],  # s: landing; shanks that strike
)
def test_a_robot_file_moves_as_in_mujoco(name: str, drops: float, falls: float) -> None:
    """Flight converges with first order; drops and falls agree until an impact; a stand agrees.

    An impact is one step of Tarsus and many of MuJoCo. The stand agrees to 1 mm and 0.2 deg.
    """
    every = comparison.compare_robots(select_robots([name]), lambda _: None)
    rows = {row.scene: row for row in every if row.settings in ("", comparison.HARD)}
    assert rows[comparison.FLIES].order == pytest.approx(1, abs=0.1)
    for scene, least in (
        (comparison.DROPS, drops),
        (comparison.STANDS, 3.0),
        (comparison.FALLS, falls),
    ):
        found = rows[scene].difference
        assert found is not None
        assert found.early_agreeing == found.early_events >= 2
        assert found.agreement >= least
        assert rows[scene].unsolved <= 3  # of 1,000 to 3,000 steps
    stand = rows[comparison.STANDS].difference
    assert stand is not None
    assert stand.position < POSE_TOLERANCE.position and stand.angle < POSE_TOLERANCE.angle
    assert stand.agreeing == stand.common_events and stand.agreement == pytest.approx(3.0)
