"""What tasks of learners and goals of planners are compiled from: a step of the robot under joint
servos, and what may be seen of it.
"""

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
from tarsus.tasks.base import Glimpse

Around = tuple[SX, Values, object, list[LinearInertia]]


def servo_step(
    stepper: Stepper,
    scene: Scene,
    at: Values,
    target: SX,
    gains: tuple[ca.SX | tuple[float, ...], ca.SX | tuple[float, ...]],
    around: Around,
    b: Builder,
) -> tuple[Values, SX]:
    """The end of a step and its torques (n,), N m, servos pulling to targets (n,), rad, within the
    motors' limits.

    at: q, u, memory, bilateral; gains: kp and kd; around: dt, the law's parameters by name, the
        terrain's symbols, inertias
    """
    dt, law, terrain, inertias = around
    angles, rates = joint_state(scene.mechanism, at["q"], at["u"])
    wanted = pd_torque(target, SX.zeros(target.numel()), angles, rates, gains)
    tau = b.store("torque", limit_torques(scene.mechanism, wanted))
    start = StepStart(
        *(at["q"], at["u"], at["memory"], actuator_force(scene.mechanism, tau), dt),
        *(symbols(law), terrain, inertias),
        bilateral=at["bilateral"],
    )
    return stepper.step(scene, start, b).values(), tau


def glimpse_of(
    scene: Scene,
    stand: NDArray[np.float64],
    now: Values,
    command: Mapping[str, SX],
    terrain: object,
    sensed: Mapping[str, SX] | None = None,
) -> Glimpse:
    """What may be looked at.

    stand (nq,): where joints and trunk rest; now: q, u, tau, impulse, action, before, and clock, s;
    command: by name; terrain: its symbols; sensed: readings by name
    """
    # feet by name
    names = [scene.candidates[i].name for i in scene.geometry.primary]
    pressing = {name: now["impulse"][3 * k] > 0 for k, name in enumerate(names)}
    angles, rates = joint_state(scene.mechanism, now["q"], now["u"])
    return Glimpse(
        *(kinematics(scene.mechanism, now["q"], now["u"]), angles, rates, now["tau"], pressing),
        action=now["action"],
        before=now["before"],
        command=command,
        clock=now["clock"],
        heights=lambda points: scene.terrain.elevations(points, terrain),
        stand=stand,
        sensed=sensed or {},
    )
