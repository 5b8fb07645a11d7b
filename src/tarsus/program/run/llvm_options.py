"""Options of LLVM's instruction schedulers, for this process."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm


@cache
def for_few_registers() -> None:
    """Schedule for low register pressure (`list-burr`); call it before creating a target machine.

    LLVM's default for x86 schedules for latency and spills more. A step of a walking HOAP-1 takes
    5.1 us with it, and 4.7 us with `list-burr`, with the same bits (decision 0026). Scheduling
    after register allocation is enabled too, which optimization level 1 omits; it then generates
    the code of level 2.
    """
    llvm.set_option("tarsus", "-pre-RA-sched=list-burr")
    llvm.set_option("tarsus", "-post-RA-scheduler")
