"""NVIDIA's profiler and sanitizer on the running kernel, if they are installed.

The profiler shows what limits the speed; the sanitizer checks that all memory accesses are valid.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

TIMEOUT = 150  # s
METRICS = (
    "smsp__inst_executed.sum",
    "smsp__inst_executed.avg.per_cycle_active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    "smsp__sass_inst_executed_op_local_ld.sum",
    "smsp__sass_inst_executed_op_local_st.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "lts__t_bytes.sum",
    "dram__bytes.sum",
    "gpu__time_duration.sum",
)
# every array has its own allocation: a pool would hide accesses beyond the end of an array
RUN = """
import cupy
cupy.cuda.set_allocator(None)
import tarsus
sim = tarsus.Simulation("mini_cheetah", controller="trot", worlds={worlds}, device="cuda")
for _ in range({launches}):
    sim.backend.advance({steps})
print(sim.backend.first("q"))
"""


def profile() -> dict[str, Any]:
    """Return Nsight Compute's counters of one launch of 20 steps with 65536 worlds, as text."""
    command = [
        "ncu",
        "--csv",
        "--clock-control",
        "none",
        "--kernel-name",
        "kernel",
        "--launch-skip",
        "1",
    ]
    result = _run([*command, "--launch-count", "1", "--metrics", ",".join(METRICS)], RUN, 65536, 20)
    counters = {}
    for line in result["output"].splitlines():
        cells = [cell.strip('"') for cell in line.split('","')]
        if len(cells) > 3 and cells[-3] in METRICS:
            counters[cells[-3]] = f"{cells[-1]} {cells[-2]}".strip()
    return {"counters": counters} if counters else result


def sanitize() -> dict[str, Any]:
    """Check the memory accesses of a few steps with compute-sanitizer."""
    result = _run(["compute-sanitizer", "--tool", "memcheck"], RUN, 64, 5)
    return {"ok": result["code"] == 0 and "ERROR SUMMARY: 0 errors" in result["output"], **result}


def _run(tool: list[str], script: str, worlds: int, steps: int) -> dict[str, Any]:
    if shutil.which(tool[0]) is None:
        raise FileNotFoundError(f"{tool[0]} is not installed")
    text = script.format(worlds=worlds, steps=steps, launches=2)
    done = subprocess.run(
        [*tool, sys.executable, "-c", text], capture_output=True, text=True, timeout=TIMEOUT
    )
    return {"code": done.returncode, "output": (done.stdout + done.stderr)[-4000:]}


PARTS: dict[str, Callable[[], Any]] = {"profile": profile, "sanitizer": sanitize}
