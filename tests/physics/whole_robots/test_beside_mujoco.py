"""One file in Tarsus and in MuJoCo: the same instants, the same poses."""

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
from tarsus.validation.robot_check import named
from tarsus.validation.two_engines import theirs, truth
from tarsus.validation.two_engines.course import Array, RobotRun
from tarsus.validation.two_engines.ours import in_tarsus
from tarsus.validation.two_engines.outcome import POSE_TOLERANCE

DT = 0.001  # s
WITHIN = 2  # steps
LINK = """<body name="{name}" pos="{x} 0 {z}"><joint name="{name}" axis="0 1 0" range="{range}"/>
<geom name="{name}" type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="{mass}"/>{inner}</body>"""


def chain() -> str:
    """Three links that swing down and fold up: the last and the first have stops on their way."""
    last = LINK.format(name="c", x=0.3, z=0, range="-100 100", mass=0.3, inner="")
    middle = LINK.format(name="b", x=0.3, z=0, range="-170 170", mass=0.6, inner=last)
    first = LINK.format(name="a", x=0, z=1, range="-170 170", mass=1.0, inner=middle)
    return f"<mujoco><compiler autolimits='true'/><worldbody>{first}</worldbody></mujoco>"


def both(text: str, q: Array, u: Array, motors: int, seconds: float) -> tuple[RobotRun, RobotRun]:
    """The same limp motion in both engines, at the same steps."""
    robot, run = Robot.of(read_mjcf(text)), (DT, round(seconds / DT), truth.PARTS)

    def limp(t: float, q: Array, u: Array) -> Array:
        return np.zeros(motors)

    ours, model = in_tarsus(robot, (q, u), limp, run), theirs.model_of(robot, text, DT)
    theirs.hard(model, DT / truth.PARTS)
    return ours, theirs.in_mujoco(model, robot, (q, u), limp, run)


@pytest.mark.parametrize(
    ("rates", "stops"), [((0, 6, 9), {"a"}), ((-2, 8, 10), {"c"}), ((0, 5, 12), {"a", "c"})]
)
def test_a_chain_comes_to_its_stops_when_mujoco_s_does(
    rates: tuple[float, ...], stops: set[str]
) -> None:
    """MuJoCo's stop acts once it is passed, ours before: a step later is the rule."""
    q, u = np.array([0.0, 0.3, 0.3]), np.array(rates, float)
    ours, mujoco_s = both(chain(), q, u, 0, 0.5)
    late = ours.delays(mujoco_s)
    assert set(ours.stops) == set(mujoco_s.stops) == set(late) == stops
    assert max(map(abs, late.values())) <= WITHIN, late
    assert not ours.meets and not mujoco_s.meets


def left_over(damped: float, monkeypatch: pytest.MonkeyPatch) -> float:
    """The part of its speed with which a ball leaves MuJoCo's ground as `hard` makes it."""
    monkeypatch.setattr(theirs, "DAMPING_RATIO", damped)
    ball = "<body name='b' pos='0 0 .05'><freejoint/><geom size='.05' mass='1'/></body>"
    text = f"<mujoco><option gravity='0 0 0'/><worldbody>{ball}</worldbody></mujoco>"
    robot = Robot.of(read_mjcf(text))
    model, start = theirs.model_of(robot, text, DT), np.array([0, 0, 0.0501, 1.0, 0, 0, 0])
    theirs.hard(model, DT)
    limp = (start, np.array([0, 0, -1.0, 0, 0, 0])), lambda t, q, u: np.zeros(0)
    return float(theirs.in_mujoco(model, robot, *limp, (DT, 200, 1)).u[-1, 2])


def test_what_lands_stays_down_in_mujoco_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spring and damper that cannot pull throws back exp(-2) of the speed at a damping ratio of
    1; time constants of two steps make that about a quarter. Ours is `moreau` without rebound.
    """
    assert theirs.DAMPING_RATIO == 3
    assert left_over(theirs.DAMPING_RATIO, monkeypatch) == pytest.approx(
        restitution(3.0), abs=0.005
    )
    assert left_over(1.0, monkeypatch) == pytest.approx(0.24, abs=0.03)


SHAPES = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="base" pos="0 0 1">
<freejoint/><geom name="trunk" size=".1" contype="0" conaffinity="0"/>{arm}{leg}</body></worldbody>
<contact><pair geom1="toe" geom2="floor"/></contact></mujoco>"""
LIMB = """<body name="{name}" pos="{x} 0 0"><joint axis="0 1 0"/>
<geom name="{geom}" size=".05" pos="0 0 -.2" contype="{bit}" conaffinity="0"/></body>"""


@pytest.mark.parametrize(("bit", "touching"), [(0, {"leg"}), (1, {"leg", "arm"})])
def test_what_a_file_keeps_from_the_floor_stays_off_it_in_both(
    bit: int, touching: set[str]
) -> None:
    """A foot by its pair, an arm by its bits, a trunk never."""
    arm = LIMB.format(name="arm", x=0.2, geom="hand", bit=bit)
    leg = LIMB.format(name="leg", x=-0.2, geom="toe", bit=0)
    text = SHAPES.format(arm=arm, leg=leg)
    robot = Robot.of(read_mjcf(text))
    model = theirs.model_of(robot, text, DT)
    assert theirs.grounded(model) == touching
    alike = truth.with_same_ground(robot, text)
    assert {robot.body_names[c.body] for c in alike.candidates} == touching


class Brittle:
    """A robot that cannot be run in one of its scenes."""

    name = "brittle"
    scenes = (truth.FLIES, truth.DROPS, truth.STANDS, truth.FALLS)

    def rows(self, scene: str, tell: Callable[[str], None]) -> list[truth.TruthRow]:
        tell(scene)
        if scene == truth.DROPS:
            raise TarsusError("brittle.xml: it broke.")
        return [truth.TruthRow(self.name, scene)]


def test_a_scene_that_fails_does_not_lose_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truth.EnginePair, "of", lambda name, file: Brittle())
    rows = list(truth.rows({"brittle": "brittle.xml"}, lambda text: None))
    assert [row.scene for row in rows] == list(Brittle.scenes)
    assert [row.why for row in rows] == ["", "it broke.", "", ""]


def on_a_post(motors: str, damping: float = 0.0) -> str:
    """The chain on a post that stands in the floor, which is deeper than the simulator's."""
    floor = "<geom type='plane' size='1 1 1' pos='0 0 -.3'/><geom type='box' size='.1 .1 1.1'/>"
    text = chain().replace("<worldbody>", f"<worldbody>{floor}", 1)
    text = text.replace(' axis="0 1 0"', f' axis="0 1 0" damping="{damping}"')
    return text.replace("</mujoco>", f"<actuator>{motors}</actuator></mujoco>")


MOTORS = "".join(f"<motor joint='{name}'/>" for name in "abc")


@pytest.mark.parametrize(("motors", "scenes"), [("", ["swing"]), (MOTORS, ["swing", "hold"])])
def test_a_fixed_base_swings_and_holds(motors: str, scenes: list[str], tmp_path: Path) -> None:
    """The swing to the order of `midpoint`, the first; with servos as in MuJoCo. No joint is lifted
    as a base would be.
    """
    file = tmp_path / "arm.xml"
    file.write_text(on_a_post(motors), encoding="utf-8")
    swing, *held = rows = list(truth.rows({"arm": str(file)}, lambda text: None))
    assert [row.scene for row in rows if row.settings in ("", truth.HARD)] == scenes
    assert not any(row.why for row in rows)
    assert [row.settings for row in held] == [truth.HARD, "tuned", "default"][: len(held)]
    assert swing.found is not None and swing.found.angle < 0.01
    assert swing.order == pytest.approx(1, abs=0.1)
    for row in held[:1]:
        assert row.found is not None and row.found.together == pytest.approx(3.0)
        assert row.found.angle < POSE_TOLERANCE.angle and not row.theirs_alone


def test_damping_that_is_stiff_for_mujoco_is_compared_with_shorter_steps(tmp_path: Path) -> None:
    """A joint whose rate decays in 0.01 ms: MuJoCo's RK4 is unstable with 0.05 ms."""
    file = tmp_path / "arm.xml"
    text = on_a_post("", 0.1).replace('mass="0.3"', 'mass="0.00003"')
    file.write_text(text, encoding="utf-8")
    (swing,) = truth.rows({"arm": str(file)}, lambda text: None)
    assert not swing.why and swing.found is not None
    assert swing.found.angle < 0.01 and swing.order == pytest.approx(1, abs=0.2)


def test_where_mujoco_diverges_its_warning_is_told_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = theirs.model_of(Robot.of(read_mjcf(chain())), chain(), DT)
    with refused(UnmetCondition, "MuJoCo") as caught:
        theirs.in_flight(model, (np.zeros(3), np.array([0.0, 0.0, 1e12])), DT, 1)
    assert "Nan, Inf" in str(caught.value), "the warning of MuJoCo itself"
    assert not list(tmp_path.iterdir())


def test_what_overlaps_at_the_start_meets_in_neither_engine() -> None:
    """The first link and the last, folded onto it, with what is welded to that."""
    folded = "<keyframe><key name='stand' qpos='0 3.1 0'/></keyframe>"
    text = chain().replace("</mujoco>", f"{folded}</mujoco>")
    inner = "<body name='tip' pos='.3 0 0'><geom name='tip' size='.03'/></body>"
    text = text.replace("</body></body></body>", f"{inner}</body></body></body>")
    robot = truth.without_overlaps(Robot.of(read_mjcf(text)))
    assert robot.excluded == (("a", "c"),)
    found = theirs.model_of(robot, text, DT).exclude_signature.tolist()
    assert [(pair >> 16, pair & 0xFFFF) for pair in found] == [(1, 3), (1, 4)]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "rate", "stops"), [(0, 25.0, 5), (2, 40.0, 4)])
def test_a_limp_biped_in_the_air_comes_to_its_stops_when_mujoco_s_does(
    seed: int, rate: float, stops: int
) -> None:
    rng, q = np.random.default_rng(seed), np.zeros(13)
    q[2], q[3], q[7:] = 2.0, 1.0, [0.1, 0, 0.4, -0.1, -0.2, 0.6]
    u = np.concatenate([np.zeros(6), rate * rng.uniform(-1, 1, size=6)])
    ours, mujoco_s = both(biped(), q, u, 6, 0.25)
    late = ours.delays(mujoco_s)
    assert set(ours.stops) == set(mujoco_s.stops) and len(late) == stops
    assert max(map(abs, late.values())) <= WITHIN, late


@pytest.mark.slow
@pytest.mark.skipif(robots_folder() is None, reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    ("name", "drops", "falls"),
    [("go2", 0.2, 0.32), ("anymal_c", 0.2, 0.41)],  # s: landing; shanks that strike
)
def test_a_robot_s_file_moves_as_in_mujoco(name: str, drops: float, falls: float) -> None:
    """Free flight to the order of `midpoint`, the first; drops and falls alike, events at the same
    instants, until an impact is one step of ours and many of MuJoCo's; a stand to 1 mm and 0.2 deg.
    """
    every = truth.rows(named([name]), lambda _: None)
    rows = {row.scene: row for row in every if row.settings in ("", truth.HARD)}
    assert rows[truth.FLIES].order == pytest.approx(1, abs=0.1)
    for scene, least in ((truth.DROPS, drops), (truth.STANDS, 3.0), (truth.FALLS, falls)):
        found = rows[scene].found
        assert found is not None
        assert found.early_within == found.early >= 2
        assert found.together >= least
        assert rows[scene].unsolved <= 3  # of 1,000 to 3,000 steps
    stand = rows[truth.STANDS].found
    assert stand is not None
    assert stand.place < POSE_TOLERANCE.position and stand.angle < POSE_TOLERANCE.angle
    assert stand.within == stand.shared and stand.together == pytest.approx(3.0)
