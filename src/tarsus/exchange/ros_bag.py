"""Read a ROS 2 bag: the arrays of `tarsus judge`, or the log of a robot's servos."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, TarsusError, join_names
from tarsus.files import is_file
from tarsus.model.files import import_library

Array = NDArray[np.float64]
JOINTS, BASE = "sensor_msgs/msg/JointState", "nav_msgs/msg/Odometry"
FORCE = "geometry_msgs/msg/WrenchStamped"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
MEASURED_TOPIC = "joint_states"  # last name of the topic with measured angles
FIXED_FRAMES = ("", "world", "map", "odom")
STAMP_TOLERANCE = 0.5  # difference between time stamps of one instant, in steps
SUFFIXES = (".db3", ".mcap")
Clock = tuple[Array, float, int]  # times (T,) in s, time step in s, and start in ns


def is_bag(path: Path) -> bool:
    """Return whether a path looks like a ROS 2 bag: its folder, or a file of one."""
    return is_file(path / "metadata.yaml") or path.suffix in SUFFIXES


def read_bag(path: Path, robot: Robot) -> dict[str, Any]:
    """Read the run in a bag's JointState, Odometry and WrenchStamped messages.

    The stamps of the first topic with JointStates are the times. For a floating base, the first
    Odometry topic has the pose, and velocities in the base's axes. A WrenchStamped topic whose last
    name is that of a contact candidate has the force of the ground on the robot, in the axes of its
    frame_id: the world, or a frame of the robot.

    Parameters
    ----------
    path
        Folder of the bag, or a file in it.
    robot
        Robot of the run.

    Returns
    -------
    dict
        Arrays ``time`` (T,), ``qpos`` (T, nq), ``qvel`` (T, nu), ``contact_force`` (T, contacts, 3)
        in N, world frame, and ``qfrc_actuator`` (T, nu) if the bag has efforts.

    Raises
    ------
    InvalidFile
        If the bag cannot be read, or lacks messages that a run needs.
    """
    messages = _read_messages(path, (JOINTS, BASE, FORCE))
    # joints, which define the times
    joints = _find_first_topic(messages, JOINTS, path)
    start = joints[0][0] if joints else 0
    time = 1e-9 * np.array([stamp - start for stamp, _ in joints], float)
    if len(time) < 2:
        raise InvalidFile(
            f"{path.name} has {len(time)} JointState messages; a run needs at least two.", path
        )
    dt = float(np.median(np.diff(time)))
    q, u = np.tile(robot.neutral(), (len(time), 1)), np.zeros((len(time), robot.nu))
    force, known = np.zeros((len(time), robot.nu)), set[str]()
    slices = zip(robot.bodies, robot.q_slices, robot.u_slices, strict=True)
    columns = {body.joint.name: (i.start, j.start) for body, i, j in slices if body.joint.nq == 1}
    for k, (_, message) in enumerate(joints):
        if len(message.velocity) != len(message.name):
            raise InvalidFile(
                f"{path.name}: the JointState messages need a velocity for every joint.", "velocity"
            )
        for m, name in enumerate(message.name):
            if name not in columns:
                continue
            i, j = columns[name]
            q[k, i], u[k, j] = message.position[m], message.velocity[m]
            if len(message.effort) == len(message.name):
                force[k, j] = message.effort[m]
            known.add(name)
    if missing := sorted(set(columns) - known):
        raise InvalidFile(
            f"{path.name}: the JointState messages lack these joints of {robot.name}:"
            f" {join_names(missing, 3)}.",
            missing[0],
        )
    # base, then forces
    clock = time, dt, start
    if robot.floating:
        base = _find_at_times(clock, _find_first_topic(messages, BASE, path), BASE)
        for k, message in enumerate(base):
            _set_base(message, q[k], u[k])
    arrays = {"time": time, "qpos": q, "qvel": u}
    if all(len(message.effort) for _, message in joints):
        arrays["qfrc_actuator"] = force
    return arrays | {"contact_force": _read_forces(messages, robot, clock, q)}


def read_servo_bag(path: Path) -> dict[str, Any]:
    """Read measured angles and targets of servos.

    The angles are the positions of the JointState topic whose last name is joint_states. The
    targets are those of the other topic: the positions of its JointStates, or of the first point of
    its JointTrajectories. A target holds until the next one. Times are the messages' stamps, or the
    times at which the bag received them if a message has no stamp.

    Parameters
    ----------
    path
        Folder of the bag, or a file in it.

    Returns
    -------
    dict
        Arrays ``time`` (T,) in s, ``q`` and ``q_desired`` (T, n) in rad or m, and ``joint_names``,
        those of the joints that both topics have.

    Raises
    ------
    InvalidFile
        If the bag cannot be read, or its topics are not these two.
    """
    messages = _read_messages(path, (JOINTS, TRAJECTORY))
    if any(not stamp for topic in messages.values() for stamp, _ in topic):
        messages = _read_messages(path, (JOINTS, TRAJECTORY), received=True)
    measured = [key for key in messages if key[0].rpartition("/")[2] == MEASURED_TOPIC]
    targets = [key for key in messages if key not in measured]
    if len(measured) != 1 or len(targets) != 1:
        listed = join_names(sorted(topic for topic, _ in messages), 6) or "none"
        raise InvalidFile(
            f"{path.name} must have a topic {MEASURED_TOPIC} with measured angles, and one other"
            f" topic of type {JOINTS} or {TRAJECTORY} with targets; its topics of these types:"
            f" {listed}.",
            MEASURED_TOPIC,
        )
    angles = [(stamp, _positions(m)) for stamp, m in _sort_by_time(messages[measured[0]])]
    goals = [(stamp, _positions(m)) for stamp, m in _sort_by_time(messages[targets[0]])]
    names = [name for name in angles[0][1] if name in goals[0][1]]
    for topic, samples in ((measured[0][0], angles), (targets[0][0], goals)):
        for _, sample in samples:
            if missing := [name for name in names if name not in sample]:
                raise InvalidFile(f"{path.name}: a message of {topic} lacks {missing[0]}.", topic)
    # the last target before each measurement
    stamps = np.array([stamp for stamp, _ in goals])
    angles = [(stamp, sample) for stamp, sample in angles if stamp >= stamps[0]]
    latest = [int(np.searchsorted(stamps, stamp, side="right")) - 1 for stamp, _ in angles]
    if not (angles and names):
        raise InvalidFile(f"{path.name} has no measured angle of a joint with a target.", path)
    return {
        "time": 1e-9 * np.array([stamp - angles[0][0] for stamp, _ in angles], float),
        "q": np.array([[sample[name] for name in names] for _, sample in angles]),
        "q_desired": np.array([[goals[k][1][name] for name in names] for k in latest]),
        "joint_names": np.array(names),
    }


def _sort_by_time(messages: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Sort messages by their stamps."""
    return sorted(messages, key=lambda item: item[0])


def _positions(message: Any) -> dict[str, float]:
    """Return the positions of a JointState, or of a trajectory's first point, by joint."""
    if hasattr(message, "points"):
        names, values = message.joint_names, message.points[0].positions if message.points else ()
    else:
        names, values = message.name, message.position
    return dict(zip(names, map(float, values), strict=False))


def _read_messages(
    path: Path, kinds: Sequence[str], received: bool = False
) -> dict[tuple[str, str], list[tuple[int, Any]]]:
    """Read the messages of some types with their stamps in ns, by topic and type.

    With `received`, the stamps are the times at which the bag received the messages.
    """
    reader = import_library("rosbags.highlevel", "a ROS 2 bag", "exchange").AnyReader
    types = import_library("rosbags.typesys", "a ROS 2 bag", "exchange")
    store = types.get_typestore(types.Stores.ROS2_HUMBLE)
    inside = not os.path.isdir(path) and is_file(path.parent / "metadata.yaml")
    folder = path.parent if inside else path
    messages: dict[tuple[str, str], list[tuple[int, Any]]] = {}
    try:
        with reader([folder], default_typestore=store) as bag:
            wanted = [c for c in bag.connections if c.msgtype in kinds]
            for connection, time, raw in bag.messages(wanted):
                message = bag.deserialize(raw, connection.msgtype)
                stamp = message.header.stamp
                topic = messages.setdefault((connection.topic, connection.msgtype), [])
                topic.append((time if received else 10**9 * stamp.sec + stamp.nanosec, message))
    except TarsusError:
        raise
    except Exception as error:  # a damaged file can raise an exception of any kind
        raise InvalidFile(f"{path} cannot be read as a ROS 2 bag: {error}.", path) from None
    return messages


def _find_first_topic(messages: Any, kind: str, path: Path) -> list[tuple[int, Any]]:
    """Find the messages of the first topic of a type; raise InvalidFile if there is none."""
    topics = sorted(topic for topic, message_type in messages if message_type == kind)
    if not topics:
        raise InvalidFile(f"{path.name} has no topic of type {kind}.", kind)
    return messages[topics[0], kind]


def _find_at_times(clock: Clock, messages: Sequence[tuple[int, Any]], name: str) -> list[Any]:
    """Find the message at every time of a clock; raise InvalidFile if one is missing."""
    time, dt, start = clock
    stamps = 1e-9 * np.array([stamp - start for stamp, _ in messages], float)
    closest = _find_closest(stamps, time)
    difference = np.abs(stamps[closest] - time)
    if difference.max() > STAMP_TOLERANCE * dt:
        worst = float(time[difference.argmax()])
        raise InvalidFile(
            f"the bag has no {name} with the time stamp of the joints at t = {worst:.4g} s.", name
        )
    return [messages[k][1] for k in closest]


def _find_closest(stamps: Array, time: Array) -> NDArray[np.int64]:
    """Find the index of the closest stamp for every time."""
    if len(stamps) == 1:
        return np.zeros(len(time), int)
    order = np.argsort(stamps, kind="stable")
    after = np.clip(np.searchsorted(stamps[order], time), 1, len(stamps) - 1)
    before = time - stamps[order][after - 1] < stamps[order][after] - time
    return order[after - before]


def _set_base(message: Any, q: Array, u: Array) -> None:
    """Write the pose and twist of the base into q and u; the twist is in the base's axes."""
    p, o = message.pose.pose.position, message.pose.pose.orientation
    v, w = message.twist.twist.linear, message.twist.twist.angular
    quaternion = np.array([o.w, o.x, o.y, o.z])
    q[:3], q[3:7] = (p.x, p.y, p.z), quaternion
    u[:3], u[3:6] = _rotate(quaternion, np.array([v.x, v.y, v.z])), (w.x, w.y, w.z)


def _rotate(p: Array, v: Array) -> Array:
    """Rotate a vector by a unit quaternion (w, x, y, z)."""
    cross = 2 * np.cross(p[1:], v)
    return v + p[0] * cross + np.cross(p[1:], cross)


def _read_forces(messages: Any, robot: Robot, clock: Clock, q: Array) -> Array:
    """Read the forces (T, n, 3) on the contact candidates; zero for those without a topic."""
    time = clock[0]
    names = [candidate.name for candidate in robot.candidates]
    forces, topic_count = np.zeros((len(time), len(names), 3)), 0
    for (topic, kind), topic_messages in messages.items():
        name = topic.rpartition("/")[2]
        if kind != FORCE or name not in names:
            continue
        topic_count += 1
        for k, message in enumerate(_find_at_times(clock, topic_messages, f"force of {name}")):
            f, frame = message.wrench.force, message.header.frame_id
            force = np.array([f.x, f.y, f.z])
            if frame not in FIXED_FRAMES:
                force = robot.rotation(q[k], frame) @ force
            forces[k, names.index(name)] = force
    if not topic_count:
        raise InvalidFile(
            f"the bag has no contact forces: publish {FORCE} on topics that end with the name of a"
            f" contact candidate, such as {names[0] if names else 'FL_foot'}.",
            FORCE,
        )
    return forces
