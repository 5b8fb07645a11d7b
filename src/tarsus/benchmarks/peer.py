"""MuJoCo on the same robot and trot: closed loop once, to record torques and contacts, then replayed by `rollout`."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Mechanism
from tarsus.model.to_mjcf import to_mjcf

Array = NDArray[np.float64]


def library(name: str) -> Any:
    """A module whose names its type stubs do not list."""
    return importlib.import_module(name)


def frictionless_joints(robot: Robot) -> Robot:
    """The robot without dry joint friction, which would cost MuJoCo a constraint row a joint."""
    bodies = tuple(replace(body, joint=replace(body.joint, dry_friction=0.0)) for body in robot.bodies)
    return replace(robot, bodies=bodies)


def control_function(mechanism: Mechanism, controller: Controller) -> ca.Function:
    """(t, q, u, command, memory, dt) -> (torque, memory) for CasADi's evaluator."""
    sizes = (1, mechanism.nq, mechanism.nu, len(controller.commands), controller.initial_memory(mechanism).size, 1)
    names = ("t", "q", "u", "command", "memory", "dt")
    symbols = [SX.sym(name, size) for name, size in zip(names, sizes, strict=True)]
    return ca.Function("control", symbols, list(controller.torque(mechanism, *symbols)), {"cse": True})


@dataclass(frozen=True, eq=False)
class Peer:
    """A MuJoCo model of a robot with its recorded trot.

    torques (steps, actuators); penetration: largest, m; creep: fastest sliding of a contact whose friction is inside
    its cone, m/s; iterations: mean of the solver's.
    """

    model: Any
    start: Array
    torques: Array
    distance: float
    penetration: float
    creep: float
    iterations: float
    version: str

    def rollout(self) -> float:
        """Seconds a step of replaying the whole trot on one thread."""
        mujoco, rollout = library("mujoco"), library("mujoco.rollout")
        data = mujoco.MjData(self.model)
        began = perf_counter()
        rollout.rollout(self.model, data, self.start[None], self.torques[None])
        return (perf_counter() - began) / len(self.torques)

    def step_call(self, calls: int) -> float:
        """Seconds of one mj_step called from Python, the trot's torques being set before each."""
        mujoco = library("mujoco")
        data = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, data, self.start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        began = perf_counter()
        for k in range(calls):
            data.ctrl[:] = self.torques[k % len(self.torques)]
            mujoco.mj_step(self.model, data)
        return (perf_counter() - began) / calls


def trotting_peer(robot: Robot, controller: Controller, dt: float, friction: float, seconds: float) -> Peer:
    """Trot the robot in MuJoCo in closed loop and keep what is needed to replay and to judge it."""
    mujoco = library("mujoco")
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot, dt=dt, friction=friction))
    data = mujoco.MjData(model)
    data.qpos[:] = controller.initial_coordinates(robot)
    mujoco.mj_forward(model, data)
    start = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    control, memory = control_function(robot, controller), controller.initial_memory(robot)
    command = np.array(list(controller.commands.values()))
    low, high = (np.array([getattr(a, side) for a in robot.actuators]) for side in ("lower", "upper"))
    torques, worst = [], np.zeros(3)
    for k in range(round(seconds / dt)):
        torque, memory = (np.asarray(x).ravel() for x in control(k * dt, data.qpos, data.qvel, command, memory, dt))
        torques.append(np.clip(torque, low, high))
        data.ctrl[:] = torques[-1]
        mujoco.mj_step(model, data)
        worst = np.maximum(worst, [*_contacts(model, data, friction), 0])
        worst[2] += data.solver_niter[0]
    return Peer(
        model,
        start,
        np.array(torques),
        float(np.hypot(*data.qpos[:2])),
        worst[0],
        worst[1],
        worst[2] / len(torques),
        mujoco.__version__,
    )


def _contacts(model: Any, data: Any, friction: float) -> tuple[float, float]:
    """Deepest penetration, and fastest tangential speed of a loaded contact whose friction is well inside its cone."""
    mujoco = library("mujoco")
    depth, creep, force, velocity = 0.0, 0.0, np.zeros(6), np.zeros(6)
    for k in range(data.ncon):
        contact = data.contact[k]
        depth = max(depth, -contact.dist)
        mujoco.mj_contactForce(model, data, k, force)
        foot = model.geom_bodyid[contact.geom].max()
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, foot, velocity, 0)
        at_contact = velocity[3:] + np.cross(velocity[:3], contact.pos - data.xpos[foot])
        sliding = contact.frame.reshape(3, 3)[1:] @ at_contact
        if force[0] > 1.0 and np.hypot(force[1], force[2]) < 0.95 * friction * force[0]:
            creep = max(creep, float(np.hypot(*sliding)))
    return depth, creep
