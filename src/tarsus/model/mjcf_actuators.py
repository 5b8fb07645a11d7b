"""Actuators of a compiled MuJoCo model, as joint motors and with the laws of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.file_actuators import FREE, SIMULATED, Affine, FileActuator, Range
from tarsus.model.files import import_library
from tarsus.model.mechanism import Actuator
from tarsus.model.mjcf_tendons import TENDON, name_tendons, read_gear
from tarsus.model.parts import Report

Array = NDArray[np.float64]
NO_BIAS, FIXED_GAIN, AFFINE = 0, 0, 1  # mjtBias, mjtGain
ON_JOINT, SLIDE, HINGE = (0, 1), 2, 3  # mjtTrn: at the joint, in its parent's frame; mjtJoint


def read_file_actuators(model: Any) -> tuple[FileActuator, ...]:
    """Read every actuator that drives one hinge, slide or tendon, in the file's order."""
    return tuple(
        _read_file_actuator(model, number, name) for number, name in _name_actuators(model).items()
    )


def find_driven_joints(model: Any) -> set[int]:
    """Find the joints that an actuator drives, whatever its kind, by number."""
    return {
        int(model.actuator_trnid[number, 0])
        for number in range(len(model.actuator_trntype))
        if model.actuator_trntype[number] in ON_JOINT
    }


def find_unsupported_transmissions(model: Any) -> list[str]:
    """Find the actuators that do not drive one hinge, slide or tendon with one signal, by name."""
    known = _name_actuators(model)
    numbers = [n for n in range(len(model.actuator_trntype)) if n not in known]
    return [model.actuator(n).name or f"actuator {n}" for n in numbers]


def find_unsupported_dynamics(model: Any) -> list[str]:
    """Find the actuators whose law is not simulated, by name, with their dynamics."""
    return [f"{a.name} ({a.dynamics})" for a in read_file_actuators(model) if not a.is_simulated]


def find_delayed(model: Any) -> list[str]:
    """Find the actuators with a delay, by name."""
    delays = getattr(model, "actuator_delay", np.zeros(len(model.actuator_trntype)))
    return [name for number, name in _name_actuators(model).items() if np.any(delays[number])]


def read_keyframe_signals(model: Any) -> dict[str, tuple[Array, Array]]:
    """Read the control signals and activations, shape (n,), of `file_actuators` by keyframe."""
    numbers = list(_name_actuators(model))
    controls = [control_indices(model, number)[0] for number in numbers]
    activation_indices = [int(model.actuator_actadr[number]) for number in numbers]
    result: dict[str, tuple[Array, Array]] = {}
    for key in range(model.nkey):
        activations = [float(model.key_act[key, i]) if i >= 0 else 0.0 for i in activation_indices]
        name = model.key(key).name or f"key_{key}"
        control = np.array(model.key_ctrl[key, controls], dtype=float)
        result[name] = control, np.array(activations)
    return result


def create_motors(model: Any, report: Report) -> tuple[Actuator, ...]:
    """Create one motor per driven joint; the limits of several actuators on a joint add up."""
    joints = mujoco_joint_names(model)
    motors: dict[int, Actuator] = {}
    with_law, merged, on_tendons = [], [], []
    for number, name in _name_actuators(model).items():
        joint = int(model.actuator_trnid[number, 0])
        if model.actuator_trntype[number] == TENDON:
            on_tendons.append(name)
            continue
        if _has_law(model, number):
            with_law.append(name)
        lower, upper = _compute_effort(model, number)
        if joint in motors:
            first = motors[joint]
            merged.append(f"{name} into {first.name}")
            name, lower, upper = first.name, first.lower + lower, first.upper + upper
        motors[joint] = Actuator(name, joints[joint], lower, upper)
    if with_law:
        report.note(
            f"The laws of {', '.join(with_law)} act with actuators='file'; otherwise they are"
            " motors with the same limits."
        )
    if on_tendons:
        report.note(
            f"Actuators on tendons act only with actuators='file': {', '.join(on_tendons)}."
        )
    if merged:
        report.note(f"Actuators on one joint are one motor: {', '.join(merged)}.")
    return tuple(_clip_to_joint_range(model, joint, motor) for joint, motor in motors.items())


def control_indices(model: Any, number: int) -> range:
    """Find the indices of an actuator's control signals: none, one or several."""
    if not hasattr(model, "actuator_ctrladr"):  # MuJoCo 3
        return range(number, number + 1)
    first = int(model.actuator_ctrladr[number])
    return range(first, first + int(model.actuator_ctrlnum[number]))


def _name_actuators(model: Any) -> Mapping[int, str]:
    """Find the actuators that drive one hinge, slide or tendon with one signal: names by number.

    An actuator without a name has that of its joint or tendon.
    """
    names = dict[int, str]()
    for number in range(len(model.actuator_trntype)):
        driven = _find_driven(model, number)
        if driven is not None and len(control_indices(model, number)) == 1:
            name = model.actuator(number).name or driven
            names[number] = name if name not in names.values() else f"{name}_{number}"
    return names


def _find_driven(model: Any, number: int) -> str | None:
    """Find the hinge, slide or simulated tendon that an actuator drives, by name."""
    kind, driven = model.actuator_trntype[number], int(model.actuator_trnid[number, 0])
    if kind == TENDON:
        return name_tendons(model).get(driven)
    if kind in ON_JOINT and model.jnt_type[driven] in (SLIDE, HINGE):
        return mujoco_joint_names(model)[driven]
    return None


def _read_file_actuator(model: Any, number: int, name: str) -> FileActuator:
    """Read an actuator with its law of force, its limits and its dynamics."""
    driven, control = int(model.actuator_trnid[number, 0]), control_indices(model, number)[0]
    gain = _affine(model.actuator_gainprm[number])
    if model.actuator_gaintype[number] == FIXED_GAIN:
        gain = (gain[0], 0.0, 0.0)
    bias = _affine(model.actuator_biasprm[number])
    if model.actuator_biastype[number] == NO_BIAS:
        bias = (0.0, 0.0, 0.0)
    mujoco = import_library("mujoco", "reading MJCF")
    dynamics = mujoco.mjtDyn(int(model.actuator_dyntype[number])).name[len("mjDYN_") :].lower()
    kinds = int(model.actuator_gaintype[number]), int(model.actuator_biastype[number])
    if model.actuator_plugin[number] >= 0:
        dynamics = "plugin"
    elif max(kinds) > AFFINE and dynamics in SIMULATED:
        dynamics = "a gain or bias that is not affine"
    on = "tendon" if model.actuator_trntype[number] == TENDON else "jnt"
    limited, total = (getattr(model, f"{on}_actfrc{end}")[driven] for end in ("limited", "range"))
    return FileActuator(
        name,
        _find_driven(model, number) or "",
        read_gear(model, number),
        gain,
        bias,
        _range(model.actuator_ctrllimited[control], model.actuator_ctrlrange[control]),
        _range(model.actuator_forcelimited[number], model.actuator_forcerange[number]),
        _range(limited, total),
        dynamics,
        float(model.actuator_dynprm[number, 0]),
        _range(model.actuator_actlimited[number], model.actuator_actrange[number]),
        acts_early=bool(model.actuator_actearly[number]),
    )


def _affine(parameters: Any) -> Affine:
    first, second, third = (float(value) for value in parameters[:3])
    return first, second, third


def _range(limited: Any, ends: Any) -> Range:
    return (float(ends[0]), float(ends[1])) if limited else FREE


def _has_law(model: Any, number: int) -> bool:
    """Return whether the force is more than a constant gain times the control signal."""
    return bool(
        model.actuator_gaintype[number]
        or model.actuator_biastype[number]
        or model.actuator_dyntype[number]
        or model.actuator_plugin[number] >= 0
    )


def _compute_effort(model: Any, number: int) -> tuple[float, float]:
    """Compute the smallest and largest torque (N m) or force (N) of an actuator at its joint."""
    lower, upper = FREE
    control = control_indices(model, number)[0]
    if not _has_law(model, number) and model.actuator_ctrllimited[control]:
        gain = float(model.actuator_gainprm[number, 0])
        lower, upper = sorted(gain * float(end) for end in model.actuator_ctrlrange[control])
    if model.actuator_forcelimited[number]:
        smallest, largest = model.actuator_forcerange[number]
        lower, upper = max(lower, float(smallest)), min(upper, float(largest))
    gear = read_gear(model, number)
    if gear == 0:
        return 0.0, 0.0
    lower, upper = sorted((gear * lower, gear * upper))
    return lower, upper


def _clip_to_joint_range(model: Any, joint: int, motor: Actuator) -> Actuator:
    """Clip the limits of a motor to its joint's own range of actuator forces."""
    if not model.jnt_actfrclimited[joint]:
        return motor
    lower, upper = (float(end) for end in model.jnt_actfrcrange[joint])
    return Actuator(motor.name, motor.joint, max(motor.lower, lower), min(motor.upper, upper))
