"""Features of a compiled MuJoCo model that are not simulated, and how they are reported.

`UNSUPPORTED` lists them by code; the rules of `mjcf_schema` name these codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tarsus.errors import TarsusWarning, WorldGeometryIgnored, join_names
from tarsus.model import mjcf_contacts as contacts
from tarsus.model.conventions import mujoco_body_names, mujoco_joint_names
from tarsus.model.file_actuators import NOT_DRIVING
from tarsus.model.files import import_library
from tarsus.model.mjcf_actuators import (
    find_delayed,
    find_unsupported_dynamics,
    find_unsupported_transmissions,
)
from tarsus.model.mjcf_contacts import find_colliding_geoms, geom_name
from tarsus.model.mjcf_equalities import (
    find_simulated_equalities,
)
from tarsus.model.mjcf_schema import MJCF
from tarsus.model.mjcf_tendons import find_possible_tendons, find_tendon_actuators
from tarsus.model.parts import MAX_LISTED, Report
from tarsus.model.poses import rotation_from_quaternion

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
PLANE, HFIELD = 0, 1  # mjtGeom
SLIDING, ROLLING = 3, 6  # condim
ON_JOINT = (0, 1)  # mjtTrn: at the joint, in its parent's frame
SITE = 6  # mjtObj
EQUALITIES = (  # mjtEq
    "connect",
    "weld",
    "joint",
    "tendon",
    "flex",
    "flexvert",
    "flexstrain",
    "distance",
)
SOFTNESS = np.array([0.02, 1.0, 0.9, 0.95, 0.001, 0.5, 2.0])  # MuJoCo's defaults: solref, solimp
PLUGGED = ("body", "geom", "actuator", "sensor")  # what a plugin can act on
CHOOSE_TERRAIN = "; choose a terrain, for example this file by its path"


@dataclass(frozen=True)
class Elements:
    """Names of elements that are not simulated, and the list of them in a sentence."""

    names: list[str]
    listed: str

    @staticmethod
    def all_of(names: Iterable[str]) -> Elements:
        """Create a list of elements that a sentence names in full."""
        names = list(names)
        return Elements(names, ", ".join(names))

    @staticmethod
    def some_of(names: Iterable[str]) -> Elements:
        """Create a list of elements of which a sentence names the first ones."""
        names = list(names)
        return Elements(names, join_names(names, MAX_LISTED))


@dataclass(frozen=True)
class UnsupportedFeature:
    """One feature that is not simulated.

    Attributes
    ----------
    statement
        Start of the sentence that reports it: "tendons are ignored".
    find
        Function that returns the elements of a compiled model that have the feature.
    advice
        End of the sentence.
    warns
        Whether the report is a warning; otherwise it is a note in the robot's `unsupported`.
    kind
        Class of the warning.
    """

    statement: str
    find: Callable[[Any], Elements]
    advice: str = ""
    warns: bool = True
    kind: type[TarsusWarning] = TarsusWarning


def report_unsupported(model: Any, report: Report) -> None:
    """Report every feature of a compiled model that is not simulated."""
    for code, feature in UNSUPPORTED.items():
        elements = feature.find(model)
        if not elements.names:
            continue
        sentence = f"{feature.statement}: {elements.listed}{feature.advice}."
        if feature.warns:
            report.warn(sentence, code, elements.names[0], feature.kind)
        else:
            report.ignore(sentence[0].upper() + sentence[1:])


def _find_terrain(model: Any, ground: bool) -> Elements:
    """Find the level ground plane, or all other planes and heightfields."""
    names = []
    for geom in find_colliding_geoms(model):
        kind = model.geom_type[geom]
        if kind in (PLANE, HFIELD):
            up = rotation_from_quaternion(model.geom_quat[geom])[2, 2]
            level = kind == PLANE and abs(up - 1) < 1e-9
            at_zero = abs(model.geom_pos[geom][2]) < 1e-9 and model.geom_bodyid[geom] == 0
            if (level and at_zero) == ground:
                names.append(geom_name(model, geom))
    return Elements.all_of(names)


def _find_equalities(model: Any) -> Elements:
    ignored = set(range(model.neq)) - find_simulated_equalities(model)
    return Elements.all_of(_format_equality_name(model, number) for number in sorted(ignored))


def _format_equality_name(model: Any, number: int) -> str:
    """Format the type of an equality constraint, its name, and what it joins."""
    number_of_kind = int(model.eq_type[number])
    kind = EQUALITIES[number_of_kind] if number_of_kind < len(EQUALITIES) else "constraint"
    accessors = {
        "joint": model.joint,
        "tendon": model.tendon,
        "connect": model.body,
        "weld": model.body,
    }
    accessor = model.site if model.eq_objtype[number] == SITE else accessors.get(kind)
    ends = [int(model.eq_obj1id[number]), int(model.eq_obj2id[number])]
    joined = ""
    if accessor:
        joined = " and ".join(accessor(end).name or str(end) for end in ends if end >= 0)
    words = [kind, model.equality(number).name, f"of {joined}" if joined else ""]
    return " ".join(word for word in words if word)


def _find_soft_equalities(model: Any) -> Elements:
    """Find constraints that are softer than MuJoCo's defaults."""
    ref, imp = np.array(model.eq_solref), np.array(model.eq_solimp)
    soft = (ref[:, 0] <= 0) | (ref[:, 0] > SOFTNESS[0]) | np.any(imp[:, :2] < SOFTNESS[2:4], axis=1)
    simulated = find_simulated_equalities(model)
    return Elements.some_of(
        _format_equality_name(model, n) for n in np.flatnonzero(soft).tolist() if n in simulated
    )


def _find_mocap_bodies(model: Any) -> Elements:
    return Elements.all_of(_name_bodies(model, np.array(model.body_mocapid) >= 0))


def _find_gravity_compensated(model: Any) -> Elements:
    return Elements.all_of(_name_bodies(model, np.array(model.body_gravcomp) != 0))


def _find_tendons(model: Any) -> Elements:
    """Find tendons with an effect on motion that is not simulated."""
    acting = np.array(model.tendon_limited, dtype=bool)
    for field in ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss"):
        acting |= _find_nonzero(model, f"tendon_{field}", model.ntendon)
    for tendon in range(model.ntendon):
        acting[tendon] |= bool(find_tendon_actuators(model, tendon))
    acting[find_possible_tendons(model)] = False
    acting |= _find_nonzero(model, "tendon_armature", model.ntendon)
    return _name_tendons(model, np.flatnonzero(acting))


def _name_tendons(model: Any, numbers: Iterable[int]) -> Elements:
    return Elements.all_of(model.tendon(t).name or f"tendon {t}" for t in numbers)


def _find_flexible_bodies(model: Any) -> Elements:
    return Elements.all_of(_name(model, "flex", f) or f"flex {f}" for f in range(model.nflex))


def _find_plugins(model: Any) -> Elements:
    return Elements.all_of(_format_plugin(model, p) for p in range(model.nplugin))


def _find_medium(model: Any) -> Elements:
    used = model.opt.density or model.opt.viscosity
    return Elements.all_of(["option density or viscosity"] if used else [])


def _find_switched_off(model: Any) -> Elements:
    """Find the disabled flags and groups of actuators; disabled gravity is simulated."""
    groups = int(model.opt.disableactuator)
    return Elements.all_of(
        [
            *_find_flags(model.opt.disableflags, "DSBL", "disable-flags-ignored"),
            *(f"actuator group {g}" for g in range(groups.bit_length()) if groups >> g & 1),
        ]
    )


def _find_switched_on(model: Any) -> Elements:
    return Elements.all_of(_find_flags(model.opt.enableflags, "ENBL", "enable-flags-ignored"))


def _find_moving_keyframes(model: Any) -> Elements:
    moving = np.any(np.array(model.key_qvel), axis=1)
    return Elements.all_of(model.key(k).name or f"key_{k}" for k in np.flatnonzero(moving))


def _find_free_springs(model: Any) -> Elements:
    stiff, kinds = np.array(model.jnt_stiffness) != 0, np.array(model.jnt_type)
    return _name_joints(model, np.flatnonzero(stiff & (kinds == FREE)))


def _find_yielding_springs(model: Any) -> Elements:
    yielding = _find_nonzero(model, "jnt_springyield", model.njnt)
    joints = _name_joints(model, np.flatnonzero(yielding & (np.array(model.jnt_stiffness) != 0)))
    tendons = _find_nonzero(model, "tendon_springyield", model.ntendon)
    tendons &= np.array(model.tendon_stiffness) != 0
    return _join(joints, _name_tendons(model, np.flatnonzero(tendons)))


def _find_nonlinear_springs(model: Any) -> Elements:
    joints = np.flatnonzero(_find_nonzero(model, "jnt_stiffnesspoly", model.njnt))
    tendons = np.flatnonzero(_find_nonzero(model, "tendon_stiffnesspoly", model.ntendon))
    return _join(_name_joints(model, joints), _name_tendons(model, tendons))


def _find_nonlinear_damping(model: Any) -> Elements:
    """Find joints and tendons with nonlinear damping, that of joints' actuators included."""
    joints = set(
        np.array(model.dof_jntid)[_find_nonzero(model, "dof_dampingpoly", model.nv)].tolist()
    )
    count = len(model.actuator_trntype)
    for actuator in np.flatnonzero(_find_nonzero(model, "actuator_dampingpoly", count)):
        if model.actuator_trntype[actuator] in ON_JOINT:
            joints.add(int(model.actuator_trnid[actuator, 0]))
    tendons = np.flatnonzero(_find_nonzero(model, "tendon_dampingpoly", model.ntendon))
    return _join(_name_joints(model, joints), _name_tendons(model, tendons))


def _find_locked_balls(model: Any) -> Elements:
    """Find ball joints with a range of zero, whose rotation has no axis at the limit."""
    balls = _find_limited_joints(model) & (np.array(model.jnt_type) == BALL)
    return _name_joints(model, np.flatnonzero(balls & ~np.any(model.jnt_range, axis=1)))


def _find_limit_margins(model: Any) -> Elements:
    joints = _find_limited_joints(model) & (np.array(model.jnt_margin) != 0)
    tendons = np.array(model.tendon_limited, dtype=bool) & (np.array(model.tendon_margin) != 0)
    return _join(
        _name_joints(model, np.flatnonzero(joints)), _name_tendons(model, np.flatnonzero(tendons))
    )


def _find_soft_joints(model: Any) -> Elements:
    """Find joints and tendons whose limit or dry friction lacks MuJoCo's default softness."""
    limited = _find_limited_joints(model) & np.isin(model.jnt_type, (BALL, SLIDE, HINGE))
    rough = np.array(model.dof_frictionloss) > 0
    at_limit = np.hstack([model.jnt_solref, model.jnt_solimp])
    in_friction = np.hstack([model.dof_solref, model.dof_solimp])
    joints = set(np.flatnonzero(limited & ~_is_default(at_limit)).tolist())
    joints |= set(np.array(model.dof_jntid)[rough & ~_is_default(in_friction)].tolist())
    rough_tendons = np.array(model.tendon_frictionloss) > 0
    of_tendons = np.hstack([model.tendon_solref_fri, model.tendon_solimp_fri])
    limited = np.array(model.tendon_limited, dtype=bool)
    at_range = np.hstack([model.tendon_solref_lim, model.tendon_solimp_lim])
    soft_tendons = rough_tendons & ~_is_default(of_tendons)
    tendons = np.flatnonzero(soft_tendons | (limited & ~_is_default(at_range)))
    soft = _join(_name_joints(model, joints), _name_tendons(model, tendons))
    return Elements.some_of(soft.names)


def _find_surface_velocities(model: Any) -> Elements:
    moving = _find_nonzero(model, "geom_surfacevel", model.ngeom)
    return Elements.some_of(geom_name(model, g) for g in find_colliding_geoms(model) if moving[g])


def _find_adhesive_actuators(model: Any) -> Elements:
    adhesive = _find_nonzero(model, "geom_adhesion", model.ngeom)
    pairs = np.flatnonzero(_find_nonzero(model, "pair_adhesion", model.npair))
    geoms = [geom_name(model, g) for g in find_colliding_geoms(model) if adhesive[g]]
    return Elements.some_of([*geoms, *(model.pair(k).name or f"pair {k}" for k in pairs)])


def _find_torsional_friction(model: Any) -> Elements:
    """Find fixed geoms with torsional (condim 4) or rolling friction (condim 6), and the largest.

    They count only if no geom that moves has a higher priority, or as much friction.
    """
    friction, condim = np.array(model.geom_friction), np.array(model.geom_condim)
    fixed = np.array(model.body_weldid)[model.geom_bodyid] == 0
    touching, priority = find_colliding_geoms(model), np.array(model.geom_priority)
    highest = max((priority[g] for g in touching if not fixed[g]), default=0)
    acting = friction[:, 1:] * np.stack([condim > SLIDING, condim == ROLLING], axis=1)
    moving = np.max([acting[g] for g in touching if not fixed[g]], axis=0, initial=0.0)
    geoms = [
        g for g in touching if fixed[g] and priority[g] >= highest and np.any(acting[g] > moving)
    ]
    if not geoms:
        return Elements.all_of([])
    rolling = max((friction[g, 2] for g in geoms if condim[g] == ROLLING), default=0.0)
    largest = f"up to {max(friction[g, 1] for g in geoms):g} m and {rolling:g} m"
    names = [geom_name(model, g) for g in geoms]
    return Elements(
        names,
        f"condim 4 or 6 of {join_names(names, MAX_LISTED)}, {largest} (docs/from_mujoco.md)",
    )


def _find_sensors(model: Any) -> Elements:
    return Elements.some_of(model.sensor(n).name or f"sensor {n}" for n in range(model.nsensor))


def _create_name_lister(names: Callable[[Any], Iterable[str]]) -> Callable[[Any], Elements]:
    """Create a function that lists the first names that a function of a model returns."""
    return lambda model: Elements.some_of(names(model))


def _find_pairs(model: Any) -> Elements:
    names = [name for moving in (1, 2) for name in contacts.list_pairs(model, moving)]
    return Elements.some_of(names)


UNSUPPORTED: dict[str, UnsupportedFeature] = {
    "ground-plane-ignored": UnsupportedFeature(
        "the ground plane is ignored",
        partial(_find_terrain, ground=True),
        CHOOSE_TERRAIN,
        warns=False,
    ),
    "ground-ignored": UnsupportedFeature(
        "planes and heightfields are ignored",
        partial(_find_terrain, ground=False),
        CHOOSE_TERRAIN,
        kind=WorldGeometryIgnored,
    ),
    "equalities-ignored": UnsupportedFeature(
        "equality constraints other than active connect, weld and joint ones, and those of fixed"
        " tendons, are ignored",
        _find_equalities,
    ),
    "equality-softness-ignored": UnsupportedFeature(
        "the softness of equality constraints (solref, solimp) is ignored, they are rigid",
        _find_soft_equalities,
        warns=False,
    ),
    "mocap-bodies-ignored": UnsupportedFeature("mocap bodies are ignored", _find_mocap_bodies),
    "tendons-ignored": UnsupportedFeature(
        "tendons that wrap around geoms, and the armature of tendons, are ignored",
        _find_tendons,
    ),
    "gravity-compensation-ignored": UnsupportedFeature(
        "gravity compensation is ignored", _find_gravity_compensated
    ),
    "flexible-bodies-ignored": UnsupportedFeature(
        "flexible bodies are ignored", _find_flexible_bodies
    ),
    "plugins-ignored": UnsupportedFeature("plugins are ignored", _find_plugins),
    "medium-forces-ignored": UnsupportedFeature("forces of the medium are ignored", _find_medium),
    "disable-flags-ignored": UnsupportedFeature(
        "flags that switch something off are ignored", _find_switched_off
    ),
    "enable-flags-ignored": UnsupportedFeature(
        "flags that switch something on are ignored", _find_switched_on
    ),
    "keyframe-velocities-ignored": UnsupportedFeature(
        "velocities of keyframes are ignored", _find_moving_keyframes
    ),
    "free-joint-springs-ignored": UnsupportedFeature(
        "springs of free joints are ignored", _find_free_springs
    ),
    "yielding-springs-ignored": UnsupportedFeature(
        "the plastic yielding of springs (springyield) is ignored", _find_yielding_springs
    ),
    "nonlinear-springs-ignored": UnsupportedFeature(
        "the higher powers of springs are ignored", _find_nonlinear_springs
    ),
    "nonlinear-damping-ignored": UnsupportedFeature(
        "the higher powers of damping are ignored", _find_nonlinear_damping
    ),
    "ball-joint-limits-ignored": UnsupportedFeature(
        "limits of zero of ball joints are ignored",
        _find_locked_balls,
        "; remove the joint to weld the body",
    ),
    "limit-margins-ignored": UnsupportedFeature(
        "margins of the limits of joints and tendons are ignored", _find_limit_margins
    ),
    "joint-softness-ignored": UnsupportedFeature(
        "the softness of joint limits and dry friction (solreflimit, solreffriction and the like)"
        " is ignored, both are rigid",
        _find_soft_joints,
        warns=False,
    ),
    "surface-velocity-ignored": UnsupportedFeature(
        "the velocity of moving surfaces (surfacevel) is ignored", _find_surface_velocities
    ),
    "adhesion-ignored": UnsupportedFeature(
        "the adhesion of contacts is ignored", _find_adhesive_actuators
    ),
    "torsional-friction-ignored": UnsupportedFeature(
        "torsional and rolling friction of the file's own ground are ignored",
        _find_torsional_friction,
    ),
    "differing-softness-ignored": UnsupportedFeature(
        "the softness of geoms that differs from the first geom's is ignored",
        _create_name_lister(contacts.find_differing_softness),
        warns=False,
    ),
    "direct-softness-ignored": UnsupportedFeature(
        "contact stiffness (solref of the form -stiffness, -damping) is ignored",
        _create_name_lister(contacts.find_direct_softness),
        warns=False,
    ),
    "contact-margins-ignored": UnsupportedFeature(
        "contact margins (margin, gap) are ignored",
        _create_name_lister(contacts.find_geoms_with_margin),
        warns=False,
    ),
    "pair-numbers-ignored": UnsupportedFeature(
        "all numbers of explicit pairs but the sliding friction are ignored",
        _find_pairs,
        warns=False,
    ),
    "fixed-pairs-ignored": UnsupportedFeature(
        "the numbers of explicit contact pairs are ignored where neither geom moves",
        _create_name_lister(partial(contacts.list_pairs, moving=0)),
        warns=False,
    ),
    "ground-exclusion-ignored": UnsupportedFeature(
        "these geoms touch the ground, although the file excludes them from contact with its world"
        " by <exclude>, contype or conaffinity",
        _create_name_lister(contacts.find_excluded_from_ground),
    ),
    "sensors-ignored": UnsupportedFeature(
        "sensors are ignored, a simulation has its own", _find_sensors, warns=False
    ),
    "unsupported-actuators-ignored": UnsupportedFeature(
        NOT_DRIVING, lambda model: Elements.all_of(find_unsupported_transmissions(model))
    ),
    "actuator-laws-ignored": UnsupportedFeature(
        "the laws of these actuators are not simulated",
        lambda model: Elements.all_of(find_unsupported_dynamics(model)),
        warns=False,
    ),
    "actuator-delays-ignored": UnsupportedFeature(
        "delays of actuators are ignored",
        lambda model: Elements.all_of(find_delayed(model)),
        "; set a delay in steps instead",
    ),
}
"""Features that are not simulated, by the code of their warning or note."""


def _format_plugin(model: Any, number: int) -> str:
    """Format the name of a plugin's instance, and the names of what it acts on."""
    bodies, users = mujoco_body_names(model), list[str]()
    for kind in PLUGGED:
        for k in np.flatnonzero(np.array(getattr(model, f"{kind}_plugin")) == number).tolist():
            user = bodies[k] if kind == "body" else getattr(model, kind)(k).name
            users.append(f"{kind} {user or k}")
    name = _name(model, "plugin", number) or f"plugin {number}"
    return f"{name} of {' and '.join(users)}" if users else name


def _name(model: Any, kind: str, number: int) -> str:
    """Read the name of an element that `model` has no accessor for, or ""."""
    start = int(getattr(model, f"name_{kind}adr")[number])
    return model.names[start : model.names.index(b"\0", start)].decode()


def _find_flags(bits: int, prefix: str, code: str) -> list[str]:
    """Find the set flags among those that the schema lists under a code.

    Parameters
    ----------
    prefix
        DSBL for flags that disable, ENBL for flags that enable.
    """
    mujoco = import_library("mujoco", "reading MJCF")
    members = mujoco.mjtDisableBit if prefix == "DSBL" else mujoco.mjtEnableBit
    names = MJCF["mujoco/option/flag"].codes[code]
    return [name for name in names if bits & int(getattr(members, f"mj{prefix}_{name.upper()}", 0))]


def _find_nonzero(model: Any, field: str, count: int) -> np.ndarray:
    """Find which of `count` elements have a nonzero value in a field that old versions lack."""
    values = np.array(getattr(model, field, np.zeros(count)))
    return np.any(values.reshape(count, -1), axis=1) if count else np.zeros(0, dtype=bool)


def _find_limited_joints(model: Any) -> np.ndarray:
    return np.array(model.jnt_limited, dtype=bool)


def _is_default(softness: np.ndarray) -> np.ndarray:
    """Find which rows of solref and solimp are MuJoCo's defaults."""
    return np.all(np.isclose(softness, SOFTNESS, rtol=1e-6), axis=1)


def _name_joints(model: Any, numbers: Iterable[int]) -> Elements:
    names = mujoco_joint_names(model)
    return Elements.all_of(names[j] for j in sorted(numbers))


def _join(first: Elements, second: Elements) -> Elements:
    return Elements.all_of([*first.names, *second.names])


def _name_bodies(model: Any, mask: np.ndarray) -> list[str]:
    names = mujoco_body_names(model)
    return [names[b] for b in np.flatnonzero(mask)]
