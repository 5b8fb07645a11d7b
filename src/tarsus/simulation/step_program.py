"""One control step as a program: controller, torque limits, stepper, and what is reported."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import symbols
from tarsus.control.base import Controller
from tarsus.dynamics.regroup import base_parameters
from tarsus.dynamics.rnea import body_inertias
from tarsus.model.mechanism import Mechanism
from tarsus.program.blocks import Program
from tarsus.program.symbolic import entries
from tarsus.program.trace import Builder
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping.base import Scene, StepInputs, Stepper


@dataclass(frozen=True, eq=False)
class Plan:
    """What is compiled: a scene, how it steps, who moves the joints, and which bodies' masses vary by world."""

    scene: Scene
    stepper: Stepper
    controller: Controller | None
    scaled_bodies: tuple[str, ...] = ()


def step_program(plan: Plan) -> Program:
    """The program of one step.

    State: q, u, memory (the law's), control (the controller's), steps (done so far); report: impulse (3n,), N s in
    contact frames, iterations, converged, tau (actuators,); parameters: dt, action or command, law.*, terrain.*,
    mass_scale.
    """
    scene, mechanism = plan.scene, plan.scene.mechanism
    b = Builder(mechanism.name)
    q, u = b.declare("q", mechanism.nq), b.declare("u", mechanism.nu)
    memory = b.declare("memory", scene.law.memory_size(len(scene.candidates)))
    steps, dt = b.declare("steps", 1), b.parameter("dt")
    law = {name: b.parameter(f"law.{name}") for name in scene.law.parameters()}
    terrain = scene.terrain.symbols(b)
    inertias = scaled(plan, base_parameters(mechanism), b)

    control = SX(0, 1)
    if plan.controller is None:
        torque = b.parameter("action", len(mechanism.actuators))
    else:
        before = b.declare("control", plan.controller.initial_memory(mechanism).size)
        command = b.parameter("command", len(plan.controller.commands))
        torque, control = plan.controller.torque(mechanism, steps * dt, q, u, command, before, dt)
    tau = b.keep("tau_limited", within_limits(mechanism, torque))

    start = StepInputs(q, u, memory, applied(mechanism, tau), dt, symbols(law), terrain, inertias)
    end = plan.stepper.step(scene, start, b)
    results = end.values() | {"steps": steps + 1, "tau": tau}
    if plan.controller is not None:
        results["control"] = control
    return b.program(**results)


def within_limits(mechanism: Mechanism, torque: SX) -> SX:
    """Torques (actuators,) cut off at the actuators' limits."""
    cut = []
    for actuator, wanted in zip(mechanism.actuators, entries(torque), strict=True):
        wanted = ca.fmin(wanted, actuator.upper) if np.isfinite(actuator.upper) else wanted
        cut.append(ca.fmax(wanted, actuator.lower) if np.isfinite(actuator.lower) else wanted)
    return ca.vertcat(SX(0, 1), *cut)


def applied(mechanism: Mechanism, tau: SX) -> SX:
    """Generalised force (nu,) of actuator torques."""
    force = [SX(0)] * mechanism.nu
    for actuator, torque in zip(mechanism.actuators, entries(tau), strict=True):
        where = mechanism.u_slices[mechanism.joint_index(actuator.joint)].start
        force[where] = force[where] + torque
    return ca.vertcat(*force)


def scaled(plan: Plan, inertias: list[LinearInertia], b: Builder) -> list[LinearInertia]:
    """Constants, but for bodies whose mass differs between worlds: those carry a scale."""
    mechanism = plan.scene.mechanism
    if not plan.scaled_bodies:
        return inertias
    own, scale = body_inertias(mechanism), b.parameter("mass_scale", len(plan.scaled_bodies))
    heavier = list(inertias)
    for k, name in enumerate(plan.scaled_bodies):
        i = mechanism.body_index(name)
        heavier[i] = heavier[i] + own[i].scaled(scale[k] - 1)
    return heavier


def initial_values(plan: Plan) -> dict[str, NDArray[np.float64]]:
    """What the registers hold at time zero, but for dt and action."""
    scene, mechanism = plan.scene, plan.scene.mechanism
    if plan.controller is not None:
        q = plan.controller.initial_coordinates(mechanism)
    else:
        q = np.asarray(mechanism.keyframes.get("stand", mechanism.neutral()))
    values = {"q": q, "u": np.zeros(mechanism.nu), "steps": np.zeros(1)}
    values["memory"] = scene.law.initial_memory(len(scene.candidates))
    if plan.controller is not None:
        values["control"] = plan.controller.initial_memory(mechanism)
        values["command"] = np.array(list(plan.controller.commands.values()), dtype=float)
    for name, value in scene.law.parameters().items():
        values[f"law.{name}"] = value[..., None]
    for name, value in scene.terrain.parameters().items():
        values[f"terrain.{name}"] = value
    if plan.scaled_bodies:
        values["mass_scale"] = np.ones(len(plan.scaled_bodies))
    return values
