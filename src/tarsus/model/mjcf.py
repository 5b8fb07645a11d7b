"""Reader of MJCF files, as MuJoCo compiles them.

MuJoCo resolves defaults, includes and units. `mjcf_schema` says what is read of a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidModel, UnknownName, join_names
from tarsus.model.candidates import Shape, ShapeKind
from tarsus.model.conventions import mujoco_body_names, mujoco_joint_names
from tarsus.model.files import add_file_to_errors, check_file_exists, import_library
from tarsus.model.fixed_base import check_height, fix_base
from tarsus.model.friction import FrictionVariation
from tarsus.model.joint import Joint, JointKind
from tarsus.model.mechanism import WORLD, Inertia, Mechanism
from tarsus.model.mjcf_actuators import (
    create_motors,
    read_file_actuators,
    read_keyframe_signals,
)
from tarsus.model.mjcf_compile import (
    compile_model,
    find_including_scenes,
    report_base_joints,
    report_missing,
    report_obsolete,
)
from tarsus.model.mjcf_contacts import (
    find_colliding_geoms,
    read_contact_fields,
    read_material,
    report_contacts,
    report_ground,
)
from tarsus.model.mjcf_equalities import (
    create_couplings,
    create_loop_joints,
    find_in_mechanism,
    find_rigid_tendons,
    report_constraints,
)
from tarsus.model.mjcf_friction import read_friction
from tarsus.model.mjcf_limits import check_ranges
from tarsus.model.mjcf_schema import walk_mjcf
from tarsus.model.mjcf_source import UNNAMED, Source
from tarsus.model.mjcf_tendons import read_gear, read_tendons
from tarsus.model.mjcf_unsupported import report_unsupported
from tarsus.model.motors import joints_of_floating_robot, with_motors
from tarsus.model.parts import MAX_LISTED, Part, Report, WeldResult, weld
from tarsus.model.poses import Pose, rotation_about, rotation_from_quaternion, shift

Array = NDArray[np.float64]

KINDS: dict[int, JointKind] = {0: "free", 1: "ball", 2: "slide", 3: "hinge"}  # mjtJoint
PLANE, HFIELD, MESHES = 0, 1, (7, 8)  # mjtGeom; a signed-distance field has a mesh
SHAPES: dict[int, tuple[ShapeKind, int]] = {  # mjtGeom: kind of shape, number of sizes
    2: ("sphere", 1),
    3: ("capsule", 2),
    4: ("ellipsoid", 3),
    5: ("cylinder", 2),
    6: ("box", 3),
}


def read_mjcf(
    source: str | Path,
    floating: bool = True,
    height: float | None = None,
    asset_folders: Sequence[str | Path] = (),
    driven: Sequence[str] | None = None,
    merge_base: bool = True,
) -> Mechanism:
    """Read an MJCF file.

    Parameters
    ----------
    source
        Path of the file, or MJCF text (a string that begins with <).
    floating
        False locks the base in the world where the file draws it, if it can move.
    height
        Height of the locked body's origin, in m.
    asset_folders
        Further folders that the model's files may lie in.
    driven
        Names of the joints with motors. By default these are the joints with an actuator; if a
        file with a moving base has none, all hinges and slides without a spring.
    merge_base
        Read three slides and a ball or three hinges, on which the base moves freely, as one free
        joint.

    Returns
    -------
    Mechanism
        The robot; its `notes` list what is unsupported.

    Raises
    ------
    TarsusError
        If the file, or one that it names, is missing, invalid or too large.
    """
    check_height(floating, height)
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    text, path = (str(source), None) if is_text else ("", check_file_exists(source))
    file, fallback = (path.name, path.stem) if path else ("MJCF text", "mechanism")
    with add_file_to_errors(file, path):
        mjcf = Source.of(text, path, asset_folders)
        mjcf.merges_base = merge_base
        try:
            model = compile_model(mjcf)
        except UnknownName as error:
            raise _suggest_scene(error, path) from None
        report = Report(file)
        mechanism = _build_mechanism(model, mjcf, report, fallback)
        mechanism = _with_motors(mechanism, model, driven, report)
        if mjcf.document.has_attribute("option", "timestep"):
            mechanism = replace(mechanism, timestep=float(model.opt.timestep))
        return mechanism if floating else fix_base(mechanism, height)


def _with_motors(
    mechanism: Mechanism, model: Any, driven: Sequence[str] | None, report: Report
) -> Mechanism:
    """Choose the joints with motors if the caller does, or if the file has no actuators."""
    if driven is None:
        if len(model.actuator_trntype) or not mechanism.mobile:
            return mechanism
        driven = joints_of_floating_robot(mechanism)
        if not driven:
            return mechanism
        report.warn(
            "the file has no actuators: motors are assumed at"
            f" {join_names(driven, MAX_LISTED)}. Pass driven=[...] to choose the joints.",
            "motors-assumed",
            driven[0],
        )
    efforts = dict[str, float]()
    for number, name in enumerate(mujoco_joint_names(model)):
        if model.jnt_actfrclimited[number]:
            efforts[name] = float(np.abs(model.jnt_actfrcrange[number]).max())
    notes = {"notes": tuple(report.notes), "unsupported": tuple(report.unsupported)}
    return replace(with_motors(mechanism, driven, efforts), **notes)


def _suggest_scene(error: UnknownName, path: Path | None) -> UnknownName:
    """Extend the error by a scene to load instead, if one in its folder includes the file."""
    scenes = find_including_scenes(path) if path else []
    if not scenes:
        return error
    message = f"{error} {scenes[0]} includes this file and may have it: load {scenes[0]}."
    return UnknownName(message, error.subject)


def _build_mechanism(model: Any, source: Source, report: Report, fallback_name: str) -> Mechanism:
    """Build the mechanism of a compiled model; `fallback_name` is for a model without a name."""
    report_missing(source, report)
    report_obsolete(source, report)
    report_base_joints(source, report)
    walk_mjcf(source.document).report(report)
    check_ranges(model)
    parts, owner, anchors = _build_parts(model)
    welded = weld(parts, report)
    report_unsupported(model, report)
    report_contacts(model, report)
    report_ground(model, report)
    loops = create_loop_joints(model, welded, owner, anchors)
    coupled = create_couplings(model, mujoco_joint_names(model))
    report_constraints(model, loops, coupled, report)
    name = model.names.split(b"\0")[0].decode()
    return Mechanism(
        name=fallback_name if name in ("", UNNAMED) else name,
        bodies=welded.bodies,
        candidates=welded.candidates,
        edges=welded.edges,
        solids=welded.solids,
        frames=welded.frames,
        actuators=create_motors(model, report),
        file_actuators=read_file_actuators(model),
        signals=read_keyframe_signals(model),
        keyframes=_read_keyframes(model),
        material=read_material(model),
        excluded=_list_excluded_pairs(model, welded, owner),
        gravity_acceleration=_read_gravity(model),
        notes=tuple(report.notes),
        unsupported=tuple(report.unsupported),
        loops=loops,
        couplings=coupled,
        tendons=read_tendons(
            model,
            find_rigid_tendons(model),
            partial(find_in_mechanism, welded, owner, anchors),
        ),
        merged_joints=tuple(source.base_joints),
    )


def _build_parts(model: Any) -> tuple[list[Part], list[int], list[Array]]:
    """Build a model's parts; find the part and the joint's anchor of each MuJoCo body.

    The part of the world is WORLD. An anchor, shape (3,), is a position in the body's frame.
    """
    names = mujoco_body_names(model)
    joints = mujoco_joint_names(model)
    frictions = read_friction(model)
    parts: list[Part] = []
    owner, anchors = [WORLD], [np.zeros(3)]
    world_shapes = _read_shapes(model, 0, Pose())
    if world_shapes:
        parts.append(Part("worldbody", WORLD, shapes=world_shapes))
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        # pose relative to the anchor of the parent's last joint
        pose = shift(-anchors[parent]) @ Pose(
            np.array(model.body_pos[body]), rotation_from_quaternion(model.body_quat[body])
        )
        # every joint but the last moves a massless body
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        above, anchor = owner[parent], np.zeros(3)
        for number in range(first, first + count - 1):
            joint = _create_joint(model, number, joints[number], frictions)
            step, anchor = _to_joint(model, number, anchor)
            parts.append(Part(f"{names[body]}/{joint.name}", above, pose @ step, joint))
            above, pose = len(parts) - 1, Pose()
        # the last joint moves the body itself
        last = None
        if count:
            last = _create_joint(model, first + count - 1, joints[first + count - 1], frictions)
            step, anchor = _to_joint(model, first + count - 1, anchor)
            pose = Pose() if last.kind == "free" else pose @ step
        parts.append(_build_part(model, body, Part(names[body], above, pose, last), anchor))
        owner.append(len(parts) - 1)
        anchors.append(anchor)
    return parts, owner, anchors


def _to_joint(model: Any, number: int, from_anchor: Array) -> tuple[Pose, Array]:
    """Compute the pose of a joint's anchor relative to `from_anchor`, and the anchor itself.

    Both anchors are positions in the body's frame. In MuJoCo the body has the pose of the file
    at `qpos0`; the returned pose removes that displacement, so that it has it at zero.
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


def _build_part(model: Any, body: int, part: Part, anchor: Array) -> Part:
    """Build the part with its inertia, shapes and sites, relative to the joint's anchor."""
    from_anchor = shift(-anchor)
    rotation = rotation_from_quaternion(model.body_iquat[body])
    about_com = (rotation * model.body_inertia[body]) @ rotation.T
    inertia = Inertia(
        float(model.body_mass[body]),
        from_anchor.point(model.body_ipos[body]),
        (about_com + about_com.T) / 2,
    )
    sites = [
        (
            model.site(site).name or f"{part.name}/site_{site}",
            from_anchor @ _read_pose(model, "site", site),
        )
        for site in np.flatnonzero(model.site_bodyid == body).tolist()
    ]
    if anchor.any():
        sites.insert(0, (f"{part.name}/origin", from_anchor))
    shapes = _read_shapes(model, body, from_anchor)
    return Part(part.name, part.parent, part.pose, part.joint, inertia, shapes, tuple(sites))


def _create_joint(
    model: Any, number: int, name: str, frictions: Mapping[str, FrictionVariation]
) -> Joint:
    kind = KINDS[int(model.jnt_type[number])]
    single = kind in ("hinge", "slide")
    dof, coordinate = int(model.jnt_dofadr[number]), int(model.jnt_qposadr[number])
    limited = bool(model.jnt_limited[number]) and single
    lower, upper = model.jnt_range[number] if limited else (-np.inf, np.inf)
    if kind == "ball" and model.jnt_limited[number]:
        upper = max(model.jnt_range[number]) or np.inf
    # rotors and dampers of actuators act through their gears
    count = len(model.actuator_trntype)
    squared_gears = [
        (a, read_gear(model, a) ** 2)
        for a in range(count)
        if model.actuator_trntype[a] in (0, 1) and model.actuator_trnid[a, 0] == number
    ]
    armatures = getattr(model, "actuator_armature", np.zeros(count))
    dampings = getattr(model, "actuator_damping", np.zeros(count))
    return Joint(
        name,
        kind,
        axis=np.array(model.jnt_axis[number]) if single else np.array([0.0, 0.0, 1.0]),
        lower=float(lower),
        upper=float(upper),
        armature=float(model.dof_armature[dof] + sum(armatures[a] * g for a, g in squared_gears)),
        damping=float(model.dof_damping[dof] + sum(dampings[a] * g for a, g in squared_gears)),
        dry_friction=float(model.dof_frictionloss[dof]),
        stiffness=float(model.jnt_stiffness[number]) if kind != "free" else 0.0,
        rest=float(model.qpos_spring[coordinate]) if single else 0.0,
        friction=frictions.get(name) if single else None,
    )


def _read_pose(model: Any, kind: str, number: int) -> Pose:
    """Compute the pose of a geom or site in its body's frame."""
    position = np.array(getattr(model, f"{kind}_pos")[number])
    return Pose(position, rotation_from_quaternion(getattr(model, f"{kind}_quat")[number]))


def _read_shapes(model: Any, body: int, from_anchor: Pose) -> tuple[Shape, ...]:
    """Read the shapes of a MuJoCo body that can collide, relative to its joint's anchor."""
    shapes, fields = list[Shape](), read_contact_fields(model)
    on_body = np.flatnonzero(model.geom_bodyid == body)
    for geom in np.intersect1d(on_body, find_colliding_geoms(model)).tolist():
        kind = int(model.geom_type[geom])
        if kind in (PLANE, HFIELD):
            continue
        name, pose = model.geom(geom).name, from_anchor @ _read_pose(model, "geom", geom)
        if kind in MESHES:
            mesh = int(model.geom_dataid[geom])
            start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
            vertices = np.array(model.mesh_vert[start : start + count], dtype=float)
            shapes.append(Shape("mesh", (), pose, name, vertices, **fields[geom]))
        elif kind in SHAPES:
            shape_kind, sizes = SHAPES[kind]
            size = tuple(float(s) for s in model.geom_size[geom, :sizes])
            shapes.append(Shape(shape_kind, size, pose, name, **fields[geom]))
    return tuple(shapes)


def _read_keyframes(model: Any) -> dict[str, Array]:
    """Read the file's keyframes, and `qpos0`, the pose in which the file draws the robot."""
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


def _list_excluded_pairs(
    model: Any, welded: WeldResult, owner: list[int]
) -> tuple[tuple[str, str], ...]:
    """List pairs of bodies that never collide, by name; welded links by their bodies."""
    pairs: list[tuple[str, str]] = []
    for signature in np.array(model.exclude_signature).tolist():
        hosts = [
            WORLD if b == 0 else welded.host[owner[b]]
            for b in (signature >> 16, signature & 0xFFFF)
        ]
        if WORLD not in hosts and hosts[0] != hosts[1]:
            pairs.append((welded.bodies[hosts[0]].name, welded.bodies[hosts[1]].name))
    return tuple(dict.fromkeys(pairs))


def _read_gravity(model: Any) -> tuple[float, float, float]:
    mujoco = import_library("mujoco", "reading MJCF")
    x, y, z = (float(g) for g in model.opt.gravity)
    off = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    return (0.0, 0.0, 0.0) if off else (x, y, z)
