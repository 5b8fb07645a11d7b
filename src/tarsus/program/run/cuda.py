"""The kernel on an NVIDIA GPU: PTX made here, machine code by the driver, kept on disk; arrays and
launches by CuPy.

CuPy's arrays go to PyTorch and JAX and back without a copy, by DLPack or
`__cuda_array_interface__`.
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

BLOCK = (
    128  # threads that share a multiprocessor's scheduler; see docs/decisions/0011-gpu-backend.md
)
CHIPS = (
    75,
    80,
    86,
    89,
    90,
    100,
    120,
)  # compute capabilities that code is made for; later ones run an earlier's


@functools.cache
def cupy_with_gpu() -> Any:
    """Return CuPy with a GPU to run on; MissingPackage or Unsupported says what is missing."""
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
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise Unsupported(
            f"device 'cuda' needs an NVIDIA GPU with a driver that CuPy {cupy.__version__} can use"
            f" ({error}): install or update the driver, or use device 'cpu'.",
            "cuda",
        ) from None
    if not found:
        raise Unsupported(
            "device 'cuda' needs an NVIDIA GPU, but none is visible: use device 'cpu'.", "cuda"
        )
    return cupy


def chip_for(capability: str) -> str:
    """The newest chip code can be made for that a GPU of this compute capability ("90") can run."""
    fitting = [chip for chip in CHIPS if chip <= int(capability)]
    if not fitting:
        raise Unsupported(
            f"this GPU has compute capability {capability}, but {CHIPS[0]} or later is needed: use"
            " device 'cpu'.",
            "cuda",
        )
    return f"sm_{fitting[-1]}"


@dataclass(frozen=True)
class CudaKernel:
    """A kernel in the driver's hands and what it takes: registers and bytes of local memory (stack,
    spills) a thread.

    most: threads a block may have.
    """

    function: Any
    registers: int
    local: int
    most: int


class CudaLauncher(Launcher):
    """The current CUDA device and CuPy's current stream; `block`: threads a block."""

    def __init__(self, block: int = BLOCK) -> None:
        self.arrays = cupy_with_gpu()
        self.block = block

    def load(self, program: Program, bits: int) -> CudaKernel:
        return _load(program, bits, self.arrays.cuda.Device().id)

    def start(self, kernel: CudaKernel, worlds: int, arguments: tuple[Any, Any, Any, int]) -> None:
        block = min(self.block, kernel.most)
        *arrays, steps = arguments
        kernel.function((-(-worlds // block),), (block,), (*arrays, np.int64(steps)))

    def wait(self) -> None:
        self.arrays.cuda.Device().synchronize()

    def described(self, kernel: CudaKernel) -> dict[str, Any]:
        runtime, device = self.arrays.cuda.runtime, self.arrays.cuda.Device()
        found, clock = (
            device.attributes,
            device.attributes.get("ClockRate"),
        )  # kHz; not every version reports it
        return {
            "name": runtime.getDeviceProperties(device.id)["name"].decode(),
            "compute_capability": device.compute_capability,
            "driver": runtime.driverGetVersion(),
            "multiprocessors": found["MultiProcessorCount"],
            "hertz": 1e3 * clock if clock else None,
            "registers": kernel.registers,
            "local_bytes": kernel.local,
            "threads_a_block_at_most": kernel.most,
        }

    def fetched(self, array: Any) -> Array:
        return self.arrays.asnumpy(array)


def _load(program: Program, bits: int, device: int) -> CudaKernel:
    cupy = cupy_with_gpu()
    with cupy.cuda.Device(device) as held:
        cupy.cuda.runtime.free(0)  # the driver's context comes with the runtime's first call
        module = cupy.cuda.function.Module()
        module.load(_machine_code(cupy, program, bits, held.compute_capability))
        function = module.get_function("kernel")
        driver = cupy.cuda.driver
        names = ("NUM_REGS", "LOCAL_SIZE_BYTES", "MAX_THREADS_PER_BLOCK")
        ask = (getattr(driver, f"CU_FUNC_ATTRIBUTE_{name}") for name in names)
        return CudaKernel(
            function, *(driver.funcGetAttribute(attribute, function.ptr) for attribute in ask)
        )


def _machine_code(cupy: Any, program: Program, bits: int, capability: str) -> bytes:
    """The kernel for this GPU, from the cache or from the driver's assembler."""
    # everything that the code depends on names it
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
        text = ptx.ptx(program, bits, chip)
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
