"""What moves or pushes in a compiled MuJoCo model that a mechanism lacks, and the names it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.errors import several
from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.files import needed_library
from tarsus.model.mjcf_contacts import colliding

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
SWITCHED_ON = ("override", "sleep", "speculative")  # mjtEnableBit, those that change a motion
FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
SLIDING, ROLLING = 3, 6  # condim
ON_JOINT = (0, 1)  # mjtTrn: at the joint, in its parent's frame
SOME = 5  # names that a warning shows
LEFT_OUT = {  # by its code, what a warning says is left out
    "mocap-bodies-left-out": "mocap bodies are",
    "tendons-left-out": "tendons are",
    "gravity-compensation-left-out": "gravity compensation is",
    "flexible-bodies-left-out": "flexible bodies are",
    "plugins-left-out": "plugins are",
    "medium-forces-left-out": "forces of the medium are",
    "disable-flags-left-out": "flags that switch something off are",
    "enable-flags-left-out": "flags that switch something on are",
    "keyframe-velocities-left-out": "velocities of keyframes are",
    "free-joint-springs-left-out": "springs of free joints are",
    "yielding-springs-left-out": "the plastic yielding of springs (springyield) is",
    "nonlinear-springs-left-out": "the higher powers of springs are",
    "nonlinear-damping-left-out": "the higher powers of joint damping are",
    "ball-joint-limits-left-out": "limits of ball joints are",
    "limit-margins-left-out": "margins of joint limits are",
    "surface-velocity-left-out": "the velocity of moving surfaces (surfacevel) is",
    "adhesion-left-out": "the adhesion of contacts is",
    "torsional-friction-left-out": "torsional and rolling friction are",
}
PLUGGED = ("body", "geom", "actuator", "sensor")  # what a plugin can act on


@dataclass(frozen=True)
class UnreadElements:
    """Names of elements that are left out, and how a warning lists them."""

    names: list[str]
    listed: str


def elements_dropped(model: Any, bodies: list[str]) -> dict[str, UnreadElements]:
    """Return the elements left out besides equality constraints, by the codes of `LEFT_OUT`.

    bodies: a name for every body
    """
    medium = model.opt.density or model.opt.viscosity
    moving = np.any(np.array(model.key_qvel), axis=1)
    found = {
        "mocap-bodies-left-out": [
            bodies[b] for b in range(model.nbody) if model.body_mocapid[b] >= 0
        ],
        "tendons-left-out": [model.tendon(t).name or f"tendon {t}" for t in range(model.ntendon)],
        **_of_joints(model),
        "gravity-compensation-left-out": [
            bodies[b] for b in range(model.nbody) if model.body_gravcomp[b]
        ],
        "flexible-bodies-left-out": [
            _name(model, "flex", f) or f"flex {f}" for f in range(model.nflex)
        ],
        "plugins-left-out": [_plugin(model, p, bodies) for p in range(model.nplugin)],
        "medium-forces-left-out": ["option density or viscosity"] if medium else [],
        "disable-flags-left-out": _switched_off(model),
        "enable-flags-left-out": _flags(model.opt.enableflags, "ENBL", SWITCHED_ON),
        "keyframe-velocities-left-out": [
            model.key(k).name or f"key_{k}" for k in np.flatnonzero(moving)
        ],
    }
    every = {code: UnreadElements(names, ", ".join(names)) for code, names in found.items()}
    every |= _of_geoms(model)
    return {code: every[code] for code in LEFT_OUT if every[code].names}


def soft_stops(model: Any) -> list[str]:
    """Joints whose limit or dry friction gives way otherwise than by MuJoCo's defaults."""
    # joints with a limit or dry friction that is taken
    joint_of, kinds = np.array(model.dof_jntid), np.array(model.jnt_type)
    limited = np.array(model.jnt_limited, dtype=bool) & np.isin(kinds, (SLIDE, HINGE))
    rough = np.array(model.dof_frictionloss) > 0
    # those with other numbers
    usual = np.array([0.02, 1.0, 0.9, 0.95, 0.001, 0.5, 2.0])
    at_limit = np.hstack([model.jnt_solref, model.jnt_solimp])
    sliding = np.hstack([model.dof_solref, model.dof_solimp])
    found = set(np.flatnonzero(limited & ~_alike(at_limit, usual)).tolist())
    found |= set(joint_of[rough & ~_alike(sliding, usual)].tolist())
    return _joints(model, found)


def _of_joints(model: Any) -> dict[str, list[str]]:
    kinds, limited = np.array(model.jnt_type), np.array(model.jnt_limited, dtype=bool)
    springs = (np.array(model.jnt_stiffness) != 0) & (kinds == FREE)
    yielding = _field(model, "jnt_springyield", model.njnt) & (np.array(model.jnt_stiffness) != 0)
    bent = _field(model, "jnt_stiffnesspoly", model.njnt)
    growing = set(np.array(model.dof_jntid)[_field(model, "dof_dampingpoly", model.nv)].tolist())
    growing |= {  # dampers of actuators are their joints'
        int(model.actuator_trnid[a, 0])
        for a in np.flatnonzero(_field(model, "actuator_dampingpoly", len(model.actuator_trntype)))
        if model.actuator_trntype[a] in ON_JOINT
    }
    early = (np.array(model.jnt_margin) != 0) & limited
    return {
        "free-joint-springs-left-out": _joints(model, np.flatnonzero(springs)),
        "yielding-springs-left-out": _joints(model, np.flatnonzero(yielding)),
        "nonlinear-springs-left-out": _joints(model, np.flatnonzero(bent)),
        "nonlinear-damping-left-out": _joints(model, growing),
        "ball-joint-limits-left-out": _joints(model, np.flatnonzero((kinds == BALL) & limited)),
        "limit-margins-left-out": _joints(model, np.flatnonzero(early)),
    }


def _of_geoms(model: Any) -> dict[str, UnreadElements]:
    """Of geoms that can touch, those fixed to the world among them, and of explicit pairs."""
    running = _field(model, "geom_surfacevel", model.ngeom)
    sticky = _field(model, "geom_adhesion", model.ngeom)
    pairs = np.flatnonzero(_field(model, "pair_adhesion", model.npair))
    geoms = {g: model.geom(g).name or f"geom {g}" for g in colliding(model)}
    of_pairs = [model.pair(k).name or f"pair {k}" for k in pairs]
    running_ones = [name for g, name in geoms.items() if running[g]]
    sticky_ones = [name for g, name in geoms.items() if sticky[g]] + of_pairs
    return {
        "surface-velocity-left-out": _some(running_ones),
        "adhesion-left-out": _some(sticky_ones),
        "torsional-friction-left-out": _turning(model),
    }


def _turning(model: Any) -> UnreadElements:
    """Geoms with friction against turning about the normal (condim 4) and rolling (condim 6), and
    the largest coefficients; those fixed to the world only where no geom that moves goes before.
    """
    own, condim = np.array(model.geom_friction), np.array(model.geom_condim)
    fixed = np.array(model.body_weldid)[model.geom_bodyid] == 0
    touching, priority = colliding(model), np.array(model.geom_priority)
    first = max((priority[g] for g in touching if not fixed[g]), default=0)
    turning = [
        g for g in touching if condim[g] > SLIDING and (not fixed[g] or priority[g] >= first)
    ]
    if not turning:
        return _some([])
    rolls = max((own[g, 2] for g in turning if condim[g] == ROLLING), default=0.0)
    most = f"up to {max(own[g, 1] for g in turning):g} m and {rolls:g} m"
    names = [model.geom(g).name or f"geom {g}" for g in turning]
    return UnreadElements(
        names, f"condim 4 or 6 of {several(names, SOME)}, {most} (docs/from_mujoco.md)"
    )


def _plugin(model: Any, number: int, bodies: list[str]) -> str:
    """The name of a plugin's instance, and what it acts on."""
    users: list[str] = []
    for what in PLUGGED:
        for k in np.flatnonzero(np.array(getattr(model, f"{what}_plugin")) == number).tolist():
            user = bodies[k] if what == "body" else getattr(model, what)(k).name
            users.append(f"{what} {user or k}")
    name = _name(model, "plugin", number) or f"plugin {number}"
    return f"{name} of {' and '.join(users)}" if users else name


def _name(model: Any, what: str, number: int) -> str:
    """The name of an element that `model` has no accessor for, empty if it has none."""
    start = int(getattr(model, f"name_{what}adr")[number])
    return model.names[start : model.names.index(b"\0", start)].decode()


def _switched_off(model: Any) -> list[str]:
    """What an <option> switches off by its flags and groups of actuators; gravity's is taken."""
    groups = int(model.opt.disableactuator)
    return [
        *_flags(model.opt.disableflags, "DSBL", SWITCHES),
        *(f"actuator group {g}" for g in range(groups.bit_length()) if groups >> g & 1),
    ]


def _flags(bits: int, kind: str, names: Iterable[str]) -> list[str]:
    """Which of the flags are set that are called so and that this MuJoCo knows.

    kind: DSBL of those that switch off, ENBL on
    """
    mujoco = needed_library("mujoco", "reading MJCF")
    known = mujoco.mjtDisableBit if kind == "DSBL" else mujoco.mjtEnableBit
    members = {name: getattr(known, f"mj{kind}_{name.upper()}", 0) for name in names}
    return [name for name, bit in members.items() if bits & int(bit)]


def _field(model: Any, name: str, count: int) -> np.ndarray:
    """Of `count` elements which have a nonzero number there; none in a MuJoCo without the field."""
    values = np.array(getattr(model, name, np.zeros(count)))
    return np.any(values.reshape(count, -1), axis=1) if count else np.zeros(0, dtype=bool)


def _alike(numbers: np.ndarray, usual: np.ndarray) -> np.ndarray:
    return np.all(np.isclose(numbers, usual, rtol=1e-6), axis=1)


def _joints(model: Any, numbers: Iterable[int]) -> list[str]:
    names = mujoco_joint_names(model)
    return [names[j] for j in sorted(numbers)]


def _some(names: list[str]) -> UnreadElements:
    return UnreadElements(names, several(names, SOME))
