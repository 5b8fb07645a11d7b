"""MJCF files, read as MuJoCo compiles them, so that defaults, includes and units are its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import GroundLeftOut, InvalidModel, UnknownName
from tarsus.model.candidates import Shape, ShapeKind
from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.files import existing_file, naming, needed_library
from tarsus.model.held import check_height, held
from tarsus.model.joint import Joint, JointKind
from tarsus.model.mechanism import WORLD, Inertia, Mechanism
from tarsus.model.mjcf_actuators import actuators, file_actuators, gear_of, signals
from tarsus.model.mjcf_compile import compiled, report_missing, report_obsolete
from tarsus.model.mjcf_contacts import colliding, material, of_contacts, report_contacts
from tarsus.model.mjcf_couplings import couplings
from tarsus.model.mjcf_extras import body_names, report_constraints, report_dropped
from tarsus.model.mjcf_loops import loop_joints
from tarsus.model.mjcf_names import including_scenes
from tarsus.model.mjcf_own_ground import report_ground
from tarsus.model.mjcf_ranges import check_ranges
from tarsus.model.mjcf_source import UNNAMED, Source
from tarsus.model.parts import Part, Report, Welded, weld
from tarsus.model.poses import Pose, rotation_about, rotation_from_quaternion, shift

Array = NDArray[np.float64]

KINDS: dict[int, JointKind] = {0: "free", 1: "ball", 2: "slide", 3: "hinge"}  # mjtJoint
PLANE, HFIELD, MESHES = 0, 1, (7, 8)  # mjtGeom; a signed-distance field carries a mesh
SHAPES: dict[int, tuple[ShapeKind, int]] = {  # mjtGeom: our kind, how many sizes it has
    2: ("sphere", 1),
    3: ("capsule", 2),
    4: ("ellipsoid", 3),
    5: ("cylinder", 2),
    6: ("box", 3),
}
ITSELF = "choose a terrain, perhaps this file by its path"


def read_mjcf(
    source: str | Path,
    floating: bool = True,
    height: float | None = None,
    asset_folders: Sequence[str | Path] = (),
) -> Mechanism:
    """The mechanism of an MJCF file, or of MJCF text (a string that begins with <).

    floating: False holds the first body, where it has a free joint, in the world as the file draws
    it; height: of its origin then, m; asset_folders: further folders that its files may lie in.
    """
    check_height(floating, height)
    inline = isinstance(source, str) and source.lstrip().startswith("<")
    text, path = (str(source), None) if inline else ("", existing_file(source))
    file, fallback = (path.name, path.stem) if path else ("MJCF text", "mechanism")
    with naming(file, path):
        given = Source.of(text, path, asset_folders)
        try:
            model = compiled(given)
        except UnknownName as error:
            raise _suggesting_a_scene(error, path) from None
        found = from_mujoco_model(model, file, fallback, given)
        if given.document.gives("option", "timestep"):
            found = replace(found, timestep=float(model.opt.timestep))
        return found if floating else held(found, height)


def _suggesting_a_scene(error: UnknownName, path: Path | None) -> UnknownName:
    """Return the error, naming the scene to load if one beside the file includes it."""
    scenes = including_scenes(path) if path else []
    if not scenes:
        return error
    message = f"{error} {scenes[0]} includes this file and may have it: load {scenes[0]}."
    return UnknownName(message, error.subject)


def from_mujoco_model(
    model: Any, file: str, fallback_name: str, source: Source | None = None
) -> Mechanism:
    """The mechanism of a compiled mujoco.MjModel; `file` is what notes and warnings call it.

    source: what it was compiled from
    """
    report = Report(file)
    report_missing(source, report)
    report_obsolete(source, report)
    check_ranges(model)
    parts, owner, anchors = _parts(model)
    welded = weld(parts, report)
    # what of the model is left out
    _report_terrain(model, report)
    report_dropped(model, report)
    report_contacts(model, report)
    report_ground(model, report)
    # loops, and a word on how they are held
    loops = loop_joints(model, welded, owner, anchors)
    coupled = couplings(model, mujoco_joint_names(model))
    report_constraints(loops, coupled, report)
    # the mechanism
    name = model.names.split(b"\0")[0].decode()
    return Mechanism(
        name=fallback_name if name in ("", UNNAMED) else name,
        bodies=welded.bodies,
        candidates=welded.candidates,
        edges=welded.edges,
        solids=welded.solids,
        frames=welded.frames,
        actuators=actuators(model, report),
        file_actuators=file_actuators(model, report),
        signals=signals(model),
        keyframes=_keyframes(model),
        material=material(model),
        excluded=_excluded(model, welded, owner),
        gravity_acceleration=_gravity(model),
        notes=tuple(report.notes),
        left_out=tuple(report.left_out),
        loops=loops,
        couplings=coupled,
    )


def _parts(model: Any) -> tuple[list[Part], list[int], list[Array]]:
    """A model's parts; of each MuJoCo body its part (WORLD: the world) and joint's anchor (3,)."""
    names = body_names(model)
    joints = mujoco_joint_names(model)
    parts: list[Part] = []
    # of each MuJoCo body: its part, its joint's anchor in its own frame
    owner, anchors = [WORLD], [np.zeros(3)]
    # shapes of the world itself
    world_shapes = _shapes(model, 0, Pose())
    if world_shapes:
        parts.append(Part("worldbody", WORLD, shapes=world_shapes))
    # body by body: its pose against the last joint above it
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        pose = shift(-anchors[parent]) @ Pose(
            np.array(model.body_pos[body]), rotation_from_quaternion(model.body_quat[body])
        )
        # every joint but the last moves a massless body
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        above, anchor = owner[parent], np.zeros(3)
        for number in range(first, first + count - 1):
            joint = _joint(model, number, joints[number])
            step, anchor = _to_joint(model, number, anchor)
            parts.append(Part(f"{names[body]}/{joint.name}", above, pose @ step, joint))
            above, pose = len(parts) - 1, Pose()
        # the last joint moves the body itself
        last = None
        if count:
            last = _joint(model, first + count - 1, joints[first + count - 1])
            step, anchor = _to_joint(model, first + count - 1, anchor)
            pose = Pose() if last.kind == "free" else pose @ step
        parts.append(_carrier(model, body, Part(names[body], above, pose, last), anchor))
        owner.append(len(parts) - 1)
        anchors.append(anchor)
    return parts, owner, anchors


def _to_joint(model: Any, number: int, from_anchor: Array) -> tuple[Pose, Array]:
    """The step from one anchor of a body to joint `number`'s, and this anchor in the body's frame.

    MuJoCo's body stands as drawn at qpos0; we turn it back, so that it does at zero.
    """
    anchor, axis = np.array(model.jnt_pos[number]), np.array(model.jnt_axis[number])
    kind = KINDS[int(model.jnt_type[number])]
    reference = float(model.qpos0[model.jnt_qposadr[number]]) if kind in ("hinge", "slide") else 0.0
    offset, rotation = anchor - from_anchor, np.eye(3)
    if reference and kind == "hinge":
        rotation = rotation_about(axis, -reference)
    if reference and kind == "slide":
        offset = offset - reference * axis
    return Pose(offset, rotation), anchor


def _carrier(model: Any, body: int, part: Part, anchor: Array) -> Part:
    """The part with its matter, shapes and sites, given from the joint's anchor (3,) on."""
    back = shift(-anchor)
    turn = rotation_from_quaternion(model.body_iquat[body])
    about = (turn * model.body_inertia[body]) @ turn.T
    inertia = Inertia(
        float(model.body_mass[body]), back.point(model.body_ipos[body]), (about + about.T) / 2
    )
    sites = [
        (model.site(site).name or f"{part.name}/site_{site}", back @ _pose(model, "site", site))
        for site in np.flatnonzero(model.site_bodyid == body).tolist()
    ]
    if anchor.any():
        sites.insert(0, (f"{part.name}/origin", back))
    shapes = _shapes(model, body, back)
    return Part(part.name, part.parent, part.pose, part.joint, inertia, shapes, tuple(sites))


def _joint(model: Any, number: int, name: str) -> Joint:
    # kind, range
    kind = KINDS[int(model.jnt_type[number])]
    dof, place = int(model.jnt_dofadr[number]), int(model.jnt_qposadr[number])
    limited = bool(model.jnt_limited[number]) and kind in ("hinge", "slide")
    lower, upper = model.jnt_range[number] if limited else (-np.inf, np.inf)
    # what resists it
    gears = [  # a motor's own rotor and damping act through its gear
        (a, gear_of(model, a) ** 2)
        for a in range(len(model.actuator_trntype))
        if model.actuator_trntype[a] in (0, 1) and model.actuator_trnid[a, 0] == number
    ]
    rotor = getattr(model, "actuator_armature", np.zeros(len(model.actuator_trntype)))
    damper = getattr(model, "actuator_damping", np.zeros(len(model.actuator_trntype)))
    return Joint(
        name,
        kind,
        axis=np.array(model.jnt_axis[number])
        if kind in ("hinge", "slide")
        else np.array([0.0, 0.0, 1.0]),
        lower=float(lower),
        upper=float(upper),
        armature=float(model.dof_armature[dof] + sum(rotor[a] * g for a, g in gears)),
        damping=float(model.dof_damping[dof] + sum(damper[a] * g for a, g in gears)),
        dry_friction=float(model.dof_frictionloss[dof]),
        stiffness=float(model.jnt_stiffness[number]) if kind != "free" else 0.0,
        rest=float(model.qpos_spring[place]) if kind in ("hinge", "slide") else 0.0,
    )


def _pose(model: Any, what: str, number: int) -> Pose:
    quaternion = getattr(model, f"{what}_quat")[number]
    return Pose(
        np.array(getattr(model, f"{what}_pos")[number]), rotation_from_quaternion(quaternion)
    )


def _shapes(model: Any, body: int, back: Pose) -> tuple[Shape, ...]:
    found, numbers = list[Shape](), of_contacts(model)
    on_body = np.flatnonzero(model.geom_bodyid == body)
    for geom in np.intersect1d(on_body, colliding(model)).tolist():
        kind = int(model.geom_type[geom])
        if kind in (PLANE, HFIELD):
            continue
        name, pose = model.geom(geom).name, back @ _pose(model, "geom", geom)
        if kind in MESHES:
            mesh = int(model.geom_dataid[geom])
            start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
            vertices = np.array(model.mesh_vert[start : start + count], dtype=float)
            found.append(Shape("mesh", (), pose, name, vertices, **numbers[geom]))
        elif kind in SHAPES:
            ours, sizes = SHAPES[kind]
            size = tuple(float(s) for s in model.geom_size[geom, :sizes])
            found.append(Shape(ours, size, pose, name, **numbers[geom]))
    return tuple(found)


def _report_terrain(model: Any, report: Report) -> None:
    """Say which planes and heightfields of the world are left out."""
    ground, other = [], []
    for geom in colliding(model):
        if model.geom_type[geom] not in (PLANE, HFIELD):
            continue
        pose = _pose(model, "geom", geom)
        level = model.geom_type[geom] == PLANE and abs(pose.rotation[2, 2] - 1) < 1e-9
        at_zero = abs(pose.position[2]) < 1e-9 and model.geom_bodyid[geom] == 0
        (ground if level and at_zero else other).append(model.geom(geom).name or f"geom {geom}")
    if ground:
        report.leave(f"The ground plane is left out ({', '.join(ground)}): {ITSELF}.")
    if other:
        told = f"planes and heightfields are left out ({', '.join(other)}): {ITSELF}."
        report.warn(told, "ground-left-out", other[0], GroundLeftOut)


def _keyframes(model: Any) -> dict[str, Array]:
    """The file's keyframes, and last `qpos0`: every body where the file draws it."""
    rows = {model.key(k).name or f"key_{k}": model.key_qpos[k] for k in range(model.nkey)}
    rows.setdefault("qpos0", model.qpos0)
    return {
        name: _unit_quaternions(model, name, np.array(row, dtype=float))
        for name, row in rows.items()
    }


def _unit_quaternions(model: Any, keyframe: str, q: Array) -> Array:
    for kind, start in zip(model.jnt_type, model.jnt_qposadr, strict=True):
        if KINDS[int(kind)] in ("free", "ball"):
            first = start + (3 if KINDS[int(kind)] == "free" else 0)
            length = np.linalg.norm(q[first : first + 4])
            if not 0 < length < np.inf:
                raise InvalidModel(
                    f"keyframe {keyframe!r}: the quaternion in entries {first} to {first + 3} must"
                    " be finite and not zero.",
                    keyframe,
                )
            q[first : first + 4] /= length
    return q


def _excluded(model: Any, welded: Welded, owner: list[int]) -> tuple[tuple[str, str], ...]:
    """Pairs of bodies that never collide; a welded link speaks for the body it joined."""
    pairs: list[tuple[str, str]] = []
    for signature in np.array(model.exclude_signature).tolist():
        hosts = [
            WORLD if b == 0 else welded.host[owner[b]]
            for b in (signature >> 16, signature & 0xFFFF)
        ]
        if WORLD not in hosts and hosts[0] != hosts[1]:
            pairs.append((welded.bodies[hosts[0]].name, welded.bodies[hosts[1]].name))
    return tuple(dict.fromkeys(pairs))


def _gravity(model: Any) -> tuple[float, float, float]:
    mujoco = needed_library("mujoco", "reading MJCF")
    x, y, z = (float(g) for g in model.opt.gravity)
    off = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    return (0.0, 0.0, 0.0) if off else (x, y, z)
