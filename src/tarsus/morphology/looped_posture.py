"""Find a standing posture of a robot with closed loops, by nonlinear least squares.

Joint angles are as close to zero, and springs as close to rest, as possible with closed loops,
level soles, and the center of mass above them. The unknowns are the coordinates of all hinges and
slides within their ranges. SciPy's trust-region reflective method solves the problem (Branch et al.
1999).
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import jacobian, loop_constraints, tree
from tarsus.dynamics.jacobian import joint_axis
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.loop_closure import close_loops
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.morphology.drawn import nearest_drawn
from tarsus.morphology.feet import candidates_of_last_bodies, find_soles
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
GAP_WEIGHT, LEVEL_WEIGHT = 1e3, 1e2  # of gaps, and of level soles and balance
BEND_WEIGHT, OTHER_WEIGHT = 0.1, 1.0  # of angles that bend a leg, and of other joints
BEND_COSINE = 0.9  # |cos| of the angle to y, from which on an axis bends a leg
MIN_EXTENT = 0.5  # of a sole's longest extent; shorter ones need not be level
TOLERANCE = 1e-3  # m or rad, on the constraints
MARGIN = 1e-3  # of a joint's range, at either end
PENALTIES = (1e-3, 1e-2, 0.1, 1.0)  # factors on the constraints, one after the other
MAX_EVALUATIONS = 200


def find_standing_posture(robot: Robot) -> Array | None:
    """Find standing coordinates (nq,) with closed loops, or return None.

    A robot with a fixed base need not stand. A robot without feet has no posture.
    """
    from scipy.optimize import least_squares  # most of a second to import

    # the unknowns, their start and their ranges
    single = [i for i, body in enumerate(robot.bodies) if body.joint.kind in ("hinge", "slide")]
    indices = [robot.q_slices[i].start for i in single]
    joints = [robot.bodies[i].joint for i in single]
    start = nearest_drawn(robot)
    if not indices or (robot.mobile and not find_soles(robot)):
        return None
    margins = [MARGIN * min(joint.upper - joint.lower, 1.0) for joint in joints]
    low = np.array([joint.lower + m for joint, m in zip(joints, margins, strict=True)])
    high = np.array([joint.upper - m for joint, m in zip(joints, margins, strict=True)])
    # constraints, and the residuals to minimize
    x = SX.sym("x", len(indices))
    q = SX(start)
    q[indices] = x
    kin = kinematics(robot, q)
    on_feet = _compute_sole_residuals(robot, kin) if robot.mobile else SX(0, 1)
    constraints = ca.vertcat(GAP_WEIGHT * loop_constraints.gaps(kin), LEVEL_WEIGHT * on_feet)
    weight = robot.mass * float(np.linalg.norm(robot.gravity_acceleration))
    spring = np.array([np.sqrt(joint.stiffness / max(weight, 1e-9)) for joint in joints])
    rest = np.array([joint.rest for joint in joints])
    zero = kinematics(robot, SX(robot.neutral()))
    bends = [
        joint.kind == "hinge" and abs(joint_axis(zero, i)[1]) > BEND_COSINE
        for i, joint in zip(single, joints, strict=True)
    ]
    mimic = {coupling.joint for coupling in robot.couplings}
    weights = np.where(bends, BEND_WEIGHT, OTHER_WEIGHT)
    weights = weights * [joint.name not in mimic for joint in joints]
    costs = ca.vertcat(weights * (x - start[indices]), spring * (x - rest))
    penalty = SX.sym("penalty")
    residuals = ca.vertcat(penalty * constraints, costs)
    outputs = [residuals, ca.jacobian(residuals, x), constraints]
    evaluate = ca.Function("posture", [x, penalty], outputs)
    # solve with increasing penalties
    best = np.clip(start[indices], low, high)
    for factor in PENALTIES:
        best = least_squares(
            lambda value, factor=factor: np.array(evaluate(value, factor)[0]).ravel(),
            best,
            jac=lambda value, factor=factor: np.array(evaluate(value, factor)[1]),  # type: ignore[arg-type]
            bounds=(low, high),
            max_nfev=MAX_EVALUATIONS,
        ).x
    if np.abs(np.array(evaluate(best, 1.0)[2])).max() > LEVEL_WEIGHT * TOLERANCE:
        return None
    standing = start.copy()
    standing[indices] = best
    try:
        return close_loops(robot, standing)
    except TarsusError:
        return None


def _compute_sole_residuals(robot: Robot, kin: Kinematics) -> SX:
    """Compute the tilt and height differences of soles, and the offset of the center of mass, m."""
    middles: list[SX] = []
    residuals: list[SX] = []
    touching = candidates_of_last_bodies(robot)
    for body in find_soles(robot):
        points = np.array([robot.candidates[k].position for k in touching[body]])
        middles.append(jacobian.position(kin, body, constant(points.mean(0))))
        _, size, axes = np.linalg.svd(points - points.mean(0), full_matrices=False)
        for length, axis in zip(size, axes, strict=True):
            if length > max(MIN_EXTENT * size[0], TOLERANCE):
                residuals.append(ca.mtimes(kin.world_rotation[body], constant(axis))[2])
    middle = sum(middles[1:], middles[0]) / len(middles)
    residuals += [point[2] - middle[2] for point in middles]
    robot_bodies = [i for i in range(len(robot.bodies)) if i not in tree.object_bodies(robot)]
    mass = sum(robot.bodies[i].inertia.mass for i in robot_bodies)
    center = SX.zeros(3)
    for i in robot_bodies:
        inertia = robot.bodies[i].inertia
        center += inertia.mass / mass * jacobian.position(kin, i, constant(inertia.com))
    return ca.vertcat(*residuals, (center - middle)[:2])
