"""Run kernels on NVIDIA GPUs with CuPy: PTX is assembled by the driver and cached on disk.

CuPy exchanges arrays with PyTorch and JAX without a copy, by DLPack or `__cuda_array_interface__`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
from dataclasses import dataclass
from typing import Any

import llvmlite
import numpy as np

from tarsus.errors import MissingPackage, Unsupported
from tarsus.installation import extra_install_command, package_install_command
from tarsus.program.ir.program import Program
from tarsus.program.run import cache, ptx
from tarsus.program.run.backend import Array
from tarsus.program.run.threads import Launcher

BLOCK_SIZE = 128  # threads per block; see docs/decisions/0011-gpu-backend.md
# compute capabilities for which code is compiled; later GPUs run the code of an earlier one
CHIPS = (75, 80, 86, 89, 90, 100, 120)


@functools.cache
def cupy_with_gpu() -> Any:
    """Import CuPy.

    Raises
    ------
    MissingPackage
        If CuPy is not installed.
    Unsupported
        If there is no GPU that it can use.
    """
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise MissingPackage(
            f"device 'cuda' needs CuPy ({error}): run {extra_install_command('cuda')}, or for a"
            " CUDA 12"
            f" driver {package_install_command('cupy-cuda12x[ctk]')}.",
            "cupy",
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise Unsupported(
            f"device 'cuda' needs an NVIDIA GPU with a driver that CuPy {cupy.__version__} can use"
            f" ({error}): install or update the driver, or use device 'cpu'.",
            "cuda",
        ) from None
    if not count:
        raise Unsupported(
            "device 'cuda' needs an NVIDIA GPU, but none is visible: use device 'cpu'.", "cuda"
        )
    return cupy


def chip_for(capability: str) -> str:
    """Choose the newest chip whose code a GPU of this compute capability ("90") can run."""
    compatible = [chip for chip in CHIPS if chip <= int(capability)]
    if not compatible:
        raise Unsupported(
            f"this GPU has compute capability {capability}, but {CHIPS[0]} or later is needed: use"
            " device 'cpu'.",
            "cuda",
        )
    return f"sm_{compatible[-1]}"


@dataclass(frozen=True)
class CudaKernel:
    """Loaded kernel and its resources.

    Attributes
    ----------
    function
        CuPy's function.
    registers
        Registers per thread.
    local_bytes
        Bytes of local memory (stack, spills) per thread.
    max_threads
        Largest number of threads per block.
    """

    function: Any
    registers: int
    local_bytes: int
    max_threads: int


class CudaLauncher(Launcher):
    """Current CUDA device and CuPy's current stream, with `block` threads per block."""

    def __init__(self, block: int = BLOCK_SIZE) -> None:
        self.arrays = cupy_with_gpu()
        self.block = block

    def load(self, program: Program, bits: int) -> CudaKernel:
        return _load(program, bits, self.arrays.cuda.Device().id)

    def start(self, kernel: CudaKernel, worlds: int, arguments: tuple[Any, Any, Any, int]) -> None:
        block = min(self.block, kernel.max_threads)
        *arrays, steps = arguments
        kernel.function((-(-worlds // block),), (block,), (*arrays, np.int64(steps)))

    def wait(self) -> None:
        self.arrays.cuda.Device().synchronize()

    def describe(self, kernel: CudaKernel) -> dict[str, Any]:
        runtime, device = self.arrays.cuda.runtime, self.arrays.cuda.Device()
        attributes = device.attributes
        clock = attributes.get("ClockRate")  # kHz; not every version reports it
        return {
            "name": runtime.getDeviceProperties(device.id)["name"].decode(),
            "compute_capability": device.compute_capability,
            "driver": runtime.driverGetVersion(),
            "multiprocessors": attributes["MultiProcessorCount"],
            "hertz": 1e3 * clock if clock else None,
            "registers": kernel.registers,
            "local_bytes": kernel.local_bytes,
            "threads_a_block_at_most": kernel.max_threads,
        }

    def to_host(self, array: Any) -> Array:
        return self.arrays.asnumpy(array)


def _load(program: Program, bits: int, device: int) -> CudaKernel:
    cupy = cupy_with_gpu()
    with cupy.cuda.Device(device) as current:
        cupy.cuda.runtime.free(0)  # creates the driver's context
        module = cupy.cuda.function.Module()
        module.load(_load_machine_code(cupy, program, bits, current.compute_capability))
        function = module.get_function("kernel")
        driver = cupy.cuda.driver
        names = ("NUM_REGS", "LOCAL_SIZE_BYTES", "MAX_THREADS_PER_BLOCK")
        attributes = (getattr(driver, f"CU_FUNC_ATTRIBUTE_{name}") for name in names)
        return CudaKernel(function, *(driver.funcGetAttribute(a, function.ptr) for a in attributes))


def _load_machine_code(cupy: Any, program: Program, bits: int, capability: str) -> bytes:
    """Load the code for this GPU, from the cache or from the driver's assembler."""
    # the cache key has everything that affects the code
    chip, version = chip_for(capability), cupy.cuda.runtime.driverGetVersion()
    parts = (
        program.fingerprint,
        bits,
        chip,
        capability,
        version,
        cache.source_hash(),
        llvmlite.__version__,
    )
    name = f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:40]}.cubin"
    # assemble it if it is not in the cache
    code = cache.read(name)
    if code is None:
        text = ptx.compile_to_ptx(program, bits, chip)
        try:
            link = cupy.cuda.function.LinkState()
            link.add_ptr_data(text.encode(), "kernel.ptx")
            code = bytes(link.complete())
        except cupy.cuda.driver.CUDADriverError as error:
            isa = text.partition(".version ")[2].partition("\n")[0]
            raise Unsupported(
                f"the driver (CUDA {version // 1000}.{version % 1000 // 10}) cannot compile PTX"
                f" {isa} for {chip} ({error}): update it, or use device 'cpu'.",
                "cuda",
            ) from None
        cache.write(name, code)
    return code
