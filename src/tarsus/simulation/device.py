"""Choose where worlds live and run: this computer's CPU or an NVIDIA GPU."""

from __future__ import annotations

from tarsus.errors import IncompatibleOptions, unknown_name_error
from tarsus.program.ir.program import Program
from tarsus.program.run.backend import Backend
from tarsus.program.run.cuda import CudaLauncher, cupy_with_gpu
from tarsus.program.run.threads import Launcher, ThreadWorlds
from tarsus.program.run.worlds import Worlds

DEVICES = ("cpu", "cuda")
Device = str | Launcher


def check_device(device: Device, precision: str | None, threads: int) -> tuple[Device, str]:
    """Check the device, and choose the precision: by default float64 on a CPU, float32 on a GPU.

    Raises
    ------
    TarsusError
        If the device is unknown or not available, or `threads` does not apply to it.
    """
    if device not in DEVICES if isinstance(device, str) else not isinstance(device, Launcher):
        raise unknown_name_error("device", device, DEVICES)
    if device == "cuda":
        cupy_with_gpu()  # before anything is compiled
    if device != "cpu" and threads > 1:
        raise IncompatibleOptions(
            "threads apply to device='cpu' only; leave threads at 1 on a GPU.", "threads"
        )
    return device, precision or ("float64" if device == "cpu" else "float32")


def create_backend(
    program: Program, device: Device, worlds: int, bits: int, threads: int
) -> Backend:
    """Create the worlds on their device; a launcher as the device runs one thread per world."""
    if device == "cpu":
        return Worlds(program, worlds, bits=bits, threads=threads)
    launcher = device if isinstance(device, Launcher) else CudaLauncher()
    return ThreadWorlds(program, worlds, launcher, bits)
