"""Logs in other formats and back: exact tables, MCAP, ROS 2 bags, states of MuJoCo."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.errors import IncompatibleOptions, InvalidFile, UnknownName, UnmetCondition
from tarsus.simulation.recording.log import save_log

BALL = """<mujoco model="ball"><worldbody><geom type="plane" size="9 9 1"/><body name="ball"
pos="0 0 0.1"><freejoint name="free"/><geom name="foot" type="sphere" size=".1" mass="1"/>
<body name="arm"><joint name="a" type="hinge" axis="0 1 0" damping="0.01"/><geom size=".02"
pos="0 0 .2" mass="0.1" contype="0" conaffinity="0"/></body></body></worldbody><actuator>
<motor joint="a" gear="1" ctrlrange="-5 5"/></actuator></mujoco>"""


@pytest.fixture(scope="module")
def ball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ball") / "ball.xml"
    path.write_text(BALL)
    return path


@pytest.fixture(scope="module")
def log(ball: Path) -> xr.Dataset:
    """A ball that bounces and rolls while its arm swings."""
    swing = lambda t, q, u: [0.05 * np.sin(9 * t)]  # noqa: E731
    simulation = tarsus.Simulation(str(ball), tarsus.Moreau(e_N=0.5), controller=swing)
    simulation.set(u=[1.0, 0, 1.0, 0, 0, 0, 0])
    return simulation.run(0.5)


def identical(a: xr.Dataset, b: xr.Dataset) -> None:
    assert set(a.variables) == set(b.variables) and set(a.attrs) == set(b.attrs)
    for name in a.variables:
        assert a[name].dims == b[name].dims and a[name].attrs.keys() == b[name].attrs.keys()
        one, other = a[name].values, b[name].values
        one, other = (x.astype(str) if x.dtype.kind in "OUS" else x for x in (one, other))
        assert one.dtype.kind == other.dtype.kind
        np.testing.assert_array_equal(one, other, str(name))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_equals_the_log_bitwise(
    suffix: str, log: xr.Dataset, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    from tarsus.exchange.table import read_table

    log.to_netcdf(tmp_path / "run.nc")
    table = tmp_path / f"run{suffix}"
    assert cli.main(["export", str(tmp_path / "run.nc"), str(table)]) == 0
    again = read_table(table)
    assert isinstance(again, xr.Dataset)
    identical(again, xr.load_dataset(tmp_path / "run.nc"))
    assert tarsus.judge(table) == tarsus.judge(tmp_path / "run.nc")
    assert tarsus.rerun(again).reproduced
    capsys.readouterr()
    frame = pd.read_csv(table) if suffix == ".csv" else pd.read_parquet(table)
    assert frame["force_world[foot.z]"].max() > 10 and len(frame) == 200


def test_a_batch_has_a_row_for_every_world(ball: Path, tmp_path: Path) -> None:
    from tarsus.exchange.table import read_table, write_table

    simulation = tarsus.Simulation(str(ball), worlds=3, controller=None)
    simulation.set(u=[[0, 0, k, 0, 0, 0, 0] for k in range(3)])
    log = simulation.run(0.05)
    write_table(log, tmp_path / "batch.csv")
    assert len(pd.read_csv(tmp_path / "batch.csv")) == 60
    again = read_table(tmp_path / "batch.csv")
    assert isinstance(again, xr.Dataset)
    np.testing.assert_array_equal(again["q"], log["q"])


LIMITED = """if True:
    import resource, sys
    from tarsus import cli
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, -1))
    for to in sys.argv[2:]:
        print(cli.main(["export", sys.argv[1], to]), file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_leaves_nothing_and_is_one_sentence(
    log: xr.Dataset, ball: Path, tmp_path: Path
) -> None:
    log.to_netcdf(tmp_path / "run.nc")
    old = {str(tmp_path / f"run.{kind}"): b"old" for kind in ("csv", "parquet", "mcap")}
    for path, content in old.items():
        Path(path).write_bytes(content)
    command = [sys.executable, "-B", "-c", LIMITED, str(tmp_path / "run.nc"), *old]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = iter(done.stderr.splitlines())
    for path in old:
        assert next(said).startswith(f"error: {path}: ") and next(said) == "2"
    assert not list(said)
    there = {str(path): path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".nc"}
    assert there == old


def test_mcap_contains_frames_joints_forces_and_numbers(log: xr.Dataset, tmp_path: Path) -> None:
    reader = pytest.importorskip("mcap.reader")
    log.to_netcdf(tmp_path / "run.nc")
    assert cli.main(["export", str(tmp_path / "run.nc"), str(tmp_path / "run.mcap")]) == 0
    count, schemas, feet = Counter[str](), {}, []
    with (tmp_path / "run.mcap").open("rb") as file:
        for schema, channel, message in reader.make_reader(file).iter_messages():
            count[channel.topic] += 1
            schemas[channel.topic] = schema.name if schema else ""
            if channel.topic == "/feet":
                feet.append((message.log_time, json.loads(message.data)["foot"]["normal"]))
    topics = ("/tf", "/joint_states", "/contacts", "/feet", "/trunk", "/solver")
    assert count == dict.fromkeys(topics, 200)
    assert schemas["/tf"] == "foxglove.FrameTransforms"
    assert schemas["/contacts"] == "foxglove.SceneUpdate"
    times, forces = np.transpose(feet)
    np.testing.assert_allclose(times * 1e-9, log["time"], atol=1e-9)
    np.testing.assert_array_equal(forces, log["force_contact"][:, 0, 0])


def test_tables_of_other_tools_are_judged(log: xr.Dataset, ball: Path, tmp_path: Path) -> None:
    """The arrays of the format as columns, contacts by number or by name."""
    from tarsus.comparison.trajectory import log_to_arrays

    robot = tarsus.load(ball)
    arrays = log_to_arrays(log, robot)
    arrays |= {"contact_body": ["foot"]}
    wanted = tarsus.judge({k: v for k, v in arrays.items()}, robot)
    columns: dict[str, Any] = {}
    for name, value in arrays.items():
        value = np.asarray(value)
        if name == "contact_body":
            continue
        if value.ndim < 2:
            columns[name] = value
        elif name in ("gap", "mu"):
            columns[f"{name}[foot]"] = value[:, 0]
        elif value.ndim == 3:
            columns |= {f"{name}[foot.{a}]": value[:, 0, k] for k, a in enumerate("xyz")}
        else:
            columns |= {f"{name}[{k}]": value[:, k] for k in range(value.shape[1])}
    pd.DataFrame(columns).to_csv(tmp_path / "other.csv", index=False)
    found = tarsus.judge(tmp_path / "other.csv", robot)
    assert found["residuals"] == pytest.approx(wanted["residuals"], abs=1e-12)
    pd.DataFrame(columns | {"qposs[0]": 0.0}).to_csv(tmp_path / "bad.csv", index=False)
    with refused(UnknownName, "qposs[0]"):
        tarsus.judge(tmp_path / "bad.csv", robot)


def bag(log: xr.Dataset, path: Path, change: Callable[[Any], None] = lambda m: None) -> None:
    """ROS 2 bag that a robot would have recorded of a log."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    t = store.types
    begun = 1_700_000_000 * 10**9
    stamps = begun + np.rint(np.concatenate([[0.0], log["time"].values]) * 1e9).astype(int)
    q = np.concatenate([log["q_start"].values[None], log["q"].values])
    u = np.concatenate([log["u_start"].values[None], log["u"].values])
    tau = np.concatenate([log["tau"].values[:1], log["tau"].values])
    force = np.concatenate([log["force_world"].values[:1], log["force_world"].values])[:, 0]
    vector = lambda v: t["geometry_msgs/msg/Vector3"](*map(float, v))  # noqa: E731
    kinds = (
        "sensor_msgs/msg/JointState",
        "nav_msgs/msg/Odometry",
        "geometry_msgs/msg/WrenchStamped",
    )
    with Writer(path, version=9) as writer:
        topics = zip(("/joint_states", "/odom", "/ground/foot"), kinds, strict=True)
        links = [writer.add_connection(topic, kind, typestore=store) for topic, kind in topics]
        for k, stamp in enumerate(stamps.tolist()):
            time = t["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9)
            header = t["std_msgs/msg/Header"](time, "world")
            turned = t["geometry_msgs/msg/Quaternion"](*map(float, (*q[k, 4:7], q[k, 3])))
            pose = t["geometry_msgs/msg/Pose"](
                t["geometry_msgs/msg/Point"](*q[k, :3].tolist()), turned
            )
            w, v = q[k, 3], q[k, 4:7]
            back = u[k, :3] + 2 * np.cross(v, np.cross(v, u[k, :3]) - w * u[k, :3])
            twist = t["geometry_msgs/msg/Twist"](vector(back), vector(u[k, 3:6]))
            with_pose = t["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36))
            with_twist = t["geometry_msgs/msg/TwistWithCovariance"](twist, np.zeros(36))
            wrench = t["geometry_msgs/msg/Wrench"](vector(force[k]), vector(np.zeros(3)))
            joint = [np.array([x]) for x in (q[k, 7], u[k, 6], tau[k, 0])]
            messages = (
                t[kinds[0]](header, ["a"], *joint),
                t[kinds[1]](header, "ball", with_pose, with_twist),
                t[kinds[2]](header, wrench),
            )
            for link, kind, message in zip(links, kinds, messages, strict=True):
                writer.write(link, stamp, store.serialize_cdr(message, kind))


def test_a_ros_2_bag_is_judged_like_its_log(
    log: xr.Dataset, ball: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    from tarsus.comparison.trajectory import log_to_arrays

    bag(log, tmp_path / "bag")
    robot = tarsus.load(ball)
    arrays = log_to_arrays(log, robot)
    kept = ("time", "qpos", "qvel", "contact_force", "qfrc_actuator")
    wanted = tarsus.judge({name: arrays[name] for name in kept}, robot, 0.8)
    found = tarsus.judge(tmp_path / "bag", robot, 0.8)
    assert found["steps"] == 200 and found["contacts"] == 1
    for name, value in wanted["residuals"].items():
        assert found["residuals"][name] == pytest.approx(value, rel=1e-6, abs=1e-9), name
    assert found["energy"]["unbalanced"] == pytest.approx(wanted["energy"]["unbalanced"], abs=1e-9)
    command = ["judge", str(tmp_path / "bag"), "--robot", str(ball), "--friction", "0.8"]
    assert cli.main(command) == 0 and "Signorini" in capsys.readouterr().out
    with refused(IncompatibleOptions, "robot"):
        tarsus.judge(tmp_path / "bag")
    with pytest.raises(InvalidFile) as caught:
        tarsus.judge(tmp_path / "bag", "mini_cheetah")
    assert caught.value.subject in tarsus.load("mini_cheetah").joint_names


def test_mujoco_states_suffice(ball: Path, tmp_path: Path) -> None:
    """The forces are those that MuJoCo finds again from each state."""
    from tarsus.mujoco_runs.recorder import Recorder

    model = mujoco.MjModel.from_xml_path(str(ball))
    data = mujoco.MjData(model)
    data.qvel[:3] = 1.0, 0.0, 1.0
    mujoco.mj_forward(model, data)
    recorder = Recorder(model, data)
    rows = [(0.0, data.qpos.copy(), data.qvel.copy(), np.zeros(1))]
    for _ in range(300):
        data.ctrl[:] = 0.05 * np.sin(9 * data.time)
        mujoco.mj_step(model, data)
        recorder.record()
        rows.append((data.time, data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()))
    columns = (np.array(part) for part in zip(*rows, strict=True))
    arrays = dict(zip(("time", "qpos", "qvel", "ctrl"), columns, strict=True))
    np.savez(tmp_path / "states.npz", **arrays)
    found = tarsus.judge(tmp_path / "states.npz", str(ball), 0.8)
    wanted = tarsus.judge(recorder.arrays(), str(ball), 0.8)
    assert found["residuals"] == pytest.approx(wanted["residuals"], rel=1e-6, abs=1e-9)
    assert found["normal_force_max"] > 10 and found["residuals"]["equation_N"] < 1e-9
    arrays["ctrl"] *= 2
    np.savez(tmp_path / "states.npz", **arrays)
    with refused(UnmetCondition, "ctrl"):
        tarsus.judge(tmp_path / "states.npz", str(ball))


def test_bad_input_is_rejected_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    for arguments, told in (
        (["run.nc", "run.cvs"], "did you mean .csv"),
        (["run.mp4", "run.csv"], "run.mp4"),
        ([str(tmp_path / "gone.nc"), str(tmp_path / "x.csv")], "there is no file"),
    ):
        assert cli.main(["export", *arguments]) == 2
        assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_logs_cannot_be_exported_as_c(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    log, code = tmp_path / "run.nc", tmp_path / "c"
    save_log(tarsus.Simulation("mini_cheetah").run(0.01), log)
    assert cli.main(["export", str(log), "--c", str(code)]) == 2
    assert "this is a log" in capsys.readouterr().err
    assert not code.exists()
