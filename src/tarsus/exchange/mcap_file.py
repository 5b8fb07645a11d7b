"""A log as an MCAP file for Foxglove: frames that move, joints, contact forces, numbers to plot."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import Unsupported
from tarsus.files import atomic_write
from tarsus.model.files import needed_library
from tarsus.model.poses import quaternion_from_rotation, rotation_about
from tarsus.simulation.recording.log_schema import check_log, check_robot

Array = NDArray[Any]
WORLD = "world"
ARROW = 0.3  # m: length of a force as large as the robot's weight
THICK = 0.008  # m
COLOR = (0.84, 0.37, 0.0, 0.9)
NEEDED = (
    *("q", "u", "tau", "gap", "slip_speed", "state"),
    *("force_contact", "force_world", "contact_point"),
)
NUMBERS = ("iterations", "converged", "kinetic_energy", "potential_energy", "equation_residual")


def write_mcap(log: xr.Dataset, robot: Robot, to: Path) -> list[Path]:
    """Write an MCAP file of one world, whole or not at all; the files written.

    /tf: foxglove.FrameTransforms, every body in `world`; /joint_states: foxglove.JointStates;
    /contacts: foxglove.SceneUpdate, an arrow for every contact force; /feet, /trunk, /solver: JSON
    """
    foxglove = needed_library("foxglove", "MCAP", "exchange")
    if "world" in log.dims:
        raise Unsupported(
            "an MCAP file holds one world: select one, such as log.isel(world=0).", "world"
        )
    log = check_log(log, NEEDED)
    robot = check_robot(log, robot)
    q, u = (log[f"{x}_uncut" if f"{x}_uncut" in log else x].values for x in "qu")
    # message by message, in order of time
    poses = _poses(robot, q)
    # in memory: the library hides the cause of a failed write, such as a full disk
    content, context = BytesIO(), foxglove.Context()
    writer = foxglove.open_mcap(content, context=context)
    channels = _Channels(foxglove, context)
    nanoseconds = np.rint(log["time"].values * 1e9).astype(np.int64)
    streams = (
        (channels.frames, _frames(foxglove.messages, poses, nanoseconds)),
        (channels.joints, _joints(foxglove.messages, log, robot, (q, u))),
        (channels.contacts, _arrows(foxglove.messages, log, robot)),
        (channels.feet, _feet(log)),
        (channels.trunk, _trunk(log)),
        (channels.solver, _solver(log)),
    )
    for now, *messages in zip(nanoseconds.tolist(), *(s for _, s in streams), strict=True):
        for (channel, _), message in zip(streams, messages, strict=True):
            channel.log(message, log_time=now)
    writer.close()
    with atomic_write(to) as temporary:
        temporary.write_bytes(content.getbuffer())
    return [to]


class _Channels:
    """The topics of a file."""

    def __init__(self, foxglove: Any, context: Any) -> None:
        typed = needed_library("foxglove.channels", "MCAP", "exchange")
        needed_library("foxglove.messages", "MCAP", "exchange")
        self.frames = typed.FrameTransformsChannel("/tf", context=context)
        self.joints = typed.JointStatesChannel("/joint_states", context=context)
        self.contacts = typed.SceneUpdateChannel("/contacts", context=context)
        topics = ("/feet", "/trunk", "/solver")
        self.feet, self.trunk, self.solver = (
            foxglove.Channel(topic, message_encoding="json", context=context) for topic in topics
        )


def _poses(robot: Robot, q: Array) -> dict[str, tuple[Array, Array]]:
    """Places (n, 3) and quaternions (n, 4) of every body."""
    found = {}
    for name in robot.body_names:
        turned = np.array([quaternion_from_rotation(R) for R in robot.rotation(q, name)])
        found[name] = robot.position(q, name), turned
    return found


def _quaternion(messages: Any, p: Array) -> Any:
    w, x, y, z = map(float, p)
    return messages.Quaternion(x=x, y=y, z=z, w=w)


def _vector(messages: Any, v: Array) -> Any:
    x, y, z = map(float, v)
    return messages.Vector3(x=x, y=y, z=z)


def _stamp(messages: Any, nanoseconds: int) -> Any:
    return messages.Timestamp(nanoseconds // 10**9, nanoseconds % 10**9)


def _frames(messages: Any, poses: dict[str, tuple[Array, Array]], times: Array) -> Any:
    for k, now in enumerate(times.tolist()):
        yield messages.FrameTransforms(
            transforms=[
                messages.FrameTransform(
                    timestamp=_stamp(messages, now),
                    parent_frame_id=WORLD,
                    child_frame_id=name,
                    translation=_vector(messages, place[k]),
                    rotation=_quaternion(messages, turned[k]),
                )
                for name, (place, turned) in poses.items()
            ]
        )


def _joints(messages: Any, log: xr.Dataset, robot: Robot, state: tuple[Array, Array]) -> Any:
    q, u = state
    driven = {a.joint: k for k, a in enumerate(robot.actuators)}
    single = [
        (body.joint.name, at.start, to.start)
        for body, at, to in zip(robot.bodies, robot.q_slices, robot.u_slices, strict=True)
        if body.joint.nq == 1
    ]
    tau, times = log["tau"].values, np.rint(log["time"].values * 1e9).astype(np.int64).tolist()
    for k, now in enumerate(times):
        yield messages.JointStates(
            timestamp=_stamp(messages, now),
            joints=[
                messages.JointState(
                    name=name,
                    position=float(q[k, at]),
                    velocity=float(u[k, to]),
                    effort=float(tau[k, driven[name]]) if name in driven else None,
                )
                for name, at, to in single
            ],
        )


def _arrows(messages: Any, log: xr.Dataset, robot: Robot) -> Any:
    """An arrow along every force, as long as its share of the weight."""
    # lengths by the robot's weight
    weight = robot.mass * float(np.linalg.norm(robot.gravity_acceleration)) or 1.0
    names = [str(name) for name in log["contact"].values]
    force, point = log["force_world"].values, log["contact_point"].values
    color = messages.Color(**dict(zip("rgba", COLOR, strict=True)))
    times = np.rint(log["time"].values * 1e9).astype(np.int64).tolist()
    for k, now in enumerate(times):
        entities = []
        for i, name in enumerate(names):
            size = float(np.linalg.norm(force[k, i]))
            arrows = []
            if size > 0:
                where = messages.Pose(
                    position=_vector(messages, point[k, i]),
                    orientation=_quaternion(messages, _towards(force[k, i] / size)),
                )
                long = ARROW * size / weight
                arrows.append(
                    messages.ArrowPrimitive(
                        pose=where,
                        shaft_length=long,
                        shaft_diameter=THICK,
                        head_length=3 * THICK,
                        head_diameter=2 * THICK,
                        color=color,
                    )
                )
            entities.append(
                messages.SceneEntity(
                    timestamp=_stamp(messages, now), frame_id=WORLD, id=name, arrows=arrows
                )
            )
        yield messages.SceneUpdate(entities=entities)


def _towards(direction: Array) -> Array:
    """The quaternion (4,) that turns the x axis into a unit vector."""
    axis = np.cross([1.0, 0.0, 0.0], direction)
    size = float(np.linalg.norm(axis))
    axis = axis / size if size > 1e-12 else np.array([0.0, 0.0, 1.0])
    return quaternion_from_rotation(rotation_about(axis, float(np.arctan2(size, direction[0]))))


def _plain(value: Any) -> Any:
    number = float(value)
    return number if np.isfinite(number) else None


def _feet(log: xr.Dataset) -> Any:
    names = [str(name) for name in log["contact"].values]
    parts = {
        "gap": log["gap"].values,
        "slip_speed": log["slip_speed"].values,
        "state": log["state"].values,
    }
    force = log["force_contact"].values
    for k in range(log.sizes["time"]):
        yield {
            name: {key: _plain(value[k, i]) for key, value in parts.items()}
            | {"normal": _plain(force[k, i, 0]), "tangential": _plain(np.hypot(*force[k, i, 1:]))}
            for i, name in enumerate(names)
        }


def _trunk(log: xr.Dataset) -> Any:
    names = [str(name) for name in log["coordinate"].values[:7]]
    for row in log["q"].values[:, : len(names)]:
        yield dict(zip(names, map(_plain, row), strict=True))


def _solver(log: xr.Dataset) -> Any:
    values = {name: log[name].values for name in NUMBERS if name in log}
    for k in range(log.sizes["time"]):
        yield {name: _plain(value[k]) for name, value in values.items()}
