"""Kernel, memory layout and launcher of the GPU on a CPU: the same bits as the CPU program with
one lane.
"""

from __future__ import annotations

import os
import time
from functools import partial
from time import perf_counter

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import IncompatibleOptions, UnknownName
from tarsus.processes import run_in_child
from tarsus.program.run.threads import HostLauncher
from tarsus.terrain.heightfield import HeightField
from tarsus_bench import gpu, gpu_checks

pytestmark = pytest.mark.slow  # the quick suite stays below fifteen minutes
OPTIONS = {"controller": "trot", "worlds": 5}


@pytest.mark.parametrize("bits", [pytest.param(32, marks=pytest.mark.slow), 64])
def test_a_thousand_trot_steps_equal_one_lane(bits: int) -> None:
    found = gpu_checks.compare_trots(HostLauncher(), bits, 6, 1000)
    assert found["ok"] and found["all_the_same_bits"] and found["stayed_finite"]
    assert found["many_steps_a_launch_equal_single_steps"]


def test_the_agreement_check_detects_a_wrong_program(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = gpu_checks.processor_twin

    def heavier(*of):
        made = twin(*of)
        made.set("law.mu", 0.4)
        return made

    monkeypatch.setattr(gpu_checks, "processor_twin", heavier)
    found = gpu_checks.compare_trots(HostLauncher(), 64, 2, 100)
    assert not found["ok"] and found["first_step_apart"] is not None


def pair(**options) -> list[tarsus.Simulation]:
    """The same simulation on the processor and in threads, where only feet touch by default."""
    both = ({"contacts": "feet"}, {"device": HostLauncher(), "precision": "float64"})
    return [tarsus.Simulation("mini_cheetah", **OPTIONS | options | device) for device in both]


def test_tables_parameters_commands_and_masks() -> None:
    heights = np.random.default_rng(5).uniform(0, 0.02, size=(40, 30))
    cpu, threads = pair(terrain=HeightField(heights, cell=0.1))
    assert cpu.program.tables
    for sim in (cpu, threads):
        sim.set(command={"speed": [0.1, 0.2, 0.3, 0.4, 0.5]}, mu=[0.4, 0.5, 0.6, 0.7, 0.8])
        sim.advance(0.5)
        sim.reset(where=[True, False, True, False, False])
        sim.set(where=[False, True, False, False, False], u=np.ones(18))
        sim.advance(0.2)
    for name in gpu_checks.STATE:
        np.testing.assert_array_equal(cpu.backend.get(name), threads.backend.get(name))
    assert len(np.unique(threads.q[:, 0])) == 5


def test_the_log_matches_the_cpu() -> None:
    cpu, threads = (sim.run(0.1) for sim in pair())
    assert set(cpu.data_vars) == set(threads.data_vars)
    for name in cpu.data_vars:
        np.testing.assert_array_equal(cpu[name].values, threads[name].values)


def test_copies_stay_constant_and_views_follow() -> None:
    _, sim = pair()
    copy, view, before = sim.q, sim.backend.view("q"), sim.backend.get("q")
    sim.advance(0.1)
    np.testing.assert_array_equal(copy, before)
    np.testing.assert_array_equal(view, sim.q)
    assert view.T.flags.c_contiguous and not np.array_equal(copy, view)
    assert sim.q.flags.c_contiguous
    alone = tarsus.Simulation("mini_cheetah", device=HostLauncher())
    for one, name in ((sim, "steps"), (alone, "q"), (alone, "steps")):  # one entry, one world
        copy, before = one.backend.output(name), one.backend.get(name)
        one.advance(0.01)
        np.testing.assert_array_equal(copy, before)
        assert not np.array_equal(before, one.backend.get(name))


def test_actions_and_a_python_controller() -> None:
    target = tarsus.load("mini_cheetah").keyframes["stand"][7:]

    def servo(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return 40 * (target - q[..., 7:]) - u[..., 6:]

    cpu, threads = pair(controller=servo, control_rate=200.0)
    for sim in (cpu, threads):
        sim.advance(0.1)
        sim.run(0.05)
    np.testing.assert_array_equal(cpu.q, threads.q)
    alone = tarsus.Simulation("mini_cheetah", device=HostLauncher(), precision="float64")
    alone.step(np.ones(12))
    assert alone.q.shape == (19,) and alone.contact_force.shape == (4, 3)


def test_precision_and_threads_follow_the_device() -> None:
    assert tarsus.Simulation("mini_cheetah", device=HostLauncher()).q.dtype == np.float32
    assert tarsus.Simulation("mini_cheetah").q.dtype == np.float64
    with refused(IncompatibleOptions, "threads"):
        tarsus.Simulation("mini_cheetah", device=HostLauncher(), threads=2)
    with refused(UnknownName, "cudo"):
        tarsus.Simulation("mini_cheetah", device="cudo")


def test_the_benchmark_keeps_partial_results() -> None:
    def broken() -> None:
        raise RuntimeError("no such tool")

    parts = {"first": lambda: {"ok": True}, "broken": broken, "last": lambda: 3}
    kept: list[dict] = []
    found = gpu.run_parts(parts, gpu.BenchmarkSession(10.0, lambda text: None, kept.append))
    assert found["parts"] == {
        "first": {"ok": True},
        "broken": {"error": "RuntimeError: no such tool"},
        "last": 3,
    }
    assert set(found["seconds"]) == set(parts) and found["failed"] == ["broken"]
    assert [list(one["parts"]) for one in kept] == [["first"], ["first", "broken"], list(parts)]
    assert kept[-1] == found
    found = gpu.run_parts(parts, gpu.BenchmarkSession(0.0, lambda text: None))
    assert all("error" in part for part in found["parts"].values()) and not found["seconds"]


def test_unwritable_results_are_reported() -> None:
    said: list[str] = []

    def full(found: dict) -> None:
        raise OSError("no space left on device")

    found = gpu.run_parts(
        {"one": lambda: 1, "two": lambda: {"ok": False}},
        gpu.BenchmarkSession(10.0, said.append, full),
    )
    assert found["parts"] == {"one": 1, "two": {"ok": False}} and found["failed"] == ["two"]
    assert sum("no space left" in text for text in said) == 2


def test_benchmark_parts_run_in_isolated_processes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def run(function, *arguments, seconds: float = 60.0):
        return run_in_child(partial(function, *arguments), seconds)

    assert run(divmod, 7, 2) == (3, 1)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: "):
        run(divmod, 7, 0)
    with pytest.raises(ChildProcessError, match="exit code 3"):
        run(os._exit, 3)
    began = perf_counter()
    with pytest.raises(TimeoutError, match="ended after 1 s"):
        run(time.sleep, 60, seconds=1.0)
    assert perf_counter() - began < 20
    with pytest.raises(RuntimeError, match="Error"):
        run(open, os.devnull)  # what cannot be sent back is said
    capfd.readouterr()
    run(print, "a library's greeting")
    out, err = capfd.readouterr()
    assert "greeting" in err and not out


@pytest.mark.slow
def test_falls_match_the_cpu() -> None:
    found = gpu_checks.compare_falls(HostLauncher(), 200, 100)
    assert found["ok"] and found["same_bits_as_cpu"] == 1.0


@pytest.mark.slow
def test_the_whole_benchmark_on_the_cpu() -> None:
    found = gpu.gpu_bench(
        lambda block: HostLauncher(), gpu.SMALL, gpu.BenchmarkSession(600.0, lambda text: None)
    )["parts"]
    for name in ("same_as_one_lane_f32", "same_as_one_lane_f64", "deterministic", "falls"):
        assert found[name]["ok"], found[name]
    for name in ("speed_quadruped_f32", "speed_humanoid_f32"):
        assert found[name]["best"]["varied"] > 0, found[name]
