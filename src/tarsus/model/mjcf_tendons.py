"""Tendons of a compiled MuJoCo model."""

from __future__ import annotations

from typing import Any

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
    """Find the tendons that are simulated: names by number, which no joint has.

    They are the fixed tendons that an actuator drives.
    """
    used, names = set(mujoco_joint_names(model)), dict[int, str]()
    for tendon in find_fixed_tendons(model):
        if not find_tendon_actuators(model, tendon):
            continue
        first = name = model.tendon(tendon).name or f"tendon_{tendon}"
        while name in used:
            name = f"{first}_tendon" if name == first else f"{name}_"
        used.add(name)
        names[tendon] = name
    return names


def read_tendons(model: Any) -> tuple[Tendon, ...]:
    """Read the tendons that are simulated."""
    joints = mujoco_joint_names(model)
    return tuple(
        Tendon(name, tuple((joints[j], c) for j, c in read_joint_terms(model, tendon) or ()))
        for tendon, name in name_tendons(model).items()
    )


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
