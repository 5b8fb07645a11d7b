"""Robot, floors and laws shared by the parts (Sugihara 2006, section IV)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from tarsus import robots
from tarsus.contact.laws.micro import Micro
from tarsus.contact.laws.micro_macro import MicroMacro
from tarsus.control import servo
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Candidate
from tarsus.morphology.feet import find_feet, find_soles
from tarsus.parameters import Value
from tarsus.stepping.methods.symplectic_euler import SymplecticEuler

DT = 1e-3  # s (sections IV-C to IV-E)
# "the first order symplectic method" (section IV-A), forces evaluated once per step
STEPPER = SymplecticEuler(forces="once")
ARMATURES = (0.001, 0.003, 0.01, 0.04)  # kg m^2, ESTIMATE: the paper states no rotor inertia
MU_S, MU_K = 1.0, 0.4  # section IV-C
G = 9.81  # m/s^2


@cache
def hoap1(armature: float | None = None) -> Robot:
    """Return HOAP-1 with an armature (kg m^2) of every joint; by default its own."""
    robot = robots.load("hoap1")
    if armature is None:
        return robot
    bodies = tuple(
        replace(body, joint=replace(body.joint, armature=armature)) if k else body
        for k, body in enumerate(robot.bodies)
    )
    return replace(robot, bodies=bodies)


@lru_cache
def rotor(robot: Robot) -> float:
    """Return the armature of the joints, in kg m^2."""
    return robot.bodies[-1].joint.armature


@lru_cache
def gains(robot: Robot, dt: float) -> dict[str, Any]:
    """Return servo gains kp, kd for weight, inertia and step, as in `tarsus run --gait stand`."""
    servo_gains = servo.size_gains(robot, np.array(robot.keyframes["stand"]), find_feet(robot), dt)
    return {"kp": servo_gains.kp, "kd": servo_gains.kd}


def sole_points(robot: Robot, each: int) -> list[Candidate]:
    """Place `each` candidates (4, 6, ...) on the two long edges of every sole, corners included."""
    candidates = []
    for body, corners in sorted(find_soles(robot).items()):
        positions = np.array([corner.position for corner in corners])
        (x0, y0, z), (x1, y1, _) = positions.min(axis=0), positions.max(axis=0)
        grid = [(x, y, z) for x in np.linspace(x0, x1, each // 2) for y in (y0, y1)]
        candidates += [
            Candidate(f"{body}_{k}", body, np.array(position)) for k, position in enumerate(grid)
        ]
    return candidates


@cache
def falling_floor(damper: Any, phase: Any) -> Micro:
    """Return the springs of section IV-B: 4410 N/m, 282 N s/m, mu_K 0.4."""
    return Micro(k=4410.0, c=282.0, mu=MU_K, damper=damper, phase=phase)


def floor(damping: Value | Sequence[float], **changes: Any) -> MicroMacro:
    """Return the rigid floor under a membrane of section IV-C; `damping` is lambda."""
    values: dict[str, Any] = {
        "thickness": 5e-4, "k": 5512.0, "c": 158.0, "mu": MU_S, "mu_K": MU_K, "e_N": 0.0,
        "damping": np.asarray(damping, float),
    }  # fmt: skip
    return MicroMacro(**(values | changes))
