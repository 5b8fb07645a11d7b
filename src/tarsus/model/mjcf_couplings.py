"""MuJoCo's `joint` equalities as joints that follow others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.polynomial import Polynomial

from tarsus.model.joint_coupling import JointCoupling

JOINT, NOBODY = 2, -1  # mjtEq; in place of the second joint


def couplings(model: Any, joints: Sequence[str]) -> tuple[JointCoupling, ...]:
    """One for every active `joint` equality; joints: names of all.

    MuJoCo counts both from where the file draws them: y - y_0 = polycoef(x - x_0).
    """
    found = []
    for number in range(model.neq):
        if not couples(model, number):
            continue
        ends = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
        drawn = [0.0 if j == NOBODY else float(model.qpos0[model.jnt_qposadr[j]]) for j in ends]
        given = Polynomial(model.eq_data[number, :5])
        law = given(Polynomial([-drawn[1], 1.0])) + drawn[0]
        numbers = tuple(law.coef) if isinstance(law, Polynomial) else (float(law),)
        leader = "" if ends[1] == NOBODY else joints[ends[1]]
        name = model.equality(number).name or f"joint_{number}"
        found.append(JointCoupling(name, joints[ends[0]], leader, numbers))
    return tuple(found)


def couples(model: Any, number: int) -> bool:
    """True for an equality constraint that `couplings` takes over."""
    return model.eq_type[number] == JOINT and bool(model.eq_active0[number])
