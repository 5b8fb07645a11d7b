"""Tendons of a compiled MuJoCo model."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.tendon import Tendon

TENDON = 3  # mjtTrn
WRAP_JOINT = 1  # mjtWrap


def read_joint_terms(model: Any, tendon: int) -> list[tuple[int, float]] | None:
    """Read the joints of a fixed tendon with their coefficients; None for a spatial tendon."""
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    wraps = range(start, start + count)
    if any(model.wrap_type[k] != WRAP_JOINT for k in wraps):
        return None
    return [(int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in wraps]


def name_tendons(model: Any) -> dict[int, str]:
    """Name the fixed tendons, by number, so that no joint has the same name."""
    used, names = set(mujoco_joint_names(model)), dict[int, str]()
    for tendon in find_fixed_tendons(model):
        first = name = model.tendon(tendon).name or f"tendon_{tendon}"
        while name in used:
            name = f"{first}_tendon" if name == first else f"{name}_"
        used.add(name)
        names[tendon] = name
    return names


def read_tendons(model: Any, rigid: set[int]) -> tuple[Tendon, ...]:
    """Read the fixed tendons that actuators drive, or that act on their joints by themselves.

    The limits of `rigid` tendons, which couple their joints, are left out.
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


def find_fixed_tendons(model: Any) -> list[int]:
    """Find the fixed tendons that move with a joint, by number."""
    terms = (read_joint_terms(model, tendon) for tendon in range(model.ntendon))
    return [tendon for tendon, pairs in enumerate(terms) if any(c for _, c in pairs or ())]


def find_tendon_actuators(model: Any, tendon: int) -> list[int]:
    """Find the actuators that pull on a tendon, by number."""
    return [
        number
        for number in range(len(model.actuator_trntype))
        if model.actuator_trntype[number] == TENDON and model.actuator_trnid[number, 0] == tendon
    ]
