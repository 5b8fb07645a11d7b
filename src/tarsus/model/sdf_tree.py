"""Joints of an SDF model as a tree, and those that close loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tarsus.errors import InvalidModel
from tarsus.model.links import check_names
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.sdf_frames import WORLD_LINK


@dataclass(frozen=True, eq=False)
class SdfTree:
    """Tree of an SDF model.

    Attributes
    ----------
    order
        Names of the links, depth-first from the root.
    parent_joints
        Joint above each link but the root.
    loop_joints
        Joints that close loops.
    """

    order: tuple[str, ...]
    parent_joints: Mapping[str, SdfJoint]
    loop_joints: tuple[SdfJoint, ...]


def spanning_tree(links: Sequence[str], joints: Sequence[SdfJoint]) -> SdfTree:
    """Build a tree of all links, from the world or the first link that is no joint's child.

    In each closed loop, one joint stays outside the tree: a ball joint if there is one, because it
    needs the fewest constraints; a fixed joint, or one with a spring or a limit of effort, only if
    there is no other; otherwise the last in the file.

    Raises
    ------
    InvalidModel
        If two links or two joints have the same name, or a link is not connected to the root.
    """
    check_names(links, [joint.name for joint in joints])
    # Kruskal's algorithm: joints that connect links not connected yet
    group = {link: link for link in links}
    inside: list[SdfJoint] = []
    for joint in sorted(joints, key=_rank):
        one, other = group[joint.parent], group[joint.child]
        if one != other:
            inside.append(joint)
            group = {link: one if name == other else name for link, name in group.items()}
    # depth-first from the root; joints that point towards it are reversed
    children = {joint.child for joint in joints}
    free = [link for link in links if link not in children]
    root = WORLD_LINK if WORLD_LINK in links else (free or list(links))[0]
    above: dict[str, SdfJoint] = {}
    order, stack = list[str](), [root]
    while stack:
        link = stack.pop()
        order.append(link)
        adjacent = [j for j in joints if j in inside and link in (j.parent, j.child)]
        below = [j if j.parent == link else reverse_joint(j) for j in adjacent]
        below = [joint for joint in below if joint.child != root and joint.child not in above]
        above |= {joint.child: joint for joint in below}
        stack += [joint.child for joint in reversed(below)]
    unconnected = [link for link in links if link not in order]
    if unconnected:
        names = ", ".join(map(repr, unconnected))
        raise InvalidModel(
            f"no joint connects {names} to {root!r}: connect these links, or put each model into a"
            " file of its own.",
            unconnected[0],
        )
    return SdfTree(tuple(order), above, tuple(joint for joint in joints if joint not in inside))


def reverse_joint(joint: SdfJoint) -> SdfJoint:
    """Exchange parent and child of a joint; its coordinate stays the same."""
    return replace(joint, parent=joint.child, child=joint.parent, axis=-joint.axis)


def _rank(joint: SdfJoint) -> int:
    """Rank a joint: lower ranks enter the tree first."""
    if joint.kind == "fixed":
        return 0
    if joint.stiffness or joint.effort < float("inf"):
        return 1
    return 3 if joint.kind == "ball" else 2
