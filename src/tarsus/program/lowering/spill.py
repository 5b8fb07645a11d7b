"""Spill values of a tape where more are live than a GPU thread has registers.

A GPU assembler spills by itself, but in blocks of many thousand operations it stores and loads
about twice as much as necessary. So the tape is spilled here: the value whose next use is farthest
waits in memory (Belady 1966), and values that are in memory anyway are loaded again. Results do not
change.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from tarsus.program.ir.blocks import BasicBlock, Lookup, Slice, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.tape import MASKS, Node, Tape

AT_END = 1 << 62  # next use of a value that is needed at the end of the block


@dataclass(frozen=True)
class Memory:
    """Arguments of a basic block that are in memory, by index.

    Attributes
    ----------
    inputs
        Inputs that can be loaded again.
    outputs
        Outputs that can be stored early and loaded back.
    spill
        Index of the output that stands for the spill slots.
    """

    inputs: Container[int]
    outputs: Container[int]
    spill: int


def spill_values(t: Tape, registers: int, memory: Memory) -> Tape:
    """Add spill code to a tape, so that at most `registers` values are live.

    It has three more operations: `store` writes its argument to an output slot, `reload` loads it
    from there, and `again` loads an input again. Masks are never spilled, and constants need no
    register.

    Parameters
    ----------
    t
        Tape to spill; its order is kept.
    registers
        Number of registers.
    memory
        Arguments that are in memory.

    Returns
    -------
    Tape
        Tape with stores and reloads.
    """
    return _Spiller(t, registers, memory).spill_tape()


def registers_in_memory(
    program: Program, pressure: dict[BasicBlock, int], registers: int
) -> list[str]:
    """Find the temporaries that stay in memory from their definition on.

    They are those that no loop reads, and those read by a loop that exceeds the registers.

    Parameters
    ----------
    program
        Program with temporaries.
    pressure
        Register pressure of each basic block inside of a loop.
    registers
        Number of registers.

    Returns
    -------
    list of str
        Names of temporaries.
    """
    small = [block for block, size in pressure.items() if size <= registers]
    large = [block for block, size in pressure.items() if size > registers]
    fast = {name for block in small for name in block.inputs} - {
        name for block in large for name in block.inputs
    }
    fast |= {name for block in pressure for name in block.outputs} | _find_scalars(program.blocks)
    return [r.name for r in program.of_kind("temporary") if r.name not in fast]


def _find_scalars(blocks: tuple[object, ...]) -> set[str]:
    """Find conditions of loops, indices and results of look-ups, and slices."""
    names: set[str] = set()
    for block in blocks:
        if isinstance(block, While):
            names |= {block.condition} | _find_scalars(block.body)
        elif isinstance(block, Lookup):
            names |= {block.index, block.output}
        elif isinstance(block, Slice):
            names.add(block.slice)
    return names


def register_pressure(t: Tape) -> int:
    """Count the largest number of values that are live at once; constants do not count."""
    uses = t.use_counts()
    last_use = {a: k for k, node in enumerate(t.nodes) if uses[k] for a in node.args}
    last_use |= {k: len(t.nodes) for _, k in t.outputs}
    change = [0] * (len(t.nodes) + 2)
    for defined, last in last_use.items():
        if t.nodes[defined].op != "const":
            change[defined] += 1
            change[last + 1] -= 1
    largest = live = 0
    for step in change:
        live += step
        largest = max(largest, live)
    return largest


@dataclass
class _SpillSlots:
    """Spill slots, reused when their value is dead."""

    size: int = 0
    free: list[int] = field(default_factory=list)

    def take(self) -> int:
        if self.free:
            return self.free.pop()
        self.size += 1
        return self.size - 1


class _Spiller:
    """Walks along a tape and writes the spilled one; values have their indices in the old tape."""

    def __init__(self, t: Tape, registers: int, memory: Memory) -> None:
        self.t, self.registers, self.memory = t, registers, memory
        self.nodes: list[Node] = []
        self.current: dict[int, int] = {}  # node of the new tape that has a value
        self.resident: dict[int, int] = {}  # values in registers, and their next use
        self.home: dict[int, Node] = {}  # how a value in memory is loaded
        self.slots = _SpillSlots()
        self.early: dict[int, list[tuple[int, int]]] = {}
        self.late: list[tuple[tuple[int, int], int]] = []
        for slot, k in t.outputs:
            if slot[0] in memory.outputs and t.nodes[k].op not in ("const", "input"):
                self.early.setdefault(k, []).append(slot)
            else:
                self.late.append((slot, k))
        self.live_out = {k for _, k in self.late}
        self.uses: list[list[int]] = [[] for _ in t.nodes]  # the next one last
        used = t.use_counts()
        for k in reversed(range(len(t.nodes))):
            for a in set(t.nodes[k].args) if used[k] else ():
                self.uses[a].append(k)

    def spill_tape(self) -> Tape:
        used = self.t.use_counts()
        for k, node in enumerate(self.t.nodes):
            if used[k]:
                self._process(k, node)
        for _, k in self.late:
            if k not in self.resident and self.t.nodes[k].op != "const":
                self.current[k] = self._append(self.home[k])
                self.resident[k] = AT_END
        return Tape(self.nodes, [(slot, self.current[k]) for slot, k in self.late])

    def _process(self, k: int, node: Node) -> None:
        args = {a for a in node.args if self.t.nodes[a].op != "const"}
        for a in args:
            self._load(a, args)
        self.current[k] = self._append(
            Node(node.op, tuple(self.current[a] for a in node.args), node.value, node.slot)
        )
        for a in args:
            self.uses[a].pop()
            self._retain(a, args)
        if node.op == "input" and node.slot[0] in self.memory.inputs:
            self.home[k] = Node("again", (), slot=node.slot)
        for slot in self.early.get(k, ()):
            self._append(Node("store", (self.current[k],), slot=slot))
            self.home[k] = Node("reload", (), slot=slot)
        if node.op != "const":
            self._retain(k, args | {k})

    def _append(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _retain(self, k: int, needed: set[int]) -> None:
        """Keep a value in a register until its next use; free it if there is none."""
        if self.uses[k] or k in self.live_out:
            if k not in self.resident:
                self._free_register(needed)
            self.resident[k] = self.uses[k][-1] if self.uses[k] else AT_END
            return
        self.resident.pop(k, None)
        home = self.home.get(k)
        if home is not None and home.op == "reload" and home.slot[0] == self.memory.spill:
            self.slots.free.append(home.slot[1])

    def _load(self, k: int, needed: set[int]) -> None:
        if k not in self.resident and self.t.nodes[k].op != "const":
            self._free_register(needed)
            self.current[k] = self._append(self.home[k])
            self.resident[k] = AT_END

    def _free_register(self, needed: set[int]) -> None:
        """Spill the values with the farthest next use until a register is free; masks cannot be."""
        while len(self.resident) >= self.registers:
            others = (
                k for k in self.resident if k not in needed and self.t.nodes[k].op not in MASKS
            )
            k = max(others, key=self.resident.__getitem__, default=None)
            if k is None:
                return
            del self.resident[k]
            if k not in self.home:
                slot = (self.memory.spill, self.slots.take())
                self._append(Node("store", (self.current[k],), slot=slot))
                self.home[k] = Node("reload", (), slot=slot)
