"""MuJoCo on the same robot and trot: closed loop once, to record torques and contacts, then
replayed by `rollout`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact import criteria
from tarsus.contact.criteria import Solved
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Mechanism
from tarsus.model.to_mjcf import to_mjcf

Array = NDArray[np.float64]


def optional_library(name: str) -> Any:
    """A module whose names its type stubs do not list."""
    return importlib.import_module(name)


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
        "control", symbols, list(controller.torque(mechanism, *symbols)), {"cse": True}
    )


@dataclass(frozen=True, eq=False)
class Peer:
    """A MuJoCo model of a robot with its recorded trot.

    torques (steps, actuators); distance, final height: m; normal_force_max: N; residuals: by the
    same yardstick as every law's; iterations: mean.
    """

    model: Any
    start: Array
    torques: Array
    distance: float
    height: float
    normal_force_max: float
    residuals: dict[str, float]
    iterations: float
    version: str

    def rollout(self) -> float:
        """Seconds a step of replaying the whole trot on one thread."""
        mujoco, rollout = optional_library("mujoco"), optional_library("mujoco.rollout")
        data = mujoco.MjData(self.model)
        began = perf_counter()
        rollout.rollout(self.model, data, self.start[None], self.torques[None])
        return (perf_counter() - began) / len(self.torques)

    def step_call(self, calls: int) -> float:
        """Seconds of one mj_step called from Python, the trot's torques being set before each."""
        mujoco = optional_library("mujoco")
        data = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, data, self.start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        began = perf_counter()
        for k in range(calls):
            data.ctrl[:] = self.torques[k % len(self.torques)]
            mujoco.mj_step(self.model, data)
        return (perf_counter() - began) / calls


def trotting_peer(
    robot: Robot, controller: Controller, dt: float, friction: float, seconds: float
) -> Peer:
    """Trot the robot in MuJoCo in closed loop and keep what is needed to replay and to judge it."""
    mujoco = optional_library("mujoco")
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot, dt=dt, friction=friction))
    data = mujoco.MjData(model)
    data.qpos[:] = controller.initial_coordinates(robot)
    mujoco.mj_forward(model, data)
    start = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    control, memory = control_function(robot, controller), controller.initial_memory(robot)
    command = np.array(list(controller.commands.values()))
    low, high = (
        np.array([getattr(a, side) for a in robot.actuators]) for side in ("lower", "upper")
    )
    torques, contacts, iterations = [], [], 0
    for k in range(round(seconds / dt)):
        torque, memory = (
            np.asarray(x).ravel()
            for x in control(k * dt, data.qpos, data.qvel, command, memory, dt)
        )
        torques.append(np.clip(torque, low, high))
        data.ctrl[:] = torques[-1]
        before = np.array(data.qvel)
        mujoco.mj_step(model, data)
        contacts.append(_contacts(model, data, before, dt))
        iterations += data.solver_niter[0]
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
        mujoco.__version__,
    )


def _contacts(model: Any, data: Any, before: Array, dt: float) -> tuple[Array, Array, Array, Array]:
    """Gap (n,), impulse, velocity before and after (n, 3) of every foot in the step just made,
    contact frames.

    The velocities are those of the contact point by its Jacobian where the step began; a foot in
    the air has gap 1.
    """
    mujoco = optional_library("mujoco")
    feet = model.ngeom - 1
    gap, impulse, old, new = np.ones(feet), *(np.zeros((feet, 3)) for _ in range(3))
    force, jacobian = np.zeros(6), np.zeros((3, model.nv))
    for k in range(data.ncon):
        contact = data.contact[k]
        foot = max(contact.geom)
        mujoco.mj_contactForce(model, data, k, force)
        mujoco.mj_jac(model, data, jacobian, None, contact.pos, model.geom_bodyid[foot])
        rows = contact.frame.reshape(3, 3) @ jacobian
        gap[foot - 1], impulse[foot - 1] = contact.dist, force[:3] * dt
        old[foot - 1], new[foot - 1] = rows @ before, rows @ data.qvel
    return gap, impulse, old, new
