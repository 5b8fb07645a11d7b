"""Compile a program to PTX, one thread per world, and report the resources that it needs."""

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
KERNEL = "kernel"  # symbol


@dataclass(frozen=True)
class Resources:
    """Resources of a kernel, as ptxas reports them; its cold functions count in `code` alone.

    Attributes
    ----------
    registers
        Registers per thread.
    spill_stores, spill_loads
        Bytes of spill code of ptxas.
    planned_stores, planned_loads
        Bytes that the PTX itself stores to and loads from local memory (`lowering.spill`). Each
        instruction counts once, in loops or not.
    stack
        Bytes of the stack frame.
    code
        Bytes of machine code, including cold functions.
    """

    registers: int
    spill_stores: int
    spill_loads: int
    planned_stores: int
    planned_loads: int
    stack: int
    code: int


def compile_to_ptx(program: Program, bits: int = 32, chip: str = CHIP) -> str:
    """Compile a program's kernel (`codegen.kernels.GpuThreads`) to PTX."""
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
    """Raise MissingPackage if this LLVM generates no code for NVIDIA GPUs."""
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
    """Assemble PTX and return its resources; None if ptxas is not installed.

    Parameters
    ----------
    text
        PTX.
    chip
        Target, such as "sm_90".
    seconds
        Time limit.

    Returns
    -------
    Resources or None
        Resources of the kernel.

    Raises
    ------
    TimeoutError
        If ptxas takes longer than the limit; it is terminated.
    UnmetCondition
        If ptxas reports an error.
    """
    if shutil.which("ptxas") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(text, encoding="ascii")
        command = ["ptxas", "-v", f"-arch={chip}", "-O3", str(source), "-o", str(binary)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"ptxas took more than {seconds:g} s and was terminated") from None
        if done.returncode:
            error = done.stderr.strip() or f"it exited with code {done.returncode}"
            raise UnmetCondition(
                f"ptxas cannot assemble the kernel: {error.splitlines()[0]}", "ptxas"
            )
        code = _read_code_bytes(binary)
    report = (done.stdout + done.stderr).partition(f"Function properties for {KERNEL}\n")[2]
    hot = text.partition(f".entry {KERNEL}(")[2]
    return Resources(
        registers=_number(r"Used (\d+) registers", report),
        spill_stores=_number(r"(\d+) bytes spill stores", report),
        spill_loads=_number(r"(\d+) bytes spill loads", report),
        planned_stores=_count_planned("st", hot),
        planned_loads=_count_planned("ld", hot),
        stack=_number(r"(\d+) bytes stack frame", report),
        code=code,
    )


def _count_planned(op: str, text: str) -> int:
    return sum(
        int(bits) // 8 for bits in re.findall(rf"\b{op}\.(?:volatile\.)?local\.[a-z](\d+)", text)
    )


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    return int(match.group(1)) if match else 0


def _read_code_bytes(binary: Path) -> int:
    """Read the size of the code sections of a cubin, an ELF file with 64-bit headers."""
    data = binary.read_bytes()
    table, entry, count, names = (
        int.from_bytes(data[a:b], "little") for a, b in ((40, 48), (58, 60), (60, 62), (62, 64))
    )

    def field(section: int, first: int, width: int) -> int:
        offset = table + section * entry + first
        return int.from_bytes(data[offset : offset + width], "little")

    strings, size = field(names, 24, 8), 0
    for section in range(count):
        begin = strings + field(section, 0, 4)
        if data[begin : data.index(b"\0", begin)].startswith(b".text."):
            size += field(section, 32, 8)
    return size
