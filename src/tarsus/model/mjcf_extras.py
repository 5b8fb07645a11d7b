"""The rest of a compiled MuJoCo model: names, motors, a report of what a mechanism cannot hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.mechanism import Actuator
from tarsus.model.mjcf_loops import closes_loop
from tarsus.model.parts import Report

EQUALITIES = (
    "connect",
    "weld",
    "joint",
    "tendon",
    "flex",
    "flexvert",
    "flexstrain",
    "distance",
)  # mjtEq
SITE = 6  # mjtObj


def body_names(model: Any) -> list[str]:
    """A unique name for every MuJoCo body; unnamed ones are called body_<number>."""
    given = {model.body(body).name for body in range(model.nbody)}
    names: list[str] = []
    for body in range(model.nbody):
        name = model.body(body).name
        while not name or (name in names):
            name = f"body_{body}" if f"body_{body}" not in given else f"body_{body}_unnamed"
        names.append(name)
    return names


def actuators(model: Any, report: Report) -> tuple[Actuator, ...]:
    """One motor a joint with its torque limits, N m (or N); several actuators on a joint add up."""
    # every actuator that drives one hinge or slide
    joints = mujoco_joint_names(model)
    found: dict[int, Actuator] = {}
    servos, merged, dropped = [], [], []
    for number in range(len(model.actuator_trntype)):
        joint = int(model.actuator_trnid[number, 0])
        name = model.actuator(number).name
        on_joint = model.actuator_trntype[number] in (0, 1)  # mjTRN_JOINT, mjTRN_JOINTINPARENT
        if not on_joint or model.jnt_type[joint] not in (2, 3):  # slide, hinge
            dropped.append(name or f"actuator {number}")
            continue
        # what is kept of it: its limits
        name = name or joints[joint]
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
            f"Motors only: the control law of {', '.join(servos)} is left out, its limits are kept."
        )
    if merged:
        report.note(f"Actuators on one joint are one motor: {', '.join(merged)}.")
    if dropped:
        report.warn(
            f"actuators that do not drive one hinge or slide are left out: {', '.join(dropped)}."
        )
    return tuple(_clipped(model, joint, actuator) for joint, actuator in found.items())


def report_dropped(model: Any, report: Report) -> None:
    """A warning for everything that moves or pushes in MuJoCo but that a mechanism lacks."""
    dropped = [
        _equality_name(model, number)
        for number in range(model.neq)
        if not closes_loop(model, number)
    ]
    if dropped:
        report.warn(
            "equality constraints other than active 'connect' ones are left out:"
            f" {', '.join(dropped)}."
        )
    for what, names in _dropped(model).items():
        if names:
            report.warn(f"{what} left out: {', '.join(names)}.")


def _dropped(model: Any) -> dict[str, list[str]]:
    """Elements left out besides equality constraints, and their names."""
    names = body_names(model)
    joints = mujoco_joint_names(model)
    loose = np.isin(model.jnt_type, (0, 1))  # free, ball
    springs = (np.array(model.jnt_stiffness) != 0) & loose
    bent = np.zeros(model.njnt, dtype=bool)
    if hasattr(model, "jnt_stiffnesspoly"):
        bent |= np.any(model.jnt_stiffnesspoly, axis=1)
    poly = np.any(model.dof_dampingpoly, axis=1) if hasattr(model, "dof_dampingpoly") else []
    growing = {int(joint) for joint, more in zip(model.dof_jntid, poly, strict=False) if more}
    cones = (np.array(model.jnt_type) == 1) & np.array(model.jnt_limited, dtype=bool)
    medium = model.opt.density or model.opt.viscosity
    return {
        "mocap bodies are": [names[b] for b in range(model.nbody) if model.body_mocapid[b] >= 0],
        "tendons are": [model.tendon(t).name or f"tendon {t}" for t in range(model.ntendon)],
        "springs of free and ball joints are": [joints[j] for j in np.flatnonzero(springs)],
        "the higher powers of springs are": [joints[j] for j in np.flatnonzero(bent)],
        "the higher powers of joint damping are": [joints[j] for j in sorted(growing)],
        "limits of ball joints are": [joints[j] for j in np.flatnonzero(cones)],
        "gravity compensation is": [names[b] for b in range(model.nbody) if model.body_gravcomp[b]],
        "flexible bodies are": [model.flex(f).name or f"flex {f}" for f in range(model.nflex)],
        "plugins are": [model.plugin(p).name or f"plugin {p}" for p in range(model.nplugin)],
        "forces of the medium are": ["option density or viscosity"] if medium else [],
    }


def _equality_name(model: Any, number: int) -> str:
    """The kind of an equality constraint, its name, and what it ties together."""
    kind = (
        EQUALITIES[int(model.eq_type[number])]
        if model.eq_type[number] < len(EQUALITIES)
        else "constraint"
    )
    look = {
        "joint": model.joint,
        "tendon": model.tendon,
        "connect": model.body,
        "weld": model.body,
    }.get(kind)
    if model.eq_objtype[number] == SITE:
        look = model.site
    ends = [int(model.eq_obj1id[number]), int(model.eq_obj2id[number])]
    between = " and ".join(look(end).name or str(end) for end in ends if end >= 0) if look else ""
    words = [kind, model.equality(number).name, f"of {between}" if between else ""]
    return " ".join(word for word in words if word)


def _has_law(model: Any, number: int) -> bool:
    """True if the force is not simply a constant gain times the control."""
    return bool(
        model.actuator_gaintype[number]
        or model.actuator_biastype[number]
        or model.actuator_dyntype[number]
    )


def _effort(model: Any, number: int) -> tuple[float, float]:
    """The least and greatest torque (N m) or force (N) of an actuator at its joint."""
    lower, upper = -np.inf, np.inf
    control = int(model.actuator_ctrladr[number]) if hasattr(model, "actuator_ctrladr") else number
    if not _has_law(model, number) and model.actuator_ctrllimited[control]:
        gain = float(model.actuator_gainprm[number, 0])
        lower, upper = sorted(gain * float(end) for end in model.actuator_ctrlrange[control])
    if model.actuator_forcelimited[number]:
        least, most = model.actuator_forcerange[number]
        lower, upper = max(lower, float(least)), min(upper, float(most))
    gear = float(model.actuator_gear[number, 0])
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
