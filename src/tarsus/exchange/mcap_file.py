"""Export a log as an MCAP file for Foxglove: frames, joints, contact forces and signals."""

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
from tarsus.model.files import import_library
from tarsus.model.poses import quaternion_from_rotation, rotation_about
from tarsus.simulation.recording.foot_rows import combine_by_foot
from tarsus.simulation.recording.log_schema import check_log, check_robot

Array = NDArray[Any]
WORLD = "world"
WEIGHT_LENGTH = 0.3  # m, arrow length of a force equal to the robot's weight
ARROW_DIAMETER = 0.008  # m
COLOR = (0.84, 0.37, 0.0, 0.9)
NEEDED = (
    *("q", "u", "tau", "gap", "slip_speed", "state"),
    *("force_contact", "force_world", "contact_point"),
)
SOLVER_VARIABLES = (
    *("iterations", "converged", "kinetic_energy", "potential_energy", "equation_residual"),
)


def write_mcap(log: xr.Dataset, robot: Robot, to: Path) -> list[Path]:
    """Write an MCAP file of a log of one world, atomically.

    The topics are

    - ``/tf``: foxglove.FrameTransforms, with every body relative to ``world``;
    - ``/joint_states``: foxglove.JointStates;
    - ``/contacts``: foxglove.SceneUpdate, with an arrow for every contact force;
    - ``/feet``, ``/trunk``, ``/solver``: JSON.

    Parameters
    ----------
    log
        Log of one world.
    robot
        Robot of the log.
    to
        File to write.

    Returns
    -------
    list of Path
        Files that were written.

    Raises
    ------
    Unsupported
        If the log contains several worlds.
    """
    foxglove = import_library("foxglove", "MCAP", "exchange")
    if "world" in log.dims:
        raise Unsupported(
            "an MCAP file contains one world: select one, such as log.isel(world=0).", "world"
        )
    log = check_log(log, NEEDED)
    robot = check_robot(log, robot)
    q, u = (log[f"{x}_uncut" if f"{x}_uncut" in log else x].values for x in "qu")
    poses = _poses(robot, q)
    # write to memory first, because the library hides why a write failed, such as a full disk
    content, context = BytesIO(), foxglove.Context()
    writer = foxglove.open_mcap(content, context=context)
    channels = _Channels(foxglove, context)
    nanoseconds = np.rint(log["time"].values * 1e9).astype(np.int64)
    streams = (
        (channels.frames, _frames(foxglove.messages, poses, nanoseconds)),
        (channels.joints, _joints(foxglove.messages, log, robot, (q, u))),
        (channels.contacts, _arrows(foxglove.messages, log, robot)),
        (channels.feet, _feet(combine_by_foot(log))),
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
    """Channels of a file, one for each topic."""

    def __init__(self, foxglove: Any, context: Any) -> None:
        channels = import_library("foxglove.channels", "MCAP", "exchange")
        import_library("foxglove.messages", "MCAP", "exchange")
        self.frames = channels.FrameTransformsChannel("/tf", context=context)
        self.joints = channels.JointStatesChannel("/joint_states", context=context)
        self.contacts = channels.SceneUpdateChannel("/contacts", context=context)
        topics = ("/feet", "/trunk", "/solver")
        self.feet, self.trunk, self.solver = (
            foxglove.Channel(topic, message_encoding="json", context=context) for topic in topics
        )


def _poses(robot: Robot, q: Array) -> dict[str, tuple[Array, Array]]:
    """Compute positions (n, 3) and quaternions (n, 4) of every body."""
    poses = {}
    for name in robot.body_names:
        quaternions = np.array([quaternion_from_rotation(R) for R in robot.rotation(q, name)])
        poses[name] = robot.position(q, name), quaternions
    return poses


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
                    translation=_vector(messages, positions[k]),
                    rotation=_quaternion(messages, quaternions[k]),
                )
                for name, (positions, quaternions) in poses.items()
            ]
        )


def _joints(messages: Any, log: xr.Dataset, robot: Robot, state: tuple[Array, Array]) -> Any:
    q, u = state
    motors = {a.joint: k for k, a in enumerate(robot.actuators)}
    joints = [
        (body.joint.name, columns.start, rates.start)
        for body, columns, rates in zip(robot.bodies, robot.q_slices, robot.u_slices, strict=True)
        if body.joint.nq == 1
    ]
    tau, times = log["tau"].values, np.rint(log["time"].values * 1e9).astype(np.int64).tolist()
    for k, now in enumerate(times):
        yield messages.JointStates(
            timestamp=_stamp(messages, now),
            joints=[
                messages.JointState(
                    name=name,
                    position=float(q[k, i]),
                    velocity=float(u[k, j]),
                    effort=float(tau[k, motors[name]]) if name in motors else None,
                )
                for name, i, j in joints
            ],
        )


def _arrows(messages: Any, log: xr.Dataset, robot: Robot) -> Any:
    """Yield an arrow for every contact force, scaled by the robot's weight."""
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
                pose = messages.Pose(
                    position=_vector(messages, point[k, i]),
                    orientation=_quaternion(messages, _quaternion_to(force[k, i] / size)),
                )
                arrows.append(
                    messages.ArrowPrimitive(
                        pose=pose,
                        shaft_length=WEIGHT_LENGTH * size / weight,
                        shaft_diameter=ARROW_DIAMETER,
                        head_length=3 * ARROW_DIAMETER,
                        head_diameter=2 * ARROW_DIAMETER,
                        color=color,
                    )
                )
            entities.append(
                messages.SceneEntity(
                    timestamp=_stamp(messages, now), frame_id=WORLD, id=name, arrows=arrows
                )
            )
        yield messages.SceneUpdate(entities=entities)


def _quaternion_to(direction: Array) -> Array:
    """Compute the quaternion (4,) that rotates the x axis to a unit vector."""
    axis = np.cross([1.0, 0.0, 0.0], direction)
    size = float(np.linalg.norm(axis))
    axis = axis / size if size > 1e-12 else np.array([0.0, 0.0, 1.0])
    return quaternion_from_rotation(rotation_about(axis, float(np.arctan2(size, direction[0]))))


def _finite(value: Any) -> float | None:
    """Convert a number for JSON; None if it is not finite."""
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
            name: {key: _finite(value[k, i]) for key, value in parts.items()}
            | {
                "normal": _finite(force[k, i, 0]),
                "tangential": _finite(np.hypot(*force[k, i, 1:])),
            }
            for i, name in enumerate(names)
        }


def _trunk(log: xr.Dataset) -> Any:
    names = [str(name) for name in log["coordinate"].values[:7]]
    for row in log["q"].values[:, : len(names)]:
        yield dict(zip(names, map(_finite, row), strict=True))


def _solver(log: xr.Dataset) -> Any:
    values = {name: log[name].values for name in SOLVER_VARIABLES if name in log}
    for k in range(log.sizes["time"]):
        yield {name: _finite(value[k]) for name, value in values.items()}
