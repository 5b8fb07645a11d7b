"""Sensors against closed forms, MuJoCo on the same motion, and the log; noise and delay."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import DM, SX
from helpers.capsule_biped import biped
from helpers.in_mujoco import placed
from helpers.refused import refused

import tarsus
from tarsus import Ball, Box
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, UnknownName
from tarsus.model.mjcf import read_mjcf
from tarsus.program.ir.trace import Builder
from tarsus.program.run.evaluation import evaluate
from tarsus.sensing.encoders import Encoders
from tarsus.sensing.frame_motion import FrameMotion
from tarsus.sensing.height_scan import HeightScan
from tarsus.sensing.imu import Imu
from tarsus.sensing.load_cell import LoadCell
from tarsus.sensing.touch import TouchSensor
from tarsus.terrain.base import Terrain
from tarsus.terrain.boxes import Boxes
from tarsus.terrain.heightfield import HeightField
from tarsus.terrain.patched import Patch, Patched
from tarsus.terrain.rough import Rough
from tarsus.terrain.slope import Slope
from tarsus.terrain.steps import Steps

BALL = """<mujoco model="ball"><worldbody><body name="ball" pos="0 0 2"><freejoint/>
<inertial pos="0 0 0" mass="2" diaginertia=".1 .1 .1"/>
<geom type="sphere" size=".1" mass="0"/></body></worldbody></mujoco>"""
FEET = ("FR_foot", "FL_foot", "HR_foot", "HL_foot")


@pytest.fixture(scope="module")
def ball(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("ball") / "ball.xml"
    file.write_text(BALL)
    return str(file)


@pytest.fixture(scope="module")
def trot() -> tarsus.Simulation:
    """Trot of two worlds with a sensor on every foot, two of them delayed."""
    feet = {foot: TouchSensor(frame=foot) for foot in FEET}
    late = {
        "late": Encoders(("FR_knee_joint",), delay=np.array([0, 3])),
        "now": Encoders(("FR_knee_joint",)),
    }
    loads = {f"load {foot}": LoadCell(frame=foot) for foot in FEET}
    mean = {"mean": LoadCell(frame="FR_foot", period=4)}
    return tarsus.Simulation(
        "mini_cheetah",
        controller="trot",
        worlds=2,
        sensors=feet | late | loads | mean | {"imu": Imu()},
    )


@pytest.fixture(scope="module")
def log(trot: tarsus.Simulation) -> Any:
    return copy(trot).run(0.6)


def test_an_accelerometer_reads_zero_in_free_fall_and_gravity_at_rest(ball: str) -> None:
    law = tarsus.Moreau(recovery=0.0)  # what fell deep is not lifted
    simulation = tarsus.Simulation(ball, law, sensors=["imu"], controller=None)
    simulation.set(q=[0, 0, 2, 1, 0, 0, 0])
    assert simulation.sense()["imu"][:3] == pytest.approx([0, 0, 9.81])
    simulation.advance(0.1)
    assert simulation.sense()["imu"] == pytest.approx([0, 0, 0, 0, 0, 0, 0, 0, 1], abs=1e-9)
    simulation.advance(1.5)  # it lies on the ground
    assert simulation.sense()["imu"][:3] == pytest.approx([0, 0, 9.81], abs=1e-6)


def test_a_rotating_body_has_centripetal_acceleration(tmp_path: Path) -> None:
    """omega^2 r towards the axis, to second order in dt; gravity is not measured in free fall."""
    file, omega, r = tmp_path / "spin.xml", 3.0, 0.4
    file.write_text(BALL.replace("</body>", f'<site name="rim" pos="{r} 0 0"/></body>'))
    robot = tarsus.load(str(file))
    felt = []
    for dt in (0.004, 0.002):
        simulation = tarsus.Simulation(robot, sensors=[Imu(frame="rim")], controller=None, dt=dt)
        simulation.set(q=[0, 0, 2, 1, 0, 0, 0], u=[0, 0, 0, 0, 0, omega])
        simulation.advance(0.1)
        felt.append(next(iter(simulation.sense().values())))
    errors = [np.linalg.norm(reading[:3] - [-(omega**2) * r, 0, 0]) for reading in felt]
    assert felt[1][3:6] == pytest.approx([0, 0, omega])
    assert errors[1] < 0.02 * omega**2 * r and errors[1] < 0.6 * errors[0]


def test_body_velocities_match_mujoco() -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    robot = tarsus.load("hoap1")
    rng = np.random.default_rng(0)
    q = rng.normal(size=robot.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    u = rng.normal(size=robot.nu)
    bodies = [body.name for body in robot.bodies[::3]]
    sensors = {name: FrameMotion(frame=name) for name in bodies}
    simulation = tarsus.Simulation(robot, "compliant", sensors=sensors)
    simulation.set(q=q, u=u)
    # the same state in MuJoCo, whose free joints turn in the body's axes as ours do
    model, data = placed(robot, q, u)
    for name, reading in simulation.sense().items():
        body, six = model.body(name).id, np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, six, 0)
        assert reading[:3] == pytest.approx(data.xpos[body], abs=1e-9)
        sign = np.sign(reading[3:7] @ data.xquat[body])
        assert sign * reading[3:7] == pytest.approx(data.xquat[body], abs=1e-9)
        assert reading[7:] == pytest.approx([*six[3:], *six[:3]], abs=1e-8)


def test_an_imu_reports_attitude_with_or_without_heading(tmp_path: Path) -> None:
    """A site turned by a quarter about x on a body turned by 0.8 rad about z."""
    file, half = tmp_path / "turned.xml", np.sqrt(0.5)
    site = f'<site name="chip" pos="0 0 0" quat="{half} {half} 0 0"/>'
    file.write_text(BALL.replace("</body>", f"{site}</body>"))
    whole = Imu(frame="chip", attitude="quaternion")
    sensors = {"whole": whole, "up": Imu(frame="chip"), "true": FrameMotion(frame="chip")}
    simulation = tarsus.Simulation(str(file), sensors=sensors, controller=None)
    simulation.set(q=[0, 0, 2, np.cos(0.4), 0, 0, np.sin(0.4)])
    for _ in range(2):
        told = simulation.sense()
        w, x, y, z = told["whole"][6:]
        assert told["whole"][6:] == pytest.approx(told["true"][3:7], abs=1e-15)
        up = [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
        assert told["up"][6:] == pytest.approx(up, abs=1e-15)
        simulation.set(u=[0, 0, 0, 1.0, 2.0, 3.0])
        simulation.advance(0.1)
    expected = np.array([np.cos(0.4), np.cos(0.4), np.sin(0.4), np.sin(0.4)]) * half
    simulation.reset()
    simulation.set(q=[0, 0, 2, np.cos(0.4), 0, 0, np.sin(0.4)])
    assert simulation.sense()["whole"][6:] == pytest.approx(expected, abs=1e-15)
    assert list(simulation.sensor_channels["whole"])[6:] == [f"quaternion_{k}" for k in "wxyz"]
    with refused(UnknownName, "euler"):
        Imu(attitude="euler")  # pyright: ignore[reportArgumentType]


def test_touch_and_load_match_the_log(log: Any) -> None:
    dt = float(log.dt)
    for k, foot in enumerate(FEET):
        force = log["force_world"].sel(contact=foot).values
        load = log[f"sensed_load {foot}"].values
        assert load[..., :3] == pytest.approx(force, abs=1e-9)
        on, standing, flying = np.moveaxis(log[f"sensed_{foot}"].values, -1, 0)
        pressed = np.linalg.norm(force, axis=-1) > 0
        assert (on == pressed).all(), k
        assert ((standing > 0) == pressed).all() and ((flying > 0) != pressed).all()
        # a time grows by dt a step while it runs
        for time in (standing, flying):
            running = (time[1:] > 0) & (time[:-1] > 0)
            assert np.diff(time, axis=0)[running] == pytest.approx(dt)


def test_averages_are_held_for_one_period(log: Any) -> None:
    force = log["force_world"].sel(contact="FR_foot").values
    told = log["sensed_mean"].values[..., :3]
    means = force[: len(force) // 4 * 4].reshape(-1, 4, *force.shape[1:]).mean(axis=1)
    for k, mean in enumerate(means[:-1]):
        assert told[4 * k + 3 : 4 * k + 7] == pytest.approx(np.tile(mean, (4, 1, 1)), abs=1e-9)


def test_moments_are_about_the_frame(trot: tarsus.Simulation) -> None:
    simulation = copy(trot)
    simulation.advance(0.2)
    found = simulation.sense()
    for foot in FEET:
        load = found[f"load {foot}"][0]
        radius = next(c.radius for c in simulation.robot.candidates if c.name == foot)
        arm = [0, 0, -radius]  # level ground: from the ball's center down
        assert load[3:] == pytest.approx(np.cross(arm, load[:3]), abs=1e-9)


@pytest.mark.slow
def test_bodies_of_a_fallen_robot_carry_its_weight_together() -> None:
    """Contacts that only a fall brings to the ground are included: the robot lies on its back."""
    robot = Robot.of(read_mjcf(biped()))
    cells = {body.name: LoadCell(frame=body.name, period=40) for body in robot.bodies}
    simulation = tarsus.Simulation(robot, contacts="all", sensors=cells)
    assert simulation.plan.scene.slots
    q = np.array(simulation.q)
    q[2:7] = 0.3, np.sqrt(0.5), 0, -np.sqrt(0.5), 0
    simulation.set(q=q)
    simulation.advance(3.0)
    carried = {name: reading[2] for name, reading in simulation.sense().items()}
    assert sum(carried.values()) == pytest.approx(robot.mass * 9.81, rel=0.02)
    assert carried[robot.bodies[0].name] > 0.2 * robot.mass * 9.81


def test_a_delayed_reading_is_an_earlier_reading(log: Any) -> None:
    late, now = log["sensed_late"].values, log["sensed_now"].values
    start = float(log["q_start"].sel(coordinate="FR_knee_joint")[0])
    assert (late[:, 0] == now[:, 0]).all()
    assert (late[3:, 1] == now[:-3, 1]).all()
    assert late[:3, 1, 0] == pytest.approx(start)


def test_encoders_read_the_coordinates(log: Any) -> None:
    knee = log["q"].sel(coordinate="FR_knee_joint").values
    assert (log["sensed_now"].values[..., 0] == knee).all()


def test_sensors_do_not_affect_the_motion(trot: tarsus.Simulation, log: Any) -> None:
    plain = tarsus.Simulation("mini_cheetah", controller="trot", worlds=2)
    plain.advance(0.6)
    assert (plain.q == log["q"].values[-1]).all()


GROUNDS: dict[str, Terrain] = {
    "slope": Slope(angle=0.2, heading=0.7),
    "rough": Rough(seed=3, amplitude=0.1),
    "heightfield": HeightField(0.1 * np.random.default_rng(0).random((9, 9)), cell=0.2),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_a_scanned_height_lies_on_the_ground(name: str) -> None:
    """A point at the scanned height has zero distance from the terrain."""
    ground, rng = GROUNDS[name], np.random.default_rng(1)
    points = rng.uniform(-0.8, 0.8, (20, 3))
    b = Builder("scan")
    p = b.parameter("p", 60)
    terrain = ground.symbols(b)
    places = [p[3 * k : 3 * k + 3] for k in range(20)]
    heights = ground.elevations(places, terrain)
    onto = [ca.vertcat(at[:2], z) for at, z in zip(places, heights, strict=True)]
    gaps = ca.vertcat(*(gap for gap, _ in ground.surfaces(onto, terrain)))
    program = b.program(gap=gaps)
    values = {f"terrain.{k}": np.asarray(v)[None] for k, v in ground.parameters().items()}
    assert np.abs(evaluate(program, {"p": points.reshape(1, -1), **values})["gap"]).max() < 1e-12


def test_scans_measure_exact_heights_of_steps_and_boxes() -> None:
    steps, boxes = Steps(rise=0.1, run=0.3, start=0.5, count=3), Boxes(ground=0.0)
    assert _heights(steps, [0.4, 0.6, 0.9, 1.2, 5.0]) == pytest.approx([0, 0.1, 0.2, 0.3, 0.3])
    down = Steps(rise=-0.1, run=0.3, start=0.5, count=3)
    assert _heights(down, [0.4, 0.6, 0.9, 1.2]) == pytest.approx([0, -0.1, -0.2, -0.3])
    assert _heights(boxes, [0.7, 0.3]) == pytest.approx([0.03, 0.0])


@pytest.mark.parametrize("ground", [Steps(rise=0.1, run=0.3, start=0.5), Boxes()])
def test_patches_change_no_heights(ground: Terrain) -> None:
    """Heights keep their bits, also next to a vertical side and on a rounded edge."""
    edge = 0.5 if isinstance(ground, Steps) else 0.58
    places = [edge - 0.01, edge - 0.001, edge + 0.001, edge + 0.003, edge + 0.01]
    icy = Patched(ground, (Patch((edge, 0.0), 0.1, friction=0.1),))
    assert _heights(icy, places) == _heights(ground, places)
    assert _heights(icy, places[:1]) != _heights(icy, places[-1:])


def _heights(ground: Terrain, places: list[float]) -> list[float]:
    """Heights of the ground below (x, 0), m, with its parameters as numbers."""
    b = Builder("heights")
    terrain = ground.symbols(b)
    symbols = [v for v in vars(terrain).values() if isinstance(v, SX)]
    found = ca.vertcat(*ground.elevations([SX([x, 0, 1]) for x in places], terrain))
    numbers = [DM(np.asarray(v, float).ravel()) for v in ground.parameters().values()]
    return np.array(ca.Function("heights", symbols, [found])(*numbers)).ravel().tolist()


def test_a_scan_turns_with_the_heading_and_measures_from_the_frame() -> None:
    """On a plane that rises by 0.2 along x; the robot faces y."""
    scan = HeightScan(length=0.4, width=0.2, spacing=0.2)
    angle = float(np.arctan(0.2))
    simulation = tarsus.Simulation(
        "mini_cheetah", "compliant", terrain=Slope(angle=angle), sensors={"scan": scan}
    )
    half = np.sqrt(0.5)
    q = np.array(simulation.q)
    q[:7] = [1.0, 2.0, 0.7, half, 0, 0, half]
    simulation.set(q=q)
    names = list(simulation.sensor_channels["scan"])
    places = [tuple(float(v) for v in name.strip("()").split(",")) for name in names]
    expected = [0.2 * (1.0 - left) - 0.7 for _, left in places]
    assert simulation.sense()["scan"] == pytest.approx(expected, abs=1e-9)


def test_a_scan_has_a_heading_when_its_frame_points_down(tmp_path: Path) -> None:
    """The heading is then to the right of the frame's y axis, on a slope that rises by 0.2
    along x.
    """
    file = tmp_path / "camera.xml"
    file.write_text(BALL.replace("</body>", '<site name="eye" xyaxes="0 0 -1 1 0 0"/></body>'))
    scan = HeightScan(frame="eye", length=0.4, width=0.2, spacing=0.2)
    ground = Slope(angle=float(np.arctan(0.2)))
    simulation = tarsus.Simulation(str(file), terrain=ground, sensors={"scan": scan})
    simulation.set(q=[1.0, 2.0, 0.7, 1, 0, 0, 0])
    names = list(simulation.sensor_channels["scan"])
    places = [tuple(float(v) for v in name.strip("()").split(",")) for name in names]
    expected = [0.2 * (1.0 + left) - 0.7 for _, left in places]
    assert simulation.sense()["scan"] == pytest.approx(expected, abs=1e-9)


def test_contact_times_start_with_the_first_step(ball: str) -> None:
    """The air time of a falling ball is the simulated time, also after a reset."""
    simulation = tarsus.Simulation(ball, sensors={"touch": TouchSensor()}, dt=0.001)
    simulation.set(q=[0, 0, 1.0, 1, 0, 0, 0])
    for _ in range(2):
        for k in range(3):
            touch = simulation.sense()["touch"]
            assert touch == pytest.approx([0, 0, 0.001 * k], abs=1e-15)
            simulation.step()
        simulation.reset()
        simulation.set(q=[0, 0, 1.0, 1, 0, 0, 0])


def test_noise_and_bias_can_be_set_per_channel(ball: str) -> None:
    noise, bias = np.zeros((1, 9)), np.zeros((3, 9))
    noise[:, :3], bias[2, 4] = 0.5, 0.1
    sensors = {"own": Imu(noise=noise, bias=bias), "clean": Imu()}
    made = tarsus.Simulation(ball, sensors=sensors, controller=None, worlds=3)
    log = made.run(2.0)
    off = log["sensed_own"].values - log["sensed_clean"].values
    assert np.allclose(off[..., :3].std(axis=0), 0.5, rtol=0.1)
    assert np.allclose(off[..., 3:], bias[:, 3:], atol=1e-12)
    assert (made.sense()["own"] - made.sense()["clean"] == off[-1]).all()


def test_a_scan_uses_ground_set_after_a_reset(ball: str) -> None:
    scan = {"scan": HeightScan(length=0.2, width=0.0, spacing=0.1)}
    ground = tarsus.Slope(angle=0.0)
    made = tarsus.Simulation(ball, terrain=ground, sensors=scan, controller=None, worlds=2)
    made.step()
    made.reset(where=[True, False])
    before = made.sense()["scan"].copy()
    made.set(terrain=tarsus.Slope(angle=[0.2, 0.2]))
    seen, x, z = made.sense()["scan"], made.q[0, 0], made.q[0, 2]
    assert np.allclose(seen[0], np.tan(0.2) * (x + np.array([-0.1, 0, 0.1])) - z, atol=1e-12)
    assert (seen[1] == before[1]).all()  # it told of the last step


def test_noise_is_normal_and_differs_by_world(ball: str) -> None:
    def told(worlds: int, seed: int, steps: int = 400) -> np.ndarray:
        imu = Imu(noise=0.5, bias=2.0, seed=seed)
        simulation = tarsus.Simulation(
            ball, worlds=worlds, sensors={"imu": imu, "clean": Imu()}, controller=None
        )
        log = simulation.run(steps * simulation.dt)
        noise = log["sensed_imu"].values - log["sensed_clean"].values
        last = simulation.sense()
        assert (last["imu"] - last["clean"] == noise[-1]).all()  # a log holds what was told
        return noise

    two = told(2, 0)
    assert (told(1, 0) == two[:, 0]).all()
    assert two.mean() == pytest.approx(2.0, abs=0.03) and two.std() == pytest.approx(0.5, rel=0.03)
    centered = (two - 2.0).reshape(len(two), -1)
    related = np.corrcoef(centered.T) - np.eye(centered.shape[1])
    assert np.abs(related).max() < 0.25  # of 400 samples, 153 pairs: five standard deviations
    assert abs(np.corrcoef(centered[1:].ravel(), centered[:-1].ravel())[0, 1]) < 0.06
    assert not np.isclose(told(2, 1), two).any()


def test_readings_are_part_of_the_snapshot_and_restart_at_a_reset(
    trot: tarsus.Simulation,
) -> None:
    simulation = copy(trot)
    begun = simulation.sense()
    simulation.advance(0.1)
    kept, there = simulation.state(), simulation.sense()
    simulation.advance(0.1)
    after = simulation.sense()
    simulation.restore(kept)
    assert all((simulation.sense()[name] == there[name]).all() for name in there)
    simulation.advance(0.1)
    assert all((simulation.sense()[name] == after[name]).all() for name in after)
    simulation.reset(where=np.array([True, False]))
    mixed = simulation.sense()
    assert all((mixed[name][0] == begun[name][0]).all() for name in begun)
    assert all((mixed[name][1] == after[name][1]).all() for name in after)


@pytest.mark.slow
def test_readings_do_not_depend_on_cut_joints() -> None:
    """In extended coordinates the readings agree up to the drift of the constraints."""
    told = []
    for coordinates in ("minimal", "extended"):
        simulation = tarsus.Simulation(
            "starleth",
            "compliant",
            dt=0.001,
            controller="stand",
            coordinates=coordinates,
            sensors=["imu", "encoders", FrameMotion(frame=tarsus.load("starleth").bodies[3].name)],
        )
        simulation.advance(0.05)
        told.append(np.concatenate(list(simulation.sense().values())))
    assert told[0] == pytest.approx(told[1], abs=1e-4)


def test_a_log_describes_its_sensors(tmp_path: Path, ball: str) -> None:
    log = tarsus.Simulation(ball, sensors=[Imu(noise=0.1)], controller=None).run(0.01)
    log.to_netcdf(tmp_path / "log.nc")
    assert log["sensed_imu"].attrs["units"] == "m/s^2, rad/s, 1"
    [said] = json.loads(log.attrs["options"])["sensors"]
    assert (said["name"], said["noise"]) == ("imu", 0.1)


@pytest.mark.parametrize(
    ("sensors", "word"),
    [
        ([TouchSensor(frame="FR_fot")], "did you mean FR_foot"),
        ([Encoders(("FR_kne",))], "did you mean FR_knee_joint"),
        ([Encoders(("FR_knee_joint", "FR_knee_joint"))], "twice"),
        ([HeightScan(spacing=0.001)], "spacing"),
    ],
)
def test_mistakes_are_reported_in_one_sentence(sensors: Any, word: str) -> None:
    with pytest.raises(tarsus.TarsusError) as caught:
        tarsus.Simulation("mini_cheetah", worlds=2, sensors=sensors)
    assert word in str(caught.value)


@pytest.mark.parametrize(
    ("sensors", "kind", "subject"),
    [
        (["imo"], UnknownName, "imo"),
        ([Imu], InvalidValue, "sensors"),
        ([3], InvalidValue, "sensors"),
        (4, InvalidValue, "sensors"),
        ([Imu(noise=np.zeros(3))], InvalidValue, "noise"),
    ],
)
def test_invalid_sensors_are_reported_by_name(
    sensors: Any, kind: type[tarsus.TarsusError], subject: str
) -> None:
    with refused(kind, subject):
        tarsus.Simulation("mini_cheetah", worlds=2, sensors=sensors)


def test_sensors_include_contacts_with_other_bodies() -> None:
    """Contacts of a free body at rest balance its weight and its moments, those with the ground
    and with a ball on its top alike. A foot on a box is in contact.
    """
    both = tarsus.world(Box(edges=(0.4, 0.4, 0.1), mass=2.0), Ball(), at=[(0.1, 0.06, 0.1)])
    sensors: list[Any] = [LoadCell(frame=name) for name in ("box", "ball")]
    sensors += [TouchSensor(frame="ball"), TouchSensor(frame="box")]
    simulation = tarsus.Simulation(both, sensors=sensors)
    simulation.advance(1.0)
    told = simulation.sense()
    for body in both.bodies:
        weight = np.array([0.0, 0.0, 9.81 * body.inertia.mass])
        assert told[f"load_cell_{body.name}"][:3] == pytest.approx(weight, abs=1e-4)
        assert told[f"load_cell_{body.name}"][3:] == pytest.approx(np.zeros(3), abs=1e-4)
        assert told[f"touch_{body.name}"][1] == pytest.approx(1.0, abs=0.02)


def test_a_single_joint_is_selected_by_name() -> None:
    one = tarsus.Simulation("mini_cheetah", sensors=[Encoders(joints="FR_knee_joint")])
    assert list(one.sensor_channels["encoders"]) == ["FR_knee_joint", "FR_knee_joint_rate"]
    assert one.sense()["encoders"][0] == one.q[one.robot.q_slices[3].start]


def test_delays_are_limited() -> None:
    """Each step of delay takes a register and an instruction per channel; compiling a million
    would never end.
    """
    with refused(InvalidValue, "delay"):
        Imu(delay=1_000_000)
    with refused(InvalidValue, "delay"):
        tarsus.Simulation("mini_cheetah", sensors=[HeightScan(delay=400)])


def test_a_period_is_at_least_one_step() -> None:
    with refused(InvalidValue, "period"):
        LoadCell(period=0)
