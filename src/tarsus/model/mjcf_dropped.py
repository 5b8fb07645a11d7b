"""What moves or pushes in a compiled MuJoCo model that a mechanism lacks, and the names it has."""

from __future__ import annotations

from collections.abc import Iterable
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
PLUGGED = ("body", "geom", "actuator", "sensor")  # what a plugin can act on


def elements_dropped(model: Any, bodies: list[str]) -> dict[str, list[str]]:
    """Elements left out besides equality constraints: what they are called, and their names.

    bodies: a name for every body
    """
    medium = model.opt.density or model.opt.viscosity
    moving = np.any(np.array(model.key_qvel), axis=1)
    return {
        "mocap bodies are": [bodies[b] for b in range(model.nbody) if model.body_mocapid[b] >= 0],
        "tendons are": [model.tendon(t).name or f"tendon {t}" for t in range(model.ntendon)],
        **_of_joints(model),
        "gravity compensation is": [
            bodies[b] for b in range(model.nbody) if model.body_gravcomp[b]
        ],
        **_of_geoms(model),
        "flexible bodies are": [_name(model, "flex", f) or f"flex {f}" for f in range(model.nflex)],
        "plugins are": [_plugin(model, p, bodies) for p in range(model.nplugin)],
        "forces of the medium are": ["option density or viscosity"] if medium else [],
        "flags that switch something off are": _switched_off(model),
        "flags that switch something on are": _flags(model.opt.enableflags, "ENBL", SWITCHED_ON),
        "velocities of keyframes are": [
            model.key(k).name or f"key_{k}" for k in np.flatnonzero(moving)
        ],
    }


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
        "springs of free joints are": _joints(model, np.flatnonzero(springs)),
        "the yielding of springs, which stay bent (springyield), is": _joints(
            model, np.flatnonzero(yielding)
        ),
        "the higher powers of springs are": _joints(model, np.flatnonzero(bent)),
        "the higher powers of joint damping are": _joints(model, growing),
        "limits of ball joints are": _joints(model, np.flatnonzero((kinds == BALL) & limited)),
        "margins of joint limits are": _joints(model, np.flatnonzero(early)),
    }


def _of_geoms(model: Any) -> dict[str, list[str]]:
    """Of geoms that can touch, those fixed to the world among them, and of explicit pairs."""
    running = _field(model, "geom_surfacevel", model.ngeom)
    sticky = _field(model, "geom_adhesion", model.ngeom)
    pairs = np.flatnonzero(_field(model, "pair_adhesion", model.npair))
    geoms = {g: model.geom(g).name or f"geom {g}" for g in colliding(model)}
    of_pairs = [model.pair(k).name or f"pair {k}" for k in pairs]
    running_ones = [name for g, name in geoms.items() if running[g]]
    sticky_ones = [name for g, name in geoms.items() if sticky[g]] + of_pairs
    return {
        "the speed of surfaces that run like a belt (surfacevel) is": _some(running_ones),
        "the pull of contacts that stick (adhesion) is": _some(sticky_ones),
        "torsional and rolling friction, by which MuJoCo's feet turn and roll less, are": _turning(
            model
        ),
    }


def _turning(model: Any) -> list[str]:
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
        return []
    rolls = max((own[g, 2] for g in turning if condim[g] == ROLLING), default=0.0)
    most = f"up to {max(own[g, 1] for g in turning):g} m and {rolls:g} m"
    named = several([model.geom(g).name or f"geom {g}" for g in turning], SOME)
    return [f"condim 4 or 6 of {named}, {most} (docs/from_mujoco.md)"]


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


def _some(names: list[str]) -> list[str]:
    return [several(names, SOME)] if names else []
