"""Checks of `tarsus doctor`, one function for each part of the machine."""

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
TIMEOUT = 10.0  # s, for other programs


@dataclass(frozen=True)
class Diagnosis:
    """Result of one check.

    Attributes
    ----------
    name
        Part of the machine.
    detail
        Result in words.
    state
        OK, MISSING (an optional part) or BAD (a required part that does not work).
    remedy
        Command that fixes the problem, or "".
    """

    name: str
    detail: str
    state: str = OK
    remedy: str = ""


def run_checks(progress: Callable[[str], None]) -> Iterator[Diagnosis]:
    """Run all checks, in the order in which a simulation needs the parts."""
    parts: tuple[tuple[str, Callable[[], Iterator[Diagnosis]]], ...] = (
        ("versions", _check_versions),
        ("processor", _check_processor),
        ("compiler", _check_compiler),
        ("cache", _check_cache),
        ("GPU", _check_gpu),
        ("extras", _check_extras),
        ("other programs", _check_programs),
    )
    for name, check in parts:
        progress(f"checking {name}")
        yield from check()


def _check_versions() -> Iterator[Diagnosis]:
    """Check the versions of Tarsus, Python and the required packages."""
    from tarsus import __version__

    yield Diagnosis("tarsus", f"{__version__} in {Path(__file__).parents[1]}")
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield Diagnosis("python", f"{platform.python_version()} ({sys.executable}) on {system}")
    missing, old = _find_missing_packages("")
    if missing or old:
        yield Diagnosis(
            "packages", f"missing: {', '.join((*missing, *old))}", BAD, extra_install_command()
        )
    else:
        names = ("numpy", "casadi", "llvmlite", "scipy", "xarray", "mujoco")
        yield Diagnosis("packages", ", ".join(f"{name} {metadata.version(name)}" for name in names))


def _check_processor() -> Iterator[Diagnosis]:
    """Report vector width, cores and threads."""
    from tarsus.processes import usable_cores
    from tarsus.program.run import machine

    host = machine.detect_host()
    lanes = f"{host.lanes(64)} worlds in float64, {host.lanes(32)} in float32"
    yield Diagnosis(
        "processor", f"{host.cpu}, {host.vector_bits}-bit vectors: {lanes} per instruction"
    )
    usable = usable_cores()
    yield Diagnosis("threads", f"{usable} of {os.cpu_count()} cores available: threads={usable}")


def _check_compiler() -> Iterator[Diagnosis]:
    """Compile and run a small program."""
    from tarsus.program.ir.trace import Builder
    from tarsus.program.run.tiers import optimizes
    from tarsus.program.run.worlds import Worlds

    start = perf_counter()
    try:
        with _use_empty_cache():
            builder = Builder("doctor")
            x = builder.declare("x", 1)
            worlds = Worlds(builder.program(x=2 * x + 1), 5)
        worlds.advance(3)
        correct = bool((worlds.get("x") == 7).all())
    except Exception as error:  # the check reports every kind of failure
        yield Diagnosis("compiler", f"{type(error).__name__}: {error}", BAD)
        return
    took = f"compiled and ran a program in {perf_counter() - start:.2f} s"
    speed = "" if optimizes() else "; TARSUS_OPTIMIZE=0: code runs at half speed"
    if not correct:
        yield Diagnosis("compiler", "a compiled program computes wrong numbers", BAD)
        return
    yield Diagnosis("compiler", f"LLVM {_llvm_version()} {took}{speed}")


@contextmanager
def _use_empty_cache() -> Iterator[None]:
    """Use an empty, temporary cache folder inside the `with` block."""
    before = os.environ.get(CACHE)
    with TemporaryDirectory() as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            del os.environ[CACHE]
            if before is not None:
                os.environ[CACHE] = before


def _llvm_version() -> str:
    import llvmlite.binding as llvm

    return ".".join(map(str, llvm.llvm_version_info))


def _check_cache() -> Iterator[Diagnosis]:
    """Check that compiled code can be cached."""
    from tarsus.program.run import cache

    folder = cache.cache_folder()
    cache.write("doctor.o", b"doctor")
    if cache.read("doctor.o") != b"doctor":
        text = f"cannot write to {folder}: every start compiles again"
        yield Diagnosis("cache", text, MISSING, _set_variable(CACHE, "FOLDER"))
        return
    (folder / "doctor.o").unlink(missing_ok=True)
    sizes = [file.stat().st_size for file in folder.iterdir() if file.is_file()]
    yield Diagnosis("cache", f"{folder}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB")


def _set_variable(name: str, value: str) -> str:
    """Return the command that sets an environment variable on this system."""
    return f"set {name}={value}" if sys.platform == "win32" else f"export {name}={value}"


def _check_gpu() -> Iterator[Diagnosis]:
    """Check for an NVIDIA GPU, its driver and CuPy."""
    gpus = _run_program("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    if not gpus:
        yield Diagnosis("GPU", "no NVIDIA GPU found; only device='cuda' needs one", MISSING)
        return
    from tarsus.program.run.cuda import cupy_with_gpu

    names = "; ".join(line.replace(", ", ", driver ") for line in gpus.splitlines())
    try:
        cupy = cupy_with_gpu()
    except TarsusError as error:
        yield Diagnosis("GPU", f"{names}, but {error}", MISSING, extra_install_command("cuda"))
        return
    yield Diagnosis("GPU", f"{names}, CuPy {cupy.__version__}: device='cuda' works")


def _check_extras() -> Iterator[Diagnosis]:
    """Check the optional packages."""
    purposes = {
        "view": "tarsus view, tarsus render",
        "meshes": "collision meshes of URDF and SDF files",
        "exchange": "Parquet, MCAP, ROS 2 bags",
        "peers": "tarsus bench --peers",
    }
    extras = metadata.metadata("tarsus").get_all("Provides-Extra") or ()
    for extra in (name for name in extras if name != "cuda"):  # `_check_gpu` checks that one
        purpose = f" ({purposes[extra]})" if extra in purposes else ""
        missing, old = _find_missing_packages(extra)
        if missing or old:
            text = f"missing: {', '.join((*missing, *old))}{purpose}"
            yield Diagnosis(f"[{extra}]", text, MISSING, extra_install_command(extra))
        else:
            yield Diagnosis(f"[{extra}]", f"installed{purpose}")


def _find_missing_packages(extra: str) -> tuple[list[str], list[str]]:
    """Find the missing and the outdated packages of an extra, or of Tarsus itself for ""."""
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


def _check_programs() -> Iterator[Diagnosis]:
    """Check for a C compiler, which users of `tarsus export --c` need."""
    names = [name for name in ("cc", "gcc", "clang", "cl", "cmake") if shutil.which(name)]
    if names:
        yield Diagnosis("C compiler", f"{', '.join(names)} (for the code of tarsus export --c)")
    else:
        text = "none found (for the code of tarsus export --c)"
        yield Diagnosis("C compiler", text, MISSING)


def _run_program(*command: str) -> str:
    """Run another program and return its output; "" if it is not installed or fails."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
