"""Floating bases that an MJCF file builds from slides with a ball or hinges, as one free joint.

Three slides and a ball or three hinges in series let a body move freely, as a <freejoint> does.
Files of MuJoCo's first years and generated files describe floating bases in this way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.model.files import import_library
from tarsus.model.mjcf_actuators import find_driven_joints
from tarsus.model.mjcf_equalities import JOINT
from tarsus.model.mjcf_tendons import WRAP_JOINT

WORLD = 0
BALL, SLIDE, HINGE = 1, 2, 3  # mjtJoint
JOINT_OBJECT = 3  # mjtObj
MIN_DETERMINANT = 1e-3  # of three unit axes: below it they do not span space


def find_base_joints(model: Any) -> list[int]:
    """Find the joints that together act as a free joint of a body in the world.

    Joints with a limit, a spring, damping, dry friction, armature, an actuator, a sensor or a
    coupling are not merged: without them the robot would move differently.

    Returns
    -------
    list of int
        Numbers of the joints of the first such body; empty if there is none.
    """
    for body in range(1, model.nbody):
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        joints = list(range(first, first + count))
        if model.body_parentid[body] == WORLD and _moves_freely(model, joints):
            return joints if not any(_has_effect(model, j) for j in joints) else []
    return []


def merge_base_joints(spec: Any, model: Any, joints: list[int]) -> None:
    """Replace joints of the base by a free joint. Keyframes keep the pose of every body.

    Parameters
    ----------
    spec
        Specification of the model, which is changed.
    model
        Compiled model.
    joints
        Result of `find_base_joints`.
    """
    mujoco = import_library("mujoco", "reading MJCF")
    number = int(model.jnt_bodyid[joints[0]])
    start = int(model.jnt_qposadr[joints[0]])
    stop = start + sum(4 if model.jnt_type[j] == BALL else 1 for j in joints)

    # poses in keyframes
    keyframes = []
    data = mujoco.MjData(model)
    for key in range(model.nkey):
        data.qpos[:] = model.key_qpos[key]
        mujoco.mj_kinematics(model, data)
        pose = [*data.xpos[number], *data.xquat[number]]
        keyframes.append([*data.qpos[:start], *pose, *data.qpos[stop:]])

    # the joint
    body = list(spec.bodies)[number]
    for joint in list(body.joints):
        spec.delete(joint)
    body.add_freejoint()
    for key, q in zip(spec.keys, keyframes, strict=True):
        key.qpos = q


def _moves_freely(model: Any, joints: list[int]) -> bool:
    """Return whether the joints in series are three slides with a ball or three hinges."""
    kinds = [int(model.jnt_type[j]) for j in joints]
    if sorted(kinds) not in ([BALL, *[SLIDE] * 3], [*[SLIDE] * 3, *[HINGE] * 3]):
        return False
    axes = [
        [model.jnt_axis[j] for j, kind in zip(joints, kinds, strict=True) if kind == wanted]
        for wanted in (SLIDE, HINGE)
    ]
    return all(abs(np.linalg.det(three)) > MIN_DETERMINANT for three in axes if three)


def _has_effect(model: Any, joint: int) -> bool:
    """Return whether a joint does more than let its body move."""
    dofs = np.flatnonzero(np.array(model.dof_jntid) == joint)
    resists = model.jnt_limited[joint] or model.jnt_stiffness[joint]
    for field in ("damping", "frictionloss", "armature"):
        resists = resists or np.any(getattr(model, f"dof_{field}")[dofs])
    coupled = [
        int(end)
        for ends in (model.eq_obj1id, model.eq_obj2id)
        for end in np.array(ends)[np.array(model.eq_type) == JOINT]
    ]
    wrapped = np.array(model.wrap_objid)[np.array(model.wrap_type) == WRAP_JOINT].tolist()
    sensed = np.array(model.sensor_objid)[np.array(model.sensor_objtype) == JOINT_OBJECT].tolist()
    return bool(resists) or joint in (*find_driven_joints(model), *coupled, *wrapped, *sensed)
