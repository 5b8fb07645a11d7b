"""MuJoCo's equality constraints as closed loops and joint couplings, both without compliance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.mechanism import WORLD, Joint, LoopJoint
from tarsus.model.parts import Report, Welded
from tarsus.model.poses import Pose, rotation_from_quaternion, shift

Array = NDArray[np.float64]
CONNECT, WELD, JOINT = 0, 1, 2  # mjtEq
SITE = 6  # mjtObj
NO_JOINT = -1


def is_simulated(model: Any, number: int) -> bool:
    """Return whether an equality constraint closes a loop or couples joints."""
    return model.eq_type[number] in (CONNECT, WELD, JOINT) and bool(model.eq_active0[number])


def loop_joints(
    model: Any, welded: Welded, owner: list[int], anchors: list[Array]
) -> tuple[LoopJoint, ...]:
    """Return a ball joint for every active `connect` and a fixed joint for every active `weld`.

    Parameters
    ----------
    model
        Compiled MuJoCo model.
    welded
        Bodies of the mechanism.
    owner
        Number of the part that each MuJoCo body belongs to.
    anchors
        Position of each MuJoCo body's joint in the body's frame, in m.
    """
    loops = []
    for number in _active(model, CONNECT, WELD):
        ends = [_end(model, number, end) for end in (0, 1)]
        first, second = (_in_mechanism(welded, owner, anchors, *end) for end in ends)
        if second[0] == WORLD:
            first, second = second, first
        if second[0] == WORLD or first[0] == second[0]:
            continue
        weld = model.eq_type[number] == WELD
        name = model.equality(number).name or f"{'weld' if weld else 'connect'}_{number}"
        joint = Joint(name, "fixed" if weld else "ball")
        (parent, in_parent), (child, in_child) = first, second
        rotation = in_parent.rotation @ in_child.rotation.T if weld else np.eye(3)
        loops.append(
            LoopJoint(joint, parent, child, in_parent.position, rotation, in_child.position)
        )
    return tuple(loops)


def couplings(model: Any, joints: Sequence[str]) -> tuple[JointCoupling, ...]:
    """Return a coupling for every active `joint` equality; joints: names of all joints.

    MuJoCo measures both joints from `qpos0`: y - y_0 = polycoef(x - x_0).
    """
    result = []
    for number in _active(model, JOINT):
        ends = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
        y0, x0 = (0.0 if j == NO_JOINT else float(model.qpos0[model.jnt_qposadr[j]]) for j in ends)
        polynomial = Polynomial(model.eq_data[number, :5])(Polynomial([-x0, 1.0])) + y0
        coefficients = (
            tuple(polynomial.coef) if isinstance(polynomial, Polynomial) else (float(polynomial),)
        )
        leader = "" if ends[1] == NO_JOINT else joints[ends[1]]
        name = model.equality(number).name or f"joint_{number}"
        result.append(JointCoupling(name, joints[ends[0]], leader, coefficients))
    return tuple(result)


def report_constraints(
    loops: tuple[LoopJoint, ...], coupled: tuple[JointCoupling, ...], report: Report
) -> None:
    """Add a note on how equality constraints are simulated."""
    meanings = {
        "'connect' is a ball joint that closes a loop": [
            loop.joint.name for loop in loops if loop.joint.kind == "ball"
        ],
        "'weld' is a fixed joint that closes a loop": [
            loop.joint.name for loop in loops if loop.joint.kind == "fixed"
        ],
        "'joint' equality couples two joints": [coupling.name for coupling in coupled],
    }
    for meaning, names in meanings.items():
        if names:
            report.note(f"Each active {meaning}, without compliance: {', '.join(names)}.")


def _active(model: Any, *kinds: int) -> list[int]:
    """Return the numbers of the active equality constraints of these types."""
    return [n for n in range(model.neq) if model.eq_type[n] in kinds and model.eq_active0[n]]


def _end(model: Any, number: int, end: int) -> tuple[int, Pose]:
    """Return the MuJoCo body at one end (0, 1), and the pose in it that meets the other end's."""
    thing = int((model.eq_obj1id, model.eq_obj2id)[end][number])
    data = np.array(model.eq_data[number], dtype=float)
    if model.eq_objtype[number] == SITE:
        rotation = rotation_from_quaternion(model.site_quat[thing])
        return int(model.site_bodyid[thing]), Pose(np.array(model.site_pos[thing]), rotation)
    if model.eq_type[number] == CONNECT:
        return thing, Pose(data[3 * end : 3 * end + 3])
    # a weld stores its anchor in the second body, and the second body's pose in the first
    if end == 1:
        return thing, Pose(data[:3])
    return thing, Pose(data[3:6], rotation_from_quaternion(data[6:10]))


def _in_mechanism(
    welded: Welded, owner: list[int], anchors: list[Array], body: int, pose: Pose
) -> tuple[int, Pose]:
    """Return the mechanism's body that carries a pose of a MuJoCo body, and the pose in it."""
    if body == 0:
        return WORLD, pose
    host, in_host = welded.part_poses[owner[body]]
    return host, in_host @ shift(-anchors[body]) @ pose
