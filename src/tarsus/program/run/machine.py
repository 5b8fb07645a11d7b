"""Turn LLVM IR into machine code for this processor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from tarsus.program.run.llvm_options import for_few_registers

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
    """Parse a module, and improve it if the machine is the one that optimizes."""
    made = llvm.parse_assembly(text)
    made.verify()
    if target_machine is compiler(True):
        _improve(made, target_machine)
    return made


def _improve(made: llvm.ModuleRef, target_machine: llvm.TargetMachine) -> None:
    """Move temporaries into registers, then simplify.

    LLVM's other standard passes search straight code for repetitions that are not there, and move
    values out of loops that are then spilled: ten times as long, for slower code (decision 0041).
    """
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_dead_code_elimination_pass()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes.run(made, llvm.create_pass_builder(target_machine, options))


def assembly(text: str, target_machine: llvm.TargetMachine) -> str:
    """Return the machine code of a module as text."""
    return target_machine.emit_assembly(module(text, target_machine))


def compiled(text: str, target_machine: llvm.TargetMachine) -> bytes:
    """Return the machine code of a module."""
    return target_machine.emit_object(module(text, target_machine))
