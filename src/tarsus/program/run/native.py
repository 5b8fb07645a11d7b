"""Compile a program for this machine's processor and call it."""

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
from tarsus.program.codegen.directional import DirectionalEmitter, OneWorld
from tarsus.program.codegen.emit import Emitter, ir_text
from tarsus.program.codegen.kernels import ColdShell, HostThread, KernelShell, LaneGroups
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.program import Program
from tarsus.program.run import cache as disk
from tarsus.program.run import machine
from tarsus.program.run.cold_functions import ColdFunction, ColdFunctions, Failure
from tarsus.program.run.machine import compiled, compiler, host
from tarsus.program.run.tiers import optimizes, optimizes_cold

LOG = logging.getLogger(__name__)
LONG = 250_000  # instructions of a program whose compiling time is announced
PACE = 3e-5  # s of the processor that an instruction of such a program takes
STACK_PROBES = ("__chkstk",)  # called on Windows by a function whose stack is more than a page
Kernel = Callable[..., None]
CompileCold = Callable[[list[Failure], int], ColdFunction]


def compile_kernel(
    program: Program, target: Target, quick: bool = False
) -> tuple[Kernel, ColdFunctions | None]:
    """Compile a program over groups of lanes.

    Returns the kernel, a C function with the arguments of `kernels.LaneGroups`, and its cold
    functions.

    Parameters
    ----------
    quick : bool
        Whether nothing is optimized, for a few runs.
    """
    signature = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 4
    build = Build(program, target, LaneGroups(), optimizes() and not quick)
    emitter = partial(Emitter, program, target, in_pieces=not build.optimized)
    return _load(build, signature, emitter, partial(_cold_loop, program, target, quick))


def compile_thread(program: Program, bits: int) -> Kernel:
    """Compile the GPU kernel of one world as a C function on this processor.

    Its arguments: `kernels.HostThread`.
    """
    program, target, frame = program.whole, Target(1, bits), HostThread()
    signature = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
    build = Build(program, target, frame, optimizes())
    emitter = partial(Emitter, program, target, frame, in_pieces=not build.optimized)
    return _load(build, signature, emitter, None)[0]


def compile_directions(program: Program, frame: OneWorld) -> tuple[Kernel, ColdFunctions | None]:
    """Compile a kernel of one world and many directions, and its cold functions.

    Its arguments: `directional.OneWorld`.
    """

    def cold_loop(failures: list[Failure], number: int) -> ColdFunction:
        name = f"{build.key}.{number}"
        code = _code(name, program.name, lambda: emitter(True).cold_module(number), compiler(False))
        return ColdFunction(_linked(name, code, [NAME]), [], None)

    emitter = partial(DirectionalEmitter, program, frame)
    build = Build(program, Target(1), frame, optimizes_cold(1, _operations(program)))
    signature = [ctypes.c_void_p] * 3
    return _load(build, signature, partial(emitter, not build.optimized), cold_loop)


@dataclass(frozen=True, eq=False)
class Build:
    """A kernel to compile."""

    program: Program
    target: Target
    frame: KernelShell
    optimized: bool

    @cached_property
    def key(self) -> str:
        """A hash of everything that decides its code."""
        return _key(self.program, self.target, self.frame, self.optimized)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A kernel in memory."""

    module: llvm.orcjit.ResourceTracker
    kernel: Kernel
    cold: ColdFunctions | None


def _load(
    build: Build,
    signature: list[Any],
    emitter: Callable[[], Emitter],
    compile_cold: CompileCold | None,
) -> tuple[Kernel, ColdFunctions | None]:
    """Return the kernel and its cold functions, compiled if this process has not loaded them."""
    program, key = build.program, build.key
    # cold loops that are traced on first need differ by origin
    known = key, (program.origin or program) if program.has_untraced else ""
    with _linking:
        if known not in _loaded:
            what = f"{program.name}, {build.target.lanes} x float{build.target.bits}"
            if disk.read(f"{key}.o") is None:
                _warn_if_long(program)
            code = _code(key, what, lambda: emitter().text(), compiler(build.optimized))
            count = len(program.cold) if compile_cold else 0
            module = _linked(key, code, ["kernel", *(SYMBOLS if count else ())])
            kernel = ctypes.CFUNCTYPE(None, *signature)(module["kernel"])
            cold = None
            if compile_cold and count:
                failures = list[Failure]()
                cold = ColdFunctions(count, module, partial(compile_cold, failures), failures)
            _loaded[known] = Loaded(module, kernel, cold)
    loaded = _loaded[known]
    return loaded.kernel, loaded.cold


def _warn_if_long(program: Program) -> None:
    """Warn before it begins that compiling takes long."""
    count = _operations(program)
    if count < LONG:
        return
    warnings.warn(
        TarsusWarning(
            f"compiling {program.name} takes {PACE * count:.0f} s of CPU time or more, and several"
            f" times that when the robot first falls, because its step has {count / 1e6:.2g}"
            " million instructions: use fewer cut joints (coordinates) or fewer contacts.",
            "slow-compilation",
            program.name,
        ),
        stacklevel=2,
    )


def _operations(program: Program) -> int:
    return sum(block.function.n_instructions() for block, _ in program.straights())


def _cold_loop(
    program: Program, target: Target, quick: bool, failures: list[Failure], number: int
) -> ColdFunction:
    """Compile the function of a cold loop, with its tables and its own cold functions."""
    part, shared, frame = program.part(number), program.shared(number), ColdShell()
    what = f"{part.name}, {target.lanes} x float{target.bits}, its cold loop {number}"
    optimized = not quick and optimizes_cold(target.lanes, _operations(part))
    tables = [np.ascontiguousarray(t, f"f{target.bits // 8}") for t in part.tables.values()]
    symbols = [NAME, *(SYMBOLS if part.cold else ()), *([TABLES] if tables else ())]
    # its code
    name = f"{_key(part, target, frame, optimized, shared)}.{number}"
    emitter = partial(Emitter, part, target, frame, shared, in_pieces=True)
    module = _linked(
        name, _code(name, what, lambda: emitter().cold_function(), compiler(optimized)), symbols
    )
    # what the code points to
    if tables:
        pointers = (ctypes.c_void_p * len(tables)).from_address(module[TABLES])
        pointers[:] = [table.ctypes.data for table in tables]
    inner = None
    if part.cold:
        compile_cold = partial(_cold_loop, part, target, quick, failures)
        inner = ColdFunctions(len(part.cold), module, compile_cold, failures)
    return ColdFunction(module, tables, inner)


def _code(key: str, what: str, text: Callable[[], str], machine: llvm.TargetMachine) -> bytes:
    """Return a module's machine code, from the cache or compiled and put there."""
    code, began = disk.read(f"{key}.o"), perf_counter()
    if code is not None:
        LOG.debug("%s: read from %s", what, disk.cache_folder())
        return code
    code = compiled(text(), machine)
    disk.write(f"{key}.o", code)
    LOG.debug("%s: compiled in %.2f s", what, perf_counter() - began)
    return code


def _key(
    program: Program,
    target: Target,
    frame: KernelShell | None = None,
    optimized: bool | None = None,
    shared: Sequence[str] = (),
) -> str:
    frame = frame or LaneGroups()
    parts = (
        program.outline,
        target,
        optimizes() if optimized is None else optimized,
        host(),
        llvm.llvm_version_info,
        llvmlite.__version__,
        disk.source_hash(),
        frame.fingerprint,
        tuple(shared),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


def assembly(program: Program, target: Target) -> str:
    """Return the kernel's machine code as text."""
    return machine.assembly(ir_text(program, target, not optimizes()), compiler(optimizes()))


@cache
def _jit() -> llvm.orcjit.LLJIT:
    """What puts code into memory, code and constants side by side: where memory is in pieces, as
    with large libraries in it, LLVM's older linker puts them farther apart than code can reach.
    JITLink does not know all that Windows's objects have.
    """
    compiler(optimizes())
    return llvm.create_lljit_compiler(use_jit_link=sys.platform != "win32")


@cache
def _from_windows() -> dict[str, int]:
    """What compiled code calls of Windows's own library, by name; nothing elsewhere."""
    if sys.platform != "win32":
        return {}
    library = ctypes.WinDLL("ntdll")
    found = (ctypes.cast(library[name], ctypes.c_void_p).value for name in STACK_PROBES)
    return {name: at for name, at in zip(STACK_PROBES, found, strict=True) if at is not None}


_loaded: dict[Any, Loaded] = {}
_linking = RLock()  # a library's name may be given once
_libraries = counting()


def _linked(key: str, code: bytes, symbols: Sequence[str]) -> llvm.orcjit.ResourceTracker:
    """A module's code in memory, and the addresses of its symbols."""
    library = llvm.JITLibraryBuilder().add_current_process().add_object_img(code)
    for symbol in symbols:
        library = library.export_symbol(symbol)
    for name, address in _from_windows().items():
        library = library.import_symbol(name, address)
    with _linking:
        return library.link(_jit(), f"tarsus_{key}_{next(_libraries)}")
