"""Check whether a stepper that holds motor forces over a step can simulate the file's servos.

With the force held from q_n, u_n, a mode of inertia I, stiffness K and damping D moves exactly by
q' = q + dt u + dt^2/2 a, u' = u + dt a, a = -(K q + D u) / I. It stays finite if the spectral
radius of this map is at most 1: D > dt/2 K and dt D < 2 I.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.dynamics import crba
from tarsus.dynamics.free_motion import damping_matrix
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.rnea import body_inertias
from tarsus.dynamics.transmission import Transmission, transmission
from tarsus.errors import IncompatibleOptions, WarningRecord
from tarsus.model.mechanism import Mechanism
from tarsus.registry import name_of
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import stepper_names

Array = NDArray[np.float64]
MAX_CHECKED_WORLDS = 32  # worlds with different gains
GAIN_NAMES = ("kp", "kv", "gear")
WARNED_GROWTH, MAX_GROWTH = 1e-4, 1e-2  # per step


def servo_warnings(plan: Plan, values: Mapping[str, Array], dt: float) -> list[WarningRecord]:
    """Warn if the file's servos oscillate with slowly growing amplitude.

    Parameters
    ----------
    plan
        Compiled step.
    values
        Initial registers by name.
    dt
        Time step, in s.

    Raises
    ------
    IncompatibleOptions
        If the oscillations grow quickly.
    """
    mechanism = plan.scene.mechanism
    if plan.actuation is None or plan.stepper.velocity_level:
        return []
    q = np.atleast_2d(values["q"])[0]
    M = np.array(DM(crba.mass_matrix(kinematics(mechanism, SX(q)), body_inertias(mechanism))))
    gears = {"gear": np.array([actuator.gear for actuator in mechanism.file_actuators])}
    gears |= {
        name: values[f"actuators.{name}"] for name in GAIN_NAMES if f"actuators.{name}" in values
    }
    each = np.stack(np.broadcast_arrays(*(np.atleast_2d(gears[name]) for name in GAIN_NAMES)))
    differing = np.unique(each.transpose(1, 0, 2), axis=0)[:MAX_CHECKED_WORLDS]
    names = [actuator.joint for actuator in mechanism.file_actuators]
    driven = transmission(mechanism, names, SX(q))
    radius = max(_spectral_radius(mechanism, driven, M, numbers, dt) for numbers in differing)
    if radius < 1 + WARNED_GROWTH:
        return []
    name, able = name_of(plan.stepper), stepper_names(lambda stepper: stepper.velocity_level)
    text = (
        f"the stepper {name!r} keeps the forces of the file's servos constant over a step of"
        f" {dt:g} s, so their oscillations grow by a factor of {radius:.3g} per step; use a stepper"
        f" that is stable for any gain ({able}), a smaller dt, or more damping."
    )
    if radius > 1 + MAX_GROWTH:
        raise IncompatibleOptions(text, "stepper")
    return [WarningRecord(text, "servos-swing-up", name)]


def _spectral_radius(
    mechanism: Mechanism, driven: Transmission, M: Array, numbers: Array, dt: float
) -> float:
    """Compute the spectral radius of a step with the servos alone, for `GAIN_NAMES` (3, n)."""
    gains = {"kp": numbers[0].copy(), "kv": numbers[1].copy()}
    for k, actuator in enumerate(mechanism.file_actuators):
        for name, own, has_own in (
            ("kp", actuator.kp, actuator.has_kp),
            ("kv", actuator.kv, actuator.has_kv),
        ):
            gains[name][k] = numbers[2][k] ** 2 * (gains[name][k] if has_own else max(own, 0.0))
    K, D = (np.array(DM(damping_matrix(driven.damping(SX(gains[name]))))) for name in ("kp", "kv"))
    for body, index in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        D[index, index] += body.joint.damping * np.eye(body.joint.nu)
    inverse, one = np.linalg.inv(M), np.eye(mechanism.nu)
    P, C = inverse @ K, inverse @ D
    step = np.block([[one - dt**2 / 2 * P, dt * (one - dt / 2 * C)], [-dt * P, one - dt * C]])
    return float(np.abs(np.linalg.eigvals(step)).max())
