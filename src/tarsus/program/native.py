"""Compile a program for this machine's processor and call it; compiled objects are cached on disk."""

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

import llvmlite
import llvmlite.binding as llvm

from tarsus.program import emit
from tarsus.program.blocks import Program
from tarsus.program.layout import Target

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
    """The program's kernel as a C function; see `emit` for its arguments."""
    key = _key(program, target)
    code = _cached(key)
    if code is None:
        code = _compile(emit.ir_text(program, target))
        _store(key, code)
    return _load(key, code)


def assembly(program: Program, target: Target) -> str:
    """The kernel's machine code as text."""
    machine = _machine()
    return machine.emit_assembly(_optimised(emit.ir_text(program, target), machine))


@cache
def _source_hash() -> str:
    """Of the whole compiler: a cached object is only as good as the code that made it."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _key(program: Program, target: Target) -> str:
    parts = (
        program.fingerprint,
        target,
        host(),
        llvm.llvm_version_info,
        llvmlite.__version__,
        _source_hash(),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


def _cached(key: str) -> bytes | None:
    """The object kept under this key; None if there is none, or one that is not as it was written."""
    try:
        found = (cache_folder() / f"{key}.o").read_bytes()
    except OSError:
        return None
    code, seal = found[:-SEAL], found[-SEAL:]
    return code if seal == _seal(code) else None


def _seal(code: bytes) -> bytes:
    """A checksum that stands behind an object in the cache: damaged machine code must never run."""
    return hashlib.sha256(code).digest()


def _store(key: str, code: bytes) -> None:
    """Write beside and rename, so that a reader never sees half an object; a read-only cache is no error."""
    beside = None
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            beside = Path(file.name)
            file.write(code + _seal(code))
        os.replace(beside, folder / f"{key}.o")
    except OSError:
        with contextlib.suppress(OSError):
            if beside is not None:
                beside.unlink()


@cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=host().cpu, features=host().features, opt=2, reloc="pic", codemodel="small")


def _optimised(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
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
    return machine.emit_object(_optimised(text, machine))


@cache
def _jit() -> llvm.orcjit.LLJIT:
    _machine()
    return llvm.create_lljit_compiler()


_loaded: dict[str, tuple[llvm.orcjit.ResourceTracker, Kernel]] = {}


def _load(key: str, code: bytes) -> Kernel:
    if key not in _loaded:
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol("kernel")
        tracker = library.link(_jit(), f"tarsus_{key}")
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4)
        _loaded[key] = (tracker, prototype(tracker["kernel"]))
    return _loaded[key][1]
