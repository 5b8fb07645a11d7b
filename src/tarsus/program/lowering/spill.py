"""Which values of a tape wait in memory, where more are alive at once than a thread has registers.

A GPU's assembler decides that as well, but in blocks of many thousand operations it stores and
loads about twice as much as it must. So the tape plans it: what is used farthest from now waits
(Belady 1966), and what lies in memory
anyway is read again. Not a bit changes.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from tarsus.program.ir.blocks import Lookup, Slice, Straight, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.tape import MASKS, Node, Tape

NEVER = 1 << 62  # the next use of a value that the end of the block needs


@dataclass(frozen=True)
class Memory:
    """The part of a straight block's data in memory, by numbers of its arguments.

    inputs: can be read again
    outputs: can be written early and read back
    spare: the output that is room for the rest
    """

    inputs: Container[int]
    outputs: Container[int]
    spare: int


def within(t: Tape, registers: int, memory: Memory) -> Tape:
    """The same operations in the same order, at most `registers` numbers held, constants apart.

    It has three operations more: `store` writes its argument to an output's place, `reload` reads
    it from there, `again` reads an input once more. Masks are never spilled.
    """
    return _Walk(t, registers, memory).walked()


def in_memory(program: Program, alive: dict[Straight, int], registers: int) -> list[str]:
    """The temporaries that lie in memory from where they are computed.

    Those that only wait while the loops run, and those that a loop reads which is too large for the
    registers. `alive`: most values held at once by each straight block inside a loop.
    """
    small = [block for block, most in alive.items() if most <= registers]
    large = [block for block, most in alive.items() if most > registers]
    fast = {name for block in small for name in block.inputs} - {
        name for block in large for name in block.inputs
    }
    fast |= {name for block in alive for name in block.outputs} | _scalars(program.blocks)
    return [r.name for r in program.of_kind("temporary") if r.name not in fast]


def _scalars(blocks: tuple[object, ...]) -> set[str]:
    """Conditions of loops, and what tables are read with and give."""
    found: set[str] = set()
    for block in blocks:
        if isinstance(block, While):
            found |= {block.more} | _scalars(block.body)
        elif isinstance(block, Lookup):
            found |= {block.index, block.output}
        elif isinstance(block, Slice):
            found.add(block.part)
    return found


def most_alive(t: Tape) -> int:
    """Most values held at once in the tape's order; constants and unused values cost nothing."""
    uses = t.live()
    last = {a: k for k, node in enumerate(t.nodes) if uses[k] for a in node.args}
    last |= {k: len(t.nodes) for _, k in t.outputs}
    change = [0] * (len(t.nodes) + 2)
    for born, dead in last.items():
        if t.nodes[born].op != "const":
            change[born] += 1
            change[dead + 1] -= 1
    most = now = 0
    for step in change:
        now += step
        most = max(most, now)
    return most


@dataclass
class _Spare:
    """Places of the spare memory, used again when their value is dead."""

    size: int = 0
    free: list[int] = field(default_factory=list)

    def take(self) -> int:
        if self.free:
            return self.free.pop()
        self.size += 1
        return self.size - 1


class _Walk:
    """One walk along a tape; values are named by their old numbers."""

    def __init__(self, t: Tape, registers: int, memory: Memory) -> None:
        self.t, self.registers, self.memory = t, registers, memory
        self.nodes: list[Node] = []
        self.now: dict[int, int] = {}  # the new node that holds a value
        self.held: dict[int, int] = {}  # values in registers and their next use
        self.home: dict[int, Node] = {}  # how a value in memory is read
        self.spare = _Spare()
        self.early: dict[int, list[tuple[int, int]]] = {}
        self.late: list[tuple[tuple[int, int], int]] = []
        for place, k in t.outputs:
            if place[0] in memory.outputs and t.nodes[k].op not in ("const", "input"):
                self.early.setdefault(k, []).append(place)
            else:
                self.late.append((place, k))
        self.wanted = {k for _, k in self.late}
        self.uses: list[list[int]] = [[] for _ in t.nodes]  # the next one last
        live = t.live()
        for k in reversed(range(len(t.nodes))):
            for a in set(t.nodes[k].args) if live[k] else ():
                self.uses[a].append(k)

    def walked(self) -> Tape:
        live = self.t.live()
        for k, node in enumerate(self.t.nodes):
            if live[k]:
                self._operate(k, node)
        for _, k in self.late:
            if k not in self.held and self.t.nodes[k].op != "const":
                self.now[k] = self._add(self.home[k])
                self.held[k] = NEVER
        return Tape(self.nodes, [(place, self.now[k]) for place, k in self.late])

    def _operate(self, k: int, node: Node) -> None:
        args = {a for a in node.args if self.t.nodes[a].op != "const"}
        for a in args:
            self._fetch(a, args)
        self.now[k] = self._add(
            Node(node.op, tuple(self.now[a] for a in node.args), node.value, node.place)
        )
        for a in args:
            self.uses[a].pop()
            self._hold(a, args)
        if node.op == "input" and node.place[0] in self.memory.inputs:
            self.home[k] = Node("again", (), place=node.place)
        for place in self.early.get(k, ()):
            self._add(Node("store", (self.now[k],), place=place))
            self.home[k] = Node("reload", (), place=place)
        if node.op != "const":
            self._hold(k, args | {k})

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _hold(self, k: int, needed: set[int]) -> None:
        """Keep a value in a register until its next use, or forget it."""
        if self.uses[k] or k in self.wanted:
            if k not in self.held:
                self._room(needed)
            self.held[k] = self.uses[k][-1] if self.uses[k] else NEVER
            return
        self.held.pop(k, None)
        home = self.home.get(k)
        if home is not None and home.op == "reload" and home.place[0] == self.memory.spare:
            self.spare.free.append(home.place[1])

    def _fetch(self, k: int, needed: set[int]) -> None:
        if k not in self.held and self.t.nodes[k].op != "const":
            self._room(needed)
            self.now[k] = self._add(self.home[k])
            self.held[k] = NEVER

    def _room(self, needed: set[int]) -> None:
        """Send away what is used last until a register is free; a mask has no place in memory."""
        while len(self.held) >= self.registers:
            others = (k for k in self.held if k not in needed and self.t.nodes[k].op not in MASKS)
            k = max(others, key=self.held.__getitem__, default=None)
            if k is None:
                return
            del self.held[k]
            if k not in self.home:
                place = (self.memory.spare, self.spare.take())
                self._add(Node("store", (self.now[k],), place=place))
                self.home[k] = Node("reload", (), place=place)
