"""Runs of a robot in Tarsus, with rigid contact of its whole body with the ground and itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.simulation.simulation import Simulation
from tarsus.validation.two_engines.robot_run import GROUND, Array, RobotRun, Torques

PROJECTION_STEP = 1e-7  # s
MU = 0.8  # friction coefficient of all contacts


def create_simulation(robot: Robot, torques: Torques, dt: float, parts: int = 1) -> Simulation:
    """Create a simulation of the robot on level ground in its standing posture.

    Parameters
    ----------
    robot
        Robot to simulate.
    torques
        Function (t, q, u) that returns the torques of the actuators.
    dt
        Time for which torques are constant, s.
    parts
        Number of steps in that time.
    """
    options: dict[str, Any] = {"controller": torques, "contacts": "all", "self_collision": True}
    if robot.actuators:
        options["control_rate"] = 1 / dt
    return Simulation(robot, Moreau(mu=MU), dt=dt / parts, **options)


def run_in_tarsus(
    robot: Robot, start: tuple[Array, Array], torques: Torques, run: tuple[float, int, int]
) -> RobotRun:
    """Run a robot in Tarsus with rigid contact.

    Parameters
    ----------
    robot
        Robot to simulate.
    start
        Initial coordinates (nq,) and velocities (nu,).
    torques
        Function (t, q, u) that returns the torques of the actuators.
    run
        Time in s for which torques are constant, number of these intervals, and steps in each.
    """
    dt, steps, parts = run
    simulation = create_simulation(robot, torques, dt, parts)
    simulation.set(q=start[0], u=start[1])
    log = simulation.run(steps * dt)
    # first step in which each joint limit, and each contact, exerts a force
    scene, names, stops = simulation.plan.scene, robot.body_names, dict[str, int]()
    for name, indices in zip(robot.joint_names, robot.u_slices, strict=True):
        active = log.force_limit.values[:, indices].any(1) if "force_limit" in log else np.zeros(0)
        if (hits := np.flatnonzero(active)).size:
            stops[name] = int(hits[0]) // parts
    owners = [(names[c.body], GROUND) for c in (*scene.candidates, *scene.spans)]
    owners += [(names[pair.first.body], names[pair.second.body]) for pair in scene.pairs]
    forces = dict[str, Array]()
    if "force_contact" in log:
        normal_forces = log.force_contact.values[..., 0].T
        forces = dict(zip(log.contact.values.tolist(), normal_forces, strict=True))
    contacts = list(zip(scene.geometry.contact_names, owners, strict=True))
    touches = _find_first_touches(forces, contacts)
    return RobotRun(
        log.q.values[parts - 1 :: parts],
        log.u.values[parts - 1 :: parts],
        stops,
        {both: step // parts for both, step in touches.items()},
        int((log.converged.values == 0).sum()),
    )


def free_flight(robot: Robot, start: tuple[Array, Array], dt: float, steps: int) -> Array:
    """Compute the coordinates (nq,) after a free flight without joint limits and friction."""
    return _fly(robot, start, dt, steps)[0]


def consistent_state(robot: Robot, q: Array, u: Array) -> tuple[Array, Array]:
    """Find the velocities (nu,) nearest to u that keep the robot's loops closed; return q too."""
    return _fly(robot, (q, u), PROJECTION_STEP, 1) if robot.constrained else (q, u)


def _fly(robot: Robot, start: tuple[Array, Array], dt: float, steps: int) -> tuple[Array, Array]:
    bodies = [replace(b, joint=replace(b.joint, dry_friction=0.0)) for b in robot.bodies]
    free = Simulation(replace(robot, bodies=tuple(bodies)), dt=dt, limits=False)
    free.set(q=start[0], u=start[1])
    free.advance(steps * dt)
    return np.array(free.q), np.array(free.u)


def _find_first_touches(
    forces: dict[str, Array], owners: Sequence[tuple[str, tuple[str, str]]]
) -> dict[frozenset[str], int]:
    """Find the first step in which two bodies touch, from the forces (steps,) by contact."""
    touches: dict[frozenset[str], int] = {}
    for contact, both in owners:
        active = np.flatnonzero(forces[contact] > 0) if contact in forces else np.zeros(0)
        if active.size:
            earlier = touches.get(frozenset(both), int(active[0]))
            touches[frozenset(both)] = min(int(active[0]), earlier)
    return touches
