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
CONNECT, WELD, JOINT, TENDON = range(4)  # mjtEq
SITE = 6  # mjtObj
WRAP_JOINT = 1  # mjtWrap
NO_JOINT = NO_TENDON = -1


def is_simulated(model: Any, number: int) -> bool:
    """Return whether an equality constraint closes a loop or couples joints."""
    return number in _active(model, CONNECT, WELD) or number in _coupled(model)


def coupling_tendons(model: Any) -> set[int]:
    """Find the tendons of the `tendon` equalities that couple joints."""
    numbers = [n for n in _coupled(model) if model.eq_type[n] == TENDON]
    return {int(ends[n]) for ends in (model.eq_obj1id, model.eq_obj2id) for n in numbers}


def loop_joints(
    model: Any, welded: Welded, owner: list[int], anchors: list[Array]
) -> tuple[LoopJoint, ...]:
    """Create a ball joint for every active `connect`, and a fixed joint for every `weld`.

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
    """Create the couplings of all `joint` and `tendon` equalities, given all joint names."""
    result = []
    for number, (*ends, displacement) in _coupled(model).items():
        y0, x0 = (0.0 if j == NO_JOINT else float(model.qpos0[model.jnt_qposadr[j]]) for j in ends)
        polynomial = displacement(Polynomial([-x0, 1.0])) + y0
        coefficients = (
            tuple(polynomial.coef) if isinstance(polynomial, Polynomial) else (float(polynomial),)
        )
        leader = "" if ends[1] == NO_JOINT else joints[ends[1]]
        kind = "joint" if model.eq_type[number] == JOINT else "tendon"
        name = model.equality(number).name or f"{kind}_{number}"
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
        "'joint' or 'tendon' equality couples two joints": [c.name for c in coupled],
    }
    for meaning, names in meanings.items():
        if names:
            report.note(f"Each active {meaning}, without compliance: {', '.join(names)}.")


def _coupled(model: Any) -> dict[int, tuple[int, int, Polynomial]]:
    """Create the couplings of joints, by the number of the equality.

    A coupling is the joint that follows, its leader (or NO_JOINT), and the polynomial p with
    y - y_0 = p(x - x_0). MuJoCo measures both coordinates from `qpos0`. A tendon equality whose
    joint already follows another one, or would follow itself, is not among them.
    """
    result: dict[int, tuple[int, int, Polynomial]] = {}
    for number in _active(model, JOINT):
        ends = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
        result[number] = (*ends, Polynomial(model.eq_data[number, :5]))
    leaders = {follower: leader for follower, leader, _ in result.values()}
    for number in _active(model, TENDON):
        coupling = _tendon_coupling(model, number)
        if coupling is None or coupling[0] in leaders:
            continue
        chain = [coupling[1]]
        while chain[-1] in leaders and chain.count(chain[-1]) == 1:
            chain.append(leaders[chain[-1]])
        if coupling[0] not in chain:
            result[number], leaders[coupling[0]] = coupling, coupling[1]
    return result


def _tendon_coupling(model: Any, number: int) -> tuple[int, int, Polynomial] | None:
    """Create the coupling of a `tendon` equality; None if it does not couple two joints.

    The length of a fixed tendon is a linear combination of joint coordinates. The equality is
    l_1 - l_10 = polycoef(l_2 - l_20): of tendons with one joint each, or of one tendon alone.
    """
    first, second = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    polynomial = Polynomial(model.eq_data[number, :5])
    terms = _joint_terms(model, first)
    if terms is None or not terms[0][1]:
        return None
    if second == NO_TENDON:
        (joint, a), *others = terms
        if len(others) > 1:
            return None
        leader, b = others[0] if others else (NO_JOINT, 0.0)
        return joint, leader, Polynomial([polynomial.coef[0] / a, -b / a])
    other_terms = _joint_terms(model, second)
    if other_terms is None or len(terms) + len(other_terms) > 2:
        return None
    ((joint, a),), ((leader, b),) = terms, other_terms
    coupling = polynomial(Polynomial([0.0, b])) / a
    return joint, leader, coupling if isinstance(coupling, Polynomial) else Polynomial([coupling])


def _joint_terms(model: Any, tendon: int) -> list[tuple[int, float]] | None:
    """Read the joints of a fixed tendon with their coefficients; None for a spatial tendon."""
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    wraps = range(start, start + count)
    if any(model.wrap_type[k] != WRAP_JOINT for k in wraps):
        return None
    return [(int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in wraps]


def _active(model: Any, *kinds: int) -> list[int]:
    """Find the numbers of the active equality constraints of these types."""
    return [n for n in range(model.neq) if model.eq_type[n] in kinds and model.eq_active0[n]]


def _end(model: Any, number: int, end: int) -> tuple[int, Pose]:
    """Find the MuJoCo body at one end (0, 1), and the pose in it that meets the other end's."""
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
    """Find the mechanism's body that carries a pose of a MuJoCo body, and the pose in it."""
    if body == 0:
        return WORLD, pose
    host, in_host = welded.part_poses[owner[body]]
    return host, in_host @ shift(-anchors[body]) @ pose
