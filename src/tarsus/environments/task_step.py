"""Shared by learning tasks and planning goals: a step with joint servos, and the state they see."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import symbols
from tarsus.control.pd import joint_state, pd_torque
from tarsus.dynamics.kinematics import kinematics
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.simulation.step_program import actuator_force, limit_torques
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping.base import Scene, Stepper, StepStart
from tarsus.tasks.base import StateView

StepSettings = tuple[SX, Values, object, list[LinearInertia]]


def servo_step(
    stepper: Stepper,
    scene: Scene,
    values: Values,
    target: SX,
    gains: tuple[ca.SX | tuple[float, ...], ca.SX | tuple[float, ...]],
    settings: StepSettings,
    b: Builder,
) -> tuple[Values, SX]:
    """Compute the end of a step with joint servos, and their torques, shape (n,), in N m.

    Parameters
    ----------
    stepper, scene
        Time-stepping method, and robot on its ground.
    values
        Registers q, u, memory and bilateral.
    target
        Joint targets, shape (n,), in rad.
    gains
        kp and kd.
    settings
        Step size, the law's parameters by name, the terrain's symbols and the inertias.
    b
        Builder of the program.
    """
    dt, law, terrain, inertias = settings
    angles, rates = joint_state(scene.mechanism, values["q"], values["u"])
    requested = pd_torque(target, SX.zeros(target.numel()), angles, rates, gains)
    tau = b.store("torque", limit_torques(scene.mechanism, requested))
    force = actuator_force(scene.mechanism, tau, values["q"])
    start = StepStart(
        *(values["q"], values["u"], values["memory"], force, dt),
        *(symbols(law), terrain, inertias),
        bilateral=values["bilateral"],
    )
    return stepper.step(scene, start, b).to_registers(), tau


def make_state_view(
    scene: Scene,
    stand: NDArray[np.float64],
    state: Values,
    command: Mapping[str, SX],
    terrain: object,
    sensed: Mapping[str, SX] | None = None,
) -> StateView:
    """Build the view of the state for a task or goal.

    Parameters
    ----------
    scene
        Robot on its ground.
    stand
        Coordinates of the standing posture, shape (nq,).
    state
        q, u, tau, impulse, action, before, and clock in s.
    command
        Commands, by name.
    terrain
        Symbols of the terrain.
    sensed
        Sensor readings, by name.
    """
    # contacts by name
    names = [scene.candidates[i].name for i in scene.geometry.primary]
    in_contact = {name: state["impulse"][3 * k] > 0 for k, name in enumerate(names)}
    angles, rates = joint_state(scene.mechanism, state["q"], state["u"])
    return StateView(
        *(
            kinematics(scene.mechanism, state["q"], state["u"]),
            angles,
            rates,
            state["tau"],
            in_contact,
        ),
        action=state["action"],
        previous_action=state["before"],
        command=command,
        clock=state["clock"],
        heights=lambda points: scene.terrain.elevations(points, terrain),
        stand=stand,
        sensed=sensed or {},
    )
