"""`tarsus bench --peers`: the same robot in each simulator, and the measures of their errors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tarsus import cli, registry, robots
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.model.robot_data import robots_folder
from tarsus.model.to_urdf import to_urdf
from tarsus.model.urdf import read_urdf
from tarsus_bench import peer_cases, peer_errors
from tarsus_bench.peer_bench import PeerSizes, bench_peers
from tarsus_bench.peer_cases import PeerCase
from tarsus_bench.peer_process import PEERS, EngineServer, engine_class
from tarsus_bench.peer_report import HEAD, print_peers

ABSENT = [name for name in registry.names(PEERS) if not engine_class(name).installed()]
needs_anymal = pytest.mark.skipif(robots_folder() is None, reason="without example-robot-data")


STAND = PeerSizes((0.005,), rounds=1, block=0.01, share=0.05, cases=("stand",))


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """A short look at MuJoCo as the robot stands."""
    return bench_peers(["mujoco"], STAND, variants=[""])


@pytest.mark.slow
@needs_anymal
def test_tarsus_and_mujoco_simulate_the_same_robot() -> None:
    found = bench_peers(["tarsus", "mujoco"], STAND, variants=[""])
    masses = [engine["mass"] for engine in found["engines"]]
    assert masses == pytest.approx([30.4754] * 2, abs=1e-4)
    heights = [row["stand"]["height_m"] for row in found["rows"]]
    assert heights == pytest.approx([heights[0]] * 2, abs=0.02), "both stand on soft servos"
    assert all(row["stand"]["penetration_m"] < 0.01 for row in found["rows"])


@needs_anymal
def test_a_flight_by_a_good_integrator_ends_where_the_reference_does() -> None:
    """So the robot, its start and the coordinates are the same in both."""
    case, at_work = peer_cases.cases()["flight"], EngineServer("mujoco", "rk4")
    at_work.build("flight", case.work(0.005))
    errors = peer_errors.flight_errors(case, *at_work.trace("flight", 0.1), 0.005)
    assert errors["joint_rad"] < 1e-6
    assert errors["energy_J"] < 1e-4 and errors["momentum_Ns"] < 1e-4


@needs_anymal
def test_times_and_settings_are_printed(
    found: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert found["engines"][0]["mass"] == pytest.approx(30.4754, abs=1e-4)
    assert all(row["steps_per_second"] > 100 for row in found["rows"])
    print_peers(found)
    said = capsys.readouterr().out
    for word in ("mujoco", "mjSOL_NEWTON", "float64", "RaiSim", "Quoted", "SimBenchmark"):
        assert word in said


@needs_anymal
def test_no_column_is_truncated_without_a_terminal(
    found: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    longest = [row | {"variant": "batch_float32 or longer"} for row in found["rows"]]
    print_peers(found | {"rows": longest})
    assert HEAD[-1] in capsys.readouterr().out


@needs_anymal
@pytest.mark.parametrize("name", ABSENT)
def test_missing_simulators_are_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--peers", "--engines", name]) == 2
    said = capsys.readouterr().err
    assert name in said and engine_class(name).distributions[-1] in said


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("--peers --engines mojoco", "mujoco"),
        ("--engines mujoco", "--peers"),
        ("--peers --laws", "--laws"),
        ("--walks --laws", "--laws"),
        ("--whole --laws", "--whole"),
        ("--peers --device cuda", "--device"),
        ("--peers --out nowhere/to/found.json", "nowhere"),
    ],
)
def test_bad_input_ends_with_2(line: str, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", *line.split()]) == 2
    assert word in capsys.readouterr().err


# ---------------------------------------------------------------- the yardstick


@cache
def sliding() -> tuple[Robot, np.ndarray]:
    """Mini Cheetah's states as it glides along x at 0.1 m/s, its feet 1 mm in the ground."""
    robot = robots.load("mini_cheetah")
    start = np.array(robot.keyframes["stand"])
    start[2] += -peer_errors_depth(robot, start) - 0.001
    q = np.tile(start, (101, 1))
    q[:, 0] += 0.1 * 0.01 * np.arange(101)
    return robot, q


def peer_errors_depth(robot: Robot, q: np.ndarray) -> float:
    """Height of the lowest sphere, m, by single positions."""
    return float(min(robot.position(q, c.name)[2] - c.radius for c in robot.candidates))


def test_creep_and_depth_of_gliding_feet_are_measured() -> None:
    robot, q = sliding()
    case = PeerCase(robot, q[0], np.zeros(robot.nu), 1.0)
    errors = peer_errors.standing_errors(case, q, np.zeros((101, robot.nu)), 0.01)
    assert errors["creep_m_per_s"] == pytest.approx(0.1, rel=1e-9)
    assert errors["penetration_m"] == pytest.approx(0.001, rel=1e-9)


def test_a_rolling_foot_does_not_creep() -> None:
    """All feet have the same radius here; the robot turns as a wheel about one of them."""
    robot, q = sliding()
    foot = robot.candidates[0]
    one = replace(robot, candidates=(foot,))
    rolled = q[:2].copy()
    turn = Rotation.from_euler("y", 0.01)
    before = Rotation.from_quat(q[0, 3:7], scalar_first=True)
    rolled[1, 3:7] = (turn * before).as_quat(scalar_first=True)
    center = robot.position(q[0], foot.name)
    ahead = np.array([0.01 * foot.radius, 0.0, 0.0])
    rolled[1, :3] = center + ahead + turn.apply(q[0, :3] - center)
    assert peer_errors.largest_slip(one, rolled[0], rolled[1]) == pytest.approx(0.0, abs=1e-9)


def test_energy_gain_is_detected() -> None:
    robot, q = sliding()[0], sliding()[1].copy()
    q[60:, 2] += 0.01
    case = PeerCase(robot, q[0], np.zeros(robot.nu), 1.0)
    errors = peer_errors.fall_errors(case, q, np.zeros((101, robot.nu)), 0.01)
    assert errors["gained_J"] == pytest.approx(robot.mass * 9.81 * 0.01, rel=1e-6)


# ---------------------------------------------------------------- the robot as URDF


def test_urdf_robots_round_trip() -> None:
    robot = robots.load("mini_cheetah")
    bare = replace(
        robot,
        bodies=tuple(
            replace(b, joint=replace(b.joint, armature=0.0, dry_friction=0.0)) for b in robot.bodies
        ),
    )
    back = Robot.of(read_urdf(to_urdf(bare)))
    q = np.array(robot.keyframes["stand"])
    assert back.mass_matrix(q) == pytest.approx(bare.mass_matrix(q), abs=1e-12)
    u = np.linspace(-1, 1, robot.nu)
    assert back.bias(q, u) == pytest.approx(bare.bias(q, u), abs=1e-9)
    # in the file they are ordered by link
    places = [sorted((c.body, *c.position, c.radius) for c in r.candidates) for r in (back, bare)]
    assert np.array(places[0]) == pytest.approx(np.array(places[1]))


def test_robots_that_urdf_cannot_represent_are_rejected() -> None:
    robot = robots.load("mini_cheetah")
    fixed = replace(robot, bodies=robot.bodies[1:2], candidates=(), actuators=(), keyframes={})
    with pytest.raises(TarsusError, match="one root on a free joint"):
        to_urdf(replace(fixed, bodies=(replace(fixed.bodies[0], parent=-1),)))


def test_cases_match_simbenchmark() -> None:
    if robots_folder() is None:
        pytest.skip("without example-robot-data")
    cases = peer_cases.cases()
    stand, flight = cases["stand"], cases["flight"]
    assert (stand.kp, stand.kd, stand.q[2]) == (40.0, 1.0, 0.54)
    lift = 9.81 * peer_cases.LIFTED  # twice its weight upwards, its weight downwards
    robot = flight.robot
    speed = robot.momentum(flight.q, flight.u)[2] / robot.mass
    assert speed == pytest.approx(lift, rel=1e-8)
