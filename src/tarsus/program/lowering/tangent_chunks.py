"""Split a basic block of a tangent program into a shared part, and chunks per direction.

A chunk loops over vectors of directions. It is short enough for its code to stay in the instruction
cache. A value that a later chunk uses is saved in a slot.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tarsus.program.ir.blocks import BasicBlock
from tarsus.program.lowering.activity import Activity, node_activity
from tarsus.program.lowering.tape import Node

CHUNK_SIZE = 250  # operations

Store = tuple[str, int, int]  # register, entry, node


@dataclass(frozen=True)
class TangentChunk:
    """Consecutive operations of a block.

    Attributes
    ----------
    nodes
        Nodes in order.
    stores
        Outputs that are stored after them.
    saved
        Slots of values that later chunks use, by node.
    """

    nodes: list[int]
    stores: list[Store]
    saved: dict[int, int]


@dataclass(frozen=True)
class GroupSchedule:
    """Chunks of a block for one group of directions.

    Attributes
    ----------
    nonzero
        Whether each node can differ from zero.
    chunks
        Chunks in order.
    slots
        Slot of each saved value, by node.
    """

    nonzero: list[bool]
    chunks: list[TangentChunk]
    slots: dict[int, int]


@dataclass(frozen=True)
class SharedPart:
    """Part of a block that is the same in all directions.

    Attributes
    ----------
    computed
        Whether each node is part of it.
    stores
        Its outputs.
    saved
        Indices of the values that directions use, by node.
    """

    computed: list[bool]
    stores: list[Store]
    saved: dict[int, int]


class SplitBlock:
    """Basic block of a tangent program, split into a shared part and chunks.

    Parameters
    ----------
    block
        Basic block.
    activity
        Activity of its program.
    varying
        Registers that differ by direction.
    max_slots
        Number of slots for saved values.
    """

    def __init__(
        self, block: BasicBlock, activity: Activity, varying: Collection[str], max_slots: int
    ) -> None:
        self.block, self.activity, self._max_slots = block, activity, max_slots
        self.tape = activity.tapes[id(block)]
        t, uses = self.tape, self.tape.use_counts()
        # nodes that differ by direction
        self.differs: list[bool] = []
        for node in t.nodes:
            varies = node.op == "input" and block.inputs[node.slot[0]] in varying
            self.differs.append(varies or any(self.differs[a] for a in node.args))
        stores = [(block.outputs[k], entry, node) for (k, entry), node in t.outputs]
        self.stores = [store for store in stores if store[0] in varying]
        # the others, and which of them are used by those
        nodes = list(zip(t.nodes, uses, self.differs, strict=True))
        used_by_directions = [
            a for node, used, varies in nodes if used and varies for a in node.args
        ]
        used_by_directions += [node for _, _, node in self.stores]
        saved = dict.fromkeys(
            k for k in used_by_directions if not self.differs[k] and t.nodes[k].op != "const"
        )
        self.shared = SharedPart(
            [bool(used) and not differs for _, used, differs in nodes],
            [store for store in stores if store[0] not in varying],
            {k: index for index, k in enumerate(saved)},
        )

    def schedule(self, group: int) -> GroupSchedule:
        """Schedule the chunks for a group of directions."""
        activity, block = self.activity, self.block
        # nodes that can differ from zero, and those of them that outputs use
        groups = node_activity(self.tape, block, activity.before[id(block)], activity.all_groups)
        nonzero = [bool(mask >> group & 1) for mask in groups]
        stores = [s for s in self.stores if activity.ever[s[0]][s[1]] >> group & 1]
        needed = [False] * len(nonzero)
        for _, _, node in stores:
            needed[node] = True
        nodes: list[int] = []
        for k in range(len(nonzero) - 1, -1, -1):
            if needed[k] and nonzero[k] and self.differs[k]:
                nodes.append(k)
                for a in self.tape.nodes[k].args:
                    needed[a] = True
        nodes.reverse()
        # several chunks if there are enough slots, else one
        chunks = self._split(nodes, stores, nonzero, CHUNK_SIZE)
        result = chunks or self._split(nodes, stores, nonzero, len(nodes) + 1)
        assert result is not None, "a single chunk needs no slots"
        return result

    def _split(
        self, nodes: list[int], stores: list[Store], nonzero: list[bool], size: int
    ) -> GroupSchedule | None:
        """Split into chunks of a size; None if they need too many slots."""
        # the chunk that computes each value, and the last one that uses it; inputs are reloaded
        t = self.tape
        computed = {
            k: position // size for position, k in enumerate(nodes) if t.nodes[k].op != "input"
        }
        last_use = dict(computed)
        for position, k in enumerate(nodes):
            for a in t.nodes[k].args:
                if a in computed:
                    last_use[a] = position // size
        # outputs are stored right away, unless the block also reads the register
        last_chunk = max(len(nodes) - 1, 0) // size
        stores_of: list[list[Store]] = [[] for _ in range(last_chunk + 1)]
        for store in stores:
            name, _, node = store
            early = name not in self.block.inputs and nonzero[node] and self.differs[node]
            chunk = computed.get(node, last_chunk) if early else last_chunk
            stores_of[chunk].append(store)
            if node in computed:
                last_use[node] = max(last_use[node], chunk)
        # slots of values that later chunks use
        free, slots, used = list[int](), dict[int, int](), 0
        chunks: list[TangentChunk] = []
        for number in range(last_chunk + 1):
            chunk_nodes = nodes[number * size : (number + 1) * size]
            live_out = [k for k in chunk_nodes if k in computed and last_use[k] > number]
            saved: dict[int, int] = {}
            for k in live_out:
                if not free:
                    free, used = [used], used + 1
                saved[k] = free.pop()
            slots |= saved
            chunks.append(TangentChunk(chunk_nodes, stores_of[number], saved))
            free += [slots[k] for k in slots if last_use[k] == number and k not in saved]
        return None if used > self._max_slots else GroupSchedule(nonzero, chunks, slots)


def without_zeros(node: Node, nonzero: list[bool]) -> tuple[str, tuple[int, ...]]:
    """Fold away the zero summands of a node's operation and arguments."""
    op, args = node.op, node.args
    if op in ("fma", "fnma", "fms"):
        if not (nonzero[args[0]] and nonzero[args[1]]):
            return ("neg" if op == "fms" else "assign"), args[2:]
        return (op, args) if nonzero[args[2]] or op == "fnma" else ("mul", args[:2])
    if op in ("add", "sub"):
        if not nonzero[args[1]]:
            return "assign", args[:1]
        return (op, args) if nonzero[args[0]] else ("neg" if op == "sub" else "assign", args[1:])
    return op, args
