"""Bodies and robots with all masses scaled, their motors and servos included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from tarsus import robots
from tarsus.contact.laws.linearized import Linearized
from tarsus.control import servo
from tarsus.control.gaits.stand import Stand
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Body
from tarsus.morphology.feet import find_feet
from tarsus.simulation.simulation import Simulation
from tarsus_papers.rengifo2009.bodies import BRICK, Array, ball, brick, pose_on_slope

K_P, K_V, MU = 500.0, 250.0, 0.8  # section IV; mu is not stated
SPEED, SECONDS, DT = 0.3, 0.12, 2e-5  # m/s at the landing, s, s
SOLVER_TOLERANCE = 1e-9  # [1], and N s for 1 kg, of Eqn. (18)
ROBOTS = ("biped", "hoap1", "mini_cheetah")
BODIES: dict[str, tuple[Callable[[], Robot], Array]] = {
    "ball": (ball, pose_on_slope(0.0)),
    "brick": (brick, pose_on_slope(float(BRICK[2]))),
}


@dataclass(frozen=True, eq=False)
class LandingRun:
    """Recorded landing: time (steps,) in s, gap (steps, contacts) in m, and unconverged steps."""

    time: Array
    gap: Array
    unconverged: int


@cache
def run_landing(name: str, factor: float) -> LandingRun:
    """Simulate a body or robot landing flat at `SPEED`, all its masses times `factor`."""
    # scaled robot, with the servo gains of the original scaled like its masses
    load, q = BODIES.get(name) or (lambda: robots.load(name), None)
    original = load()
    robot, controller = scale_robot(original, factor), None
    if q is None:
        q = np.array(original.keyframes["stand"])
        gains = servo.size_gains(original, q, find_feet(original), DT)
        kp, kd = (tuple(factor * value for value in values) for values in (gains.kp, gains.kd))
        controller = Stand(kp=kp, kd=kd)
    contacts = [c.name for c in find_feet(original)] if name in ROBOTS else "all"
    # the tolerance of Eqn. (18) is an impulse and is scaled, too. Dry friction damps instead of
    # holding: stiction that depends on the last bits would change the depth by 4e-6
    tolerance = SOLVER_TOLERANCE
    law = Linearized(
        mu=MU, k_p=K_P, k_v=K_V, epsilon=0.0, T_abs=factor * tolerance, T_rel=tolerance
    )
    simulation = Simulation(
        robot,
        law,
        "symplectic_euler",
        controller=controller,
        dt=DT,
        contacts=contacts,
        stiction=False,
    )
    speed = np.zeros(robot.nu)
    speed[2] = -SPEED
    simulation.set(q=q, u=speed)
    records = simulation.backend.record(round(SECONDS / DT))
    gap = [
        robot.position(records["q"][:, 0], point.name)[:, 2] - point.radius
        for point in simulation.plan.scene.candidates
    ]
    return LandingRun(
        DT * np.arange(1, len(gap[0]) + 1),
        np.stack(gap, axis=-1),
        int((records["converged"] == 0).sum()),
    )


def scale_robot(robot: Robot, factor: float) -> Robot:
    """Multiply masses, inertias, rotors, dampers, dry friction and torque limits by `factor`."""
    motors = tuple(
        replace(motor, lower=factor * motor.lower, upper=factor * motor.upper)
        for motor in robot.actuators
    )
    bodies = tuple(_scale_body(body, factor) for body in robot.bodies)
    return replace(robot, bodies=bodies, actuators=motors)


def _scale_body(body: Body, factor: float) -> Body:
    joint = body.joint
    return replace(
        body,
        inertia=body.inertia.scale(factor),
        joint=replace(
            joint,
            armature=factor * joint.armature,
            damping=factor * joint.damping,
            dry_friction=factor * joint.dry_friction,
        ),
    )
