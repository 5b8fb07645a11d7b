"""HyQ dropped as in Ogunsola: when its feet land, and with which impulses."""

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
DROPS = (
    ("trunk tilted", 1.0, TILT, 0.0),
    ("ground tilted", 0.5, 0.0, TILT),
)  # name, m, trunk's and ground's angle


class HyqDrop(ValidationScene):
    """Feet 1 m above level ground, trunk turned by 5° about y; 0.5 m above ground inclined by 5°.

    No joint moves in the fall. The feet that land first get the impulses of Ogunsola's Eqn.
    (4) without friction and rebound: T^T H^-1 T Lambda = -T^T q'. The robot's posture is not stated
    there; here it stands.
    """

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "a step and a half from the middle of the step in which they land; in impulse what a fall"
        " longer by a step adds, g dt / v of it, and the weight of a step; joint damping, 0.1"
        " N m s/rad, is less"
    )

    def measure(self, engine: Engine) -> list[Case]:
        robot, dt = resolve.robot("hyq"), engine.step(1e-4)
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
                Case(f"time of landing, {name}", "s", fall, time, 1.5 * dt),
                Case(f"impulse, {name}", "N s", float(expected.sum()), got, allowed),
            ]
        return cases


def _clearances(robot: Robot, q: Array, normal: Array) -> Array:
    """Distance of every foot from the ground through the origin, m."""
    return np.array([robot.position(q, c.name) @ normal - c.radius for c in robot.candidates])


def _impulses(robot: Robot, q: Array, normal: Array, speed: float) -> Array:
    """Ogunsola, Eqn. (4), e = 0: of the feet that land first, robot falling at `speed`, N s."""
    gaps = _clearances(robot, q, normal)
    first = np.nonzero(gaps < gaps.min() + 1e-9)[0]
    rows = []
    for k in first:
        candidate = robot.candidates[k]
        arm = -candidate.radius * normal  # from the center to the ground
        J = robot.jacobian(q, candidate.name)
        rows.append(normal @ J[:3] + np.cross(arm, normal) @ J[3:])
    T = np.array(rows)
    before = np.zeros(robot.nu)
    before[2] = -speed
    return np.asarray(
        np.linalg.solve(T @ np.linalg.solve(robot.mass_matrix(q), T.T), -T @ before), float
    )
