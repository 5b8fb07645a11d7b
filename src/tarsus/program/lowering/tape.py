"""From CasADi functions to tapes of machine operations: selects, fused multiply-adds, sine-cosine.

Multiply-adds are fused here, by a rule that looks at the expression alone, and never by the
compiler: so a world's bits do not depend on the lane width, the batch or the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from tarsus.program.lowering.instructions import instructions

NAMES = {getattr(ca, name): name[3:].lower() for name in dir(ca) if name.startswith("OP_")}
TAKES_TWO = {
    *("add", "sub", "mul", "div", "pow", "constpow", "fmod", "remainder", "fmin", "fmax"),
    *("lt", "le", "eq", "ne", "and", "or", "if_else_zero", "copysign", "atan2", "hypot"),
}
MASKS = {"lt", "le", "eq", "ne", "not", "and", "or"}


@dataclass(slots=True)
class Node:
    """One operation: `args` index earlier nodes; inputs and outputs name (argument, entry)."""

    op: str
    args: tuple[int, ...]
    value: float = 0.0
    place: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Tape:
    """Nodes in order, and for each output entry the node that gives it."""

    nodes: list[Node]
    outputs: list[tuple[tuple[int, int], int]]

    def live(self) -> list[int]:
        """How often each node is used; unused ones need not be emitted."""
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

    def counts(self) -> dict[str, int]:
        """Number of operations by name, without inputs and constants."""
        found: dict[str, int] = {}
        for node, uses in zip(self.nodes, self.live(), strict=True):
            if uses and node.op not in ("input", "const"):
                found[node.op] = found.get(node.op, 0) + 1
        return found


def tape(function: ca.Function) -> Tape:
    """The tape of a straight-line function; ValueError for an operation without scalar meaning."""
    return _fused(_with_reciprocals(_with_selects(_read(function))))


def _read(function: ca.Function) -> Tape:
    """CasADi's instructions, each result a node."""
    nodes: list[Node] = []
    outputs: list[tuple[tuple[int, int], int]] = []
    rows = instructions(function)
    at = [0] * (function.sz_w() + 1)
    constants = np.ascontiguousarray(rows[:, 2:]).view(np.float64)[:, 0].tolist()
    for (code, to, one, two), constant in zip(rows.tolist(), constants, strict=True):
        op = NAMES[code]
        if op == "output":
            outputs.append(((to, two), at[one]))
            continue
        if op == "input":
            node = Node(op, (), 0.0, (one, two))
        elif op == "const":
            node = Node(op, (), constant)
        elif op in TAKES_TWO:
            node = Node(op, (at[one], at[two]))
        else:
            node = Node(op, (at[one],))
        at[to] = len(nodes)
        nodes.append(node)
    return Tape(nodes, outputs)


def _with_selects(t: Tape) -> Tape:
    """c ? a : 0 + !c ? b : 0 becomes one select(c, a, b)."""
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


def _with_reciprocals(t: Tape) -> Tape:
    """Divisions by one number become multiplications (CasADi folds x * (1 / y) to x / y)."""
    # how often each number divides
    uses = t.live()
    divisors: dict[int, int] = {}
    for node, used in zip(t.nodes, uses, strict=True):
        if used and node.op in ("div", "inv"):
            divisors[node.args[-1]] = divisors.get(node.args[-1], 0) + 1
    # rewrite, each reciprocal where it is first needed
    nodes: list[Node] = []
    at: list[int] = []
    reciprocal: dict[int, int] = {}
    for node in t.nodes:
        divisor = node.args[-1] if node.op in ("div", "inv") else -1
        node.args = tuple([at[a] for a in node.args])
        if divisors.get(divisor, 0) > 1:
            if divisor not in reciprocal:
                reciprocal[divisor] = len(nodes)
                nodes.append(Node("inv", (at[divisor],)))
            if node.op == "inv":
                at.append(reciprocal[divisor])
                continue
            node.op, node.args = "mul", (node.args[0], reciprocal[divisor])
        at.append(len(nodes))
        nodes.append(node)
    return Tape(nodes, [(place, at[k]) for place, k in t.outputs])


def _fused(t: Tape) -> Tape:
    """a * b + c with a product that nothing else uses becomes one fused multiply-add."""
    nodes, uses = t.nodes, t.live()

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
