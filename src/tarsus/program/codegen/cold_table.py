"""LLVM IR for cold functions: the table of their addresses, and their calls.

If an entry of the table is null, the kernel requests the function and waits until the entry is
filled. The loader of the module sets three kinds of addresses: functions that start to compile an
entry, a function that pauses, and later the cold functions (`run.cold_functions`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.program.codegen.branch_weights import COLD

# symbols of the kernel's module: table, request functions, pause, a function that does nothing
TABLE, REQUEST, PAUSE, NOTHING = "cold", "ask", "pause", "nothing"
SYMBOLS = TABLE, REQUEST, PAUSE, NOTHING
NAME = "cold_function"  # symbol of the function in its own module
TABLES = "own_tables"  # symbol of the addresses of look-up tables there
POLL_INTERVAL = 200  # microseconds


def table(count: int) -> list[str]:
    """Generate the table, the addresses, and a function that does nothing, for failures."""
    return [
        f"@{TABLE} = global [{count} x ptr] zeroinitializer",
        f"@{REQUEST} = global [{count} x ptr] zeroinitializer",
        f"@{PAUSE} = global ptr null",
        f"define void @{NOTHING}(ptr %world, ptr %tables, ptr %shared) {{ ret void }}",
    ]


@dataclass(frozen=True)
class Handover:
    """Temporaries that a cold function shares with its caller.

    Attributes
    ----------
    pointer
        Name of the pointer to them.
    copy_in
        Lines that copy live-in entries before the call.
    copy_out
        Lines that copy live-out entries after the call.
    """

    pointer: str
    copy_in: list[str]
    copy_out: list[str]


def call(number: int, condition: str, handover: Handover) -> list[str]:
    """Generate the call of a cold function, on a branch that is rarely taken.

    Parameters
    ----------
    number
        Index of the function in the table.
    condition
        Name of an i1: whether to call it.
    handover
        Temporaries that it shares.

    Returns
    -------
    list of str
        Lines: if the entry is null, request the function and wait for it; then call it.
    """
    tag = f"call{number + 1}"
    entry, request = (f"getelementptr (ptr, ptr @{of}, i64 {number})" for of in (TABLE, REQUEST))
    return [
        f"  br i1 {condition}, label %{tag}.look, label %{tag}.past, !prof !{COLD}",
        f"{tag}.look:",
        f"  %{tag}.first = load atomic ptr, ptr {entry} acquire, align 8",
        f"  %{tag}.none = icmp eq ptr %{tag}.first, null",
        f"  br i1 %{tag}.none, label %{tag}.ask, label %{tag}.call",
        f"{tag}.ask:",
        f"  %{tag}.asking = load ptr, ptr {request}",
        f"  call void %{tag}.asking()",
        f"  br label %{tag}.wait",
        f"{tag}.wait:",
        f"  %{tag}.pausing = load ptr, ptr @{PAUSE}",
        f"  call void %{tag}.pausing(i32 {POLL_INTERVAL})",
        f"  %{tag}.then = load atomic ptr, ptr {entry} acquire, align 8",
        f"  %{tag}.still = icmp eq ptr %{tag}.then, null",
        f"  br i1 %{tag}.still, label %{tag}.wait, label %{tag}.call",
        f"{tag}.call:",
        f"  %{tag}.at = phi ptr [ %{tag}.first, %{tag}.look ], [ %{tag}.then, %{tag}.wait ]",
        *handover.copy_in,
        f"  call void %{tag}.at(ptr %world, ptr %tables, ptr {handover.pointer})",
        *handover.copy_out,
        f"  br label %{tag}.past",
        f"{tag}.past:",
    ]


def embedded_call(symbol: str, condition: str, handover: Handover) -> list[str]:
    """Generate the call of a cold function in the module of a GPU kernel.

    Parameters
    ----------
    symbol
        Name of the function.
    condition, handover
        As of `call`.
    """
    tag = f"{symbol}.at"
    arguments = "ptr addrspace(1) %world, ptr addrspace(1) %tables, i64 %stride, i64 %steps"
    return [
        f"  br i1 {condition}, label %{tag}.call, label %{tag}.past",
        f"{tag}.call:",
        *handover.copy_in,
        f"  call void @{symbol}({arguments}, ptr {handover.pointer})",
        *handover.copy_out,
        f"  br label %{tag}.past",
        f"{tag}.past:",
    ]


def embedded_function(symbol: str, body: list[str]) -> list[str]:
    """Generate a cold function with a body for the module of a GPU kernel."""
    return [
        f"define internal void @{symbol}(ptr addrspace(1) noalias %world,",
        "    ptr addrspace(1) noalias %tables, i64 %stride, i64 %steps, ptr noalias %shared)",
        "    noinline nounwind {",
        "entry:",
        *body,
        "  ret void",
        "}",
    ]


def function(body: list[str], tables: int) -> list[str]:
    """Generate a cold function with a body and a number of look-up tables."""
    table = [f"@{TABLES} = global [{tables} x ptr] zeroinitializer"] if tables else []
    return [
        *table,
        f"define void @{NAME}(ptr noalias %world, ptr noalias %tables, ptr noalias %shared) #0 {{",
        "entry:",
        *body,
        "  ret void",
        "}",
        'attributes #0 = { nounwind "stackrealign" }',
        "",
    ]
