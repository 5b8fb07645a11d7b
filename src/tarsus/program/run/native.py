"""Compile a program for this CPU, link it in memory, and call it."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import count as counting
from threading import RLock
from time import perf_counter
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from tarsus.errors import TarsusWarning
from tarsus.program.codegen.cold_table import NAME, SYMBOLS, TABLES
from tarsus.program.codegen.emit import Emitter, ir_text
from tarsus.program.codegen.kernels import ColdShell, HostThread, KernelShell, LaneGroups
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.tangent_kernel import DirectionLanes, TangentEmitter
from tarsus.program.ir.program import Program
from tarsus.program.run import cache as disk
from tarsus.program.run import machine
from tarsus.program.run.cold_functions import ColdFunction, ColdFunctions, Failure
from tarsus.program.run.machine import compile_module, create_target_machine, detect_host
from tarsus.program.run.tiers import optimizes, optimizes_cold

LOG = logging.getLogger(__name__)
LONG_PROGRAM = 250_000  # instructions from which on a warning tells the compile time
SECONDS_PER_INSTRUCTION = 3e-5  # of CPU time to compile such a program
STACK_PROBES = ("__chkstk",)  # called on Windows by functions with more than a page of stack
Kernel = Callable[..., None]
CompileCold = Callable[[list[Failure], int], ColdFunction]


def compile_kernel(
    program: Program, target: Target, quick: bool = False
) -> tuple[Kernel, ColdFunctions | None]:
    """Compile a program over groups of lanes.

    Parameters
    ----------
    program
        Program to compile.
    target
        Lanes and bits.
    quick
        Whether to compile without optimization, for a few runs.

    Returns
    -------
    kernel : callable
        C function with the arguments of `kernels.LaneGroups`.
    cold : ColdFunctions or None
        Its cold functions.
    """
    signature = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 4
    build = KernelBuild(program, target, LaneGroups(), optimizes() and not quick)
    emitter = partial(Emitter, program, target, split_blocks=not build.optimized)
    return _load(build, signature, emitter, partial(_cold_loop, program, target, quick))


def compile_thread(program: Program, bits: int) -> Kernel:
    """Compile the GPU kernel for this CPU; its arguments are those of `kernels.HostThread`."""
    target, shell = Target(1, bits), HostThread()
    signature = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
    build = KernelBuild(program.expanded, target, shell, optimizes())  # the key of all its code
    emitter = partial(Emitter, program, target, shell, split_blocks=not build.optimized)
    return _load(build, signature, emitter, None)[0]


def compile_directions(
    program: Program, shell: DirectionLanes
) -> tuple[Kernel, ColdFunctions | None]:
    """Compile a tangent program of one world, and its cold functions.

    The kernel's arguments are those of `tangent_kernel.DirectionLanes`.
    """

    def cold_loop(failures: list[Failure], number: int) -> ColdFunction:
        name = f"{build.key}.{number}"
        code = _load_code(
            name,
            program.name,
            lambda: emitter(True).cold_module(number),
            create_target_machine(False),
        )
        return ColdFunction(_link(name, code, [NAME]), [], None)

    emitter = partial(TangentEmitter, program, shell)
    build = KernelBuild(program, Target(1), shell, optimizes_cold(1, _count_operations(program)))
    signature = [ctypes.c_void_p] * 3
    return _load(build, signature, partial(emitter, not build.optimized), cold_loop)


@dataclass(frozen=True, eq=False)
class KernelBuild:
    """Kernel to compile."""

    program: Program
    target: Target
    shell: KernelShell
    optimized: bool

    @cached_property
    def key(self) -> str:
        """Cache key: a hash of everything that affects its code."""
        return _key(self.program, self.target, self.shell, self.optimized)


@dataclass(frozen=True, eq=False)
class LoadedKernel:
    """Kernel in memory."""

    module: llvm.orcjit.ResourceTracker
    kernel: Kernel
    cold: ColdFunctions | None


def _load(
    build: KernelBuild,
    signature: list[Any],
    emitter: Callable[[], Emitter],
    compile_cold: CompileCold | None,
) -> tuple[Kernel, ColdFunctions | None]:
    """Load the kernel and its cold functions; compile them if they are not loaded yet."""
    program, key = build.program, build.key
    # programs with untraced cold loops are distinguished by origin
    identity = key, (program.origin or program) if program.has_untraced else ""
    with _linking:
        if identity not in _loaded:
            label = f"{program.name}, {build.target.lanes} x float{build.target.bits}"
            if disk.read(f"{key}.o") is None:
                _warn_if_long(program)
            code = _load_code(
                key, label, lambda: emitter().text(), create_target_machine(build.optimized)
            )
            count = len(program.cold_loops) if compile_cold else 0
            module = _link(key, code, ["kernel", *(SYMBOLS if count else ())])
            kernel = ctypes.CFUNCTYPE(None, *signature)(module["kernel"])
            cold = None
            if compile_cold and count:
                failures = list[Failure]()
                cold = ColdFunctions(count, module, partial(compile_cold, failures), failures)
            _loaded[identity] = LoadedKernel(module, kernel, cold)
    loaded = _loaded[identity]
    return loaded.kernel, loaded.cold


def _warn_if_long(program: Program) -> None:
    """Warn that compilation will take long, before it begins."""
    count = _count_operations(program)
    if count < LONG_PROGRAM:
        return
    warnings.warn(
        TarsusWarning(
            f"compiling {program.name} takes {SECONDS_PER_INSTRUCTION * count:.0f} s of CPU time or"
            " more, and several times that when the robot first falls, because its step has"
            f" {count / 1e6:.2g} million instructions: use fewer cut joints (coordinates) or fewer"
            " contacts.",
            "slow-compilation",
            program.name,
        ),
        stacklevel=2,
    )


def _count_operations(program: Program) -> int:
    return sum(block.function.n_instructions() for block, _ in program.basic_blocks())


def _cold_loop(
    program: Program, target: Target, quick: bool, failures: list[Failure], number: int
) -> ColdFunction:
    """Compile the function of a cold loop, with its tables and its own cold functions."""
    part, shared, shell = (
        program.cold_program(number),
        program.shared_temporaries(number),
        ColdShell(),
    )
    label = f"{part.name}, {target.lanes} x float{target.bits}, its cold loop {number}"
    optimized = not quick and optimizes_cold(target.lanes, _count_operations(part))
    tables = [np.ascontiguousarray(t, f"f{target.bits // 8}") for t in part.tables.values()]
    symbols = [NAME, *(SYMBOLS if part.cold_loops else ()), *([TABLES] if tables else ())]
    # its code
    name = f"{_key(part, target, shell, optimized, shared)}.{number}"
    emitter = partial(Emitter, part, target, shell, shared, split_blocks=True)
    module = _link(
        name,
        _load_code(
            name, label, lambda: emitter().cold_function(), create_target_machine(optimized)
        ),
        symbols,
    )
    # look-up tables and inner functions
    if tables:
        pointers = (ctypes.c_void_p * len(tables)).from_address(module[TABLES])
        pointers[:] = [table.ctypes.data for table in tables]
    inner = None
    if part.cold_loops:
        compile_cold = partial(_cold_loop, part, target, quick, failures)
        inner = ColdFunctions(len(part.cold_loops), module, compile_cold, failures)
    return ColdFunction(module, tables, inner)


def _load_code(key: str, label: str, text: Callable[[], str], machine: llvm.TargetMachine) -> bytes:
    """Load the object code of a module from the cache, or compile it."""
    code, start = disk.read(f"{key}.o"), perf_counter()
    if code is not None:
        LOG.debug("%s: read from %s", label, disk.cache_folder())
        return code
    code = compile_module(text(), machine)
    disk.write(f"{key}.o", code)
    LOG.debug("%s: compiled in %.2f s", label, perf_counter() - start)
    return code


def _key(
    program: Program,
    target: Target,
    shell: KernelShell | None = None,
    optimized: bool | None = None,
    shared: Sequence[str] = (),
) -> str:
    shell = shell or LaneGroups()
    parts = (
        program.hot_fingerprint,
        target,
        optimizes() if optimized is None else optimized,
        detect_host(),
        llvm.llvm_version_info,
        llvmlite.__version__,
        disk.source_hash(),
        shell.fingerprint,
        tuple(shared),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


def compile_to_assembly(program: Program, target: Target) -> str:
    """Compile a kernel to assembly text."""
    return machine.compile_to_assembly(
        ir_text(program, target, not optimizes()), create_target_machine(optimizes())
    )


@cache
def _create_jit() -> llvm.orcjit.LLJIT:
    """Create the just-in-time linker.

    JITLink places code and constants next to each other. In fragmented memory LLVM's older linker
    places them farther apart than code can address. On Windows the older one is used, because
    JITLink does not support all relocations of its objects.
    """
    create_target_machine(optimizes())
    return llvm.create_lljit_compiler(use_jit_link=sys.platform != "win32")


@cache
def _from_windows() -> dict[str, int]:
    """Find addresses of Windows library functions that compiled code calls; none elsewhere."""
    if sys.platform != "win32":
        return {}
    library = ctypes.WinDLL("ntdll")
    addresses = (ctypes.cast(library[name], ctypes.c_void_p).value for name in STACK_PROBES)
    pairs = zip(STACK_PROBES, addresses, strict=True)
    return {name: address for name, address in pairs if address is not None}


_loaded: dict[Any, LoadedKernel] = {}
_linking = RLock()  # names of libraries must be unique
_libraries = counting()


def _link(key: str, code: bytes, symbols: Sequence[str]) -> llvm.orcjit.ResourceTracker:
    """Link object code in memory, and return the addresses of its symbols."""
    library = llvm.JITLibraryBuilder().add_current_process().add_object_img(code)
    for symbol in symbols:
        library = library.export_symbol(symbol)
    for name, address in _from_windows().items():
        library = library.import_symbol(name, address)
    with _linking:
        return library.link(_create_jit(), f"tarsus_{key}_{next(_libraries)}")
