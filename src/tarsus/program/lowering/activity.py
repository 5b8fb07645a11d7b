"""Activity analysis: in which groups of directions a tangent can differ from zero.

Code for a group omits the tangents that are zero in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from tarsus.program.ir.blocks import BasicBlock, Block, Slice, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.tape import Tape, create_tape

GroupMask = int  # one bit per group
EntryMasks = dict[str, list[GroupMask]]  # mask of each entry of a register


@dataclass
class Activity:
    """Groups in which the tangents of a program can differ from zero.

    Attributes
    ----------
    all_groups
        Mask of all groups.
    before
        Masks when a basic block begins, by its id.
    ever
        Masks at any time.
    tapes
        Tape of each basic block, by its id.
    """

    all_groups: GroupMask
    before: dict[int, EntryMasks] = field(default_factory=dict)
    ever: EntryMasks = field(default_factory=dict)
    tapes: dict[int, Tape] = field(default_factory=dict)


def analyze_activity(
    program: Program, seeds: Mapping[str, GroupMask], all_groups: GroupMask
) -> Activity:
    """Propagate activity through a program.

    Parameters
    ----------
    program
        Tangent program.
    seeds
        Groups in which a tangent does not begin with zero, by register.
    all_groups
        Mask of all groups.

    Returns
    -------
    Activity
        Groups by block, register and entry.
    """
    result = Activity(all_groups)
    now = {name: [groups] * program.sizes[name] for name, groups in seeds.items()}
    result.ever = _copy(now)
    result.tapes = {id(block): create_tape(block.function) for block, _ in program.basic_blocks()}

    def visit(block: Block, masks: EntryMasks) -> None:
        if isinstance(block, While):
            # to a fixed point
            while True:
                before = _copy(masks)
                for inner in block.body:
                    visit(inner, masks)
                _merge(masks, before)
                if masks == before:
                    return
        if isinstance(block, Slice):
            _visit_slice(block, program.sizes, masks)
            _merge(result.ever, masks)
        if isinstance(block, BasicBlock):
            _merge(result.before.setdefault(id(block), {}), masks)
            nodes = node_activity(result.tapes[id(block)], block, masks, all_groups)
            for (argument, entry), node in result.tapes[id(block)].outputs:
                if (name := block.outputs[argument]) in masks:
                    masks[name][entry] = nodes[node]
            _merge(result.ever, masks)

    for block in program.blocks:
        visit(block, now)
    return result


def _visit_slice(block: Slice, sizes: Mapping[str, int], masks: EntryMasks) -> None:
    """Propagate through a slice of any iteration."""
    if block.slice not in masks:
        return
    whole, part, size = masks[block.array], masks[block.slice], sizes[block.slice]
    if block.is_store:
        masks[block.array] = [groups | part[k % size] for k, groups in enumerate(whole)]
    else:
        masks[block.slice] = [reduce(or_, whole[k::size], 0) for k in range(size)]


def _copy(masks: EntryMasks) -> EntryMasks:
    return {name: list(entries) for name, entries in masks.items()}


def _merge(into: EntryMasks, other: EntryMasks) -> None:
    for name, entries in other.items():
        known = into.setdefault(name, [0] * len(entries))
        into[name] = [a | b for a, b in zip(known, entries, strict=True)]


def node_activity(
    t: Tape, block: BasicBlock, registers: Mapping[str, list[GroupMask]], all_groups: GroupMask
) -> list[GroupMask]:
    """Find the groups in which each node can differ from zero.

    Values that are the same in all directions count as nonzero in all groups.
    """
    masks: list[GroupMask] = []
    for node in t.nodes:
        args = [masks[a] for a in node.args]
        if node.op == "input":
            active = registers.get(block.inputs[node.slot[0]])
            masks.append(all_groups if active is None else active[node.slot[1]])
        elif node.op == "const":
            masks.append(all_groups if node.value else 0)
        elif node.op in ("mul", "if_else_zero"):
            masks.append(args[0] & args[1])
        elif node.op in ("fma", "fnma", "fms"):
            masks.append(args[0] & args[1] | args[2])
        elif node.op in ("add", "sub"):
            masks.append(args[0] | args[1])
        elif node.op in ("neg", "assign", "twice", "sq", "div"):
            masks.append(args[0])
        elif node.op == "select":
            masks.append(args[1] | args[2])
        else:
            masks.append(all_groups)
    return masks
