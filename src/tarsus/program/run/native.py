"""Compile a program for this machine's processor and call it; compiled objects are cached on
disk.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from tarsus.program.codegen.emit import Emitter, ir_text
from tarsus.program.codegen.kernels import HostThread, KernelShell, LaneGroups
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.blocks import Program

VECTOR_BITS = {"avx512f": 512, "avx": 256}  # else 128, which every 64-bit processor has
Kernel = Callable[..., None]
SEAL = hashlib.sha256().digest_size


@dataclass(frozen=True)
class Host:
    """The processor code is compiled for."""

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


def cache_folder() -> Path:
    """Where compiled objects are kept: $TARSUS_CACHE, else the user's cache folder."""
    if given := os.environ.get("TARSUS_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tarsus"


def compile_kernel(program: Program, target: Target) -> Kernel:
    """The program's kernel over groups of lanes as a C function; see `kernels.LaneGroups` for its
    arguments.
    """
    return _compiled(program, target, LaneGroups(), [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 4)


def compile_thread(program: Program, bits: int) -> Kernel:
    """The GPU kernel of one world as a C function on this processor.

    Its arguments: `kernels.HostThread`.
    """
    return _compiled(
        program, Target(1, bits), HostThread(), [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
    )


def _compiled(program: Program, target: Target, frame: KernelShell, arguments: list[Any]) -> Kernel:
    key = _key(program, target, frame)
    code = kept(f"{key}.o")
    if code is None:
        code = _compile(Emitter(program, target, frame).text())
        keep(f"{key}.o", code)
    return _load(key, code, arguments)


def assembly(program: Program, target: Target) -> str:
    """The kernel's machine code as text."""
    machine = _machine()
    return machine.emit_assembly(_optimized(ir_text(program, target), machine))


@cache
def source_hash() -> str:
    """Of the whole compiler: a cached object is only as good as the code that made it."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _key(program: Program, target: Target, frame: KernelShell | None = None) -> str:
    frame = frame or LaneGroups()
    parts = (
        program.fingerprint,
        target,
        host(),
        llvm.llvm_version_info,
        llvmlite.__version__,
        source_hash(),
        type(frame).__name__,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


def kept(name: str) -> bytes | None:
    """The object kept under this name; None if there is none, or one that is not as it was
    written.
    """
    try:
        found = (cache_folder() / name).read_bytes()
    except OSError:
        return None
    code, seal = found[:-SEAL], found[-SEAL:]
    return code if seal == _seal(code) else None


def _seal(code: bytes) -> bytes:
    """A checksum that stands behind an object in the cache: damaged machine code must never run."""
    return hashlib.sha256(code).digest()


def keep(name: str, code: bytes) -> None:
    """Keep an object for later sessions; a cache that cannot be written is no error.

    It is written beside and renamed, so that a reader never sees half an object.
    """
    beside = None
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            beside = Path(file.name)
            file.write(code + _seal(code))
        os.replace(beside, folder / name)
    except OSError:
        with contextlib.suppress(OSError):
            if beside is not None:
                beside.unlink()


@cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=host().cpu, features=host().features, opt=2, reloc="pic", codemodel="small"
    )


def _optimized(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.slp_vectorization = False
    options.loop_vectorization = False
    options.loop_unrolling = False
    llvm.create_pass_builder(machine, options).getModulePassManager().run(
        module, llvm.create_pass_builder(machine, options)
    )
    return module


def _compile(text: str) -> bytes:
    machine = _machine()
    return machine.emit_object(_optimized(text, machine))


@cache
def _jit() -> llvm.orcjit.LLJIT:
    _machine()
    return llvm.create_lljit_compiler()


_loaded: dict[str, tuple[llvm.orcjit.ResourceTracker, Kernel]] = {}


def _load(key: str, code: bytes, arguments: list[Any]) -> Kernel:
    if key not in _loaded:
        library = (
            llvm.JITLibraryBuilder()
            .add_object_img(code)
            .add_current_process()
            .export_symbol("kernel")
        )
        tracker = library.link(_jit(), f"tarsus_{key}")
        _loaded[key] = (tracker, ctypes.CFUNCTYPE(None, *arguments)(tracker["kernel"]))
    return _loaded[key][1]
