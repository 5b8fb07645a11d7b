"""The actuators of a compiled MuJoCo model, as motors of joints and as the file describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.file_actuators import FREE, NOT_DRIVING, SIMULATED, Affine, FileActuator, Range
from tarsus.model.files import needed_library
from tarsus.model.mechanism import Actuator
from tarsus.model.parts import Report

Array = NDArray[np.float64]
NONE, FIXED, AFFINE = 0, 0, 1  # mjtBias, mjtGain
ON_JOINT, SLIDE, HINGE = (0, 1), 2, 3  # mjtTrn: at the joint, in its parent's frame; mjtJoint


def driving(model: Any) -> list[int]:
    """The numbers of the actuators that drive one hinge or slide with one signal."""
    return [
        number
        for number in range(len(model.actuator_trntype))
        if model.actuator_trntype[number] in ON_JOINT
        and model.jnt_type[model.actuator_trnid[number, 0]] in (SLIDE, HINGE)
        and len(controls(model, number)) == 1
    ]


def file_actuators(model: Any, report: Report) -> tuple[FileActuator, ...]:
    """Every actuator that drives one hinge or slide, in the file's order."""
    found = tuple(_of_file(model, number, name) for number, name in _named(model).items())
    strange = [f"{a.name} ({a.dynamics})" for a in found if not a.simulated]
    if strange:
        report.leave(f"The laws of these actuators are not simulated: {', '.join(strange)}.")
    late = [a.name for n, a in zip(_named(model), found, strict=True) if _delay(model, n)]
    if late:
        report.warn(
            f"delays of actuators are left out ({', '.join(late)}): set a delay in steps instead.",
            "actuator-delays-left-out",
            late[0],
        )
    return found


def signals(model: Any) -> dict[str, tuple[Array, Array]]:
    """Of every keyframe the control signals and activations (n,) of these actuators."""
    numbers = driving(model)
    places = [controls(model, number)[0] for number in numbers]
    states = [int(model.actuator_actadr[number]) for number in numbers]
    found: dict[str, tuple[Array, Array]] = {}
    for key in range(model.nkey):
        act = [float(model.key_act[key, at]) if at >= 0 else 0.0 for at in states]
        name = model.key(key).name or f"key_{key}"
        found[name] = np.array(model.key_ctrl[key, places], dtype=float), np.array(act)
    return found


def actuators(model: Any, report: Report) -> tuple[Actuator, ...]:
    """One motor a joint with its torque limits, N m (or N); several actuators on a joint add up."""
    # every actuator that drives one hinge or slide: what is kept of it are its limits
    joints, known = mujoco_joint_names(model), _named(model)
    found: dict[int, Actuator] = {}
    servos, merged = [], []
    for number, name in known.items():
        joint = int(model.actuator_trnid[number, 0])
        if _has_law(model, number):
            servos.append(name)
        lower, upper = _effort(model, number)
        # a second one on a joint adds to the first
        if joint in found:
            first = found[joint]
            merged.append(f"{name} into {first.name}")
            name, lower, upper = first.name, first.lower + lower, first.upper + upper
        found[joint] = Actuator(name, joints[joint], lower, upper)
    # what the reader should know
    if servos:
        report.note(
            f"The servos of {', '.join(servos)} act with actuators='file'; else they are motors"
            " with the same limits."
        )
    if merged:
        report.note(f"Actuators on one joint are one motor: {', '.join(merged)}.")
    every = range(len(model.actuator_trntype))
    dropped = [model.actuator(n).name or f"actuator {n}" for n in every if n not in known]
    if dropped:
        report.warn(
            f"{NOT_DRIVING}: {', '.join(dropped)}.", "unsupported-actuators-left-out", dropped[0]
        )
    return tuple(_clipped(model, joint, actuator) for joint, actuator in found.items())


def _named(model: Any) -> Mapping[int, str]:
    """The names of `driving`; one without a name is called after its joint."""
    joints, names = mujoco_joint_names(model), dict[int, str]()
    for number in driving(model):
        name = model.actuator(number).name or joints[int(model.actuator_trnid[number, 0])]
        names[number] = name if name not in names.values() else f"{name}_{number}"
    return names


def _of_file(model: Any, number: int, name: str) -> FileActuator:
    """The actuator with its law of force, limits and dynamics."""
    # law of force
    joint, control = int(model.actuator_trnid[number, 0]), controls(model, number)[0]
    gain = _affine(model.actuator_gainprm[number])
    if model.actuator_gaintype[number] == FIXED:
        gain = (gain[0], 0.0, 0.0)
    bias = _affine(model.actuator_biasprm[number])
    if model.actuator_biastype[number] == NONE:
        bias = (0.0, 0.0, 0.0)
    # dynamics; a plugin, a muscle or a law of a user's own counts as such
    mujoco = needed_library("mujoco", "reading MJCF")
    dynamics = mujoco.mjtDyn(int(model.actuator_dyntype[number])).name[len("mjDYN_") :].lower()
    kinds = int(model.actuator_gaintype[number]), int(model.actuator_biastype[number])
    if model.actuator_plugin[number] >= 0:
        dynamics = "plugin"
    elif max(kinds) > AFFINE and dynamics in SIMULATED:
        dynamics = "a gain or bias that is not affine"
    return FileActuator(
        name,
        mujoco_joint_names(model)[joint],
        gear_of(model, number),
        gain,
        bias,
        _range(model.actuator_ctrllimited[control], model.actuator_ctrlrange[control]),
        _range(model.actuator_forcelimited[number], model.actuator_forcerange[number]),
        _range(model.jnt_actfrclimited[joint], model.jnt_actfrcrange[joint]),
        dynamics,
        float(model.actuator_dynprm[number, 0]),
        _range(model.actuator_actlimited[number], model.actuator_actrange[number]),
        early=bool(model.actuator_actearly[number]),
    )


def _affine(parameters: Any) -> Affine:
    first, second, third = (float(value) for value in parameters[:3])
    return first, second, third


def _range(limited: Any, ends: Any) -> Range:
    return (float(ends[0]), float(ends[1])) if limited else FREE


def _delay(model: Any, number: int) -> bool:
    return bool(hasattr(model, "actuator_delay") and np.any(model.actuator_delay[number]))


def controls(model: Any, number: int) -> range:
    """The places of an actuator's control signals among all: one may have several, or none."""
    if not hasattr(model, "actuator_ctrladr"):  # MuJoCo 3
        return range(number, number + 1)
    first = int(model.actuator_ctrladr[number])
    return range(first, first + int(model.actuator_ctrlnum[number]))


def gear_of(model: Any, number: int) -> float:
    """The first gear ratio of an actuator: MuJoCo has one for each of its outputs."""
    first = model.actuator_outadr[number] if hasattr(model, "actuator_outadr") else number
    return float(model.actuator_gear[first, 0])


def _has_law(model: Any, number: int) -> bool:
    """True if the force is not simply a constant gain times the control."""
    return bool(
        model.actuator_gaintype[number]
        or model.actuator_biastype[number]
        or model.actuator_dyntype[number]
        or model.actuator_plugin[number] >= 0
    )


def _effort(model: Any, number: int) -> tuple[float, float]:
    """The least and greatest torque (N m) or force (N) of an actuator at its joint."""
    lower, upper = FREE
    control = controls(model, number)[0]
    if not _has_law(model, number) and model.actuator_ctrllimited[control]:
        gain = float(model.actuator_gainprm[number, 0])
        lower, upper = sorted(gain * float(end) for end in model.actuator_ctrlrange[control])
    if model.actuator_forcelimited[number]:
        least, most = model.actuator_forcerange[number]
        lower, upper = max(lower, float(least)), min(upper, float(most))
    gear = gear_of(model, number)
    if gear == 0:
        return 0.0, 0.0
    low, high = sorted((gear * lower, gear * upper))
    return low, high


def _clipped(model: Any, joint: int, actuator: Actuator) -> Actuator:
    """The motor within the joint's own range of actuator forces."""
    if not model.jnt_actfrclimited[joint]:
        return actuator
    least, most = (float(end) for end in model.jnt_actfrcrange[joint])
    return Actuator(
        actuator.name, actuator.joint, max(actuator.lower, least), min(actuator.upper, most)
    )
