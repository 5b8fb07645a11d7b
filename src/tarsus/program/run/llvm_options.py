"""How LLVM orders instructions, for every machine of this process."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm


@cache
def for_few_registers() -> None:
    """Schedule straight code for few registers (`list-burr`); called before a machine is made.

    LLVM's own choice for x86 looks at latencies first and spills more: a walking HOAP-1's step
    takes 5.1 us with it and 4.7 us so, to the same bits (decision 0026). And order instructions
    again once registers are given, which level 1 leaves out: it then makes the code of level 2.
    """
    llvm.set_option("tarsus", "-pre-RA-sched=list-burr")
    llvm.set_option("tarsus", "-post-RA-scheduler")
