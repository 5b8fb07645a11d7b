"""Logs of position servos: what is repaired with a warning, and what is rejected."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, TarsusWarning, UnmetCondition
from tarsus.identification.actuators import with_servos
from tarsus.identification.recording import MotionLog
from tarsus.identification.servo_log import read_servo_log
from tarsus.model.mjcf import read_mjcf

ARM = """<mujoco><compiler angle="radian" autolimits="true"/><worldbody><body name="upper">
<joint name="hip" axis="0 1 0" range="-1 1"/><inertial pos="0 0 -.1" mass="1" diaginertia="1 1 1"/>
<body name="lower" pos="0 0 -.2"><joint name="knee_joint" axis="0 1 0" range="-2.5 -0.8"/>
<inertial pos="0 0 -.1" mass="1" diaginertia="1 1 1"/></body></body></worldbody>
<actuator><motor joint="hip"/><motor joint="knee_joint"/></actuator></mujoco>"""
DT, COUNT = 0.005, 400


def arm() -> Robot:
    return Robot.of(read_mjcf(ARM))


def log(**changed: Any) -> dict[str, Any]:
    time = DT * np.arange(COUNT)
    target = np.stack([0.5 * np.sin(3 * time), -1.6 + 0.4 * np.cos(5 * time)], 1)
    return {"time": time, "q": target + 0.01, "q_desired": target} | changed


def read(given: dict[str, Any], *codes: str) -> MotionLog:
    """Read a log and check which warnings it causes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motion = read_servo_log(given, arm())
    found = [w.message.code for w in caught if isinstance(w.message, TarsusWarning)]
    assert found == list(codes)
    return motion


def test_targets_act_from_their_sample_on() -> None:
    given = log()
    motion = read(given)
    assert motion.dt == pytest.approx(DT) and len(motion) == COUNT
    assert np.array_equal(motion.action[1:], given["q_desired"][:-1])
    middle = slice(1, -1)
    rates = 1.5 * np.cos(3 * given["time"])
    assert motion.u[middle, 0] == pytest.approx(rates[middle], abs=1e-3)


def test_tables_and_archives_are_read(tmp_path: Path) -> None:
    given = log()
    np.savez(tmp_path / "log.npz", **given)
    columns = {"time": given["time"]}
    columns |= {f"{n}[{k}]": given[n][:, k] for n in ("q", "q_desired") for k in range(2)}
    rows = np.stack(list(columns.values()), 1)
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header=",".join(columns), comments="")
    for name in ("log.npz", "log.csv"):
        motion = read_servo_log(tmp_path / name, arm())
        assert motion.q == pytest.approx(given["q"], abs=1e-12)


def test_jitter_and_missing_samples_are_interpolated() -> None:
    given = log()
    jitter = np.random.default_rng(0).uniform(-0.001, 0.001, COUNT)
    time = given["time"] + jitter
    target = np.stack([0.5 * np.sin(3 * time), -1.6 + 0.4 * np.cos(5 * time)], 1)
    motion = read(log(time=time, q=target), "log-resampled")
    even = time[0] + motion.dt * np.arange(len(motion))
    assert motion.q[:, 0] == pytest.approx(0.5 * np.sin(3 * even), abs=2e-4)
    kept = np.delete(np.arange(COUNT), [50, 51, 200])
    motion = read({n: v[kept] for n, v in given.items()}, "log-resampled")
    assert abs(len(motion) - COUNT) <= 1
    assert motion.q[:350] == pytest.approx(given["q"][:350], abs=2e-4)


def test_repeated_times_and_nan_are_dropped() -> None:
    given = log()
    rows = np.sort(np.append(np.arange(COUNT), [10, 20]))
    assert len(read({n: v[rows] for n, v in given.items()}, "times-repeated")) == COUNT
    q = given["q"].copy()
    q[100, 1] = np.nan
    motion = read(log(q=q), "samples-dropped", "log-resampled")
    curve = (2 * DT) ** 2 / 8 * 0.4 * 5**2  # h^2 / 8 times the largest second derivative
    assert motion.q[100, 1] == pytest.approx(given["q"][100, 1], abs=curve)


def test_joint_names_sort_the_columns() -> None:
    given = log()
    swapped = {n: given[n][:, ::-1] for n in ("q", "q_desired")}
    motion = read(log(**swapped, joint_names=["knee", "hip"]), "joints-reordered")
    assert motion.q == pytest.approx(given["q"])
    with refused(InvalidFile, "joint_names"):
        read_servo_log(log(joint_names=["hip", "hip"]), arm())


def test_a_constant_target_is_reported() -> None:
    given = log()
    target = given["q_desired"].copy()
    target[:, 1] = -1.5
    read(log(q_desired=target), "constant-target")


@pytest.mark.parametrize(
    ("change", "kind", "subject"),
    [
        (lambda g: {n: g[n][:, ::-1] for n in ("q", "q_desired")}, InvalidFile, "q"),
        (lambda g: {"q_desired": g["q_desired"][:, ::-1]}, InvalidFile, "q_desired"),
        (lambda g: {n: np.degrees(g[n]) for n in ("q", "q_desired")}, InvalidFile, "q"),
        (lambda g: {"q": np.full_like(g["q"], np.nan)}, InvalidFile, "q"),
        (lambda g: {"q": g["q"][:, :1]}, InvalidFile, "q"),
        (lambda g: {"time": g["time"][::-1]}, InvalidFile, "time"),
        (
            lambda g: {"time": np.where(g["time"] > 1, g["time"] + 5, g["time"])},
            InvalidFile,
            "time",
        ),
        (lambda g: {"q": 0 * g["q"] + [0.1, -1.5]}, InvalidFile, "hip"),
        (lambda g: {"q_desired": 0 * g["q"] + [0.1, -1.5]}, InvalidFile, "q_desired"),
        (lambda g: {n: v[:5] for n, v in g.items()}, UnmetCondition, "time"),
    ],
    ids=["order", "targets", "degrees", "nan", "shape", "time", "gap", "stuck", "still", "short"],
)
def test_logs_that_cannot_be_used_are_rejected(change: Any, kind: Any, subject: str) -> None:
    given = log()
    with refused(kind, subject):
        read_servo_log(given | change(given), arm())


@pytest.mark.parametrize("name", ["time", "q", "q_desired"])
def test_a_missing_array_is_named(name: str) -> None:
    given = log()
    del given[name]
    with refused(InvalidFile, name):
        read_servo_log(given, arm())


def write_bag(
    path: Path,
    targets: str,
    stamped: bool = True,
    topic: str = "/joint_states",
    given: dict[str, Any] | None = None,
) -> None:
    """Write a ROS 2 bag: angles every 5 ms, and targets 2 ms before, in another joint order."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    t, given, start, none = store.types, given or log(), 1_700_000_000 * 10**9, np.zeros(0)
    state = "sensor_msgs/msg/JointState"

    def header(stamp: int) -> Any:
        shown = stamp if stamped else 0
        time = t["builtin_interfaces/msg/Time"](shown // 10**9, shown % 10**9)
        return t["std_msgs/msg/Header"](time, "")

    with Writer(path, version=9) as writer:
        angles = writer.add_connection(topic, state, typestore=store)
        goals = writer.add_connection("/command", targets, typestore=store)
        for k, time in enumerate(given["time"]):
            at = start + round(1e9 * time)
            names, goal = ["knee_joint", "hip"], given["q_desired"][k, ::-1].copy()
            if targets == state:
                message = t[state](header(at - 2_000_000), names, goal, none, none)
            else:
                soon = t["builtin_interfaces/msg/Duration"](0, 0)
                point = t["trajectory_msgs/msg/JointTrajectoryPoint"](goal, none, none, none, soon)
                message = t[targets](header(at - 2_000_000), names, [point])
            writer.write(goals, at - 2_000_000, store.serialize_cdr(message, targets))
            message = t[state](header(at), ["hip", "knee_joint"], given["q"][k], none, none)
            writer.write(angles, at, store.serialize_cdr(message, state))


@pytest.mark.parametrize(
    ("targets", "stamped"),
    [
        ("sensor_msgs/msg/JointState", True),
        ("trajectory_msgs/msg/JointTrajectory", True),
        ("sensor_msgs/msg/JointState", False),
    ],
)
def test_ros_2_bags_are_read(tmp_path: Path, targets: str, stamped: bool) -> None:
    write_bag(tmp_path / "bag", targets, stamped)
    given = log()
    motion = read_servo_log(tmp_path / "bag", arm())
    assert motion.dt == pytest.approx(DT)
    np.testing.assert_allclose(motion.q, given["q"], atol=1e-12)
    np.testing.assert_allclose(motion.action[1:], given["q_desired"][:-1], atol=1e-12)


def test_bags_without_measured_angles_are_rejected(tmp_path: Path) -> None:
    write_bag(tmp_path / "bag", "sensor_msgs/msg/JointState", topic="/angles")
    with refused(InvalidFile, "joint_states"):
        read_servo_log(tmp_path / "bag", arm())


def test_the_command_line_identifies_from_a_bag(tmp_path: Path) -> None:
    """`tarsus identify BAG` finds the friction of the simulated robot, and writes the robot."""
    kp, kd, friction = 60.0, 6.0, 0.8
    robot = with_servos(arm(), kp, kd)
    rough = [replace(b, joint=replace(b.joint, dry_friction=friction)) for b in robot.bodies]
    simulation = tarsus.Simulation(
        replace(robot, bodies=tuple(rough)), actuators="file", contacts=(), dt=DT
    )
    time = DT * np.arange(1200)
    target = np.stack([0.6 * np.sin(2 * time), -1.6 + 0.5 * np.cos(3 * time)], 1)
    simulation.set(q=target[0])
    q = []
    for goal in target:
        q.append(np.ravel(simulation.q).copy())
        simulation.step(goal)
    recorded = {"time": time, "q": np.array(q), "q_desired": target}
    write_bag(tmp_path / "bag", "sensor_msgs/msg/JointState", given=recorded)
    (tmp_path / "arm.xml").write_text(ARM)
    words = ["--servo", str(kp), str(kd), "--structures", "friction", "--hold-out-from", "4"]
    out = tmp_path / "out"
    command = ["identify", str(tmp_path / "bag"), "--robot", str(tmp_path / "arm.xml"), *words]
    assert cli.main([*command, "--out", str(out), "--quiet"]) == 0
    record = json.loads((out / "identify.json").read_text())
    assert record["chosen"] == "friction"
    read = tarsus.load(out / "identified.toml")
    for body in read.bodies:
        assert body.joint.dry_friction == pytest.approx(friction, rel=0.02)
    assert [(a.kp, a.kv) for a in read.file_actuators] == [(kp, kd)] * 2
