"""Which groups of directions reach a tangent: in the others it is zero, and takes no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from tarsus.program.ir.blocks import Block, Slice, Straight, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.tape import Tape, tape

Groups = int  # a bit a group
Reached = dict[str, list[Groups]]  # by register, of each of its entries


@dataclass
class Reach:
    """Where tangents of a program can differ from zero.

    before: by the id of a straight block, as it begins
    ever: at any time
    tapes: of the straight blocks, by id
    """

    everywhere: Groups
    before: dict[int, Reached] = field(default_factory=dict)
    ever: Reached = field(default_factory=dict)
    tapes: dict[int, Tape] = field(default_factory=dict)


def reach(program: Program, seeded: Mapping[str, Groups], everywhere: Groups) -> Reach:
    """Groups by register and entry.

    seeded: by tangent, where it does not begin with zero
    everywhere: all groups
    """
    found = Reach(everywhere)
    now = {name: [groups] * program.sizes[name] for name, groups in seeded.items()}
    found.ever = _copied(now)
    found.tapes = {id(block): tape(block.function) for block, _ in program.straights()}

    def through(block: Block, now: Reached) -> None:
        if isinstance(block, While):
            # until another round changes nothing
            while True:
                before = _copied(now)
                for inner in block.body:
                    through(inner, now)
                _add(now, before)
                if now == before:
                    return
        if isinstance(block, Slice):
            _through_slice(block, program.sizes, now)
            _add(found.ever, now)
        if isinstance(block, Straight):
            _add(found.before.setdefault(id(block), {}), now)
            nodes = of_nodes(found.tapes[id(block)], block, now, everywhere)
            for (argument, entry), node in found.tapes[id(block)].outputs:
                if (name := block.outputs[argument]) in now:
                    now[name][entry] = nodes[node]
            _add(found.ever, now)

    for block in program.blocks:
        through(block, now)
    return found


def _through_slice(block: Slice, sizes: Mapping[str, int], now: Reached) -> None:
    """Whatever the round."""
    if block.part not in now:
        return
    whole, part, size = now[block.whole], now[block.part], sizes[block.part]
    if block.stored:
        now[block.whole] = [groups | part[k % size] for k, groups in enumerate(whole)]
    else:
        now[block.part] = [reduce(or_, whole[k::size], 0) for k in range(size)]


def _copied(reached: Reached) -> Reached:
    return {name: list(entries) for name, entries in reached.items()}


def _add(to: Reached, more: Reached) -> None:
    for name, entries in more.items():
        known = to.setdefault(name, [0] * len(entries))
        to[name] = [a | b for a, b in zip(known, entries, strict=True)]


def of_nodes(
    t: Tape, block: Straight, registers: Mapping[str, list[Groups]], everywhere: Groups
) -> list[Groups]:
    """The groups in which each node can differ from zero; numbers that all directions share can."""
    found: list[Groups] = []
    for node in t.nodes:
        args = [found[a] for a in node.args]
        if node.op == "input":
            own = registers.get(block.inputs[node.place[0]])
            found.append(everywhere if own is None else own[node.place[1]])
        elif node.op == "const":
            found.append(everywhere if node.value else 0)
        elif node.op in ("mul", "if_else_zero"):
            found.append(args[0] & args[1])
        elif node.op in ("fma", "fnma", "fms"):
            found.append(args[0] & args[1] | args[2])
        elif node.op in ("add", "sub"):
            found.append(args[0] | args[1])
        elif node.op in ("neg", "assign", "twice", "sq", "div"):
            found.append(args[0])
        elif node.op == "select":
            found.append(args[1] | args[2])
        else:
            found.append(everywhere)
    return found
