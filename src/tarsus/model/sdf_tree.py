"""The joints of an SDF model as a tree, and those that close loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tarsus.errors import InvalidModel
from tarsus.model.links import check_names
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.sdf_frames import WORLD_LINK


@dataclass(frozen=True, eq=False)
class SdfTree:
    """The links depth-first from the root, the joint above each other link, and the joints outside
    the tree.
    """

    order: tuple[str, ...]
    above: Mapping[str, SdfJoint]
    outside: tuple[SdfJoint, ...]


def tree(links: Sequence[str], joints: Sequence[SdfJoint]) -> SdfTree:
    """A tree of all links, from the world or the first link that is no joint's child.

    Where joints close a circle one stays outside the tree: if there is one a ball, for it needs the
    fewest constraints, never one that is fixed or has a spring or a limit of effort if there is
    another, else the last of the file. TarsusError for two of one name and for a link that hangs on
    nothing.
    """
    # names must tell links and joints apart
    check_names(links, [joint.name for joint in joints])
    # joints that join what is not joined yet
    group = {link: link for link in links}
    inside: list[SdfJoint] = []
    for joint in sorted(joints, key=_late):
        one, other = group[joint.parent], group[joint.child]
        if one != other:
            inside.append(joint)
            group = {link: one if found == other else found for link, found in group.items()}
    # from the root on, those that point towards it turned round
    children = {joint.child for joint in joints}
    free = [link for link in links if link not in children]
    root = WORLD_LINK if WORLD_LINK in links else (free or list(links))[0]
    above: dict[str, SdfJoint] = {}
    order, stack = list[str](), [root]
    while stack:
        link = stack.pop()
        order.append(link)
        here = [j for j in joints if j in inside and link in (j.parent, j.child)]
        below = [j if j.parent == link else reversed_joint(j) for j in here]
        below = [joint for joint in below if joint.child != root and joint.child not in above]
        above |= {joint.child: joint for joint in below}
        stack += [joint.child for joint in reversed(below)]
    lost = [link for link in links if link not in order]
    if lost:
        raise InvalidModel(
            f"no joint connects {', '.join(map(repr, lost))} to {root!r}: connect these links, or"
            " put each model into a file of its own.",
            lost[0],
        )
    return SdfTree(tuple(order), above, tuple(joint for joint in joints if joint not in inside))


def reversed_joint(joint: SdfJoint) -> SdfJoint:
    """The same joint with the same coordinate, its parent and child exchanged."""
    return replace(joint, parent=joint.child, child=joint.parent, axis=-joint.axis)


def _late(joint: SdfJoint) -> int:
    """How late a joint is asked into the tree."""
    if joint.kind == "fixed":
        return 0
    if joint.stiffness or joint.effort < float("inf"):
        return 1
    return 3 if joint.kind == "ball" else 2
