"""Compile LLVM IR to machine code for this CPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from tarsus.program.run.llvm_options import for_few_registers

VECTOR_BITS = {"avx512vl": 512, "avx": 256}  # by CPU feature; 128 on every 64-bit CPU


@dataclass(frozen=True)
class Host:
    """CPU for which code is compiled.

    Attributes
    ----------
    cpu
        LLVM's name of the CPU.
    features
        LLVM's list of its features.
    vector_bits
        Width of a vector register.
    """

    cpu: str
    features: str
    vector_bits: int

    def lanes(self, bits: int) -> int:
        """Return the number of worlds per vector register."""
        return self.vector_bits // bits


@cache
def detect_host() -> Host:
    """Detect the CPU of this process."""
    features = llvm.get_host_cpu_features()
    widths = [width for name, width in VECTOR_BITS.items() if features.get(name)]
    return Host(llvm.get_host_cpu_name(), features.flatten(), max(widths, default=128))


@cache
def create_target_machine(optimized: bool) -> llvm.TargetMachine:
    """Create the target machine.

    It uses optimization level 1, whose code is as fast as that of level 2 and takes three quarters
    of the time to compile (decision 0041).
    """
    for_few_registers()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=detect_host().cpu,
        features=detect_host().features,
        opt=1 if optimized else 0,
        reloc="pic",
        codemodel="small",
    )


def parse_module(text: str, target_machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """Parse a module, and optimize it if the target machine optimizes."""
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    if target_machine is create_target_machine(True):
        _optimize(parsed, target_machine)
    return parsed


def _optimize(parsed: llvm.ModuleRef, target_machine: llvm.TargetMachine) -> None:
    """Promote temporaries to registers (SROA), then simplify.

    LLVM's other standard passes search for redundancies that were removed before, and hoist values
    out of loops that are then spilled. They take ten times as long, for slower code (decision
    0041).
    """
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_dead_code_elimination_pass()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes.run(parsed, llvm.create_pass_builder(target_machine, options))


def compile_to_assembly(text: str, target_machine: llvm.TargetMachine) -> str:
    """Compile a module to assembly text."""
    return target_machine.emit_assembly(parse_module(text, target_machine))


def compile_module(text: str, target_machine: llvm.TargetMachine) -> bytes:
    """Compile a module to object code."""
    return target_machine.emit_object(parse_module(text, target_machine))
