"""Instruction selection: from CasADi functions to tapes of machine operations.

Selects, shared reciprocals and fused multiply-adds are formed here, by rules that depend only on
the expression. The compiler fuses nothing. So the bits of a result do not depend on the number of
lanes, the batch or the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from tarsus.program.lowering.instructions import instructions

NAMES = {getattr(ca, name): name[3:].lower() for name in dir(ca) if name.startswith("OP_")}
BINARY = {
    *("add", "sub", "mul", "div", "pow", "constpow", "fmod", "remainder", "fmin", "fmax"),
    *("lt", "le", "eq", "ne", "and", "or", "if_else_zero", "copysign", "atan2", "hypot"),
}
MASKS = {"lt", "le", "eq", "ne", "not", "and", "or"}


@dataclass(slots=True)
class Node:
    """Operation of a tape.

    Attributes
    ----------
    op
        Name of the operation.
    args
        Indices of earlier nodes.
    value
        Value of a constant.
    slot
        Argument and entry of an input, or of a store.
    """

    op: str
    args: tuple[int, ...]
    value: float = 0.0
    slot: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Tape:
    """Operations in order (a Wengert list).

    Attributes
    ----------
    nodes
        Operations.
    outputs
        Argument and entry of each output, and the index of its node.
    """

    nodes: list[Node]
    outputs: list[tuple[tuple[int, int], int]]

    def use_counts(self) -> list[int]:
        """Count the uses of each node; code for unused ones is not emitted."""
        nodes, uses = self.nodes, [0] * len(self.nodes)
        for _, node in self.outputs:
            uses[node] += 1
        for k in range(len(nodes) - 1, -1, -1):
            node = nodes[k]
            if node.op == "store":
                uses[k] += 1
            if uses[k]:
                for a in node.args:
                    uses[a] += 1
        return uses

    def operation_counts(self) -> dict[str, int]:
        """Count the operations by name, without inputs and constants."""
        counts: dict[str, int] = {}
        for node, uses in zip(self.nodes, self.use_counts(), strict=True):
            if uses and node.op not in ("input", "const"):
                counts[node.op] = counts.get(node.op, 0) + 1
        return counts


def create_tape(function: ca.Function) -> Tape:
    """Create the tape of a straight-line function of SX."""
    return _fuse_multiply_adds(_share_reciprocals(_form_selects(_read(function))))


def _read(function: ca.Function) -> Tape:
    """Convert CasADi's instructions to nodes in SSA form."""
    nodes: list[Node] = []
    outputs: list[tuple[tuple[int, int], int]] = []
    rows = instructions(function)
    node_of = [0] * (function.sz_w() + 1)  # last node written to each slot of the work vector
    constants = np.ascontiguousarray(rows[:, 2:]).view(np.float64)[:, 0].tolist()
    for (code, to, one, two), constant in zip(rows.tolist(), constants, strict=True):
        op = NAMES[code]
        if op == "output":
            outputs.append(((to, two), node_of[one]))
            continue
        if op == "input":
            node = Node(op, (), 0.0, (one, two))
        elif op == "const":
            node = Node(op, (), constant)
        elif op in BINARY:
            node = Node(op, (node_of[one], node_of[two]))
        else:
            node = Node(op, (node_of[one],))
        node_of[to] = len(nodes)
        nodes.append(node)
    return Tape(nodes, outputs)


def _form_selects(t: Tape) -> Tape:
    """Replace (c ? a : 0) + (!c ? b : 0) by select(c, a, b)."""
    nodes = t.nodes
    for node in nodes:
        if node.op != "add":
            continue
        first, second = (nodes[a] for a in node.args)
        if first.op != "if_else_zero" or second.op != "if_else_zero":
            continue
        condition, other = first.args[0], nodes[second.args[0]]
        if other.op == "not" and other.args[0] == condition:
            node.op, node.args = "select", (condition, first.args[1], second.args[1])
    return t


def _share_reciprocals(t: Tape) -> Tape:
    """Replace several divisions by one value by multiplications with its reciprocal.

    CasADi folds x * (1 / y) to x / y.
    """
    # count the divisions by each value
    uses = t.use_counts()
    divisors: dict[int, int] = {}
    for node, used in zip(t.nodes, uses, strict=True):
        if used and node.op in ("div", "inv"):
            divisors[node.args[-1]] = divisors.get(node.args[-1], 0) + 1
    # compute each reciprocal where it is first needed
    nodes: list[Node] = []
    index: list[int] = []  # in the new tape, of each node
    reciprocal: dict[int, int] = {}
    for node in t.nodes:
        divisor = node.args[-1] if node.op in ("div", "inv") else -1
        node.args = tuple([index[a] for a in node.args])
        if divisors.get(divisor, 0) > 1:
            if divisor not in reciprocal:
                reciprocal[divisor] = len(nodes)
                nodes.append(Node("inv", (index[divisor],)))
            if node.op == "inv":
                index.append(reciprocal[divisor])
                continue
            node.op, node.args = "mul", (node.args[0], reciprocal[divisor])
        index.append(len(nodes))
        nodes.append(node)
    return Tape(nodes, [(slot, index[k]) for slot, k in t.outputs])


def _fuse_multiply_adds(t: Tape) -> Tape:
    """Fuse a * b + c to one multiply-add, if nothing else uses the product."""
    nodes, uses = t.nodes, t.use_counts()

    def product(k: int) -> tuple[int, int] | None:
        node = nodes[k]
        if uses[k] != 1 or node.op not in ("mul", "sq"):
            return None
        return (node.args[0], node.args[-1])

    for k, node in enumerate(nodes):
        if node.op not in ("add", "sub") or not uses[k]:
            continue
        a, b = node.args
        if (right := product(b)) is not None and not (node.op == "sub" and a == b):
            op = "fma" if node.op == "add" else "fnma"
            uses[b] = 0
            node.op, node.args = op, (*right, a)
        elif (left := product(a)) is not None:
            uses[a] = 0
            node.op, node.args = ("fma" if node.op == "add" else "fms"), (*left, b)
    return t
