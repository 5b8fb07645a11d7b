"""`tarsus bench --device cuda`: correctness and speed of the GPU kernel.

Every part stands alone: its results are kept if another part fails. Parts for which no time is left
are named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from tarsus.processes import run_in_child
from tarsus.program.run.cuda import CudaLauncher
from tarsus.program.run.threads import Launcher
from tarsus_bench import gpu_checks, gpu_peer, gpu_speed, gpu_tools

Part = Callable[[], Any]
Runner = Callable[[Part, float], Any]  # a part and the seconds it may take: what it found
Keep = Callable[[dict[str, Any]], None]
MakeLauncher = Callable[[int], Launcher]  # from the number of threads a block
LONGEST = 200.0  # s that a part may take


@dataclass(frozen=True)
class Sizes:
    """How much is run."""

    worlds: tuple[int, ...] = (4096, 16384, 65536, 262144, 1_000_000)
    """Numbers of worlds whose speed is measured."""
    blocks: tuple[int, ...] = (32, 64, 128, 256)
    """Numbers of threads per block whose speed is measured."""
    falls: int = 100_000
    """Randomized falls."""
    fall_steps: int = 400
    """Steps of each fall."""
    compared: int = 16
    """Worlds that are compared with the CPU program."""
    compared_steps: int = 1000
    """Steps that are compared."""
    timed_steps: int = 160
    """Steps that are timed: one gait cycle."""
    peer_worlds: tuple[int, ...] = (4096, 16384, 65536)
    """Numbers of worlds for MuJoCo Warp."""
    humanoid_worlds: tuple[int, ...] = (16384, 262144)
    """Numbers of worlds for the humanoid."""


SMALL = Sizes((4, 8), (32, 64), 100, 40, 3, 60, 4, (2,), (2,))


def cuda_bench(
    budget: float, progress: Callable[[str], None], keep: Keep | None = None
) -> dict[str, Any]:
    """Run all parts on the current CUDA device, each in its own process.

    budget: seconds after which everything is ended.
    progress: called with a line on what is being run.
    keep: called after each part with all results so far.

    Raises TarsusError if there is no CUDA device.
    """
    CudaLauncher()
    return gpu_bench(
        CudaLauncher,
        Sizes(),
        BenchmarkSession(budget, progress, keep, run_in_child),
        gpu_tools.PARTS,
    )


def directly(part: Part, seconds: float) -> Any:
    """Run a part in this process, however long it takes."""
    return part()


@dataclass(frozen=True)
class BenchmarkSession:
    """How the parts are run."""

    budget: float
    """Seconds for all parts together."""
    progress: Callable[[str], None]
    """Called with a line on what is being run."""
    keep: Keep | None = None
    """Called after each part with all results so far."""
    run: Runner = directly
    """Runs a part, in this process or another."""


def gpu_bench(
    make: MakeLauncher, sizes: Sizes, way: BenchmarkSession, more: dict[str, Part] | None = None
) -> dict[str, Any]:
    """Run the parts and collect their results.

    parts: the result of each by name, or {"error": why there is none}.
    seconds: how long each took.
    failed: names of the parts that raised an error or are not ok.
    """
    # is the GPU's answer right?
    parts: dict[str, Part] = {
        "same_as_one_lane_f32": partial(_agreement, make, sizes, 32),
        "same_as_one_lane_f64": partial(_agreement, make, sizes, 64),
        "deterministic": partial(
            gpu_checks.deterministic, make, sizes.worlds[0], sizes.timed_steps
        ),
        # how fast is it, and how fast is another simulator on the same GPU?
        "speed_quadruped_f32": partial(
            gpu_speed.sweep, make, gpu_speed.quadruped, sizes.worlds, sizes.blocks, sizes
        ),
        "falls": partial(_falls, make, sizes),
        "speed_humanoid_f32": partial(
            gpu_speed.sweep,
            make,
            gpu_speed.humanoid,
            sizes.humanoid_worlds,
            sizes.blocks[1:2],
            sizes,
        ),
        "mujoco_warp": partial(gpu_peer.speed, sizes.peer_worlds, sizes.timed_steps),
        **(more or {}),
    }
    return in_turn(parts, way)


def _agreement(make: MakeLauncher, sizes: Sizes, bits: int) -> dict[str, Any]:
    return gpu_checks.agreement(make(128), bits, sizes.compared, sizes.compared_steps)


def _falls(make: MakeLauncher, sizes: Sizes) -> dict[str, Any]:
    return gpu_checks.falls(make(128), sizes.falls, sizes.fall_steps)


def in_turn(parts: dict[str, Part], way: BenchmarkSession) -> dict[str, Any]:
    """Run the parts one after the other; none is started once the budget is spent.

    Returns the result or the error of each, and the seconds it took.
    """
    began, found, seconds = perf_counter(), {}, {}
    for name, part in parts.items():
        started = perf_counter()
        left = way.budget - (started - began)
        if left <= 0:
            found[name] = {"error": f"not begun: the {way.budget:g} s were over"}
        else:
            way.progress(f"{name} (at {started - began:.0f} s)")
            try:
                found[name] = way.run(part, min(left, LONGEST))
            except Exception as error:
                found[name] = {"error": f"{type(error).__name__}: {error}"}
            seconds[name] = perf_counter() - started
            way.progress(f"{name}: {_verdict(found[name])} after {seconds[name]:.0f} s")
        _keep(way, _result(found, seconds))
    return _result(found, seconds)


def _result(found: dict[str, Any], seconds: dict[str, float]) -> dict[str, Any]:
    failed = [name for name, part in found.items() if _verdict(part) != "done"]
    rest = {"ratio_to_mujoco_warp": _ratio(found), "settings": gpu_speed.SETTINGS}
    return {"parts": dict(found), "seconds": dict(seconds), "failed": failed} | rest


def _verdict(part: Any) -> str:
    if not isinstance(part, dict):
        return "done"
    return part.get("error") or ("done" if part.get("ok", True) else "not ok")


def _keep(way: BenchmarkSession, result: dict[str, Any]) -> None:
    """Keep the results so far; a full disk must not end the measurement."""
    if way.keep is None:
        return
    try:
        way.keep(result)
    except OSError as error:
        way.progress(f"could not keep the results so far: {error}")


def _ratio(found: dict[str, Any]) -> float | None:
    """Best world-steps a second over MuJoCo Warp's best [1], if both were measured."""
    try:
        return found["speed_quadruped_f32"]["best"]["each_its_own"] / found["mujoco_warp"]["best"]
    except KeyError:
        return None
