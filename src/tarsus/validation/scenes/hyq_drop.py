"""The drop test of HyQ by Ogunsola: landing time and landing impulse of the feet."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.engines.base import Array, Engine, Start
from tarsus.simulation import resolve
from tarsus.validation import bodies
from tarsus.validation.bodies import G
from tarsus.validation.scenes.base import Case, ValidationScene

TILT = np.deg2rad(5.0)
# name, height in m, angles of trunk and ground in rad
DROPS = (("trunk tilted", 1.0, TILT, 0.0), ("ground tilted", 0.5, 0.0, TILT))


class HyqDrop(ValidationScene):
    """HyQ falls 1 m onto level ground, pitched by 5°, or 0.5 m onto ground inclined by 5°.

    The joints do not move during the fall. The feet that land first receive the impulses of
    Ogunsola, Eqn. (4), without friction and rebound: T^T H^-1 T Lambda = -T^T q'. Ogunsola does not
    state the posture; here it is the keyframe `stand`.
    """

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "landing time: 1.5 dt, measured from the middle of the landing step; impulse: g dt / v, the"
        " effect of a fall that lasts one step longer, and the weight times dt; the effect of joint"
        " damping, 0.1 N m s/rad, is smaller"
    )

    def measure(self, engine: Engine) -> list[Case]:
        robot, dt = resolve.resolve_robot("hyq"), engine.step(1e-4)
        cases = []
        for name, height, trunk, ground in DROPS:
            normal = np.array([-np.sin(ground), 0.0, np.cos(ground)])
            q = np.array(robot.keyframes["stand"])
            q[3:7] = bodies.pose(np.zeros(3), trunk)[3:]
            q[2] += height - _clearances(robot, q, normal).min() / normal[2]
            fall = float(np.sqrt(2 * height / G))
            speed = G * fall
            start = Start(robot, q, slope=ground, parameters={"mu": 0.0, "e_N": 0.0})
            motion = engine.run(start, dt, fall + 3 * dt)
            landed = motion.impulse[:, 0, :, 0] > 0
            k = int(np.argmax(landed.any(1)))
            expected = _impulses(robot, q, normal, speed)
            got = float(motion.impulse[k, 0, :, 0].sum())
            allowed = expected.sum() * G * dt / speed + robot.mass * G * dt
            time = float(motion.time[k]) - dt / 2 if landed.any() else np.nan
            cases += [
                Case(f"landing time, {name}", "s", fall, time, 1.5 * dt),
                Case(f"impulse, {name}", "N s", float(expected.sum()), got, allowed),
            ]
        return cases


def _clearances(robot: Robot, q: Array, normal: Array) -> Array:
    """Compute the distance of each foot from the ground through the origin, m."""
    return np.array([robot.position(q, c.name) @ normal - c.radius for c in robot.candidates])


def _impulses(robot: Robot, q: Array, normal: Array, speed: float) -> Array:
    """Compute the impulses of the feet that land first at `speed`, Ogunsola, Eqn. (4), N s."""
    gaps = _clearances(robot, q, normal)
    first = np.nonzero(gaps < gaps.min() + 1e-9)[0]
    rows = []
    for k in first:
        candidate = robot.candidates[k]
        arm = -candidate.radius * normal  # from the foot's center to the contact point
        J = robot.jacobian(q, candidate.name)
        rows.append(normal @ J[:3] + np.cross(arm, normal) @ J[3:])
    T = np.array(rows)
    before = np.zeros(robot.nu)
    before[2] = -speed
    return np.asarray(
        np.linalg.solve(T @ np.linalg.solve(robot.mass_matrix(q), T.T), -T @ before), float
    )
