"""IR for cold functions: the table that a kernel looks them up in, and their calls.

Where the table is empty, the kernel asks for the function and waits until it is there. Whoever
loads the module fills in three kinds of addresses: of functions that start compiling an entry of
the table, of one that pauses, and later of the cold functions (`run.cold_functions`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.program.codegen.branch_weights import COLD

TABLE, ASK, PAUSE, NOTHING = "cold", "ask", "pause", "nothing"  # symbols of the kernel's module
SYMBOLS = TABLE, ASK, PAUSE, NOTHING
NAME = "cold_function"  # of the function in each module of its own
TABLES = "own_tables"  # of the program's tables there
WAIT = 200  # microseconds between two looks


def table(count: int) -> list[str]:
    """Write the table, the addresses, and a function that does nothing, for failures."""
    return [
        f"@{TABLE} = global [{count} x ptr] zeroinitializer",
        f"@{ASK} = global [{count} x ptr] zeroinitializer",
        f"@{PAUSE} = global ptr null",
        f"define void @{NOTHING}(ptr %world, ptr %tables, ptr %shared) {{ ret void }}",
    ]


@dataclass(frozen=True)
class Handed:
    """What a function shares with who calls it.

    room: where it lies; there, back: lines that bring it there, and back what the function writes
    """

    room: str
    there: list[str]
    back: list[str]


def call(number: int, wanted: str, handed: Handed) -> list[str]:
    """Call function `number` of the table if `wanted`, an i1, is true; hardly ever."""
    tag = f"call{number + 1}"
    place, ask = (f"getelementptr (ptr, ptr @{of}, i64 {number})" for of in (TABLE, ASK))
    # is it there, else ask, and wait for it; then call it
    return [
        f"  br i1 {wanted}, label %{tag}.look, label %{tag}.past, !prof !{COLD}",
        f"{tag}.look:",
        f"  %{tag}.first = load atomic ptr, ptr {place} acquire, align 8",
        f"  %{tag}.none = icmp eq ptr %{tag}.first, null",
        f"  br i1 %{tag}.none, label %{tag}.ask, label %{tag}.call",
        f"{tag}.ask:",
        f"  %{tag}.asking = load ptr, ptr {ask}",
        f"  call void %{tag}.asking()",
        f"  br label %{tag}.wait",
        f"{tag}.wait:",
        f"  %{tag}.pausing = load ptr, ptr @{PAUSE}",
        f"  call void %{tag}.pausing(i32 {WAIT})",
        f"  %{tag}.then = load atomic ptr, ptr {place} acquire, align 8",
        f"  %{tag}.still = icmp eq ptr %{tag}.then, null",
        f"  br i1 %{tag}.still, label %{tag}.wait, label %{tag}.call",
        f"{tag}.call:",
        f"  %{tag}.at = phi ptr [ %{tag}.first, %{tag}.look ], [ %{tag}.then, %{tag}.wait ]",
        *handed.there,
        f"  call void %{tag}.at(ptr %world, ptr %tables, ptr {handed.room})",
        *handed.back,
        f"  br label %{tag}.past",
        f"{tag}.past:",
    ]


def function(body: list[str], tables: int) -> list[str]:
    """A function of the table; tables: how many of its own it looks up, whose addresses who loads
    it fills in.
    """
    own = [f"@{TABLES} = global [{tables} x ptr] zeroinitializer"] if tables else []
    return [
        *own,
        f"define void @{NAME}(ptr noalias %world, ptr noalias %tables, ptr noalias %shared) #0 {{",
        "entry:",
        *body,
        "  ret void",
        "}",
        'attributes #0 = { nounwind "stackrealign" }',
        "",
    ]
