"""The program as PTX, one thread per world, and its registers as NVIDIA's assembler counts them."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from tarsus.errors import MissingPackage, UnmetCondition
from tarsus.program.codegen.emit import Emitter
from tarsus.program.codegen.kernels import GpuThreads
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.program import Program
from tarsus.program.run.llvm_options import for_few_registers

CHIP, TRIPLE = "sm_90", "nvptx64-nvidia-cuda"


@dataclass(frozen=True)
class Resources:
    """What ptxas reports: registers a thread, bytes of spills and stack, bytes of machine code.

    planned_stores, planned_loads: bytes that the text itself stores to and loads from the thread's
    memory (`program/lowering/spill.py`), beside the spills: each instruction counted once, in loops
    or not.
    """

    registers: int
    spill_stores: int
    spill_loads: int
    planned_stores: int
    planned_loads: int
    stack: int
    code: int


def ptx(program: Program, bits: int = 32, chip: str = CHIP) -> str:
    """PTX of the program's kernel (worlds, tables, count, steps); worlds lie [entry][world]."""
    target = Target(1, bits)
    module = llvm.parse_assembly(Emitter(program, target, GpuThreads()).text())
    machine = _machine(chip)
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


def check_target() -> None:
    """Raise MissingPackage where this LLVM generates no code for NVIDIA GPUs."""
    _machine(CHIP)


@cache
def _machine(chip: str) -> llvm.TargetMachine:
    for_few_registers()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        raise MissingPackage(
            "this llvmlite was built without the NVPTX target: install the one from PyPI.",
            "llvmlite",
        ) from error
    return target.create_target_machine(cpu=chip, opt=3)


def resources(text: str, chip: str = CHIP, seconds: float | None = None) -> Resources | None:
    """Registers, spills and code size of PTX text by ptxas; None where ptxas is not installed.

    TimeoutError, and ptxas is ended, if it takes longer than so many seconds.
    """
    if shutil.which("ptxas") is None:
        return None
    # by the clock, in a folder that goes with it
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(text, encoding="ascii")
        command = ["ptxas", "-v", f"-arch={chip}", "-O3", str(source), "-o", str(binary)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"ptxas was ended after {seconds:g} s") from None
        if done.returncode:
            said = done.stderr.strip() or f"it ended with exit code {done.returncode}"
            raise UnmetCondition(
                f"ptxas cannot assemble the kernel: {said.splitlines()[0]}", "ptxas"
            )
        code = _code_bytes(binary)
    said = done.stdout + done.stderr
    return Resources(
        registers=_number(r"Used (\d+) registers", said),
        spill_stores=_number(r"(\d+) bytes spill stores", said),
        spill_loads=_number(r"(\d+) bytes spill loads", said),
        planned_stores=_planned("st", text),
        planned_loads=_planned("ld", text),
        stack=_number(r"(\d+) bytes stack frame", said),
        code=code,
    )


def _planned(op: str, text: str) -> int:
    return sum(
        int(bits) // 8 for bits in re.findall(rf"\b{op}\.(?:volatile\.)?local\.[a-z](\d+)", text)
    )


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0


def _code_bytes(binary: Path) -> int:
    """Size of the kernel's section of machine code in a cubin (an ELF file with 64-bit headers)."""
    data = binary.read_bytes()
    table, entry, count, names = (
        int.from_bytes(data[a:b], "little") for a, b in ((40, 48), (58, 60), (60, 62), (62, 64))
    )

    def field(section: int, first: int, width: int) -> int:
        at = table + section * entry + first
        return int.from_bytes(data[at : at + width], "little")

    strings = field(names, 24, 8)
    for section in range(count):
        at = strings + field(section, 0, 4)
        if data[at : data.index(b"\0", at)].startswith(b".text."):
            return field(section, 32, 8)
    return 0
