"""Checks of the GPU kernel against the CPU program.

The kernel is compared with the CPU program with one lane, with itself, and in the statistics of
falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from scipy.stats import ks_2samp

from tarsus.dynamics.robot import Robot
from tarsus.morphology.fall import uprightness
from tarsus.program.run.backend import Backend
from tarsus.program.run.threads import Launcher
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.simulation import Simulation

STATE = ("q", "u", "memory", "control", "impulse", "tau", "iterations", "converged")
# allowed difference, as a multiple of what a change of one bit of the initial state grows to
SLACK = 100.0
MIN_PROBABILITY = 1e-3  # p-value below which two samples have different distributions
PRECISION = {32: "float32", 64: "float64"}


def processor_twin(backend: Backend, lanes: int | None = 1) -> Worlds:
    """Copy a program and its registers to the CPU."""
    twin = Worlds(backend.program, backend.count, bits=backend.target.bits, lanes=lanes)
    for register in backend.program.persistent:
        twin.set(register.name, backend.get(register.name))
    return twin


def create_thrown_worlds(
    device: Launcher, bits: int, worlds: int, gait: str = "trot", velocity_scale: float = 1.0
) -> Simulation:
    """Simulate Mini Cheetah in many worlds with random initial heights, tilts and velocities.

    Parameters
    ----------
    device
        Device of the simulation.
    bits
        Bits of the number format, 32 or 64.
    worlds
        Number of worlds.
    gait
        Name of the controller.
    velocity_scale
        Scale of all random numbers [1].
    """
    sim = Simulation(
        "mini_cheetah", controller=gait, worlds=worlds, device=device, precision=PRECISION[bits]
    )
    random = np.random.default_rng(1)
    q, u = (
        sim.backend.get("q").astype(float),
        random.normal(size=(worlds, 18)) * velocity_scale * ([0.3] * 6 + [1.0] * 12),
    )
    q[:, 2] += velocity_scale * random.uniform(0, 0.1, worlds)
    tilt = Rotation.from_rotvec(0.3 * velocity_scale * random.normal(size=(worlds, 3)))
    q[:, 3:7] = tilt.as_quat(scalar_first=True)
    sim.set(q=q, u=u)
    return sim


def compare_trots(device: Launcher, bits: int, worlds: int, steps: int) -> dict[str, Any]:
    """Compare a trot from many initial states with one lane of the CPU program.

    The kernel runs step by step, and again in a single launch. `allowed`, in m or rad, is the
    difference on the CPU after a change of the last bit of the initial state, times a slack: the
    number format cannot resolve more.
    """
    # a trot on the device, on one lane of the CPU, and there with a change of the last bit
    sim = create_thrown_worlds(device, bits, worlds, velocity_scale=0.3)
    nudged, twin = processor_twin(sim.backend), processor_twin(sim.backend)
    together = create_thrown_worlds(device, bits, worlds, velocity_scale=0.3)
    nudged.set("q", np.nextafter(nudged.get("q"), np.inf, dtype=nudged.dtype))
    measured, expected, other = (w.record(steps) for w in (sim.backend, twin, nudged))
    # the same steps in one launch
    together.backend.advance(steps)
    # registers that agree exactly, and the difference of the others
    same = [
        name for name in STATE if np.array_equal(measured[name], expected[name], equal_nan=True)
    ]
    difference = np.abs(measured["q"] - expected["q"]).max((1, 2))
    allowed = SLACK * float(np.abs(other["q"] - expected["q"]).max())
    several = all(
        np.array_equal(together.backend.get(n), measured[n][-1], equal_nan=True) for n in STATE
    )
    return {
        "ok": bool(several and difference.max() <= allowed),
        "bits": bits,
        "worlds": worlds,
        "steps": steps,
        "registers_with_the_same_bits": same,
        "all_the_same_bits": len(same) == len(STATE),
        "first_step_apart": int(np.argmax(difference > 0)) if difference.any() else None,
        "largest_difference_q": float(difference.max()),
        "allowed": allowed,
        "many_steps_a_launch_equal_single_steps": several,
        "stayed_finite": bool(np.isfinite(measured["q"]).all()),
    }


def check_determinism(make: Callable[[int], Launcher], worlds: int, steps: int) -> dict[str, Any]:
    """Check that runs agree bit for bit, regardless of the number of threads per block."""
    ends = []
    for block in (128, 128, 32):
        sim = create_thrown_worlds(make(block), 32, worlds)
        sim.backend.advance(steps)
        ends.append({name: sim.backend.get(name) for name in STATE})
    again, other = (
        all(np.array_equal(ends[0][n], end[n], equal_nan=True) for n in STATE) for end in ends[1:]
    )
    return {
        "ok": bool(again and other),
        "run_to_run": again,
        "whatever_the_block": other,
        "worlds": worlds,
    }


def compare_falls(device: Launcher, worlds: int, steps: int) -> dict[str, Any]:
    """Compare the final states of fallen robots on the GPU and the CPU.

    The statistics compare one half of the worlds on the GPU with the other half on the CPU. The
    result also holds the fraction of worlds that end with the same bits on both.
    """
    # the same initial states on both
    sim = create_thrown_worlds(device, 32, worlds, "stand")
    same_start = processor_twin(sim.backend, None)
    shuffled = np.random.default_rng(2).permutation(worlds)[: max(worlds // 2, 1)]
    sim.backend.advance(steps)
    same_start.advance(steps)

    # one half of each, so that the samples are independent
    card, cpu = (_final_figures(sim.robot, backend) for backend in (sim.backend, same_start))
    rest = np.setdiff1d(np.arange(worlds), shuffled)
    rows = {}
    for name in card:
        one, other = (of[np.isfinite(of)] for of in (card[name][shuffled], cpu[name][rest]))
        test: Any = ks_2samp(one, other)
        rows[name] = {
            "card": [float(np.nanmean(card[name])), float(np.nanstd(card[name]))],
            "cpu": [float(np.nanmean(cpu[name])), float(np.nanstd(cpu[name]))],
            "probability_of_one_distribution": float(test.pvalue),
        }
    q = [w.get("q") for w in (sim.backend, same_start)]
    equal = (q[0] == q[1]).all(1) | (np.isnan(q[0]).any(1) & np.isnan(q[1]).any(1))
    likely = all(row["probability_of_one_distribution"] > MIN_PROBABILITY for row in rows.values())
    return {
        "ok": likely,
        "worlds": worlds,
        "steps": steps,
        "same_bits_as_cpu": float(equal.mean()),
        "statistics": rows,
    }


def _final_figures(robot: Robot, backend: Backend) -> dict[str, NDArray[Any]]:
    """Compute figures of every world.

    They are the height in m, the cosine of the tilt (upright) [1], the norm of the joint velocities
    in rad/s, and the sum of the normal impulses in N s per step.
    """
    q, u, impulse = (backend.get(name).astype(float) for name in ("q", "u", "impulse"))
    return {
        "height": q[:, 2],
        "upright": uprightness(robot, q),
        "joint_speed": np.linalg.norm(u[:, 6:], axis=1),
        "normal_impulse": impulse[:, ::3].sum(1),
    }
