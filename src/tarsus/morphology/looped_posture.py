"""A posture to stand in for a robot with closed loops: as near zero joint angles, and its springs
as near their rest, as soles that are level and below the center of mass allow.

A least-squares problem in the coordinates of all hinges and slides within their ranges, solved by
trust-region reflective steps (Branch et al. 1999, as SciPy has them).
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
from tarsus.morphology.feet import candidates_of_last_bodies, soles
from tarsus.morphology.posture import nearest_drawn
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
CLOSED, LEVEL = 1e3, 1e2  # weights of gaps, and of soles and balance
NEAR, ASIDE = 0.1, 1.0  # of angles from zero about y, and of other joints
ALONG = 0.9  # |cos| of the angle to y of axes that bend a leg
LONG = 0.5  # of a sole's longest extent: shorter ones need not be level
MET = 1e-3  # m or rad: a posture that misses more of what it must meet is none
MARGIN = 1e-3  # of a range, at either end
FIRMER = (1e-3, 1e-2, 0.1, 1.0)  # of these weights, one after the other
ROUNDS = 200


def stand(robot: Robot) -> Array | None:
    """Coordinates (nq,) with all loops closed, of a robot on a stand as near zero as they go; None
    if there are none, or a floating robot has no foot.
    """
    from scipy.optimize import least_squares  # most of a second to import

    # what moves, from where
    single = [i for i, body in enumerate(robot.bodies) if body.joint.kind in ("hinge", "slide")]
    at = [robot.q_slices[i].start for i in single]
    joints = [robot.bodies[i].joint for i in single]
    start = nearest_drawn(robot)
    if not at or (robot.floating and not soles(robot)):
        return None
    room = [MARGIN * min(joint.upper - joint.lower, 1.0) for joint in joints]
    low = np.array([joint.lower + free for joint, free in zip(joints, room, strict=True)])
    high = np.array([joint.upper - free for joint, free in zip(joints, room, strict=True)])
    # what must be zero, and what should
    x = SX.sym("x", len(at))
    q = SX(start)
    q[at] = x
    kin = kinematics(robot, q)
    on_feet = _stands(robot, kin) if robot.floating else SX(0, 1)
    must = ca.vertcat(CLOSED * loop_constraints.gaps(kin), LEVEL * on_feet)
    weight = robot.mass * float(np.linalg.norm(robot.gravity_acceleration))
    pull = np.array([np.sqrt(joint.stiffness / max(weight, 1e-9)) for joint in joints])
    rest = np.array([joint.rest for joint in joints])
    zero = kinematics(robot, SX(robot.neutral()))
    bends = [
        joint.kind == "hinge" and abs(joint_axis(zero, i)[1]) > ALONG
        for i, joint in zip(single, joints, strict=True)
    ]
    led = {coupling.joint for coupling in robot.couplings}
    near = np.where(bends, NEAR, ASIDE) * [joint.name not in led for joint in joints]
    should = ca.vertcat(near * (x - start[at]), pull * (x - rest))
    firmly = SX.sym("firmly")
    asked = ca.vertcat(firmly * must, should)
    residual = ca.Function("posture", [x, firmly], [asked, ca.jacobian(asked, x), must])
    # the best of both, what must be weighing more and more
    best = np.clip(start[at], low, high)
    for firm in FIRMER:
        best = least_squares(
            lambda value, firm=firm: np.array(residual(value, firm)[0]).ravel(),
            best,
            jac=lambda value, firm=firm: np.array(residual(value, firm)[1]),  # type: ignore[arg-type]
            bounds=(low, high),
            max_nfev=ROUNDS,
        ).x
    if np.abs(np.array(residual(best, 1.0)[2])).max() > LEVEL * MET:
        return None
    standing = start.copy()
    standing[at] = best
    try:
        return close_loops(robot, standing)
    except TarsusError:
        return None


def _stands(robot: Robot, kin: Kinematics) -> SX:
    """Of all soles what slants, and how far their heights differ; how far the center of mass is
    from the middle between them; m.
    """
    middles: list[SX] = []
    asked: list[SX] = []
    touching = candidates_of_last_bodies(robot)
    for body in soles(robot):
        points = np.array([robot.candidates[k].position for k in touching[body]])
        middles.append(jacobian.position(kin, body, constant(points.mean(0))))
        _, size, ways = np.linalg.svd(points - points.mean(0), full_matrices=False)
        for length, way in zip(size, ways, strict=True):
            if length > max(LONG * size[0], MET):
                asked.append(ca.mtimes(kin.world_rotation[body], constant(way))[2])
    middle = sum(middles[1:], middles[0]) / len(middles)
    asked += [here[2] - middle[2] for here in middles]
    own = [i for i in range(len(robot.bodies)) if i not in tree.object_bodies(robot)]
    mass = sum(robot.bodies[i].inertia.mass for i in own)
    center = SX.zeros(3)
    for i in own:
        inertia = robot.bodies[i].inertia
        center += inertia.mass / mass * jacobian.position(kin, i, constant(inertia.com))
    return ca.vertcat(*asked, (center - middle)[:2])
