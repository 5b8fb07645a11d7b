"""MuJoCo's compiler on an MJCF file whose pictures' meshes may be missing: physics needs none."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tarsus.errors import TarsusError, several
from tarsus.model.files import needed_library
from tarsus.model.mjcf_bounds import check_bounds
from tarsus.model.mjcf_names import unknown_name
from tarsus.model.parts import Report

MISSING = re.compile(r"opening file '([^']+)'")
TOO_SMALL = "hfield dimensions"  # what MuJoCo says of a picture of one pixel
MOST = 500  # files that may be missing
SOME = 5  # names that a warning shows
EVERY = 2**31 - 1  # all bits of contype and conaffinity
CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
SIDES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
PIXEL = bytes.fromhex(  # a PNG of one pixel
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060"
    "000000040001f61738550000000049454e44ae426082"
)


def compiled(text: str, path: Path | None) -> tuple[Any, list[str]]:
    """The compiled model of a text or a file, and the missing files that only pictures need;
    TarsusError if physics needs one, or MuJoCo cannot compile it.
    """
    check_bounds(text, path)
    model, missing = _with_stand_ins(text, path, 1.0)
    if missing:
        # what a stand-in of another size changes is no mere picture
        other, _ = _with_stand_ins(text, path, 2.0)
        if any(
            not np.array_equal(a, b)
            for a, b in zip(_of_physics(model), _of_physics(other), strict=True)
        ):
            raise TarsusError(
                f"meshes that collisions or masses need are not found: {', '.join(missing)}; put"
                " them there, counted from the file's folder, or name theirs in <compiler meshdir>."
            )
    return model, missing


def compiled_on_floor(
    text: str, path: Path | None, excluded: Sequence[tuple[str, str]] = ()
) -> Any:
    """The same on a level plane at z = 0 that touches all that can collide, unless the world has a
    plane of its own.

    excluded: names of two bodies each that shall not collide
    """
    check_bounds(text, path)
    return _with_stand_ins(text, path, 1.0, excluded)[0]


def report_missing(missing: list[str], report: Report) -> None:
    """A warning for what pictures lack."""
    if missing:
        report.warn(
            f"files of visual meshes or textures that are not found, left out ({len(missing)}):"
            f" {several(missing, SOME)}."
        )


def _with_stand_ins(
    text: str, path: Path | None, size: float, floor: Sequence[tuple[str, str]] | None = None
) -> tuple[Any, list[str]]:
    """The model with a small tetrahedron of this size, m, for every mesh that is not there.

    floor: None, or to be on a plane, and which bodies shall not collide there
    """
    mujoco = needed_library("mujoco", "reading MJCF")
    files: dict[str, bytes] = {}
    missing: list[str] = []
    # compile until no file is missing, each time with one stand-in more
    while True:
        try:
            return _with_files(mujoco, (text, path), files, floor), missing
        except Exception as error:  # beside ValueError, MuJoCo's own and those of allocation
            said = " ".join(str(error).split())
            lacking = MISSING.search(said)
            name = Path(lacking[1]).name if lacking else ""
            made = _stand_in(name, size)
            if TOO_SMALL in said and missing:
                gone = next((file for file in missing if file in said), missing[-1])
                raise TarsusError(f"the picture of a height field is not found: {gone}.") from None
            if made is None or name in files or len(missing) >= MOST:
                raise unknown_name(said, text, path) or TarsusError(
                    f"MuJoCo cannot compile it: {said}"
                ) from None
            files[name] = made
            missing.append(str(lacking[1] if lacking else name))


def _with_files(
    mujoco: Any,
    source: tuple[str, Path | None],
    files: dict[str, bytes],
    floor: Sequence[tuple[str, str]] | None,
) -> Any:
    """The compiled model; with a plane in its world if there are names of what shall not meet."""
    text, path = source
    if floor is None and path is None:
        return mujoco.MjModel.from_xml_string(text, files)
    if floor is None:
        return mujoco.MjModel.from_xml_path(str(path), files)
    # on a floor
    if path is None:
        spec = mujoco.MjSpec.from_string(text, assets=files)
    else:
        spec = mujoco.MjSpec.from_file(str(path), assets=files)
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    if all(geom.type != plane for geom in spec.worldbody.geoms):
        touching = {"contype": EVERY, "conaffinity": EVERY}
        spec.worldbody.add_geom(type=plane, size=[0, 0, 1], **touching)
    for one, other in floor:
        spec.add_exclude(bodyname1=one, bodyname2=other)
    return spec.compile()


def _stand_in(name: str, size: float) -> bytes | None:
    """The bytes of a file of this name's kind: a tetrahedron or a pixel; None of another kind."""
    kind, corners = Path(name).suffix.lower(), size * np.array(CORNERS, dtype=float)
    if kind == ".png":
        return PIXEL
    if kind == ".obj":
        points = [f"v {x} {y} {z}" for x, y, z in corners]
        return "\n".join([*points, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in SIDES)]).encode()
    if kind == ".stl":
        sides = [struct.pack("<12fH", 0, 0, 0, *corners[list(side)].ravel(), 0) for side in SIDES]
        return bytes(80) + struct.pack("<I", len(sides)) + b"".join(sides)
    return None


def _of_physics(model: Any) -> list[Any]:
    """What physics needs: masses, and the shapes that can collide."""
    paired = {*np.array(model.pair_geom1).tolist(), *np.array(model.pair_geom2).tolist()}
    touching = (np.array(model.geom_contype) | np.array(model.geom_conaffinity)) != 0
    touching[sorted(paired)] = True
    bodies = [model.body_mass, model.body_inertia, model.body_ipos, model.body_iquat]
    shapes = [model.geom_size, model.geom_pos, model.geom_quat, model.geom_rbound]
    return [np.array(a) for a in bodies] + [np.array(a)[touching] for a in shapes]
