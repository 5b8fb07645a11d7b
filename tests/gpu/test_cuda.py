"""The kernel on a real GPU; deselected by default. With a CUDA device: `pytest tests/gpu -m
gpu`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tarsus
from tarsus.learning.methods.rsl_ppo import RslPPO
from tarsus.program.run.cuda import CudaLauncher
from tarsus_bench import gpu_checks, gpu_environments

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("bits", [32, 64])
def test_a_thousand_steps_of_trot_equal_one_lane_of_the_processor(bits: int) -> None:
    found = gpu_checks.compare_trots(CudaLauncher(), bits, 16, 1000)
    assert found["ok"] and found["stayed_finite"], found
    assert found["all_the_same_bits"], found  # every operation rounds as IEEE 754 says, on both


def test_results_are_bitwise_equal_between_runs_and_block_sizes() -> None:
    assert gpu_checks.check_determinism(CudaLauncher, 4096, 400)["ok"]


def test_a_hundred_thousand_falls_end_as_on_the_processor() -> None:
    assert gpu_checks.compare_falls(CudaLauncher(), 100_000, 400)["ok"]


def test_environments_have_the_bits_of_the_processor() -> None:
    found = gpu_environments.compare_environment(CudaLauncher, "mini_cheetah", 64, 100)
    assert found["ok"], found


def test_rsl_rl_learns_on_tensors_of_the_gpu() -> None:
    """They share the environment's memory; a state continues with the same weights."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    method = RslPPO(worlds=64, periods=8, width=16)
    env = tarsus.Environment(worlds=64, seed=3, device="cuda")
    learner = method.create_learner(env, 3)
    assert learner.out["observation"].is_cuda
    assert learner.out["observation"].data_ptr() == env.last.observation.data.ptr
    learner.run_round()
    state, following = learner.state(), learner.run_round()
    again = method.create_learner(env, 3)
    again.restore(state)
    assert again.run_round().reward == following.reward
    policy, seen = again.policy, env.last.observation.get()
    with torch.no_grad():
        expected = again.algorithm.actor(again._observe()).cpu().numpy()
    np.testing.assert_allclose(policy(seen), expected, atol=1e-5)


def test_outputs_are_device_arrays_and_the_view_is_the_state_itself() -> None:
    import cupy

    sim = tarsus.Simulation("mini_cheetah", controller="trot", worlds=64, device="cuda")
    q = sim.q
    assert isinstance(q, cupy.ndarray) and q.dtype == np.float32 and q.shape == (64, 19)
    assert sim.contact_force.shape == (64, 4, 3)
    assert cupy.from_dlpack(q).data.ptr == q.data.ptr
    view = sim.backend.view("q")
    sim.advance(0.1)
    np.testing.assert_array_equal(view.get(), sim.q.get())
    assert not np.array_equal(q.get(), sim.q.get())
    steps = sim.backend.output("steps")
    sim.advance(0.1)
    assert not np.array_equal(steps.get(), sim.backend.output("steps").get())


def test_two_simulations_run_from_another_python_thread() -> None:
    import cupy

    both = [
        tarsus.Simulation("mini_cheetah", controller="trot", worlds=64, device="cuda")
        for _ in range(2)
    ]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(both[0].advance, 0.1).result()
        pool.submit(cupy.cuda.Device().synchronize).result()
    both[1].advance(0.1)
    np.testing.assert_array_equal(both[0].q.get(), both[1].q.get())


def test_masks_parameters_commands_and_a_controller_on_the_gpu() -> None:
    import cupy

    sim = tarsus.Simulation(
        "mini_cheetah", terrain="rough", controller="trot", worlds=4, device="cuda"
    )
    twin = tarsus.Simulation(
        "mini_cheetah", terrain="rough", controller="trot", worlds=4, precision="float32"
    )
    for one in (sim, twin):
        one.set(command={"speed": [0.1, 0.2, 0.3, 0.4]}, mu=[0.5, 0.6, 0.7, 0.8])
        one.advance(0.3)
        one.reset(where=[True, False, True, False])
        one.advance(0.1)
    np.testing.assert_array_equal(sim.q.get(), twin.q)
    target = cupy.asarray(tarsus.load("mini_cheetah").keyframes["stand"][7:])
    driven = tarsus.Simulation(
        "mini_cheetah",
        controller=lambda t, q, u: 40 * (target - q[:, 7:]) - u[:, 6:],
        worlds=4,
        device="cuda",
    )
    driven.advance(0.25)
    assert bool((driven.q[:, 2] > 0.2).all())
    assert np.isfinite(sim.run(0.05)["q"].values).all()
