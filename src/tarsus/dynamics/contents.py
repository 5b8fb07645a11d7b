"""What of a robot's file is simulated and what is left out, as rows of tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from tarsus.errors import several
from tarsus.model.file_actuators import FileActuator, Range
from tarsus.model.joint import Joint
from tarsus.model.mechanism import Mechanism
from tarsus.model.self_collision import between, pairs

DRAWN = "qpos0"  # the keyframe with every body where its file draws it
ORIGIN = "origin"  # frames of a body whose own stands at its joint, elsewhere than in the file
SHOWN = 6  # names before "and ... more"
SPEEDS = "speed limits"
BY_FILE = 'with actuators="file" (--actuators file) alone'
BY_ITSELF = "with self_collision=True (--self-collision) alone"
ACTUATOR_HEAD = ("actuator", "joint", "kind", "gear", "kp", "kv", "control", "force", "speed")

PROPERTIES: dict[str, Callable[[Joint], bool]] = {
    "ranges": lambda joint: bool(np.isfinite([joint.lower, joint.upper]).any()),
    "springs": lambda joint: joint.stiffness != 0,
    "damping": lambda joint: joint.damping != 0,
    "dry friction": lambda joint: joint.dry_friction != 0,
    "armature": lambda joint: joint.armature != 0,
    SPEEDS: lambda joint: bool(np.isfinite(joint.velocity_limit)),
}


def taken(mechanism: Mechanism) -> list[tuple[str, str]]:
    """What is there, and how much of it: bodies, joints and their properties, actuators, ..."""
    m, joints = mechanism, [body.joint for body in mechanism.bodies]
    moving = [joint for joint in joints if joint.kind != "free"]
    base = "floats" if m.floating else "is fixed to the world"
    rows = [("robot", f"{m.name}; its base {base}")]
    rows += [("bodies", f"{len(m.bodies)}, {m.mass:.6g} kg"), ("joints", _counted(joints))]
    # of which joints
    for what, has in PROPERTIES.items():
        named = [joint.name for joint in moving if has(joint)]
        everyone = named and len(named) == len(moving)
        told = f"all {len(named)} joints" if everyone else _some(named)
        rows.append((what, told + _acting(m, named) if what == SPEEDS else told))
    named_frames = {frame.name for frame in m.frames}
    # what drives, touches, closes loops, and where it may start
    kinds = Counter(actuator.kind for actuator in m.file_actuators)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    rows.append(("motors", f"{len(m.actuators)}{f'; in the file: {told}' if told else ''}"))
    rows.append(("contact points", _some([candidate.name for candidate in m.candidates])))
    rows.append(("may touch itself", _some([capsule.name for capsule in m.solids]) + _meeting(m)))
    rows.append(("loops", _some([loop.joint.name for loop in m.loops])))
    rows.append(("follow others", _some([coupling.joint for coupling in m.couplings])))
    rows.append(("keyframes", _keyframes(m)))
    if aside := [body.name for body in m.bodies if f"{body.name}/{ORIGIN}" in named_frames]:
        rows.append(("frames at joints", f"{_some(aside)}; BODY/{ORIGIN} is the file's"))
    return rows


def _acting(mechanism: Mechanism, limited: list[str]) -> str:
    """Under which choice motors hold the speed limits of these joints, and of which alone."""
    held = {a.joint for a in mechanism.file_actuators if np.isfinite(a.speed)}
    acting = [name for name in limited if name in held]
    if not limited or not acting:
        return "; no motor holds them" if limited else ""
    return f"; act {BY_FILE}" + (f", of {_some(acting)}" if len(acting) < len(limited) else "")


def _meeting(mechanism: Mechanism) -> str:
    """How many pairs of shapes the file lets touch, and under which choice they do."""
    known = pairs(mechanism)
    always = sum(between(mechanism, pair) for pair in known)
    told = f"; {len(known) - always} pairs, {BY_ITSELF}" if len(known) > always else ""
    return told + (f"; {always} pairs of robot and objects, always" if always else "")


def _keyframes(mechanism: Mechanism) -> str:
    """Those of the file, and whether it also draws the robot somewhere."""
    named = _some([name for name in mechanism.keyframes if name != DRAWN])
    return f"{named}; {DRAWN} is as drawn" if DRAWN in mechanism.keyframes else named


def actuator_rows(mechanism: Mechanism) -> list[tuple[str, ...]]:
    """A row for each actuator of the file, by the columns of `ACTUATOR_HEAD`."""
    return [
        (
            a.name,
            a.joint,
            a.kind if a.simulated else a.dynamics,
            f"{a.gear:g}",
            f"{a.kp:.6g}" if a.has_kp else "",
            f"{a.kv:.6g}" if a.has_kv else "",
            _range(a.control),
            _limits(a),
            f"{a.speed:.4g}" if np.isfinite(a.speed) else "",
        )
        for a in mechanism.file_actuators
    ]


def _limits(actuator: FileActuator) -> str:
    """What limits its force, and that of all actuators on its joint."""
    own, joint = _range(actuator.force), _range(actuator.at_joint)
    return ", ".join(text for text in (own, f"joint {joint}" if joint else "") if text)


def _range(ends: Range) -> str:
    return f"{ends[0]:.4g} .. {ends[1]:.4g}" if np.isfinite(ends).any() else ""


def _counted(joints: list[Joint]) -> str:
    kinds = Counter(joint.kind for joint in joints)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _some(names: list[str]) -> str:
    """How many, and the first names."""
    return f"{len(names)}: {several(names, SHOWN)}" if names else "none"
