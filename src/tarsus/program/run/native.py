"""Compile a program for this machine's processor and call it."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import count as counting
from threading import RLock
from time import perf_counter
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from tarsus.errors import TarsusWarning
from tarsus.program.codegen.directional import DirectionalEmitter, OneWorld
from tarsus.program.codegen.emit import Emitter, ir_text
from tarsus.program.codegen.kernels import HostThread, KernelShell, LaneGroups, SeldomLoop
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.on_entry import NAME, SYMBOLS, TABLES
from tarsus.program.ir.program import Program
from tarsus.program.run import cache as disk
from tarsus.program.run import machine, optimizer
from tarsus.program.run.machine import compiled, compiler, host
from tarsus.program.run.optimizer import optimizes
from tarsus.program.run.when_entered import Better, Failed, Made, WhenEntered

LOG = logging.getLogger(__name__)
LONG = 250_000  # instructions of a program whose compiling is told before it begins
PACE = 3e-5  # s of the processor that an instruction of such a program takes
STACK_PROBES = ("__chkstk",)  # called on Windows by a function whose stack is more than a page
Kernel = Callable[..., None]


def compile_kernel(
    program: Program, target: Target, quickly: bool = False
) -> tuple[Kernel, WhenEntered | None]:
    """The program's kernel over groups of lanes, a C function; arguments: `kernels.LaneGroups`.
    And what it asks for as it runs.

    quickly: without optimization, whatever `optimizes` says
    """
    signature = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 4
    build = Build(program, target, LaneGroups(), not quickly and optimizes())
    loop = partial(_loop, program, target, build.optimized)
    return _compiled(build, signature, lambda: Emitter(program, target), loop)


def compile_thread(program: Program, bits: int) -> Kernel:
    """The GPU kernel of one world as a C function on this processor.

    Its arguments: `kernels.HostThread`.
    """
    program, target, frame = program.whole, Target(1, bits), HostThread()
    signature = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
    build = Build(program, target, frame, optimizes())
    return _compiled(build, signature, lambda: Emitter(program, target, frame), None)[0]


def compile_directions(program: Program, frame: OneWorld) -> tuple[Kernel, WhenEntered | None]:
    """The kernel of one world and many directions, a C function.

    Its arguments: `directional.OneWorld`.
    """
    emitter = partial(DirectionalEmitter, program, frame)

    def loop(number: int, failed: Failed, better: Better) -> Made:
        name = f"{build.key}.{number}"
        code = _code(name, program.name, lambda: emitter().apart(number), compiler(False))
        return _linked(name, code, [NAME]), ((), None)

    build = Build(program, Target(1), frame, optimizes())
    return _compiled(build, [ctypes.c_void_p] * 3, emitter, loop)


@dataclass(frozen=True, eq=False)
class Build:
    """A kernel to compile."""

    program: Program
    target: Target
    frame: KernelShell
    optimized: bool

    @cached_property
    def key(self) -> str:
        """A hash of what decides its code."""
        return _key(self.program, self.target, self.frame, self.optimized)


def _compiled(
    build: Build,
    signature: list[Any],
    emitter: Callable[[], Emitter],
    loop: Callable[[int, Failed, Better], Made] | None,
) -> tuple[Kernel, WhenEntered | None]:
    """The kernel, and what it asks for: `loop` makes the function of a seldom loop."""
    # later loops of another origin are others
    program, key = build.program, build.key
    known = key, (program.origin or program) if program.has_later else ""
    with _linking:
        if known not in _loaded:
            count = len(program.seldom) if loop else 0
            code, text = _first_code(build, lambda: emitter().text())
            symbols = ["kernel", *(SYMBOLS if count else ())]
            tracker = _linked(key, code, symbols)
            rest = WhenEntered(count, tracker, loop, []) if loop and count else None
            kernel = ctypes.CFUNCTYPE(None, *signature)(tracker["kernel"])
            _loaded[known] = ([tracker], kernel, rest)
            if text is not None:
                swap = partial(_swapped, symbols, *_loaded[known])
                optimizer.Optimizing(key, text, swap)
    return _loaded[known][1:]


def _first_code(build: Build, text: Callable[[], str]) -> tuple[bytes, str | None]:
    """A kernel's code; and its text if that is still to be optimized, in a process beside."""
    program, key = build.program, build.key
    what = f"{program.name}, {build.target.lanes} x float{build.target.bits}"
    kept = disk.kept(f"{key}.o") is not None
    if not kept:
        _tell_if_long(program)
    if kept or not build.optimized:
        return _code(key, what, text, compiler(build.optimized)), None
    written = text()
    if program.sections or not optimizer.worth_while(written):  # who counts cycles counts the best
        return _code(key, what, lambda: written, compiler(True)), None
    quick = replace(build, optimized=False).key
    return _code(quick, f"{what}, quickly", lambda: written, compiler(False)), written


def _tell_if_long(program: Program) -> None:
    """A warning, before it begins, that compiling takes long."""
    count = sum(block.function.n_instructions() for block, _ in program.straights())
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


def _swapped(
    symbols: Sequence[str],
    trackers: list[llvm.orcjit.ResourceTracker],
    kernel: Any,
    rest: WhenEntered | None,
    key: str,
    code: bytes,
) -> None:
    """Optimized code from the kernel's next call on; who runs the other one still may go on."""
    tracker = _linked(key, code, symbols)
    if rest is not None:
        rest.serve(tracker)
    trackers.append(tracker)
    # what a function of ctypes calls stands at its own address, read under Python's lock
    ctypes.c_void_p.from_address(ctypes.addressof(kernel)).value = tracker["kernel"]


def _loop(
    program: Program,
    target: Target,
    optimized: bool,
    number: int,
    failed: Failed,
    better: Better,
) -> Made:
    """The function of a seldom loop in memory, and its tables and own loops, as long as it is.

    It runs not optimized at first, if it is not small, for it may be entered once and never again;
    a process beside optimizes it meanwhile.
    """
    # what it is, and what it finds by address
    part, shared, frame = program.part(number), program.shared(number), SeldomLoop()
    what = f"{part.name}, {target.lanes} x float{target.bits}, its seldom loop {number}"
    tables = [np.ascontiguousarray(t, f"f{target.bits // 8}") for t in part.tables.values()]
    symbols = [NAME, *(SYMBOLS if part.seldom else ()), *([TABLES] if tables else ())]

    def linked(name: str, code: bytes) -> llvm.orcjit.ResourceTracker:
        tracker = _linked(name, code, symbols)
        if tables:
            pointers = (ctypes.c_void_p * len(tables)).from_address(tracker[TABLES])
            pointers[:] = [table.ctypes.data for table in tables]
        return tracker

    # its code: the best, if it is there or soon made, else what runs until then
    text = cache(lambda: Emitter(part, target, frame, shared).function())
    quick, best = (f"{_key(part, target, frame, how, shared)}.{number}" for how in (False, True))
    known = optimized and disk.kept(f"{best}.o") is not None
    now = known or (optimized and optimizer.loop_at_once(text()))
    name = best if now else quick
    tracker = linked(name, _code(name, what, text, compiler(now)))
    inner = partial(_loop, part, target, optimized)
    own = WhenEntered(len(part.seldom), tracker, inner, failed) if part.seldom else None

    def swap(name: str, code: bytes) -> None:
        made = linked(name, code)
        if own is not None:
            own.serve(made)
        better(made)

    if optimized and not now and optimizer.works_beside():
        optimizer.Optimizing(best, text(), swap, seldom=True)
    return tracker, (tables, own)


def _code(key: str, what: str, text: Callable[[], str], machine: llvm.TargetMachine) -> bytes:
    """A module's machine code, from the cache or compiled and put there."""
    code, began = disk.kept(f"{key}.o"), perf_counter()
    if code is not None:
        LOG.debug("%s: read from %s", what, disk.cache_folder())
        return code
    code = compiled(text(), machine)
    disk.keep(f"{key}.o", code)
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
    """The kernel's machine code as text."""
    return machine.assembly(ir_text(program, target), compiler(optimizes()))


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


_loaded: dict[Any, tuple[list[llvm.orcjit.ResourceTracker], Any, WhenEntered | None]] = {}
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
