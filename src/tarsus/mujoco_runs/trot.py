"""The trot of our controllers in MuJoCo: once in closed loop, then replayed by `rollout`.

The closed loop records torques and contacts; the replay is what benchmarks time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact import criteria
from tarsus.contact.criteria import Solved
from tarsus.control.base import ControlInputs, Controller
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Mechanism
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs.contacts import contact_jacobian, ground_contacts
from tarsus.mujoco_runs.library import mujoco, rollout

Array = NDArray[np.float64]


def frictionless_joints(robot: Robot) -> Robot:
    """The robot without dry joint friction, which would cost MuJoCo a constraint row a joint."""
    bodies = tuple(
        replace(body, joint=replace(body.joint, dry_friction=0.0)) for body in robot.bodies
    )
    return replace(robot, bodies=bodies)


def control_function(mechanism: Mechanism, controller: Controller) -> ca.Function:
    """(t, q, u, command, memory, dt) -> (torque, memory) for CasADi's evaluator."""
    sizes = (
        1,
        mechanism.nq,
        mechanism.nu,
        len(controller.commands),
        controller.initial_memory(mechanism).size,
        1,
    )
    names = ("t", "q", "u", "command", "memory", "dt")
    symbols = [SX.sym(name, size) for name, size in zip(names, sizes, strict=True)]
    return ca.Function(
        "control",
        symbols,
        list(controller.torque(ControlInputs(mechanism, *symbols))),
        {"cse": True},
    )


@dataclass(frozen=True, eq=False)
class Peer:
    """A MuJoCo model of a robot with its recorded trot."""

    model: Any
    """MuJoCo's MjModel."""
    start: Array
    """MuJoCo's full physics state at the start."""
    torques: Array
    """Of every step (steps, actuators), N m."""
    distance: float
    """Walked, m."""
    height: float
    """Of the base at the end, m."""
    normal_force_max: float
    """Largest normal force of a foot, N."""
    residuals: dict[str, float]
    """By the same criteria as every law's (`contact.criteria`)."""
    iterations: float
    """Mean iterations of MuJoCo's solver a step."""
    version: str
    """MuJoCo's version."""

    def rollout(self) -> float:
        """Seconds a step of replaying the whole trot on one thread."""
        data, replay = mujoco().MjData(self.model), rollout().rollout
        began = perf_counter()
        replay(self.model, data, self.start[None], self.torques[None])
        return (perf_counter() - began) / len(self.torques)

    def step_call(self, calls: int) -> float:
        """Seconds of one mj_step called from Python, the trot's torques being set before each."""
        mj = mujoco()
        data = mj.MjData(self.model)
        mj.mj_setState(self.model, data, self.start, mj.mjtState.mjSTATE_FULLPHYSICS)
        began = perf_counter()
        for k in range(calls):
            data.ctrl[:] = self.torques[k % len(self.torques)]
            mj.mj_step(self.model, data)
        return (perf_counter() - began) / calls


def trotting_peer(
    robot: Robot, controller: Controller, dt: float, friction: float, seconds: float
) -> Peer:
    """Trot the robot in MuJoCo in closed loop and keep what is needed to replay and to judge it.

    dt: s
    friction: coefficient [1]
    seconds: length of the trot, s
    """
    # the robot in MuJoCo, at the controller's start
    mj = mujoco()
    model = mj.MjModel.from_xml_string(to_mjcf(robot, dt=dt, friction=friction))
    data = mj.MjData(model)
    data.qpos[:] = controller.initial_coordinates(robot)
    mj.mj_forward(model, data)
    start = np.empty(mj.mj_stateSize(model, mj.mjtState.mjSTATE_FULLPHYSICS))
    mj.mj_getState(model, data, start, mj.mjtState.mjSTATE_FULLPHYSICS)
    control, memory = control_function(robot, controller), controller.initial_memory(robot)
    command = np.array(list(controller.commands.values()))
    low, high = (
        np.array([getattr(a, side) for a in robot.actuators]) for side in ("lower", "upper")
    )

    # closed loop: our controller, MuJoCo's step
    torques, contacts, iterations = [], [], 0
    for k in range(round(seconds / dt)):
        torque, memory = (
            np.asarray(x).ravel()
            for x in control(k * dt, data.qpos, data.qvel, command, memory, dt)
        )
        torques.append(np.clip(torque, low, high))
        data.ctrl[:] = torques[-1]
        before = np.array(data.qvel)
        mj.mj_step(model, data)
        contacts.append(_contacts(model, data, before, dt))
        iterations += data.solver_niter[0]

    # the run by the criteria of every law
    solved = Solved(
        *(np.stack(parts) for parts in zip(*contacts, strict=True)),
        mu=friction,
        dt=dt,
        tolerance=1e-3 * dt,
    )
    return Peer(
        model,
        start,
        np.array(torques),
        float(np.hypot(*data.qpos[:2])),
        float(data.qpos[2]),
        float(solved.impulse[..., 0].max()) / dt,
        criteria.residuals(solved),
        iterations / len(torques),
        mj.__version__,
    )


def _contacts(model: Any, data: Any, before: Array, dt: float) -> tuple[Array, Array, Array, Array]:
    """Gap (n,), impulse, velocity before and after (n, 3) of every foot, in contact frames.

    The velocities are those of the contact point by its Jacobian where the step began. A foot in
    the air has gap 1.
    """
    feet = model.ngeom - 1
    gap, impulse, old, new = np.ones(feet), *(np.zeros((feet, 3)) for _ in range(3))
    for contact in ground_contacts(model, data):
        foot = contact.geom - 1  # the floor is geom 0
        rows = contact.frame @ contact_jacobian(model, data, contact)
        gap[foot], impulse[foot] = contact.gap, contact.force * dt
        old[foot], new[foot] = rows @ before, rows @ data.qvel
    return gap, impulse, old, new
