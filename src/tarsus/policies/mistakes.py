"""Common mistakes in a policy's contract, each with the changes that undo it.

To add a mistake, write a function here with the decorator `mistake`. It yields pairs of a
description and the changed contract, or nothing if the mistake cannot occur. Most mistakes are
undone by a change of the same kind, so the same functions break and repair contracts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from tarsus.policies.contract import Contract, Numbers, Term, numbers


@dataclass(frozen=True)
class JointNames:
    """Names of a policy's joints in three orders.

    Parameters
    ----------
    policy : tuple of str
        Order of the policy.
    robot : tuple of str
        Order of the robot's motors.
    breadth_first : tuple of str
        Breadth-first order of the kinematic tree, as in PhysX and Isaac Lab.
    """

    policy: tuple[str, ...]
    robot: tuple[str, ...]
    breadth_first: tuple[str, ...]


Change = Iterator[tuple[str, Contract]]
Mistake = Callable[[Contract, JointNames], Change]
MISTAKES: dict[str, Mistake] = {}
PER_JOINT_FIELDS = ("scale", "offset", "kp", "kd", "torque_limit", "armature", "positions")
GAIN_FIELDS = ("kp", "kd")
LIMIT_SHARE = 0.25  # share of the torque limit for an action of 1 in mjlab and BeyondMimic
SIDES = (("left", "right"), ("FL", "FR"), ("RL", "RR"), ("HL", "HR"), ("LF", "RF"), ("LH", "RH"))
SIDES += (("L_", "R_"), ("l_", "r_"))
FACTORS = (0.25, 0.5, 2.0, 4.0)
USUAL_SCALES = {  # scales that training frameworks use
    "base_lin_vel": (1.0, 2.0),
    "base_ang_vel": (1.0, 0.25, 0.2),
    "joint_vel": (1.0, 0.05),
    "command": (1.0, (2.0, 2.0, 0.25)),
}


def mistake(name: str) -> Callable[[Mistake], Mistake]:
    """Register a function as a mistake."""

    def register(function: Mistake) -> Mistake:
        MISTAKES[name] = function
        return function

    return register


def changes(contract: Contract, joints: JointNames) -> Iterator[tuple[str, str, Contract]]:
    """Yield each mistake, change and changed contract, without duplicate contracts."""
    earlier: list[Contract] = []
    for name, function in MISTAKES.items():
        for change, changed in function(contract, joints):
            if changed not in earlier:
                earlier.append(changed)
                yield name, change, changed


def _change_contract(contract: Contract, **values: object) -> Contract:
    return contract.with_values("doctor", **values)


def _permute(values: Numbers | str | None, order: list[int]) -> Numbers | str | None:
    if not isinstance(values, tuple):
        return values
    return tuple(values[k] for k in order)


def _rename_joints(contract: Contract, joints: tuple[str, ...], order: list[int]) -> Contract:
    """Rename the joints without moving their values: joint k gets the name of joint order[k]."""
    return _change_contract(contract, joints=tuple(joints[k] for k in order))


def _change_terms(contract: Contract, change: Callable[[Term], Term | None]) -> Contract | None:
    """Apply a change to the terms of a contract; return None if it changes no term."""
    changed = [change(term) for term in contract.terms or ()]
    if not any(changed):
        return None
    pairs = zip(contract.terms or (), changed, strict=True)
    return _change_contract(contract, terms=tuple(new or old for old, new in pairs))


@mistake("left and right")
def _left_and_right(contract: Contract, joints: JointNames) -> Change:
    order = _mirror_indices(joints.policy)
    if order is not None:
        yield "left and right swapped", _rename_joints(contract, joints.policy, order)


def _mirror_indices(joints: tuple[str, ...]) -> list[int] | None:
    """Find the index of each joint's counterpart on the other side; None without any."""
    counterparts = []
    for name in joints:
        other = name
        for left, right in SIDES:
            if name.startswith((left, right)):
                a, b = (left, right) if name.startswith(left) else (right, left)
                other = b + name[len(a) :]
                break
            swapped = re.sub(f"{left}|{right}", lambda m, p=(left, right): p[m[0] == p[0]], name)
            if left.islower() and len(left) > 2 and swapped != name:
                other = swapped
                break
        counterparts.append(joints.index(other if other in joints else name))
    return counterparts if counterparts != list(range(len(joints))) else None


@mistake("front and hind")
def _front_and_hind(contract: Contract, joints: JointNames) -> Change:
    names = joints.policy
    for front, hind in (("F", "R"), ("F", "H")):
        swap = {front: hind, hind: front}
        other = [swap.get(name[0], name[0]) + name[1:] for name in names]
        if set(other) == set(names) and other != list(names):
            yield "front and hind legs swapped", _change_contract(contract, joints=tuple(other))


@mistake("joint order")
def _joint_order(contract: Contract, joints: JointNames) -> Change:
    """Regroup joints by limb or by type, or sort them by name, motor or tree level."""
    names = joints.policy
    n = len(names)
    for count in (2, 3, 4, 6):
        if n % count or n == count:
            continue
        order = np.arange(n).reshape(count, n // count).T.ravel().tolist()
        yield f"joints regrouped, {count} per group", _rename_joints(contract, names, order)
    for other, sorted_names in (
        ("in alphabetical order", sorted(names)),
        ("in the robot's order", list(joints.robot)),
        ("in breadth-first order, as in Isaac Lab", list(joints.breadth_first)),
    ):
        if sorted_names != list(names):
            yield f"joints {other}", _change_contract(contract, joints=tuple(sorted_names))


@mistake("order of gains")
def _gains(contract: Contract, joints: JointNames) -> Change:
    yield from _reorder_fields(contract, joints, GAIN_FIELDS, "gains")


@mistake("action scale of each joint")
def _scale_order(contract: Contract, joints: JointNames) -> Change:
    """Reorder the scales, or derive them from torque limit and stiffness, as mjlab does."""
    yield from _reorder_fields(contract, joints, ("scale",), "action scales")
    limit, stiffness = numbers(contract.torque_limit), numbers(contract.kp)
    if contract.kind == "position" and limit and stiffness and min(stiffness) > 0:
        scale = tuple((LIMIT_SHARE * np.array(limit) / np.array(stiffness)).tolist())
        if len(scale) > 1 and not np.allclose(scale, numbers(contract.scale)):
            change = f"action scale = {LIMIT_SHARE:g} torque limit / stiffness"
            yield change, _change_contract(contract, scale=scale)


def _reorder_fields(
    contract: Contract, joints: JointNames, fields: tuple[str, ...], subject: str
) -> Change:
    """Read fields in the robot's order instead of the policy's, and vice versa."""
    if not any(len(set(numbers(getattr(contract, name)))) > 1 for name in fields):
        return
    order = [joints.robot.index(name) for name in joints.policy]
    inverse = np.argsort(order).tolist()
    if order == inverse and order == list(range(len(order))):
        return
    for source, indices in (("the robot's order", order), ("the policy's order", inverse)):
        moved = {name: _permute(getattr(contract, name), indices) for name in fields}
        yield f"{subject} read in {source}", _change_contract(contract, **moved)


@mistake("quaternion order")
def _quaternion(contract: Contract, joints: JointNames) -> Change:
    def change_term(term: Term) -> Term | None:
        if term.name != "base_quat":
            return None
        order = "xyzw" if term.options.get("order", "wxyz") == "wxyz" else "wxyz"
        return replace(term, options={**term.options, "order": order})

    if changed := _change_terms(contract, change_term):
        yield "base quaternion in the other order (wxyz or xyzw)", changed


@mistake("sign of gravity")
def _gravity(contract: Contract, joints: JointNames) -> Change:
    def change_term(term: Term) -> Term | None:
        if term.name != "projected_gravity":
            return None
        scale = tuple(-s for s in numbers(term.scale))
        return replace(term, scale=scale[0] if len(scale) == 1 else scale)

    if changed := _change_terms(contract, change_term):
        yield "projected gravity with opposite sign", changed


@mistake("axes of the angular velocity")
def _axes(contract: Contract, joints: JointNames) -> Change:
    swap = {"base_ang_vel": "world_ang_vel", "world_ang_vel": "base_ang_vel"}

    def change_term(term: Term) -> Term | None:
        if term.name not in swap:
            return None
        return replace(term, name=swap[term.name], label=term.key, options={})

    if changed := _change_terms(contract, change_term):
        yield "angular velocity in the other frame (base or world)", changed


@mistake("history")
def _history(contract: Contract, joints: JointNames) -> Change:
    if all(term.history == 1 for term in contract.terms or ()):
        return
    newest = "first" if contract.newest == "last" else "last"
    layout = "by sample" if contract.layout == "by term" else "by term"
    yield f"newest sample {newest}", _change_contract(contract, newest=newest)
    if len({term.history for term in contract.terms or ()}) == 1:
        yield f"history laid out {layout}", _change_contract(contract, layout=layout)
        yield (
            f"history laid out {layout}, newest sample {newest}",
            _change_contract(contract, layout=layout, newest=newest),
        )


@mistake("order of terms")
def _order(contract: Contract, joints: JointNames) -> Change:
    other = "alphabetical" if contract.order == "listed" else "listed"
    changed = _change_contract(contract, order=other)
    if [t.key for t in changed.ordered_terms] != [t.key for t in contract.ordered_terms]:
        yield f"terms in {other} order", changed
    terms = contract.ordered_terms
    for k in range(len(terms) - 1):
        moved = [*terms[:k], terms[k + 1], terms[k], *terms[k + 2 :]]
        change = f"terms {terms[k].key} and {terms[k + 1].key} swapped"
        yield change, _change_contract(contract, terms=tuple(moved), order="listed")


@mistake("action scale")
def _scale(contract: Contract, joints: JointNames) -> Change:
    before = numbers(contract.scale)
    for factor in FACTORS:
        scaled = tuple(factor * s for s in before)
        yield (
            f"action scale times {factor:g}",
            _change_contract(contract, scale=scaled[0] if len(scaled) == 1 else scaled),
        )


@mistake("default offset")
def _offset(contract: Contract, joints: JointNames) -> Change:
    if contract.kind != "position":
        return
    if any(numbers(contract.offset)) or contract.offset == "default":
        yield "targets without an offset", _change_contract(contract, offset=0.0)
    else:
        yield "targets from the default positions", _change_contract(contract, offset="default")


@mistake("relative positions")
def _relative(contract: Contract, joints: JointNames) -> Change:
    swap = {"joint_pos": "joint_pos_rel", "joint_pos_rel": "joint_pos"}

    def change_term(term: Term) -> Term | None:
        return replace(term, name=swap[term.name], label=term.key) if term.name in swap else None

    if changed := _change_terms(contract, change_term):
        yield "joint positions absolute instead of relative, or vice versa", changed


@mistake("rate")
def _rate(contract: Contract, joints: JointNames) -> Change:
    assert contract.rate is not None
    for factor in (0.5, 2.0):
        rate = contract.rate * factor
        yield f"rate {rate:g} Hz", _change_contract(contract, rate=rate)


@mistake("order of the command")
def _command(contract: Contract, joints: JointNames) -> Change:
    def reorder(order: tuple[int, ...]) -> Callable[[Term], Term | None]:
        def change_term(term: Term) -> Term | None:
            if term.name != "command":
                return None
            before = term.options.get("order", (0, 1, 2))
            now = [before[k] for k in order]
            return replace(term, options={**term.options, "order": now})

        return change_term

    for order in permutations(range(3)):
        if order != (0, 1, 2) and (changed := _change_terms(contract, reorder(order))):
            yield f"command components in the order {order}", changed


@mistake("scale of a term")
def _term_scale(contract: Contract, joints: JointNames) -> Change:
    for name, scales in USUAL_SCALES.items():
        for scale in scales:

            def change_term(term: Term, name: str = name, scale: Numbers = scale) -> Term | None:
                same = set(numbers(term.scale)) == set(numbers(scale))
                return replace(term, scale=scale) if term.name == name and not same else None

            if changed := _change_terms(contract, change_term):
                yield f"{name} scaled by {scale}", changed
