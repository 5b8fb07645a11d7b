"""Tendons of a compiled MuJoCo model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.poses import Pose
from tarsus.model.tendon import End, Tendon, TendonSegment, as_point

TENDON = 3  # mjtTrn
WRAP_JOINT, WRAP_PULLEY, WRAP_SITE = 1, 2, 3  # mjtWrap


def read_joint_terms(model: Any, tendon: int) -> list[tuple[int, float]] | None:
    """Read the joints of a fixed tendon with their coefficients; None for a spatial tendon."""
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    wraps = range(start, start + count)
    if any(model.wrap_type[k] != WRAP_JOINT for k in wraps):
        return None
    return [(int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in wraps]


def name_tendons(model: Any) -> dict[int, str]:
    """Name the tendons that can be simulated, by number, so that no joint has the same name."""
    used, names = set(mujoco_joint_names(model)), dict[int, str]()
    for tendon in find_possible_tendons(model):
        name = model.tendon(tendon).name or f"tendon_{tendon}"
        names[tendon] = reserve_name(name, "tendon", used)
    return names


def reserve_name(name: str, kind: str, used: set[str]) -> str:
    """Create a name that is not in `used`, and add it; a name in use gets the kind as its ending.

    In MJCF, joints, tendons and equalities may have the same name.
    """
    first = name
    while name in used:
        name = f"{first}_{kind}" if name == first else f"{name}_"
    used.add(name)
    return name


def read_tendons(
    model: Any, rigid: set[int], find: Callable[[int, Pose], tuple[int, Pose]]
) -> tuple[Tendon, ...]:
    """Read the tendons that actuators drive, or that act by themselves.

    Parameters
    ----------
    model
        Compiled MuJoCo model.
    rigid
        Numbers of the tendons that couple their joints, whose limits are left out.
    find
        Function that finds the mechanism's body, and the pose in it, of a pose in a MuJoCo body.
    """
    joints = mujoco_joint_names(model)
    dampings = getattr(model, "actuator_damping", np.zeros(len(model.actuator_trntype)))
    tendons = list[Tendon]()
    for number, name in name_tendons(model).items():
        actuators = find_tendon_actuators(model, number)
        shortest, longest = (float(end) for end in model.tendon_lengthspring[number])
        limited = model.tendon_limited[number] and number not in rigid
        lower, upper = model.tendon_range[number] if limited else (-np.inf, np.inf)
        tendon = Tendon(
            name,
            tuple((joints[j], c) for j, c in read_joint_terms(model, number) or ()),
            tuple(
                TendonSegment(_find_end(model, a, find), _find_end(model, b, find), scale)
                for a, b, scale in _read_segments(model, number) or ()
            ),
            lower=float(lower),
            upper=float(upper),
            stiffness=float(model.tendon_stiffness[number]),
            rest=(shortest, longest),
            damping=float(
                model.tendon_damping[number]
                + sum(dampings[a] * read_gear(model, a) ** 2 for a in actuators)
            ),
            dry_friction=float(model.tendon_frictionloss[number]),
        )
        if actuators or tendon.is_passive:
            tendons.append(tendon)
    return tuple(tendons)


def read_gear(model: Any, number: int) -> float:
    """Read the first gear ratio of an actuator; MuJoCo has one for each of its outputs."""
    first = model.actuator_outadr[number] if hasattr(model, "actuator_outadr") else number
    return float(model.actuator_gear[first, 0])


def find_possible_tendons(model: Any) -> list[int]:
    """Find the tendons that can be simulated, by number.

    They are fixed tendons with a joint, and spatial tendons through sites of several bodies.
    """
    found = []
    for tendon in range(model.ntendon):
        terms, segments = read_joint_terms(model, tendon), _read_segments(model, tendon)
        bodies = [
            {int(model.body_weldid[model.site_bodyid[site]]) for site in sites}
            for *sites, _ in segments or ()
        ]
        if any(c for _, c in terms or ()) or any(len(both) > 1 for both in bodies):
            found.append(tendon)
    return found


def _read_segments(model: Any, tendon: int) -> list[tuple[int, int, float]] | None:
    """Read the segments of a spatial tendon: two sites, and the share in its length.

    None for a fixed tendon, and for one that wraps around a geom.
    """
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    segments, last, scale = list[tuple[int, int, float]](), -1, 1.0
    for k in range(start, start + count):
        kind, site = int(model.wrap_type[k]), int(model.wrap_objid[k])
        if kind not in (WRAP_PULLEY, WRAP_SITE):
            return None
        if kind == WRAP_PULLEY:
            last, scale = -1, 1 / float(model.wrap_prm[k])
            continue
        if last >= 0:
            segments.append((last, site, scale))
        last = site
    return segments


def _find_end(model: Any, site: int, find: Callable[[int, Pose], tuple[int, Pose]]) -> End:
    """Find the mechanism's body and the point in it where a site is."""
    body, pose = find(int(model.site_bodyid[site]), Pose(np.array(model.site_pos[site])))
    return body, as_point(pose.position)


def find_tendon_actuators(model: Any, tendon: int) -> list[int]:
    """Find the actuators that pull on a tendon, by number."""
    return [
        number
        for number in range(len(model.actuator_trntype))
        if model.actuator_trntype[number] == TENDON and model.actuator_trnid[number, 0] == tendon
    ]
