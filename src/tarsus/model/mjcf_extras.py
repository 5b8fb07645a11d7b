"""The rest of a compiled MuJoCo model: names, a report of what a mechanism cannot hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.errors import several
from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.files import needed_library
from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.mechanism import LoopJoint
from tarsus.model.mjcf_couplings import couples
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
SWITCHES = (  # mjtDisableBit, each with what it switches off
    "constraint",
    "equality",
    "frictionloss",
    "limit",
    "contact",
    "spring",
    "damper",
    "clampctrl",
    "filterparent",
    "actuation",
)
SITE = 6  # mjtObj
SOME = 5  # names that a note shows


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


def report_dropped(model: Any, report: Report) -> None:
    """A warning for everything that moves or pushes in MuJoCo but that a mechanism lacks."""
    dropped = [
        _equality_name(model, number)
        for number in range(model.neq)
        if not closes_loop(model, number) and not couples(model, number)
    ]
    if dropped:
        report.warn(
            "equality constraints other than active connect, weld and joint ones are left out:"
            f" {', '.join(dropped)}."
        )
    for what, names in _dropped(model).items():
        if names:
            report.warn(f"{what} left out: {', '.join(names)}.")
    if model.nsensor:
        read = [model.sensor(number).name or f"sensor {number}" for number in range(model.nsensor)]
        report.leave(f"Sensors are left out, a simulation has its own: {several(read, SOME)}.")


def report_constraints(
    loops: tuple[LoopJoint, ...], couplings: tuple[JointCoupling, ...], report: Report
) -> None:
    """A note on how equality constraints are held."""
    told = {
        "'connect' is a ball joint that closes a loop": [
            loop.joint.name for loop in loops if loop.joint.kind == "ball"
        ],
        "'weld' is a fixed joint that closes a loop": [
            loop.joint.name for loop in loops if loop.joint.kind == "fixed"
        ],
        "'joint' equality couples two joints": [coupling.name for coupling in couplings],
    }
    for what, names in told.items():
        if names:
            report.note(f"Each active {what}, held without give: {', '.join(names)}.")


def _dropped(model: Any) -> dict[str, list[str]]:
    """Elements left out besides equality constraints, and their names."""
    names = body_names(model)
    joints = mujoco_joint_names(model)
    # of joints
    springs = (np.array(model.jnt_stiffness) != 0) & (np.array(model.jnt_type) == 0)
    bent = np.zeros(model.njnt, dtype=bool)
    if hasattr(model, "jnt_stiffnesspoly"):
        bent |= np.any(model.jnt_stiffnesspoly, axis=1)
    poly = np.any(model.dof_dampingpoly, axis=1) if hasattr(model, "dof_dampingpoly") else []
    growing = {int(joint) for joint, more in zip(model.dof_jntid, poly, strict=False) if more}
    cones = (np.array(model.jnt_type) == 1) & np.array(model.jnt_limited, dtype=bool)
    early = (np.array(model.jnt_margin) != 0) & np.array(model.jnt_limited, dtype=bool)
    # of the model
    medium = model.opt.density or model.opt.viscosity
    moving = np.any(np.array(model.key_qvel), axis=1)
    return {
        "mocap bodies are": [names[b] for b in range(model.nbody) if model.body_mocapid[b] >= 0],
        "tendons are": [model.tendon(t).name or f"tendon {t}" for t in range(model.ntendon)],
        "springs of free joints are": [joints[j] for j in np.flatnonzero(springs)],
        "the higher powers of springs are": [joints[j] for j in np.flatnonzero(bent)],
        "the higher powers of joint damping are": [joints[j] for j in sorted(growing)],
        "limits of ball joints are": [joints[j] for j in np.flatnonzero(cones)],
        "gravity compensation is": [names[b] for b in range(model.nbody) if model.body_gravcomp[b]],
        "flexible bodies are": [model.flex(f).name or f"flex {f}" for f in range(model.nflex)],
        "plugins are": [model.plugin(p).name or f"plugin {p}" for p in range(model.nplugin)],
        "forces of the medium are": ["option density or viscosity"] if medium else [],
        "flags that switch something off are": _switched_off(model),
        "margins of joint limits are": [joints[j] for j in np.flatnonzero(early)],
        "velocities of keyframes are": [
            model.key(k).name or f"key_{k}" for k in np.flatnonzero(moving)
        ],
    }


def _switched_off(model: Any) -> list[str]:
    """What an <option> switches off by its flags and groups of actuators; gravity's is taken."""
    mujoco = needed_library("mujoco", "reading MJCF")
    off = [
        name
        for name in SWITCHES
        if model.opt.disableflags & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name.upper()}"))
    ]
    groups = int(model.opt.disableactuator)
    return off + [f"actuator group {g}" for g in range(groups.bit_length()) if groups >> g & 1]


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
