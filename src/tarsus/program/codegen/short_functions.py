"""LLVM IR whose straight pieces are functions of their own.

Without optimization LLVM gives each value that waits a place on the stack that no other has. A
robot that falls calls functions of hundreds of thousands of instructions, each from within another:
together their places took more than the 8 MB that a stack may have. A piece hands on what it finds
in memory alone, so its places may go when it ends.
"""

from __future__ import annotations

import re

PIECE, PIECE_END = "; a piece", "; its end"  # lines around a piece, which has no jumps
LONG = 500  # lines: shorter ones stay where they are

USED = re.compile(r"%[\w.]+")
MADE = re.compile(r"^  (%[\w.]+) = ", re.MULTILINE)
HANDED = re.compile(r"(ptr(?: addrspace\(1\))?|i64)(?: noalias)? (%[\w.]+)(?=[,)])")
ADDRESS = re.compile(r"^  (%[\w.]+) = (?:alloca|getelementptr) .*", re.MULTILINE)
PHI = re.compile(r"^  (%[\w.]+) = phi (.*?) \[", re.MULTILINE)
GLOBAL = "ptr addrspace(1)"  # a GPU's memory


def in_short_functions(text: str) -> str:
    """The same module, long pieces in functions that are called where they stood."""
    return "}\n".join(_cut(function) for function in text.split("}\n"))


def _cut(function: str) -> str:
    """One function, before it the functions of its pieces."""
    before, *pieces = function.split(f"{PIECE}\n")
    if not pieces:
        return function
    head = before.rindex("define ")
    kinds = _kinds(function[head:])
    made, body = [], [before[head:]]
    for piece in pieces:
        code, rest = piece.split(f"{PIECE_END}\n")
        own = set(MADE.findall(code))
        handed = [name for name in dict.fromkeys(USED.findall(code)) if name not in own]
        if code.count("\n") < LONG or not all(name in kinds for name in handed):
            body += [code, rest]
            continue
        name = f"@piece{len(made)}"
        arguments = ", ".join(f"{kinds[one]} {one}" for one in handed)
        made += [
            f"define internal void {name}({arguments}) noinline #0 {{\nentry:\n{code}"
            "  ret void\n}\n"
        ]
        body += [f"  call void {name}({arguments})\n", rest]
    return "".join([before[:head], *made, *body])


def _kinds(function: str) -> dict[str, str]:
    """The types of a function's arguments, addresses and masks, by name."""
    opening = function[: function.index("{")]
    found = {name: kind for kind, name in HANDED.findall(opening)}
    for line in ADDRESS.finditer(function):
        found[line[1]] = GLOBAL if GLOBAL in line[0] else "ptr"
    return found | dict(PHI.findall(function))
