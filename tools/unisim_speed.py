"""Steps per second of processor time through `unisim-core` and through the wrapped simulation.

    uv run --group learners python tools/unisim_speed.py

256 worlds of Mini Cheetah on position servos, one thread, dt 2 ms, 10 steps per call, 0.6 s from
standing. Both are measured in turns; the script prints the median of eleven measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from unisim.dr.types import TensorResetRandomizationPayload

import tarsus
from tarsus_unisim.backend import TarsusBackend

WORLDS, STEPS, CALLS, ROUNDS = 256, 10, 30, 11
FEET = ("base", "FR_shank", "FL_shank", "HR_shank", "HL_shank")


TimedCall = tuple[Callable[[], object], Callable[[], object]]


def create_calls(backend: TarsusBackend) -> dict[str, TimedCall]:
    """Return the calls to time, of STEPS steps each, with the call that resets the worlds."""
    options = backend.simulation.options
    simulation = tarsus.Simulation(
        backend.model, actuators="file", worlds=WORLDS, dt=0.002, varied=options.varied
    )
    standing = np.tile(backend.get_default_dof_pos(), (WORLDS, 1))
    standing += np.random.default_rng(0).normal(0, 0.05, standing.shape)
    target = torch.tensor(standing, dtype=torch.float32)

    def direct() -> None:
        simulation.backend.set("action", target.numpy())
        simulation.backend.advance(STEPS)

    def read() -> None:
        backend.step_tensor(target, STEPS)
        backend.get_state_views()

    def read_bodies() -> None:
        read()
        backend.get_tracked_body_views(FEET)

    return {
        "the simulation": (direct, simulation.reset),
        "step_tensor": (lambda: backend.step_tensor(target, STEPS), backend._host_reset),
        "and state views": (read, backend._host_reset),
        "and five bodies": (read_bodies, backend._host_reset),
    }


def measure_reset(
    backend: TarsusBackend, randomization: TensorResetRandomizationPayload | None
) -> float:
    """Measure the reset of every eighth world, in ms of processor time per call."""
    rows, state = torch.arange(0, WORLDS, 8), backend.get_state_views()
    start_time = process_time()
    for _ in range(CALLS):
        backend.set_state_tensor(rows, state["qpos"][rows], state["qvel"][rows], randomization)
    return (process_time() - start_time) / CALLS * 1e3


def main() -> None:
    torch.set_num_threads(1)
    calls: dict[str, TimedCall] = {}
    for randomized in (False, True):
        backend = TarsusBackend(
            "mini_cheetah", WORLDS, 0.002, servos=(40.0, 1.0), randomized=randomized
        )
        kind = "randomized" if randomized else "fixed"
        calls |= {f"{kind}: {name}": call for name, call in create_calls(backend).items()}
    rates: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, (call, reset_worlds) in calls.items():
            call()
            reset_worlds()
            start_time = process_time()
            for _ in range(CALLS):
                call()
            rates[name].append(CALLS * STEPS * WORLDS / (process_time() - start_time) / 1e6)
    for name, values in rates.items():
        print(f"{name}: {np.median(values):.3f} M steps/s")
    tables = {
        name: torch.tensor(backend.get_reset_term_default(name)[::8])
        for name in ("body_mass", "body_ipos", "kp", "kd", "geom_friction")
    }
    print(
        f"reset of 32 worlds: {measure_reset(backend, None):.2f} ms,"
        " with masses, centers, gains, friction",
        end=" ",
    )
    print(f"{measure_reset(backend, TensorResetRandomizationPayload(**tables)):.2f} ms")


if __name__ == "__main__":
    main()
