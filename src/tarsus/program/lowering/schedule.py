"""Schedule a tape's operations so that few values are live at once.

A CPU compiler reorders straight-line code by itself. A GPU assembler keeps much of the order that
it is given, and spills what exceeds the registers of a thread. The order does not change results.
"""

from __future__ import annotations

from tarsus.program.lowering.tape import Node, Tape


def schedule_on_demand(t: Tape) -> Tape:
    """Schedule every value of a tape just before its first use.

    Of the arguments of a node, the one that needs more registers comes first, as in
    Sethi-Ullman numbering.
    """
    need = _registers_needed(t)
    order: list[int] = []
    done = [False] * len(t.nodes)
    for _, output in t.outputs:
        stack = [(output, False)]
        while stack:
            k, ready = stack.pop()
            if done[k]:
                continue
            if ready:
                done[k] = True
                order.append(k)
                continue
            args = sorted(set(t.nodes[k].args), key=lambda a: need[a])
            stack += [(k, True), *((a, False) for a in args if not done[a])]
    return _in_order(t, order)


def _registers_needed(t: Tape) -> list[int]:
    """Compute the Sethi-Ullman number of each node: registers of its tree without sharing."""
    need: list[int] = []
    for node in t.nodes:
        counts = sorted((need[a] for a in set(node.args)), reverse=True)
        need.append(max((n + k for k, n in enumerate(counts)), default=int(node.op != "const")))
    return need


def _in_order(t: Tape, order: list[int]) -> Tape:
    index = {old: new for new, old in enumerate(order)}
    nodes = [
        Node(n.op, tuple(index[a] for a in n.args), n.value, n.slot)
        for n in (t.nodes[k] for k in order)
    ]
    return Tape(nodes, [(slot, index[k]) for slot, k in t.outputs])
