"""A robot's run by Tarsus: rigid contact of its whole body with the ground and with itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.simulation.simulation import Simulation
from tarsus.validation.two_engines.course import GROUND, Array, RobotRun, Torques

INSTANT = 1e-7  # s
MU = 0.8  # friction coefficient of everything


def simulated(robot: Robot, torques: Torques, dt: float, parts: int = 1) -> Simulation:
    """The robot on level ground, where it stands; dt: s, in which torques are held and so many
    steps are made.
    """
    options: dict[str, Any] = {"controller": torques, "contacts": "all", "self_collision": True}
    if robot.actuators:
        options["control_rate"] = 1 / dt
    return Simulation(robot, Moreau(mu=MU), dt=dt / parts, **options)


def in_tarsus(
    robot: Robot, start: tuple[Array, Array], torques: Torques, run: tuple[float, int, int]
) -> RobotRun:
    """From q (nq,) and u (nu,), by rigid contact.

    run: dt, s, in which torques are held; how many of them; how many of our steps in each
    """
    dt, steps, parts = run
    made = simulated(robot, torques, dt, parts)
    made.set(q=start[0], u=start[1])
    log = made.run(steps * dt)
    # the first step in which each joint's limit pushes, and each contact
    scene, names, stops = made.plan.scene, robot.body_names, dict[str, int]()
    for name, at in zip(robot.joint_names, robot.u_slices, strict=True):
        pushed = log.force_limit.values[:, at].any(1) if "force_limit" in log else np.zeros(0)
        if (hit := np.flatnonzero(pushed)).size:
            stops[name] = int(hit[0]) // parts
    owners = [(names[c.body], GROUND) for c in (*scene.candidates, *scene.spans)]
    owners += [(names[pair.first.body], names[pair.second.body]) for pair in scene.pairs]
    forces = dict[str, Array]()
    if "force_contact" in log:
        pressing = log.force_contact.values[..., 0].T
        forces = dict(zip(log.contact.values.tolist(), pressing, strict=True))
    touched = _first_touches(forces, list(zip(scene.geometry.contact_names, owners, strict=True)))
    return RobotRun(
        log.q.values[parts - 1 :: parts],
        log.u.values[parts - 1 :: parts],
        stops,
        {both: step // parts for both, step in touched.items()},
        int((log.converged.values == 0).sum()),
    )


def in_flight(robot: Robot, start: tuple[Array, Array], dt: float, steps: int) -> Array:
    """Coordinates (nq,) after so many steps in the air, joints without limits and dry friction."""
    return _flown(robot, start, dt, steps)[0]


def consistent(robot: Robot, q: Array, u: Array) -> tuple[Array, Array]:
    """q (nq,) and the velocities (nu,) nearest to u that keep the robot's loops closed."""
    return _flown(robot, (q, u), INSTANT, 1) if robot.constrained else (q, u)


def _flown(robot: Robot, start: tuple[Array, Array], dt: float, steps: int) -> tuple[Array, Array]:
    bodies = [replace(b, joint=replace(b.joint, dry_friction=0.0)) for b in robot.bodies]
    free = Simulation(replace(robot, bodies=tuple(bodies)), dt=dt, limits=False)
    free.set(q=start[0], u=start[1])
    free.advance(steps * dt)
    return np.array(free.q), np.array(free.u)


def _first_touches(
    forces: dict[str, Array], owners: Sequence[tuple[str, tuple[str, str]]]
) -> dict[frozenset[str], int]:
    """The first step in which a contact of each two bodies presses; forces (steps,) by contact."""
    found: dict[frozenset[str], int] = {}
    for contact, both in owners:
        pressed = np.flatnonzero(forces[contact] > 0) if contact in forces else np.zeros(0)
        if pressed.size:
            known = found.get(frozenset(both), int(pressed[0]))
            found[frozenset(both)] = min(int(pressed[0]), known)
    return found
