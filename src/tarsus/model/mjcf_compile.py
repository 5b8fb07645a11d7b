"""MuJoCo's compiler on an MJCF file whose pictures' meshes may be missing: physics needs none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tarsus.errors import InvalidFile, several
from tarsus.model.files import needed_library
from tarsus.model.mjcf_bounds import check_bounds
from tarsus.model.mjcf_names import unknown_name
from tarsus.model.mjcf_source import Source
from tarsus.model.parts import Report

SOME = 5  # names that a warning shows
EVERY = 2**31 - 1  # all bits of contype and conaffinity
CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
SIDES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
PIXEL = bytes.fromhex(  # a PNG of one pixel
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060"
    "000000040001f61738550000000049454e44ae426082"
)


def compiled(source: Source) -> Any:
    """Return MuJoCo's model; `source.missing` are files that only pictures need.

    Raises TarsusError if physics needs one of them, or MuJoCo cannot compile it.
    """
    check_bounds(source.document)
    model = _with_stand_ins(source, 1.0)
    if source.missing:
        # what a stand-in of another size changes is no mere picture
        other = _with_stand_ins(source, 2.0)
        if any(
            not np.array_equal(a, b)
            for a, b in zip(_of_physics(model), _of_physics(other), strict=True)
        ):
            raise InvalidFile(
                "meshes that collisions or masses need are not found:"
                f" {'; '.join(source.missing.values())}; paths are relative to the file's folder or"
                " to <compiler meshdir>.",
                next(iter(source.missing.values())).partition(" (")[0],
            )
    return model


def compiled_on_floor(source: Source, excluded: Sequence[tuple[str, str]] = ()) -> Any:
    """Return the same on a level plane at z = 0 that touches all that can collide, unless the world
    has a plane of its own.

    excluded: names of two bodies each that shall not collide
    """
    check_bounds(source.document)
    return _with_stand_ins(source, 1.0, excluded)


def report_missing(source: Source | None, report: Report) -> None:
    """A warning for what pictures lack."""
    if source and source.missing:
        report.warn(
            f"{len(source.missing)} files of visual meshes or textures are not found and are left"
            f" out: {several(list(source.missing.values()), SOME)}.",
            "visual-meshes-missing",
            next(iter(source.missing.values())).partition(" (")[0],
        )


def report_obsolete(source: Source | None, report: Report) -> None:
    """Warn of attributes that only older MuJoCo versions know."""
    if source and source.obsolete:
        report.warn(
            "attributes of older MuJoCo versions are left out, which changes no motion:"
            f" {several(list(dict.fromkeys(source.obsolete)), SOME)}.",
            "obsolete-attributes",
            source.obsolete[0],
        )


def _with_stand_ins(
    source: Source, size: float, floor: Sequence[tuple[str, str]] | None = None
) -> Any:
    """Return the model with a small tetrahedron of this size, m, for every mesh that is not there.

    floor: None, or to be on a plane, and which bodies shall not collide there
    """
    mujoco = needed_library("mujoco", "reading MJCF")
    assets = source.assets | {name: _stand_in(name, size) for name in source.missing}
    try:
        if floor is None:
            return mujoco.MjModel.from_xml_string(source.text, assets)
        return _on_floor(mujoco, source.text, assets, floor)
    except Exception as error:  # beside ValueError, MuJoCo's own and those of allocation
        said = source.told(" ".join(str(error).split()))
        raise unknown_name(said, source.document) or InvalidFile(
            f"MuJoCo cannot compile this model: {said}"
        ) from None


def _on_floor(
    mujoco: Any, text: str, assets: dict[str, bytes], excluded: Sequence[tuple[str, str]]
) -> Any:
    """Return the compiled model with a plane in its world, and without contacts of some bodies."""
    spec = mujoco.MjSpec.from_string(text, include=assets, assets=assets)
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    if all(geom.type != plane for geom in spec.worldbody.geoms):
        touching = {"contype": EVERY, "conaffinity": EVERY}
        spec.worldbody.add_geom(type=plane, size=[0, 0, 1], **touching)
    for one, other in excluded:
        spec.add_exclude(bodyname1=one, bodyname2=other)
    return spec.compile()


def _stand_in(name: str, size: float) -> bytes:
    """Return the bytes of a tetrahedron (.obj), or of a picture of one pixel."""
    if not name.endswith(".obj"):
        return PIXEL
    points = [f"v {x} {y} {z}" for x, y, z in size * np.array(CORNERS, dtype=float)]
    return "\n".join([*points, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in SIDES)]).encode()


def _of_physics(model: Any) -> list[Any]:
    """What physics needs: masses, and the shapes that can collide."""
    paired = {*np.array(model.pair_geom1).tolist(), *np.array(model.pair_geom2).tolist()}
    touching = (np.array(model.geom_contype) | np.array(model.geom_conaffinity)) != 0
    touching[sorted(paired)] = True
    bodies = [model.body_mass, model.body_inertia, model.body_ipos, model.body_iquat]
    shapes = [model.geom_size, model.geom_pos, model.geom_quat, model.geom_rbound]
    return [np.array(a) for a in bodies] + [np.array(a)[touching] for a in shapes]
