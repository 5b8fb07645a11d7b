"""MuJoCo's compiler on an MJCF file, with stand-ins for missing meshes and errors that help."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tarsus.errors import InvalidFile, TarsusError, UnknownName, join_names, unknown_name_error
from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.files import import_library
from tarsus.model.mjcf_document import Document
from tarsus.model.mjcf_free_base import find_base_joints, merge_base_joints
from tarsus.model.mjcf_limits import check_size
from tarsus.model.mjcf_schema import walk_mjcf
from tarsus.model.mjcf_source import Source
from tarsus.model.parts import MAX_LISTED, Report

ALL_BITS = 2**31 - 1  # of contype and conaffinity
CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
SIDES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
PIXEL = bytes.fromhex(  # a PNG of one pixel
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060"
    "000000040001f61738550000000049454e44ae426082"
)
QUOTED = re.compile(r"'([^']+)'")
MAX_SCENES, MAX_SCENE_BYTES = 100, 1 << 20  # files in the robot's folder that may include it

# names in a file: kinds of elements, and attributes that refer to them
DRIVES = ("motor", "position", "velocity", "intvelocity", "damper", "general", "cylinder", "muscle")
KIND_OF_TAG = {"freejoint": "joint", "spatial": "tendon", "fixed": "tendon", "default": "class"}
KIND_OF_TAG |= dict.fromkeys(DRIVES, "actuator")
KINDS = ("body", "geom", "joint", "site", "tendon", "mesh", "material", "hfield", "texture")
KINDS = (*KINDS, "camera", "actuator")
KIND_OF_REFERENCE = {kind: kind for kind in KINDS}
KIND_OF_REFERENCE |= {f"{kind}{end}": kind for kind in KINDS for end in (1, 2)}
KIND_OF_REFERENCE |= {"jointinparent": "joint", "target": "body", "slidersite": "site"}
KIND_OF_REFERENCE |= {"cranksite": "site", "refsite": "site", "sidesite": "site"}
KIND_OF_REFERENCE |= {"class": "class", "childclass": "class"}
KIND_ATTRIBUTES = {"objname": "objtype", "refname": "reftype"}  # another attribute gives the kind
CLASS, WORLD = "class", "world"


def compile_model(source: Source) -> Any:
    """Compile a model in MuJoCo; meshes of `source.missing` may be needed for visuals only.

    Raises
    ------
    InvalidFile
        If masses or collisions need a missing mesh, or MuJoCo cannot compile the model.
    UnknownName
        If the model refers to a name that nothing has.
    """
    check_size(source.document)
    model = _compile_with_stand_ins(source, 1.0)
    if source.missing:
        # pictures alone need a mesh if the physics does not depend on its stand-in's size
        other = _compile_with_stand_ins(source, 2.0)
        physics = zip(_collect_physical_values(model), _collect_physical_values(other), strict=True)
        if any(not np.array_equal(a, b) for a, b in physics):
            raise InvalidFile(
                "meshes that collisions or masses need are not found:"
                f" {'; '.join(source.missing.values())}; paths are relative to the file's folder or"
                " to <compiler meshdir>.",
                next(iter(source.missing.values())).partition(" (")[0],
            )
    return model


def compile_on_floor(source: Source, excluded: Sequence[tuple[str, str]] = ()) -> Any:
    """Compile a model on a level plane at z = 0 that touches everything that can collide.

    No plane is added if the world already has one.

    Parameters
    ----------
    source
        The model.
    excluded
        Pairs of names of bodies that must not collide.
    """
    check_size(source.document)
    return _compile_with_stand_ins(source, 1.0, partial(_add_floor, excluded=excluded))


def report_missing(source: Source, report: Report) -> None:
    """Warn of missing files that are needed for visuals."""
    if source.missing:
        report.warn(
            f"visual meshes or textures were not found and are not drawn ({len(source.missing)}):"
            f" {join_names(list(source.missing.values()), MAX_LISTED)}.",
            "visual-meshes-missing",
            next(iter(source.missing.values())).partition(" (")[0],
        )


def report_obsolete(source: Source, report: Report) -> None:
    """Warn of attributes that only older MuJoCo versions know."""
    if source.obsolete:
        report.warn(
            "attributes of older MuJoCo versions are ignored, without effect on the motion:"
            f" {join_names(list(dict.fromkeys(source.obsolete)), MAX_LISTED)}.",
            "obsolete-attributes",
            source.obsolete[0],
        )


def report_base_joints(source: Source, report: Report) -> None:
    """Warn of a base whose joints are merged into a free joint."""
    if source.base_joints:
        report.warn(
            f"the base moves freely on several joints ({', '.join(source.base_joints)}), which are"
            " read as one free joint: its coordinates are a position and a unit quaternion (w, x,"
            " y, z).",
            "base-joints-merged",
            source.base_joints[0],
        )


def find_including_scenes(path: Path) -> list[str]:
    """Find the files in an MJCF file's folder that include it, by name.

    A robot may refer to names, such as the floor's, that only the scene around it has.
    """
    include = re.compile(rf"<include\s[^>]*file\s*=\s*[\"'](?:\./)?{re.escape(path.name)}[\"']")
    siblings = (p for p in sorted(path.parent.glob("*.xml"))[:MAX_SCENES] if p != path)
    readable = (p for p in siblings if p.is_file() and p.stat().st_size <= MAX_SCENE_BYTES)
    texts = ((p.name, p.read_text(encoding="utf-8", errors="replace")) for p in readable)
    return [name for name, text in texts if include.search(text)]


def _compile_with_stand_ins(
    source: Source, size: float, edit: Callable[[Any], None] | None = None
) -> Any:
    """Compile a model with a tetrahedron of this size, in m, for every missing mesh.

    Parameters
    ----------
    source
        The model. Its `base_joints` are set.
    size
        Edge of a tetrahedron.
    edit
        Function that changes the model's specification (MjSpec) before it is compiled.
    """
    mujoco = import_library("mujoco", "reading MJCF")
    assets = source.assets | {name: _create_stand_in(name, size) for name in source.missing}
    try:
        model = mujoco.MjModel.from_xml_string(source.text, assets)
        joints = find_base_joints(model) if source.merges_base else []
        if not joints and edit is None:
            return model
        spec = mujoco.MjSpec.from_string(source.text, include=assets, assets=assets)
        if joints:
            source.base_joints = [mujoco_joint_names(model)[j] for j in joints]
            merge_base_joints(spec, model, joints)
        if edit is not None:
            edit(spec)
        return spec.compile()
    except Exception as error:  # MuJoCo's own errors, and those of allocation
        message = source.with_file_names(" ".join(str(error).split()))
        raise _explain_error(message, source.document) from None


def _add_floor(spec: Any, excluded: Sequence[tuple[str, str]]) -> None:
    """Add a plane to the world if it has none, and exclude pairs of bodies from collision."""
    mujoco = import_library("mujoco", "reading MJCF")
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    if all(geom.type != plane for geom in spec.worldbody.geoms):
        touching = {"contype": ALL_BITS, "conaffinity": ALL_BITS}
        spec.worldbody.add_geom(type=plane, size=[0, 0, 1], **touching)
    for one, other in excluded:
        spec.add_exclude(bodyname1=one, bodyname2=other)


def _create_stand_in(name: str, size: float) -> bytes:
    """Create the bytes of a tetrahedron (.obj), or of a picture of one pixel."""
    if not name.endswith(".obj"):
        return PIXEL
    points = [f"v {x} {y} {z}" for x, y, z in size * np.array(CORNERS, dtype=float)]
    return "\n".join([*points, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in SIDES)]).encode()


def _collect_physical_values(model: Any) -> list[Any]:
    """Collect the masses of a model, and the shapes that can collide."""
    paired = {*np.array(model.pair_geom1).tolist(), *np.array(model.pair_geom2).tolist()}
    touching = (np.array(model.geom_contype) | np.array(model.geom_conaffinity)) != 0
    touching[sorted(paired)] = True
    bodies = [model.body_mass, model.body_inertia, model.body_ipos, model.body_iquat]
    shapes = [model.geom_size, model.geom_pos, model.geom_quat, model.geom_rbound]
    return [np.array(a) for a in bodies] + [np.array(a)[touching] for a in shapes]


def _explain_error(message: str, document: Document) -> TarsusError:
    """Convert MuJoCo's error message to an error that suggests similar names for unknown ones."""
    quoted = set(QUOTED.findall(message))
    if error := _unknown_reference_error(quoted, document):
        return error
    unread = walk_mjcf(document)
    suggestion = next((meant for name in sorted(quoted) if (meant := unread.find_near(name))), "")
    hint = f"; did you mean {suggestion}?" if suggestion else ""
    return InvalidFile(f"MuJoCo cannot compile this model: {message}{hint}")


def _unknown_reference_error(quoted: set[str], document: Document) -> UnknownName | None:
    """Create an error for a quoted name that the file uses but does not define."""
    known, references = dict[str, set[str]](), []
    for element in document.elements():
        kind = KIND_OF_TAG.get(element.tag, element.tag)
        name = "class" if kind == CLASS else "name"
        if name in element.attrib:
            known.setdefault(kind, set()).add(element.attrib[name])
        for key, value in element.attrib.items():
            if value in quoted and key != name:
                attribute = KIND_ATTRIBUTES.get(key)
                refers = element.get(attribute, "") if attribute else KIND_OF_REFERENCE.get(key, "")
                references.append((element.tag, key, refers, value))
    known["body"] = known.get("body", set()) | {WORLD}
    for tag, key, kind, value in references:
        if kind in (*KINDS, CLASS) and value not in known.get(kind, ()):
            what = "default class" if kind == CLASS else kind
            return unknown_name_error(what, value, known.get(kind, ())).with_context(
                f"{key} of <{tag}>"
            )
    return None
