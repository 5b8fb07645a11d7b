"""LLVM IR in short basic blocks.

Without optimization LLVM's instruction selection counts what is left of a block after every call,
and a straight piece of a step is one block of tens of thousands of instructions with a call
(`llvm.fma`) in every second one: the count, not the work, took most of the time.
"""

from __future__ import annotations

import re

LENGTH = 500  # instructions

LABEL = re.compile(r"([\w.]+):")
PREDECESSOR = re.compile(r"%([\w.]+) \]")


def in_short_blocks(text: str) -> str:
    """The same module, long blocks cut into pieces that jump to the next."""
    return "}\n".join(_cut(function) for function in text.split("}\n"))


def _cut(function: str) -> str:
    """One function, and what stands before it."""
    lines: list[str] = []
    ends: dict[str, str] = {}  # the last piece of each block that was cut
    block, length = "", 0
    for line in function.split("\n"):
        label = None if line.startswith("  ") else LABEL.fullmatch(line)
        if label:
            block, length = label[1], 0
        elif block and line and length >= LENGTH:
            ends[block], length = f"short{len(lines)}", 0
            lines += [f"  br label %{ends[block]}", f"{ends[block]}:"]
        length += 1
        lines.append(line)
    # a phi names the block that jumps to it: now its last piece
    named = [
        PREDECESSOR.sub(lambda found: f"%{ends.get(found[1], found[1])} ]", line)
        if " = phi " in line
        else line
        for line in lines
    ]
    return "\n".join(named)
