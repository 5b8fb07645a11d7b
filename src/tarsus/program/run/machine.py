"""LLVM's machine for this processor, and how text becomes machine code. It loads nothing else of
Tarsus' weight: a process of its own starts with it (`optimizer`).
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from tarsus.program.codegen.short_addresses import with_short_addresses
from tarsus.program.codegen.short_blocks import in_short_blocks
from tarsus.program.codegen.short_functions import in_short_functions
from tarsus.program.run.llvm_options import for_few_registers

ESCAPED = str.maketrans({"\\": r"\5C", '"': r"\22", "\n": r"\0A"})  # as LLVM reads a string
CALL = re.compile(r"\bcall\b[^(]*\((.*)\)")
WHOLE = re.compile(r"\b(?:ptr|i8|i16|i32|i64) ")
VECTOR_BITS = {"avx512vl": 512, "avx": 256}  # else 128, which every 64-bit processor has


@dataclass(frozen=True)
class Host:
    """The target processor of compiled code."""

    cpu: str
    features: str
    vector_bits: int

    def lanes(self, bits: int) -> int:
        """Worlds a vector register holds."""
        return self.vector_bits // bits


@cache
def host() -> Host:
    """The processor this process runs on."""
    features = llvm.get_host_cpu_features()
    widths = [width for name, width in VECTOR_BITS.items() if features.get(name)]
    return Host(llvm.get_host_cpu_name(), features.flatten(), max(widths, default=128))


@cache
def compiler(optimized: bool) -> llvm.TargetMachine:
    """Level 1 makes code as fast as level 2, in three quarters of the time (decision 0041)."""
    for_few_registers()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=host().cpu,
        features=host().features,
        opt=1 if optimized else 0,
        reloc="pic",
        codemodel="small",
    )


def module(text: str, target_machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """A module from its text, improved if the machine is the one that optimizes."""
    optimized = target_machine is compiler(True)
    made = llvm.parse_assembly(text if optimized else in_short_blocks(in_short_functions(text)))
    made.verify()
    if optimized:
        _improve(made, target_machine)
    return made


def _improve(made: llvm.ModuleRef, target_machine: llvm.TargetMachine) -> None:
    """Temporaries into registers, then what is simpler so.

    What else LLVM does by itself searches straight code for repetitions that are not there, and
    takes out of loops what is then spilled: ten times as long, for slower code (decision 0041).
    """
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_dead_code_elimination_pass()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes.run(made, llvm.create_pass_builder(target_machine, options))


def assembly(text: str, target_machine: llvm.TargetMachine) -> str:
    """The machine code of a module as text."""
    written = target_machine.emit_assembly(module(text, target_machine))
    return with_short_addresses(written, _handed(text)) if _shortens(target_machine) else written


def _handed(text: str) -> int:
    """How many whole numbers and addresses a call of a module hands over, at most."""
    return max((len(WHOLE.findall(call)) for call in CALL.findall(text)), default=0)


def compiled(text: str, target_machine: llvm.TargetMachine) -> bytes:
    """The machine code of a module."""
    if not _shortens(target_machine):
        return target_machine.emit_object(module(text, target_machine))
    return target_machine.emit_object(of_assembly(assembly(text, target_machine), target_machine))


def of_assembly(written: str, target_machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """A module of nothing but such text."""
    text = written.translate(ESCAPED)
    return llvm.parse_assembly(f'target triple = "{target_machine.triple}"\nmodule asm "{text}"\n')


def _shortens(target_machine: llvm.TargetMachine) -> bool:
    """Whether addresses of its code can be made shorter: vectors of 512 bits, optimized code."""
    able = host().vector_bits == 512 and sys.platform == "linux"
    return able and target_machine is compiler(True)
