"""A straight block of a tangent program, cut into what all directions share and pieces of the rest.

A piece is done for one vector of directions after the other, and short enough for its instructions
to stay near; a value that a later piece takes waits in a slot.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tarsus.program.ir.blocks import Straight
from tarsus.program.lowering.reach import Reach, of_nodes
from tarsus.program.lowering.tape import Node

LENGTH = 250  # operations of a piece

End = tuple[str, int, int]  # register, entry, node


@dataclass(frozen=True)
class Piece:
    """Some operations of a block.

    work: nodes, in order; ends: outputs that are known after them
    kept: slots of its values that later pieces take
    """

    work: list[int]
    ends: list[End]
    kept: dict[int, int]


@dataclass(frozen=True)
class GroupWork:
    """A block in some groups of directions.

    some: of each node whether it can differ from zero; slots: where values of earlier pieces wait
    """

    some: list[bool]
    pieces: list[Piece]
    slots: dict[int, int]


@dataclass(frozen=True)
class Shared:
    """What all directions of a block share.

    work: of each node whether it is computed; ends: outputs; waiting: what directions take of it
    """

    work: list[bool]
    ends: list[End]
    waiting: dict[int, int]


class Cut:
    """A straight block of a tangent program.

    reach: of its program; varying: registers that differ by direction; room: for slots
    """

    def __init__(self, block: Straight, reach: Reach, varying: Collection[str], room: int) -> None:
        self.block, self.reach, self._room = block, reach, room
        self.tape = reach.tapes[id(block)]
        t, live = self.tape, self.tape.live()
        # what differs by direction
        self.differs: list[bool] = []
        for node in t.nodes:
            own = node.op == "input" and block.inputs[node.place[0]] in varying
            self.differs.append(own or any(self.differs[a] for a in node.args))
        ends = [(block.outputs[k], entry, node) for (k, entry), node in t.outputs]
        self.ends = [end for end in ends if end[0] in varying]
        # the rest, and what is taken of it
        nodes = list(zip(t.nodes, live, self.differs, strict=True))
        taken = [a for node, used, differs in nodes if used and differs for a in node.args]
        taken += [node for _, _, node in self.ends]
        waits = dict.fromkeys(k for k in taken if not self.differs[k] and t.nodes[k].op != "const")
        self.shared = Shared(
            [bool(used) and not differs for _, used, differs in nodes],
            [end for end in ends if end[0] not in varying],
            {k: at for at, k in enumerate(waits)},
        )

    def part(self, group: int) -> GroupWork:
        """What is done for the directions of a group."""
        reach = self.reach
        # what can differ from zero in it; what its outputs take of that
        groups = of_nodes(self.tape, self.block, reach.before[id(self.block)], reach.everywhere)
        some = [bool(found >> group & 1) for found in groups]
        ends = [end for end in self.ends if reach.ever[end[0]][end[1]] >> group & 1]
        wanted = [False] * len(some)
        for _, _, node in ends:
            wanted[node] = True
        work: list[int] = []
        for k in range(len(some) - 1, -1, -1):
            if wanted[k] and some[k] and self.differs[k]:
                work.append(k)
                for a in self.tape.nodes[k].args:
                    wanted[a] = True
        work.reverse()
        # in pieces, if what waits between them has room
        found = self._pieces(work, ends, some, LENGTH)
        whole = found or self._pieces(work, ends, some, len(work) + 1)
        assert whole is not None, "in one piece nothing waits"
        return whole

    def _pieces(
        self, work: list[int], ends: list[End], some: list[bool], length: int
    ) -> GroupWork | None:
        """The work in pieces of a length; None if more has to wait than there is room for."""
        # where each value is made and last taken; inputs are read where they are taken
        t = self.tape
        made = {k: at // length for at, k in enumerate(work) if t.nodes[k].op != "input"}
        last = dict(made)
        for at, k in enumerate(work):
            for a in t.nodes[k].args:
                if a in made:
                    last[a] = at // length
        # outputs at once, unless the block reads the register too
        final = max(len(work) - 1, 0) // length
        place: list[list[End]] = [[] for _ in range(final + 1)]
        for end in ends:
            early = end[0] not in self.block.inputs and some[end[2]] and self.differs[end[2]]
            at = made.get(end[2], final) if early else final
            place[at].append(end)
            if end[2] in made:
                last[end[2]] = max(last[end[2]], at)
        # slots for what waits
        free, slots, used = list[int](), dict[int, int](), 0
        pieces: list[Piece] = []
        for number in range(final + 1):
            own = work[number * length : (number + 1) * length]
            waits = [k for k in own if k in made and last[k] > number]
            kept: dict[int, int] = {}
            for k in waits:
                if not free:
                    free, used = [used], used + 1
                kept[k] = free.pop()
            slots |= kept
            pieces.append(Piece(own, place[number], kept))
            free += [slots[k] for k in slots if last[k] == number and k not in kept]
        return None if used > self._room else GroupWork(some, pieces, slots)


def without_zeros(node: Node, some: list[bool]) -> tuple[str, tuple[int, ...]]:
    """A node's operation and arguments where sums have no zeros."""
    op, args = node.op, node.args
    if op in ("fma", "fnma", "fms"):
        if not (some[args[0]] and some[args[1]]):
            return ("neg" if op == "fms" else "assign"), args[2:]
        return (op, args) if some[args[2]] or op == "fnma" else ("mul", args[:2])
    if op in ("add", "sub"):
        if not some[args[1]]:
            return "assign", args[:1]
        return (op, args) if some[args[0]] else ("neg" if op == "sub" else "assign", args[1:])
    return op, args
