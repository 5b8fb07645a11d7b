"""What `tarsus doctor` looks at, one function a part of the machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tarsus.errors import TarsusError
from tarsus.installation import extra_install_command, requirements

OK, MISSING, BAD = "ok", "missing", "bad"
CACHE = "TARSUS_CACHE"
PATIENCE = 10.0  # s for another program's answer


@dataclass(frozen=True)
class Diagnosis:
    """One thing looked at.

    state: OK, MISSING (an extra), or BAD (needed, and does not work); remedy: a command, or ""
    """

    name: str
    told: str
    state: str = OK
    remedy: str = ""


def findings(progress: Callable[[str], None]) -> Iterator[Diagnosis]:
    """Everything, in the order in which a run needs it."""
    parts: tuple[tuple[str, Callable[[], Iterator[Diagnosis]]], ...] = (
        ("versions", _versions),
        ("processor", _processor),
        ("compiler", _compiler),
        ("cache", _cache),
        ("GPU", _gpu),
        ("extras", _extras),
        ("other programs", _programs),
    )
    for name, look in parts:
        progress(f"looking at {name}")
        yield from look()


def _versions() -> Iterator[Diagnosis]:
    """Tarsus, Python, and what Tarsus needs."""
    from tarsus import __version__

    yield Diagnosis("tarsus", f"{__version__} in {Path(__file__).parents[1]}")
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield Diagnosis("python", f"{platform.python_version()} ({sys.executable}) on {system}")
    missing, old = _lacking("")
    if missing or old:
        yield Diagnosis(
            "packages", f"lacking: {', '.join((*missing, *old))}", BAD, extra_install_command()
        )
    else:
        names = ("numpy", "casadi", "llvmlite", "scipy", "xarray", "mujoco")
        yield Diagnosis("packages", ", ".join(f"{name} {metadata.version(name)}" for name in names))


def _processor() -> Iterator[Diagnosis]:
    """Vector width, cores and threads."""
    from tarsus.processes import usable_cores
    from tarsus.program.run import machine

    host = machine.host()
    lanes = f"{host.lanes(64)} worlds in float64, {host.lanes(32)} in float32"
    yield Diagnosis("processor", f"{host.cpu}, vectors of {host.vector_bits} bits: {lanes}")
    usable = usable_cores()
    yield Diagnosis("threads", f"{usable} of {os.cpu_count()} may be used: threads={usable}")


def _compiler() -> Iterator[Diagnosis]:
    """A small program, compiled and run."""
    from tarsus.program.ir.trace import Builder
    from tarsus.program.run.tiers import optimizes
    from tarsus.program.run.worlds import Worlds

    began = perf_counter()
    try:
        with _empty_cache():
            builder = Builder("doctor")
            x = builder.declare("x", 1)
            worlds = Worlds(builder.program(x=2 * x + 1), 5)
        worlds.advance(3)
        right = bool((worlds.get("x") == 7).all())
    except Exception as error:  # whatever is wrong with it is what is asked
        yield Diagnosis("compiler", f"{type(error).__name__}: {error}", BAD)
        return
    took = f"compiled and ran a program in {perf_counter() - began:.2f} s"
    speed = "" if optimizes() else "; TARSUS_OPTIMIZE=0: code runs at half its speed"
    if not right:
        yield Diagnosis("compiler", "a compiled program computes wrong numbers", BAD)
        return
    yield Diagnosis("compiler", f"LLVM {_llvm()} {took}{speed}")


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Nothing compiled before is found, and nothing is left."""
    before = os.environ.get(CACHE)
    with TemporaryDirectory() as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            del os.environ[CACHE]
            if before is not None:
                os.environ[CACHE] = before


def _llvm() -> str:
    import llvmlite.binding as llvm

    return ".".join(map(str, llvm.llvm_version_info))


def _cache() -> Iterator[Diagnosis]:
    """Where compiled code is kept, and whether it is."""
    from tarsus.program.run import cache

    folder = cache.cache_folder()
    cache.write("doctor.o", b"doctor")
    if cache.read("doctor.o") != b"doctor":
        told = f"nothing can be kept in {folder}: every start compiles anew"
        yield Diagnosis("cache", told, MISSING, _set(CACHE, "a folder of your own"))
        return
    (folder / "doctor.o").unlink(missing_ok=True)
    sizes = [file.stat().st_size for file in folder.iterdir() if file.is_file()]
    yield Diagnosis("cache", f"{folder}: {len(sizes)} objects, {sum(sizes) / 1e6:.1f} MB")


def _set(name: str, value: str) -> str:
    """How an environment variable is set here."""
    return f"set {name}={value}" if sys.platform == "win32" else f"export {name}={value}"


def _gpu() -> Iterator[Diagnosis]:
    """An NVIDIA GPU, its driver, and CuPy."""
    there = _answer("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    if not there:
        yield Diagnosis("GPU", "no NVIDIA GPU is seen; device='cpu' needs none", MISSING)
        return
    from tarsus.program.run.cuda import cupy_with_gpu

    names = "; ".join(line.replace(", ", ", driver ") for line in there.splitlines())
    try:
        cupy = cupy_with_gpu()
    except TarsusError as error:
        yield Diagnosis("GPU", f"{names}, but {error}", MISSING, extra_install_command("cuda"))
        return
    yield Diagnosis("GPU", f"{names}, CuPy {cupy.__version__}: device='cuda' works")


def _extras() -> Iterator[Diagnosis]:
    """What else can be installed, and what that is for."""
    purposes = {
        "view": "tarsus view, tarsus render",
        "meshes": "collision meshes of URDF and SDF files",
        "exchange": "Parquet, MCAP, ROS 2 bags",
        "peers": "tarsus bench --peers",
    }
    extras = metadata.metadata("tarsus").get_all("Provides-Extra") or ()
    for extra in (name for name in extras if name != "cuda"):  # that is the GPU's
        purpose = f" ({purposes[extra]})" if extra in purposes else ""
        missing, old = _lacking(extra)
        if missing or old:
            told = f"without {', '.join((*missing, *old))}{purpose}"
            yield Diagnosis(f"[{extra}]", told, MISSING, extra_install_command(extra))
        else:
            yield Diagnosis(f"[{extra}]", f"installed{purpose}")


def _lacking(extra: str) -> tuple[list[str], list[str]]:
    """Return what an extra, or "" for what is always needed, lacks: missing, and too old."""
    missing, old = [], []
    for needed in requirements(extra):
        try:
            version = metadata.version(needed.name)
        except metadata.PackageNotFoundError:
            missing.append(needed.name)
            continue
        if not needed.specifier.contains(version, prereleases=True):
            old.append(f"{needed.name}{needed.specifier}, not {version}")
    return missing, old


def _programs() -> Iterator[Diagnosis]:
    """Compilers of what `tarsus export --c` writes."""
    found = [name for name in ("cc", "gcc", "clang", "cl", "cmake") if shutil.which(name)]
    if found:
        yield Diagnosis("C compiler", f"{', '.join(found)}: for what tarsus export --c writes")
    else:
        yield Diagnosis("C compiler", "none, for what tarsus export --c writes", MISSING)


def _answer(*command: str) -> str:
    """What another program prints; "" if it is not there or fails."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
