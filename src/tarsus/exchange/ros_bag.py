"""A ROS 2 bag as the arrays of `tarsus judge` (docs/judge.md)."""

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
from tarsus.model.files import needed_library

Array = NDArray[np.float64]
JOINTS, BASE = "sensor_msgs/msg/JointState", "nav_msgs/msg/Odometry"
FORCE = "geometry_msgs/msg/WrenchStamped"
FIXED_FRAMES = ("", "world", "map", "odom")
APART = 0.5  # of a step: how far stamps of one instant may lie apart
SUFFIXES = (".db3", ".mcap")


def is_bag(path: Path) -> bool:
    """Whether a path looks like a ROS 2 bag: its folder, or a file of one."""
    return is_file(path / "metadata.yaml") or path.suffix in SUFFIXES


def read_bag(path: Path, robot: Robot) -> dict[str, Any]:
    """Arrays from the bag's JointState, Odometry and WrenchStamped messages.

    The first topic with JointStates is the clock. Of a floating base the first Odometry topic has
    pose, and velocities in the base's axes. A WrenchStamped topic whose last name is that of a
    contact candidate holds the ground's force on the robot there, in the axes of its frame_id: the
    world's, or a frame's of the robot.
    """
    messages = _messages(path)
    # joints, which give the clock
    joints = _only(messages, JOINTS, path)
    began = joints[0][0] if joints else 0
    time = 1e-9 * np.array([stamp - began for stamp, _ in joints], float)
    if len(time) < 2:
        raise InvalidFile(
            f"{path.name} has {len(time)} JointState messages; a run needs at least two.", path
        )
    dt = float(np.median(np.diff(time)))
    q, u = np.tile(robot.neutral(), (len(time), 1)), np.zeros((len(time), robot.nu))
    force, known = np.zeros((len(time), robot.nu)), set[str]()
    singles = zip(robot.bodies, robot.q_slices, robot.u_slices, strict=True)
    places = {b.joint.name: (at.start, to.start) for b, at, to in singles if b.joint.nq == 1}
    for k, (_, message) in enumerate(joints):
        if len(message.velocity) != len(message.name):
            raise InvalidFile(
                f"{path.name}: the JointState messages need a velocity for every joint.", "velocity"
            )
        for i, name in enumerate(message.name):
            if name not in places:
                continue
            at, to = places[name]
            q[k, at], u[k, to] = message.position[i], message.velocity[i]
            if len(message.effort) == len(message.name):
                force[k, to] = message.effort[i]
            known.add(name)
    if missing := sorted(set(places) - known):
        raise InvalidFile(
            f"{path.name}: the JointState messages lack these joints of {robot.name}:"
            f" {join_names(missing, 3)}.",
            missing[0],
        )
    # the base, then the forces
    if robot.floating:
        base = _at((time, dt, began), _only(messages, BASE, path), BASE)
        for k, message in enumerate(base):
            _place(message, q[k], u[k])
    found = {"time": time, "qpos": q, "qvel": u}
    if all(len(message.effort) for _, message in joints):
        found["qfrc_actuator"] = force
    return found | {"contact_force": _forces(messages, robot, (time, dt, began), q)}


def _messages(path: Path) -> dict[tuple[str, str], list[tuple[int, Any]]]:
    """By topic and type the messages with their stamps, ns."""
    # a bag is its folder
    reader = needed_library("rosbags.highlevel", "a ROS 2 bag", "exchange").AnyReader
    types = needed_library("rosbags.typesys", "a ROS 2 bag", "exchange")
    store = types.get_typestore(types.Stores.ROS2_HUMBLE)
    inside = not os.path.isdir(path) and is_file(path.parent / "metadata.yaml")
    folder = path.parent if inside else path
    found: dict[tuple[str, str], list[tuple[int, Any]]] = {}
    try:
        with reader([folder], default_typestore=store) as bag:
            wanted = [c for c in bag.connections if c.msgtype in (JOINTS, BASE, FORCE)]
            for connection, _, raw in bag.messages(wanted):
                message = bag.deserialize(raw, connection.msgtype)
                stamp = message.header.stamp
                own = found.setdefault((connection.topic, connection.msgtype), [])
                own.append((10**9 * stamp.sec + stamp.nanosec, message))
    except TarsusError:
        raise
    except Exception as error:  # readers let whatever a damaged file provokes through
        raise InvalidFile(f"{path} cannot be read as a ROS 2 bag: {error}.", path) from None
    return found


def _only(messages: Any, kind: str, path: Path) -> list[tuple[int, Any]]:
    """The messages of the first topic of a type."""
    topics = sorted(topic for topic, of in messages if of == kind)
    if not topics:
        raise InvalidFile(f"{path.name} has no topic of type {kind}.", kind)
    return messages[topics[0], kind]


def _at(
    clock: tuple[Array, float, int], messages: Sequence[tuple[int, Any]], what: str
) -> list[Any]:
    """The message of every instant of a clock (times, step, ns of its zero); TarsusError where none
    has its stamp.
    """
    time, dt, began = clock
    stamps = 1e-9 * np.array([stamp - began for stamp, _ in messages], float)
    nearest = _nearest(stamps, time)
    late = np.abs(stamps[nearest] - time)
    if late.max() > APART * dt:
        worst = float(time[late.argmax()])
        raise InvalidFile(
            f"the bag has no {what} with the time stamp of the joints at t = {worst:.4g} s.", what
        )
    return [messages[k][1] for k in nearest]


def _nearest(stamps: Array, time: Array) -> NDArray[np.int64]:
    if len(stamps) == 1:
        return np.zeros(len(time), int)
    order = np.argsort(stamps, kind="stable")
    after = np.clip(np.searchsorted(stamps[order], time), 1, len(stamps) - 1)
    before = time - stamps[order][after - 1] < stamps[order][after] - time
    return order[after - before]


def _place(message: Any, q: Array, u: Array) -> None:
    """Pose and twist of the base into q and u: the twist comes in the base's axes."""
    p, o = message.pose.pose.position, message.pose.pose.orientation
    v, w = message.twist.twist.linear, message.twist.twist.angular
    turned = np.array([o.w, o.x, o.y, o.z])
    q[:3], q[3:7] = (p.x, p.y, p.z), turned
    u[:3], u[3:6] = _rotated(turned, np.array([v.x, v.y, v.z])), (w.x, w.y, w.z)


def _rotated(p: Array, v: Array) -> Array:
    """A vector turned by a unit quaternion (w, x, y, z)."""
    cross = 2 * np.cross(p[1:], v)
    return v + p[0] * cross + np.cross(p[1:], cross)


def _forces(messages: Any, robot: Robot, clock: tuple[Array, float, int], q: Array) -> Array:
    """Forces (T, n, 3), world, of the robot's candidates; zero of those without a topic."""
    time = clock[0]
    names = [candidate.name for candidate in robot.candidates]
    found, told = np.zeros((len(time), len(names), 3)), 0
    for (topic, kind), own in messages.items():
        name = topic.rpartition("/")[2]
        if kind != FORCE or name not in names:
            continue
        told += 1
        for k, message in enumerate(_at(clock, own, f"force of {name}")):
            f, frame = message.wrench.force, message.header.frame_id
            force = np.array([f.x, f.y, f.z])
            turned = frame not in FIXED_FRAMES
            found[k, names.index(name)] = robot.rotation(q[k], frame) @ force if turned else force
    if not told:
        raise InvalidFile(
            f"the bag has no contact forces: publish {FORCE} on topics that end with the name of a"
            f" contact candidate, such as {names[0] if names else 'FL_foot'}.",
            FORCE,
        )
    return found
