"""The order in which a tape's operations are written, chosen so that few values are alive at once.

A processor's compiler reorders straight-line code within its few registers by itself; a GPU's
assembler keeps much of the order it is given, and what does not fit into a thread's registers goes
to memory. The order does not change a bit.
"""

from __future__ import annotations

from tarsus.program.lowering.tape import Node, Tape


def on_demand(t: Tape) -> Tape:
    """Every value just before its first use, the argument that needs more registers first."""
    need = _registers_needed(t)
    order: list[int] = []
    done = [False] * len(t.nodes)
    for _, output in t.outputs:
        waiting = [(output, False)]
        while waiting:
            k, ready = waiting.pop()
            if done[k]:
                continue
            if ready:
                done[k] = True
                order.append(k)
                continue
            args = sorted(set(t.nodes[k].args), key=lambda a: need[a])
            waiting += [(k, True), *((a, False) for a in args if not done[a])]
    return _in_order(t, order)


def _registers_needed(t: Tape) -> list[int]:
    """Registers of each value's tree if nothing is shared (Sethi and Ullman's number)."""
    need: list[int] = []
    for node in t.nodes:
        own = sorted((need[a] for a in set(node.args)), reverse=True)
        need.append(max((n + k for k, n in enumerate(own)), default=int(node.op != "const")))
    return need


def _in_order(t: Tape, order: list[int]) -> Tape:
    at = {old: new for new, old in enumerate(order)}
    nodes = [
        Node(n.op, tuple(at[a] for a in n.args), n.value, n.place)
        for n in (t.nodes[k] for k in order)
    ]
    return Tape(nodes, [(place, at[k]) for place, k in t.outputs])
