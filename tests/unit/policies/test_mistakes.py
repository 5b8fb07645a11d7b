"""Mistakes that the doctor tries: each applies where possible, and a change of the same kind
undoes it.
"""

from __future__ import annotations

import pytest

from tarsus.policies.contract import Contract, Term, numbers
from tarsus.policies.mistakes import MISTAKES, PER_JOINT_FIELDS, JointNames, changes

JOINTS = tuple(f"{leg}_{part}" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "knee"))
CONTRACT = Contract(
    "policy.onnx",
    rate=50.0,
    joints=(3, 1, 2, 0, 4, 5, 6, 7),
    scale=tuple(0.5 + 0.1 * k for k in range(8)),
    kp=tuple(10.0 + k for k in range(8)),
    kd=0.5,
    positions=tuple(0.1 * k for k in range(8)),
    terms=(
        Term("base_ang_vel", 0.25, history=3),
        Term("projected_gravity", history=3),
        Term("base_quat", history=3),
        Term("command", history=3),
        Term("joint_pos_rel", history=3),
        Term("joint_vel", 0.05, history=3),
    ),
)


def meaning(contract: Contract, joints: tuple[str, ...]) -> tuple[object, ...]:
    """Effect of a contract: joints by name, and terms as the network observes them."""
    names = [joints[j] if isinstance(j, int) else j for j in contract.joints or ()]
    terms = [
        (t.name, numbers(t.scale), t.history, tuple(t.options.get("order", ()) or ()))
        for t in contract.ordered_terms
    ]
    numbers_of = [
        getattr(contract, name) for name in PER_JOINT_FIELDS if name not in ("scale", "offset")
    ]
    offset = "default" if contract.offset == "default" else float(sum(numbers(contract.offset)))
    rest = numbers(contract.scale), offset, contract.rate, contract.layout, contract.newest
    return (*names, *terms, *map(str, numbers_of), *map(str, rest))


def named(contract: Contract) -> JointNames:
    """The joints of a contract by name, for a robot whose motors have the order of JOINTS."""
    return JointNames(
        tuple(JOINTS[j] if isinstance(j, int) else j for j in contract.joints or ()),
        JOINTS,
        (*JOINTS[::2], *JOINTS[1::2]),
    )


@pytest.mark.parametrize("name", [n for n in MISTAKES if n not in ("order of gains",)])
def test_a_mistake_is_undone_by_the_same_kind_of_change(name: str) -> None:
    """Sorted orders of joints and terms, which forget what they changed, excepted."""
    broken = [
        c
        for n, change, c in changes(CONTRACT, named(CONTRACT))
        if n == name and not change.startswith("joints in")
    ]
    assert broken
    right, mended = meaning(CONTRACT, JOINTS), 0
    for contract in broken:
        assert meaning(contract, JOINTS) != right
        tries = MISTAKES[name](contract, named(contract))
        mended += any(_same(meaning(again, JOINTS), right) for _, again in tries)
    assert mended >= len(broken) - 1


def test_sorted_joints_are_undone_by_the_robot_s_order() -> None:
    right = CONTRACT.with_values("test", joints=JOINTS)
    tries = [c for _, c in MISTAKES["joint order"](right, named(right))]
    broken = next(c for c in tries if c.joints == tuple(sorted(JOINTS)))
    assert JOINTS in {c.joints for _, c in MISTAKES["joint order"](broken, named(broken))}


def test_scales_from_torque_limit_and_stiffness_are_tried() -> None:
    uniform = CONTRACT.with_values("test", scale=0.25, torque_limit=20.0)
    tries = [c.scale for _, c in MISTAKES["action scale of each joint"](uniform, named(uniform))]
    assert tries == [tuple(0.25 * 20.0 / (10.0 + k) for k in range(8))]


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Return whether two values are equal, where the default order of a command equals none."""
    plain = [
        tuple((*part[:-1], () if part[-1] == (0, 1, 2) else part[-1]))
        if isinstance(part, tuple)
        else part
        for part in one
    ]
    return tuple(plain) == other


def test_gains_in_the_robot_s_order_are_undone() -> None:
    broken = [c for n, _, c in changes(CONTRACT, named(CONTRACT)) if n == "order of gains"]
    assert {c.kp for c in broken} != {CONTRACT.kp}
    for contract in broken:
        again = MISTAKES["order of gains"](contract, named(CONTRACT))
        assert CONTRACT.kp in {c.kp for _, c in again}


def test_impossible_mistakes_are_not_tried() -> None:
    """Without history, quaternion and gravity there is nothing to undo in them."""
    plain = CONTRACT.with_values("test", terms=(Term("joint_pos"),), kp=20.0)
    tried = {name for name, _, _ in changes(plain, named(plain))}
    assert not tried & {"history", "quaternion order", "sign of gravity", "order of gains"}
    assert "joint order" in tried
