"""Resources of an environment's GPU kernel, without a GPU: `tools/environment_kernel.py ROBOT`.

The task is `velocity` with the feet only. ROBOT is a built-in robot, go2 or g1, the latter two from
the package example-robot-data. `ptxas` of the CUDA toolkit assembles the kernel for sm_90; its time
limit is `--limit`, in s, and `--ptx FILE` also writes the PTX.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from tarsus.program.ir.program import Program
from tarsus.program.run import ptx
from tarsus.program.run.threads import HostLauncher
from tarsus_bench.gpu_environments import create_environment


class Uncompiled(HostLauncher):
    """Compiles and runs nothing."""

    def load(self, program: Program, bits: int) -> None:
        return None

    def start(self, kernel: Any, worlds: int, arguments: Any) -> None:
        return None


def main() -> None:
    """Print the resources and the times of the compilation as JSON."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("robot")
    asked.add_argument("--limit", type=float, default=400.0)
    asked.add_argument("--ptx", type=Path)
    given = asked.parse_args()
    began = time.perf_counter()
    program = create_environment(Uncompiled(), given.robot, 1).backend.program
    traced = time.perf_counter()
    text = ptx.compile_to_ptx(program)
    compiled = time.perf_counter()
    if given.ptx:
        given.ptx.write_text(text, encoding="ascii")
    found: dict[str, Any] = {
        "robot": given.robot,
        "instructions": sum(
            b.function.n_instructions() for b, _ in program.expanded.basic_blocks()
        ),
        "trace_seconds": traced - began,
        "ptx_seconds": compiled - traced,
    }
    try:
        resources = ptx.resources(text, seconds=given.limit)
        found |= vars(resources) if resources else {"ptxas": "not installed"}
    except TimeoutError as error:
        found["ptxas"] = str(error)
    print(json.dumps(found | {"ptxas_seconds": time.perf_counter() - compiled}))


if __name__ == "__main__":
    main()
