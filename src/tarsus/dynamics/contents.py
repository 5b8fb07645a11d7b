"""Rows of tables that list what of a robot's file is simulated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from tarsus.errors import join_names
from tarsus.model.file_actuators import FileActuator, Range
from tarsus.model.joint import Joint
from tarsus.model.mechanism import Mechanism
from tarsus.model.self_collision import create_pairs, is_between_trees

AS_DRAWN = "qpos0"  # keyframe with every body where its file draws it
ORIGIN = "origin"  # frame at the file's origin of a body whose own frame is at its joint
MAX_NAMES = 6  # names before "and ... more"
SPEED_LIMITS = "speed limits"
WITH_FILE_ACTUATORS = 'only with actuators="file" (--actuators file)'
WITH_SELF_COLLISION = "only with self_collision=True (--self-collision)"
ACTUATOR_HEAD = ("actuator", "joint", "kind", "gear", "kp", "kv", "control", "force", "speed")

PROPERTIES: dict[str, Callable[[Joint], bool]] = {
    "ranges": lambda joint: bool(np.isfinite([joint.lower, joint.upper]).any()),
    "springs": lambda joint: joint.stiffness != 0,
    "damping": lambda joint: joint.damping != 0,
    "dry friction": lambda joint: joint.dry_friction != 0,
    "armature": lambda joint: joint.armature != 0,
    SPEED_LIMITS: lambda joint: bool(np.isfinite(joint.velocity_limit)),
}


def simulated_rows(mechanism: Mechanism) -> list[tuple[str, str]]:
    """List what is simulated: a row (item, counts and names) for bodies, joints, motors, ...

    Parameters
    ----------
    mechanism
        Mechanism read from a file.

    Returns
    -------
    list of (str, str)
        Name of an item and what there is of it.
    """
    m, joints = mechanism, [body.joint for body in mechanism.bodies]
    moving = [joint for joint in joints if joint.kind != "free"]
    rows = [("robot", f"{m.name}; its base {_describe_base(m)}")]
    rows += [("bodies", f"{len(m.bodies)}, {m.mass:.6g} kg"), ("joints", _count_joints(joints))]
    # properties of joints
    for item, has in PROPERTIES.items():
        names = [joint.name for joint in moving if has(joint)]
        is_all = names and len(names) == len(moving)
        text = f"all {len(names)} joints" if is_all else _count_and_names(names)
        rows.append(
            (item, text + _describe_enforcement(m, names) if item == SPEED_LIMITS else text)
        )
    frames = {frame.name for frame in m.frames}
    # motors, contacts, closed loops, mimic joints, keyframes
    kinds = Counter(actuator.kind for actuator in m.file_actuators)
    text = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    rows.append(("motors", f"{len(m.actuators)}{f'; in the file: {text}' if text else ''}"))
    candidates = [candidate.name for candidate in m.candidates]
    rows.append(("contact points", _count_and_names(candidates)))
    for item in ("torsional friction", "rolling friction"):
        if names := [c.name for c in m.candidates if getattr(c, item.replace(" ", "_"))]:
            rows.append((item, _count_and_names(names)))
    solids = _count_and_names([solid.name for solid in m.solids])
    rows.append(("may touch itself", solids + _count_collision_pairs(m)))
    rows.append(("loops", _count_and_names([loop.joint.name for loop in m.loops])))
    rows.append(("mimic joints", _count_and_names([coupling.joint for coupling in m.couplings])))
    if m.tendons:
        rows.append(("tendons", _count_and_names([tendon.name for tendon in m.tendons])))
    rows.append(("keyframes", _keyframes(m)))
    if moved := [body.name for body in m.bodies if f"{body.name}/{ORIGIN}" in frames]:
        rows.append(("frames at joints", f"{_count_and_names(moved)}; BODY/{ORIGIN} is the file's"))
    return rows


def _describe_enforcement(mechanism: Mechanism, limited: list[str]) -> str:
    """Describe whether motors enforce the speed limits of joints, and with which option."""
    driven = {a.joint for a in mechanism.file_actuators if np.isfinite(a.speed)}
    enforced = [name for name in limited if name in driven]
    if not limited or not enforced:
        return "; not enforced" if limited else ""
    names = f", of {_count_and_names(enforced)}" if len(enforced) < len(limited) else ""
    return f"; enforced {WITH_FILE_ACTUATORS}{names}"


def _count_collision_pairs(mechanism: Mechanism) -> str:
    """Count the pairs of shapes that may collide, and name the option that enables them."""
    known = create_pairs(mechanism)
    always = sum(is_between_trees(mechanism, pair) for pair in known)
    text = f"; {len(known) - always} pairs, {WITH_SELF_COLLISION}" if len(known) > always else ""
    return text + (f"; {always} pairs of robot and objects, always" if always else "")


def _keyframes(mechanism: Mechanism) -> str:
    names = _count_and_names([name for name in mechanism.keyframes if name != AS_DRAWN])
    return f"{names}; {AS_DRAWN} is as drawn" if AS_DRAWN in mechanism.keyframes else names


def _describe_base(mechanism: Mechanism) -> str:
    """Describe how the base moves, by the names of its joints unless it is a free joint."""
    if mechanism.floating:
        return "floats"
    names = [mechanism.bodies[i].joint.name for i in mechanism.base_chain]
    return f"moves on {join_names(names, MAX_NAMES)}" if names else "is fixed to the world"


def actuator_rows(mechanism: Mechanism) -> list[tuple[str, ...]]:
    """Format a row for each actuator of the file, with the columns of `ACTUATOR_HEAD`."""
    return [
        (
            a.name,
            a.joint,
            a.kind if a.is_simulated else a.dynamics,
            f"{a.gear:g}",
            f"{a.kp:.6g}" if a.has_kp else "",
            f"{a.kv:.6g}" if a.has_kv else "",
            _range(a.control),
            _format_limits(a),
            f"{a.speed:.4g}" if np.isfinite(a.speed) else "",
        )
        for a in mechanism.file_actuators
    ]


def _format_limits(actuator: FileActuator) -> str:
    """Format the limits on the force of an actuator, and on all actuators of its joint."""
    force, joint = _range(actuator.force), _range(actuator.joint_force)
    return ", ".join(text for text in (force, f"joint {joint}" if joint else "") if text)


def _range(ends: Range) -> str:
    return f"{ends[0]:.4g} .. {ends[1]:.4g}" if np.isfinite(ends).any() else ""


def _count_joints(joints: list[Joint]) -> str:
    kinds = Counter(joint.kind for joint in joints)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _count_and_names(names: list[str]) -> str:
    """Format the number of names, and the first ones."""
    return f"{len(names)}: {join_names(names, MAX_NAMES)}" if names else "none"
