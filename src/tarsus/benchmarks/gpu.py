"""`tarsus bench --device cuda`: correctness and speed of the GPU kernel in one go.

Every part stands alone: what one finds is kept if another fails, and parts that no longer fit the time are named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from tarsus.benchmarks import gpu_checks, gpu_peer, gpu_speed, gpu_tools
from tarsus.program.cuda import CudaLauncher
from tarsus.program.threads import Launcher

MakeLauncher = Callable[[int], Launcher]  # from the number of threads a block


@dataclass(frozen=True)
class Sizes:
    """How much is run: worlds and blocks to sweep, randomised falls and their steps, steps of trot compared."""

    worlds: tuple[int, ...] = (4096, 16384, 65536, 262144, 1_000_000)
    blocks: tuple[int, ...] = (32, 64, 128, 256)
    falls: int = 100_000
    fall_steps: int = 400
    compared: int = 16
    compared_steps: int = 1000
    timed_steps: int = 160  # one gait cycle
    peer_worlds: tuple[int, ...] = (4096, 16384, 65536)
    humanoid_worlds: tuple[int, ...] = (16384, 262144)


SMALL = Sizes((4, 8), (32, 64), 100, 40, 3, 60, 4, (2,), (2,))


def cuda_bench(budget: float, progress: Callable[[str], None]) -> dict[str, Any]:
    """All parts on the current CUDA device within `budget` seconds; TarsusError where there is none."""
    CudaLauncher()
    return gpu_bench(CudaLauncher, Sizes(), budget, progress, gpu_tools.PARTS)


def gpu_bench(
    make: MakeLauncher,
    sizes: Sizes,
    budget: float,
    progress: Callable[[str], None],
    more: dict[str, Callable[[], Any]] | None = None,
) -> dict[str, Any]:
    """The parts by name: what each found, or {"error": why not}; `seconds` each took."""
    parts: dict[str, Callable[[], Any]] = {
        "same_as_one_lane_f32": lambda: gpu_checks.agreement(make(128), 32, sizes.compared, sizes.compared_steps),
        "same_as_one_lane_f64": lambda: gpu_checks.agreement(make(128), 64, sizes.compared, sizes.compared_steps),
        "deterministic": lambda: gpu_checks.deterministic(make, sizes.worlds[0], sizes.timed_steps),
        "speed_quadruped_f32": lambda: gpu_speed.sweep(make, gpu_speed.quadruped, sizes.worlds, sizes.blocks, sizes),
        "falls": lambda: gpu_checks.falls(make(128), sizes.falls, sizes.fall_steps),
        "speed_humanoid_f32": lambda: gpu_speed.sweep(
            make, gpu_speed.humanoid, sizes.humanoid_worlds, sizes.blocks[1:2], sizes
        ),
        "mujoco_warp": lambda: gpu_peer.speed(sizes.peer_worlds, sizes.timed_steps),
        **(more or {}),
    }
    found, seconds = in_turn(parts, budget, progress)
    return {"parts": found, "seconds": seconds, "ratio_to_mujoco_warp": _ratio(found), "settings": gpu_speed.SETTINGS}


def in_turn(
    parts: dict[str, Callable[[], Any]], budget: float, progress: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, float]]:
    """What each part found, or its error, and the seconds it took; none is begun after `budget` seconds."""
    began, found, seconds = perf_counter(), {}, {}
    for name, part in parts.items():
        started = perf_counter()
        if started - began > budget:
            found[name] = {"error": f"not begun: the {budget:g} s were over"}
            continue
        progress(f"{name} (at {started - began:.0f} s)")
        try:
            found[name] = part()
        except Exception as error:
            found[name] = {"error": f"{type(error).__name__}: {error}"}
        seconds[name] = perf_counter() - started
    return found, seconds


def _ratio(found: dict[str, Any]) -> float | None:
    """Best world-steps a second over the peer's best, if both were measured."""
    try:
        return found["speed_quadruped_f32"]["best"]["each_its_own"] / found["mujoco_warp"]["best"]
    except KeyError:
        return None
