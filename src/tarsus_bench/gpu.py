"""`tarsus bench --device cuda`: correctness and speed of the GPU kernel.

The parts are independent: the results of a part are kept if another one fails. Parts that did not
fit into the time limit are listed.
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
from tarsus_bench import gpu_checks, gpu_environments, gpu_peer, gpu_speed, gpu_tools

Part = Callable[[], Any]
Runner = Callable[[Part, float], Any]  # runs a part within a time limit in s
ResultsCallback = Callable[[dict[str, Any]], None]
LauncherFactory = Callable[[int], Launcher]  # from the number of threads per block
MAX_PART_SECONDS = 200.0  # s
SETTINGS = gpu_speed.SETTINGS | {"environments": gpu_environments.SETTINGS}


@dataclass(frozen=True)
class Sizes:
    """Size of the benchmark."""

    worlds: tuple[int, ...] = (4096, 16384, 65536, 262144, 1_000_000)
    """Numbers of worlds whose speed is measured."""
    blocks: tuple[int, ...] = (32, 64, 128, 256)
    """Numbers of threads per block whose speed is measured."""
    falls: int = 100_000
    """Number of randomized falls."""
    fall_steps: int = 400
    """Number of steps of each fall."""
    compared: int = 16
    """Number of worlds that are compared with the CPU program."""
    compared_steps: int = 1000
    """Number of steps that are compared."""
    timed_steps: int = 160
    """Number of steps that are timed: one gait cycle."""
    peer_worlds: tuple[int, ...] = (4096, 16384, 65536)
    """Numbers of worlds for MuJoCo Warp."""
    humanoid_worlds: tuple[int, ...] = (16384, 262144)
    """Numbers of worlds for the humanoid."""
    environment_worlds: tuple[int, ...] = (4096, 16384, 65536)
    """Numbers of worlds for learning environments."""
    compared_periods: int = 100
    """Number of control periods that are compared with the CPU."""
    learning_rounds: int = 5
    """Number of rounds of learning that are timed."""


SMALL = Sizes((4, 8), (32, 64), 100, 40, 3, 60, 4, (2,), (2,), (3,), 40, 1)


def cuda_bench(
    budget: float,
    progress: Callable[[str], None],
    on_results: ResultsCallback | None = None,
    environments: bool = False,
) -> dict[str, Any]:
    """Run all parts on the current CUDA device, each in its own process.

    Parameters
    ----------
    budget
        Time limit of all parts together, s.
    progress
        Function that is called with the current part.
    on_results
        Function that is called after each part with all results so far.
    environments
        Whether to check and time learning environments instead of simulations.

    Raises
    ------
    TarsusError
        If there is no CUDA device.
    """
    CudaLauncher()
    session = BenchmarkSession(budget, progress, on_results, run_in_child)
    if environments:
        return run_parts(environment_parts(CudaLauncher, Sizes()), session)
    return gpu_bench(CudaLauncher, Sizes(), session, gpu_tools.PARTS)


def run_directly(part: Part, seconds: float) -> Any:
    """Run a part in this process without a time limit."""
    return part()


@dataclass(frozen=True)
class BenchmarkSession:
    """Time limit and callbacks of a benchmark."""

    budget: float
    """Time limit of all parts together, s."""
    progress: Callable[[str], None]
    """Function that is called with the current part."""
    on_results: ResultsCallback | None = None
    """Function that is called after each part with all results so far."""
    run: Runner = run_directly
    """Function that runs a part, in this process or another."""


def gpu_bench(
    make: LauncherFactory,
    sizes: Sizes,
    session: BenchmarkSession,
    more: dict[str, Part] | None = None,
) -> dict[str, Any]:
    """Run the parts and collect their results.

    Parameters
    ----------
    make
        Function that creates a launcher from the number of threads per block.
    sizes
        Size of the benchmark.
    session
        Time limit and callbacks.
    more
        Further parts.

    Returns
    -------
    dict
        parts: result of each part, or {"error": message}. seconds: duration of each part. failed:
        names of the parts that raised an error or are not ok.
    """
    # correctness
    parts: dict[str, Part] = {
        "same_as_one_lane_f32": partial(_agreement, make, sizes, 32),
        "same_as_one_lane_f64": partial(_agreement, make, sizes, 64),
        "deterministic": partial(
            gpu_checks.check_determinism, make, sizes.worlds[0], sizes.timed_steps
        ),
        # speed, also of another simulator on the same GPU
        "speed_quadruped_f32": partial(
            gpu_speed.sweep, make, gpu_speed.create_quadruped, sizes.worlds, sizes.blocks, sizes
        ),
        "falls": partial(_falls, make, sizes),
        "speed_humanoid_f32": partial(
            gpu_speed.sweep,
            make,
            gpu_speed.create_humanoid,
            sizes.humanoid_worlds,
            sizes.blocks[1:2],
            sizes,
        ),
        "mujoco_warp": partial(gpu_peer.speed, sizes.peer_worlds, sizes.timed_steps),
        **(more or {}),
    }
    return run_parts(parts, session)


def environment_parts(make: LauncherFactory, sizes: Sizes) -> dict[str, Part]:
    """Create the parts for learning environments: first correctness, then speed.

    G1 is last, because its kernel takes longest to assemble.
    """
    parts: dict[str, Part] = {
        f"same_as_cpu_{robot}": partial(
            gpu_environments.compare_environment, make, robot, 64, sizes.compared_periods
        )
        for robot in ("mini_cheetah", "go2")
    }
    for robot in ("go2", "g1"):
        parts[f"periods_{robot}"] = partial(
            gpu_environments.measure_periods, make, robot, sizes.environment_worlds
        )
        parts[f"learning_{robot}"] = partial(
            gpu_environments.measure_learning,
            make,
            robot,
            sizes.environment_worlds,
            sizes.learning_rounds,
        )
    return parts


def _agreement(make: LauncherFactory, sizes: Sizes, bits: int) -> dict[str, Any]:
    return gpu_checks.compare_trots(make(128), bits, sizes.compared, sizes.compared_steps)


def _falls(make: LauncherFactory, sizes: Sizes) -> dict[str, Any]:
    return gpu_checks.compare_falls(make(128), sizes.falls, sizes.fall_steps)


def run_parts(parts: dict[str, Part], session: BenchmarkSession) -> dict[str, Any]:
    """Run the parts one after the other until the time limit.

    Returns
    -------
    dict
        Result or error of each part, and its duration.
    """
    began, results, seconds = perf_counter(), {}, {}
    for name, part in parts.items():
        started = perf_counter()
        left = session.budget - (started - began)
        if left <= 0:
            results[name] = {"error": f"not started: the {session.budget:g} s are over"}
        else:
            session.progress(f"{name} (at {started - began:.0f} s)")
            try:
                results[name] = session.run(part, min(left, MAX_PART_SECONDS))
            except Exception as error:
                results[name] = {"error": f"{type(error).__name__}: {error}"}
            seconds[name] = perf_counter() - started
            session.progress(f"{name}: {_verdict(results[name])} after {seconds[name]:.0f} s")
        _report(session, _summary(results, seconds))
    return _summary(results, seconds)


def _summary(results: dict[str, Any], seconds: dict[str, float]) -> dict[str, Any]:
    failed = [name for name, part in results.items() if _verdict(part) != "done"]
    rest = {"ratio_to_mujoco_warp": _ratio(results), "settings": SETTINGS}
    return {"parts": dict(results), "seconds": dict(seconds), "failed": failed} | rest


def _verdict(part: Any) -> str:
    if not isinstance(part, dict):
        return "done"
    return part.get("error") or ("done" if part.get("ok", True) else "not ok")


def _report(session: BenchmarkSession, results: dict[str, Any]) -> None:
    """Pass on the results so far; a full disk must not end the measurement."""
    if session.on_results is None:
        return
    try:
        session.on_results(results)
    except OSError as error:
        session.progress(f"could not save the results so far: {error}")


def _ratio(results: dict[str, Any]) -> float | None:
    """Compute the ratio of the best speed to that of MuJoCo Warp, if both were measured."""
    try:
        speed = results["speed_quadruped_f32"]["best"]["varied"]
        return speed / results["mujoco_warp"]["best"]
    except KeyError:
        return None
