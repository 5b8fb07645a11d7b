"""MuJoCo's equality constraints as closed loops and joint couplings, both without compliance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.joint_coupling import JointCoupling, Leader, find_cycle
from tarsus.model.mechanism import WORLD, Joint, LoopJoint
from tarsus.model.mjcf_actuators import find_driven_joints
from tarsus.model.mjcf_tendons import name_tendons, read_joint_terms, reserve_name
from tarsus.model.parts import Report, WeldResult
from tarsus.model.poses import Pose, rotation_from_quaternion, shift

Array = NDArray[np.float64]
CONNECT, WELD, JOINT, TENDON = range(4)  # mjtEq
SITE = 6  # mjtObj
NO_JOINT = NO_TENDON = NO_EQUALITY = -1
MAX_RIGID_RANGE = 0.1  # rad or m: up to this range a fixed tendon couples joints rigidly
MAX_SILENT_PLAY = 0.01  # rad or m: a wider range that is ignored is worth a warning

Term = tuple[int, Polynomial]  # joint and its polynomial, whose constant is 0


@dataclass(frozen=True)
class _Coupling:
    """Coupling of MuJoCo's joints, in displacements from `qpos0`.

    Attributes
    ----------
    name
        Name of the equality or tendon.
    follower
        Joint that follows.
    constant
        Displacement of the follower with all leaders at `qpos0`.
    leaders
        Joints that it follows.
    equality
        Number of the equality, or NO_EQUALITY.
    tendons
        Numbers of the tendons.
    """

    name: str
    follower: int
    constant: float
    leaders: tuple[Term, ...] = ()
    equality: int = NO_EQUALITY
    tendons: tuple[int, ...] = ()


def find_simulated_equalities(model: Any) -> set[int]:
    """Find the equality constraints that close a loop or couple joints, by number."""
    coupled = {coupling.equality for coupling in _find_couplings(model)}
    return {*_find_active_equalities(model, CONNECT, WELD), *coupled} - {NO_EQUALITY}


def find_rigid_tendons(model: Any) -> set[int]:
    """Find the tendons whose short range couples joints."""
    by_range = (each for each in _find_couplings(model) if each.equality == NO_EQUALITY)
    return {tendon for coupling in by_range for tendon in coupling.tendons}


def create_loop_joints(
    model: Any, welded: WeldResult, owner: list[int], anchors: list[Array]
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
    loops, used = [], {*mujoco_joint_names(model), *name_tendons(model).values()}
    for number in _find_active_equalities(model, CONNECT, WELD):
        ends = [_read_end(model, number, end) for end in (0, 1)]
        first, second = (find_in_mechanism(welded, owner, anchors, *end) for end in ends)
        if second[0] == WORLD:
            first, second = second, first
        if second[0] == WORLD or first[0] == second[0]:
            continue
        weld = model.eq_type[number] == WELD
        kind = "weld" if weld else "connect"
        name = reserve_name(model.equality(number).name or f"{kind}_{number}", kind, used)
        joint = Joint(name, "fixed" if weld else "ball")
        (parent, in_parent), (child, in_child) = first, second
        rotation = in_parent.rotation @ in_child.rotation.T if weld else np.eye(3)
        loops.append(
            LoopJoint(joint, parent, child, in_parent.position, rotation, in_child.position)
        )
    return tuple(loops)


def create_couplings(model: Any, joints: Sequence[str]) -> tuple[JointCoupling, ...]:
    """Create the couplings of equalities and of tendons with a short range, given joint names."""
    result = []
    for coupling in _find_couplings(model):
        # MuJoCo measures coordinates from `qpos0`
        constant = coupling.constant + _reference(model, coupling.follower)
        leaders = []
        for joint, displacement in coupling.leaders:
            moved = displacement(Polynomial([-_reference(model, joint), 1.0]))
            first, *others = moved.coef
            constant += float(first)
            leaders.append(Leader(joints[joint], tuple(others)))
        follower = joints[coupling.follower]
        result.append(JointCoupling(coupling.name, follower, float(constant), tuple(leaders)))
    return tuple(result)


def report_constraints(
    model: Any, loops: tuple[LoopJoint, ...], coupled: tuple[JointCoupling, ...], report: Report
) -> None:
    """Add a note on how equality constraints are simulated, and warn of play that is ignored."""
    widths = np.array(model.tendon_range)
    with_play = [
        f"{model.tendon(t).name or f'tendon_{t}'} ({width:.3g})"
        for t in sorted(find_rigid_tendons(model))
        if (width := float(widths[t, 1] - widths[t, 0])) > MAX_SILENT_PLAY
    ]
    if with_play:
        report.warn(
            "fixed tendons couple joints rigidly, although their range in rad or m allows play:"
            f" {', '.join(with_play)}.",
            "tendon-play-ignored",
            with_play[0].partition(" ")[0],
        )
    meanings = {
        "'connect' is a ball joint that closes a loop": [
            loop.joint.name for loop in loops if loop.joint.kind == "ball"
        ],
        "'weld' is a fixed joint that closes a loop": [
            loop.joint.name for loop in loops if loop.joint.kind == "fixed"
        ],
        "'joint' or 'tendon' equality, or range of a fixed tendon up to"
        f" {MAX_RIGID_RANGE:g} rad or m, couples joints": [c.name for c in coupled],
    }
    for meaning, names in meanings.items():
        if names:
            report.note(f"Each active {meaning}, without compliance: {', '.join(names)}.")


def _find_couplings(model: Any) -> list[_Coupling]:
    """Find the couplings of joints by equalities and by tendons with a short range.

    A tendon is ignored if each of its joints already follows another joint, or would follow itself.
    """
    result = []
    for number in _find_active_equalities(model, JOINT):
        follower, leader = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
        polynomial = Polynomial(model.eq_data[number, :5])
        name = model.equality(number).name or f"joint_{number}"
        leaders = () if leader == NO_JOINT else ((leader, polynomial - polynomial.coef[0]),)
        result.append(_Coupling(name, follower, float(polynomial.coef[0]), leaders, number))
    leaders_of = {coupling.follower: [x for x, _ in coupling.leaders] for coupling in result}
    by_equality = [
        _solve_tendon_equality(model, number) for number in _find_active_equalities(model, TENDON)
    ]
    for candidates in (*by_equality, *_solve_short_ranges(model)):
        for coupling in candidates:
            joint, leaders = coupling.follower, [x for x, _ in coupling.leaders]
            if joint not in leaders_of and not find_cycle({**leaders_of, joint: leaders}, joint):
                result.append(coupling)
                leaders_of[joint] = leaders
                break
    return result


def _solve_tendon_equality(model: Any, number: int) -> list[_Coupling]:
    """Solve a `tendon` equality for each joint that can follow, the preferred one first.

    The length of a fixed tendon is a linear combination of joint coordinates. The equality is
    l_1 - l_10 = polycoef(l_2 - l_20). A polynomial above the first degree needs a second tendon
    with one joint.
    """
    tendons = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    polynomial = Polynomial(model.eq_data[number, :5]).trim()
    terms = read_joint_terms(model, tendons[0])
    others: list[Term] = []
    if tendons[1] != NO_TENDON:
        second = read_joint_terms(model, tendons[1])
        if second is None or (len(second) > 1 and polynomial.degree() > 1):
            return []
        change = polynomial - polynomial.coef[0]
        others = [(joint, change(Polynomial([0.0, b]))) for joint, b in second]
    name = model.equality(number).name or f"tendon_{number}"
    used = tuple(t for t in tendons if t != NO_TENDON)
    constant = float(polynomial.coef[0])
    return _solve_for_each(
        model, _Coupling(name, NO_JOINT, constant, (), number, used), terms, others
    )


def _solve_short_ranges(model: Any) -> list[list[_Coupling]]:
    """Couple the joints of each tendon with a short range, fixed at the middle of that range.

    The result has one list per tendon: the coupling, solved for each joint that can follow.
    """
    result = []
    for tendon in np.flatnonzero(np.array(model.tendon_limited)).tolist():
        lower, upper = (float(end) for end in model.tendon_range[tendon])
        terms = read_joint_terms(model, tendon)
        if terms is None or upper - lower > MAX_RIGID_RANGE:
            continue
        drawn = sum(a * _reference(model, joint) for joint, a in terms)
        name = model.tendon(tendon).name or f"tendon_{tendon}"
        middle = _Coupling(name, NO_JOINT, (lower + upper) / 2 - drawn, tendons=(tendon,))
        result.append(_solve_for_each(model, middle, terms, []))
    return result


def _solve_for_each(
    model: Any, equation: _Coupling, terms: Sequence[tuple[int, float]] | None, others: list[Term]
) -> list[_Coupling]:
    """Solve sum(a_i y_i) = constant + others for each joint y_i; those without motors come first.

    Parameters
    ----------
    equation
        Constant, name and numbers of the equation.
    terms
        Joints y_i and coefficients a_i; None for a spatial tendon.
    others
        Joints on the right-hand side, with their polynomials.
    """
    driven = find_driven_joints(model)
    solutions = []
    for joint, a in sorted(terms or (), key=lambda term: term[0] in driven):
        rest = [(other, Polynomial([0.0, -b])) for other, b in terms or () if other != joint]
        if a and joint not in {other for other, _ in others}:
            leaders = tuple((other, polynomial / a) for other, polynomial in (*rest, *others))
            constant = equation.constant / a
            solutions.append(replace(equation, follower=joint, constant=constant, leaders=leaders))
    return solutions


def _reference(model: Any, joint: int) -> float:
    """Read the coordinate of a joint in the pose in which the file draws the robot."""
    return float(model.qpos0[model.jnt_qposadr[joint]])


def _find_active_equalities(model: Any, *kinds: int) -> list[int]:
    """Find the numbers of the active equality constraints of these types."""
    return [n for n in range(model.neq) if model.eq_type[n] in kinds and model.eq_active0[n]]


def _read_end(model: Any, number: int, end: int) -> tuple[int, Pose]:
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


def find_in_mechanism(
    welded: WeldResult, owner: list[int], anchors: list[Array], body: int, pose: Pose
) -> tuple[int, Pose]:
    """Find the mechanism's body that carries a pose of a MuJoCo body, and the pose in it."""
    if body == 0:
        return WORLD, pose
    host, in_host = welded.part_poses[owner[body]]
    return host, in_host @ shift(-anchors[body]) @ pose
