"""Trace one control step: controller, torque limits, stepper, sensors and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import symbols
from tarsus.control import checked_outputs
from tarsus.control.base import ControlInputs, Controller
from tarsus.dynamics import coordinates, jacobian, loop_constraints
from tarsus.dynamics.actuator_force import ActuatorForce
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.rnea import body_inertias
from tarsus.dynamics.transmission import transmission
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.simulation import actuation, fingerprint, sensor_noise, varied
from tarsus.simulation.actuation import ActingModels, Actuation
from tarsus.simulation.physical_range import is_in_range
from tarsus.simulation.program_cache import cached_program
from tarsus.simulation.sensor_program import (
    NO_SENSORS,
    SensedStep,
    Sensing,
    declare_memories,
    sense_step,
    uncut_mechanism,
)
from tarsus.simulation.varied import Varied
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping.base import Scene, Stepper, StepStart

CACHE_SIZE = 8  # plans

_PLANS: dict[str, Plan] = {}


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that determines the program of a step.

    Attributes
    ----------
    scene, stepper, controller
        Scene, stepper and controller; without a controller (None), torques are inputs of the step.
    scaled_bodies
        Bodies whose mass differs by world.
    pushed_bodies
        Bodies on which an external force and moment act.
    sensing
        Sensors.
    actuation
        Actuators of the file; None: motors take torques.
    varied
        Other quantities of the robot and its motors that differ by world.
    smooth
        Whether the program is traced for differentiation (`Builder.smooth`).
    timed
        Whether the program counts the cycles of its sections (`Builder.stamp`), one world at a
        time.
    """

    scene: Scene
    stepper: Stepper
    controller: Controller | None
    scaled_bodies: tuple[str, ...] = ()
    pushed_bodies: tuple[str, ...] = ()
    sensing: Sensing = NO_SENSORS
    timed: bool = False
    actuation: Actuation | None = None
    varied: Varied = varied.NOTHING_VARIED
    smooth: bool = False


def reuse_plan(plan: Plan) -> Plan:
    """Return an earlier plan with the same fingerprint, if any, so that it is traced only once."""
    return fingerprint.find_or_add(_PLANS, plan, CACHE_SIZE)


@lru_cache(maxsize=CACHE_SIZE)
def step_program(plan: Plan) -> Program:
    """Load the program of one step from the cache, or trace and cache it."""
    return cached_program(plan, trace_step)


def trace_step(plan: Plan) -> Program:
    """Trace the program of one step.

    Notes
    -----
    State registers: q, u, memory (the law's), control (the controller's), bilateral
    (impulses of the constraints), steps (number of steps so far); with sensors sensing.* and
    episode; with a file's actuators delayed and activation (signals still to come, filtered
    signals), and motor.* (memory of actuator models).

    Report registers: impulse (3n,) in N s in contact frames, iterations, converged, tau
    (actuators,); those of `ImpactRecord` with a stepper that locates impacts; sensed.*. With
    secondary contacts, n is `Geometry.report_count`, and overflow is the number of active contacts
    without a slot.

    Parameters: dt, action or command, law.*, terrain.*, mass_scale, push, varied.*, actuators.*,
    delay.*, and noise.* and bias.*, which no step reads.
    """
    # declare state and parameters
    b = Builder(plan.scene.mechanism.name, plan.timed, plan.smooth)
    scene, inertias = varied_scene(plan, base_parameters, b)
    mechanism = scene.mechanism
    q, u = b.declare("q", mechanism.nq), b.declare("u", mechanism.nu)
    memory = b.declare("memory", len(scene.initial_memory()))
    steps, dt = b.declare("steps", 1), b.parameter("dt")
    law = {name: b.parameter(f"law.{name}") for name in scene.law.parameters()}
    terrain = scene.terrain.symbols(b)

    # torques from outside or from the controller
    control = SX(0, 1)
    if plan.controller is None:
        moved = mechanism.file_actuators if plan.actuation else mechanism.actuators
        torque = b.parameter("action", len(moved))
    else:
        robot = plan.scene.mechanism.uncut or plan.scene.mechanism
        before = b.declare(
            "control", checked_outputs.call_initial_memory(plan.controller, robot).size
        )
        command = b.parameter("command", checked_outputs.check_commands(plan.controller).size)
        uncut = coordinates.uncut_state(mechanism, q, u)
        controller, gains = varied.with_gains(plan.varied, plan.controller, b)
        now = ControlInputs(robot, steps * dt, *uncut, command, before, dt)
        torque, control = checked_outputs.call_torque(controller, now, gains)
    # actuators
    tau, servos, later, models = apply_actuators(plan, torque, (q, u, dt), b)
    control = b.stamp("controller", b.store_all("control_after", control))

    # dry friction at the start of the step
    scene = with_friction_at_start(scene, (q, u, dt), servos, tau, b)
    mechanism = scene.mechanism

    # step
    force = actuator_force(mechanism, tau, q) + push_force(plan, q, b)
    bilateral = b.declare("bilateral", loop_constraints.count_constraints(mechanism))
    inputs = StepStart(q, u, memory, force, dt, symbols(law), terrain, inertias)
    impulse = (
        b.declare("impulse", 3 * scene.geometry.report_count, "report") if scene.slots else None
    )
    inputs = replace(inputs, tau_loops=loop_joint_force(mechanism, tau), servos=servos)
    start = replace(inputs, bilateral=bilateral, impulse=impulse)
    end = plan.stepper.step(scene, start, b)
    results = end.to_registers() | end.reports | {"steps": steps + 1} | later
    if models.pairs:
        results |= models.advance(mechanism, b.symbols("tau"))
    # a step that leaves the physical range has not converged
    inside = is_in_range(mechanism, end.q, end.u, dt)
    results["converged"] = ca.logic_and(results["converged"], inside)
    if plan.controller is not None:
        results["control"] = control
    acted = end.contact.impulses, end.contact.memory
    moment = SensedStep((q, u), (end.q, end.u), *acted, dt, terrain)
    sensor_memories = declare_memories(plan.sensing, scene, b)
    results |= sense_step(plan.sensing, scene, plan.stepper, moment, sensor_memories, b)
    sensor_noise.declare_registers(plan.sensing, uncut_mechanism(scene), b)
    return b.program(**results)


def apply_actuators(
    plan: Plan, wanted: SX, state: tuple[SX, SX, SX], b: Builder
) -> tuple[SX, ActuatorForce | None, Values, ActingModels]:
    """Compute torques (actuators,) in the step, actuators that act within it, and registers.

    The last value are models of real motors, whose memory depends on the end of the step.

    Parameters
    ----------
    plan
        Plan of the step.
    wanted
        Torques, or control signals from outside.
    state
        q, u and dt.
    b
        Builder of the program.
    """
    mechanism = plan.scene.mechanism
    if plan.actuation is None:
        later = dict[str, SX]()
        if longest := plan.varied.delay:
            delay = b.parameter("varied.delay")
            wanted, later = actuation.delay_signals(wanted, longest, delay, b)
        given = varied.scale_by_strength(
            plan.varied, mechanism, limit_torques(mechanism, wanted), b
        )
        return b.store("tau", given, "report"), None, later, ActingModels()
    if plan.controller is not None:
        wanted = actuation.signals_from_torques(mechanism, wanted)
    servos, later, models = actuation.actuator_forces(plan.actuation, mechanism, wanted, state, b)
    still = SX.zeros(len(mechanism.actuators))
    if plan.stepper.velocity_level:
        return still, servos, later, models
    # a stepper with several evaluations holds the force at the start
    tau = b.store("tau", servos.at(*state).with_limits(still)[0], "report")
    return tau, None, later, models


def with_friction_at_start(
    scene: Scene, state: tuple[SX, SX, SX], servos: ActuatorForce | None, tau: SX, b: Builder
) -> Scene:
    """Replace dry friction that varies by its value at the start of the step.

    Parameters
    ----------
    scene
        Scene to simulate.
    state
        q, u and dt.
    servos
        Actuators that act within the step, or None.
    tau
        Torques of the motors (actuators,).
    b
        Builder of the program.
    """
    mechanism = scene.mechanism
    if not any(body.joint.friction for body in mechanism.bodies):
        return scene
    if servos is not None:
        tau = servos.at(*state).with_limits(SX.zeros(len(mechanism.actuators)))[0]
    q, u, _ = state
    torque = actuator_force(mechanism, tau, q)
    bodies, limits = [], []
    for body, in_q, in_u in zip(
        mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True
    ):
        if variation := body.joint.friction:
            at = q[in_q], u[in_u], torque[in_u]
            limits.append(variation.limit(body.joint.dry_friction, *at))
    values = ca.vertsplit(b.store("dry_friction", ca.vertcat(*limits)))
    for body in mechanism.bodies:
        if body.joint.friction:
            joint = replace(body.joint, dry_friction=values.pop(0), friction=None)
            body = replace(body, joint=joint)
        bodies.append(body)
    return replace(scene, mechanism=replace(mechanism, bodies=tuple(bodies)))


def limit_torques(mechanism: Mechanism, torque: SX) -> SX:
    """Clip torques (actuators,) to the actuators' limits."""
    cut = []
    for actuator, wanted in zip(mechanism.actuators, entries(torque), strict=True):
        wanted = ca.fmin(wanted, actuator.upper) if np.isfinite(actuator.upper) else wanted
        cut.append(ca.fmax(wanted, actuator.lower) if np.isfinite(actuator.lower) else wanted)
    return ca.vertcat(SX(0, 1), *cut)


def actuator_force(mechanism: Mechanism, tau: SX, q: SX) -> SX:
    """Compute the generalized force (nu,) of actuator torques at coordinates q (nq,)."""
    loops = {loop.joint.name for loop in mechanism.loops}
    names = {k: m.joint for k, m in enumerate(mechanism.actuators) if m.joint not in loops}
    return transmission(mechanism, list(names.values()), q).force(ca.vec(tau[list(names)]))


def loop_joint_force(mechanism: Mechanism, tau: SX) -> SX:
    """Compute the forces or moments (loops,) of actuator torques on joints outside the tree."""
    force = {loop.joint.name: SX(0) for loop in mechanism.loops}
    for actuator, torque in zip(mechanism.actuators, entries(tau), strict=True):
        if actuator.joint in force:
            force[actuator.joint] += torque
    return ca.vertcat(SX(0, 1), *force.values())


def push_force(plan: Plan, q: SX, b: Builder) -> SX:
    """Compute the generalized force (nu,) of the external forces and moments on the pushed bodies.

    They act at the origins of the bodies, in world axes.
    """
    mechanism, force = plan.scene.mechanism, SX.zeros(plan.scene.mechanism.nu)
    if not plan.pushed_bodies:
        return force
    kin, push = kinematics(mechanism, q), b.parameter("push", 6 * len(plan.pushed_bodies))
    for k, name in enumerate(plan.pushed_bodies):
        body = mechanism.body_index(name)
        linear, angular = (
            jacobian.point_jacobian(kin, body, SX.zeros(3)),
            jacobian.angular_jacobian(kin, body),
        )
        for columns, wrench in (
            (linear, push[6 * k : 6 * k + 3]),
            (angular, push[6 * k + 3 : 6 * k + 6]),
        ):
            for i, column in columns.items():
                force[i] += ca.dot(column, wrench)
    return force


def varied_scene(
    plan: Plan, create_inertias: Callable[[Mechanism], list[LinearInertia]], b: Builder
) -> tuple[Scene, list[LinearInertia]]:
    """Insert symbols into the scene and its inertias for what differs by world.

    Parameters
    ----------
    plan
        Plan of the step.
    create_inertias
        Function that returns the inertias of a mechanism.
    b
        Builder of the program.
    """
    mechanism = varied.with_joint_parameters(plan.varied, plan.scene.mechanism, b)
    inertias = scale_inertias(plan, create_inertias(mechanism), b)
    scene = (
        plan.scene
        if mechanism is plan.scene.mechanism
        else replace(plan.scene, mechanism=mechanism)
    )
    return scene, varied.with_inertias(plan.varied, mechanism, inertias, b)


def scale_inertias(plan: Plan, inertias: list[LinearInertia], b: Builder) -> list[LinearInertia]:
    """Scale inertias by a symbolic factor for bodies whose mass differs by world."""
    mechanism = plan.scene.mechanism
    if not plan.scaled_bodies:
        return inertias
    file_inertias, scale = (
        body_inertias(mechanism),
        b.parameter("mass_scale", len(plan.scaled_bodies)),
    )
    heavier = list(inertias)
    for k, name in enumerate(plan.scaled_bodies):
        i = mechanism.body_index(name)
        heavier[i] = heavier[i] + file_inertias[i].scale(scale[k] - 1)
    return heavier


def initial_values(plan: Plan) -> dict[str, NDArray[np.float64]]:
    """Create the registers at time zero, except dt and action; q is that of the whole robot."""
    scene, mechanism = plan.scene, plan.scene.mechanism
    whole = mechanism.uncut or mechanism
    if plan.controller is not None:
        q = checked_outputs.call_initial_coordinates(plan.controller, whole)
    else:
        q = np.asarray(whole.keyframes.get("stand", whole.neutral()))
    values = {"q": q, "u": np.zeros(mechanism.nu), "steps": np.zeros(1)}
    values["bilateral"] = np.zeros(loop_constraints.count_constraints(mechanism))
    values["memory"] = scene.initial_memory()
    if plan.controller is not None:
        values["control"] = checked_outputs.call_initial_memory(plan.controller, whole)
        values["command"] = checked_outputs.check_commands(plan.controller)
    for name, value in scene.law.parameters().items():
        values[f"law.{name}"] = value[..., None]
    for name, value in scene.terrain.parameters().items():
        values[f"terrain.{name}"] = value
    if plan.scaled_bodies:
        values["mass_scale"] = np.ones(len(plan.scaled_bodies))
    if plan.pushed_bodies:
        values["push"] = np.zeros(6 * len(plan.pushed_bodies))
    return values | varied.initial_registers(plan.varied, mechanism, plan.controller)
