"""Tarsus behind `unisim-core`'s tensor methods, and its own check on robots of the field.

uv run --group learners pytest -m slow tests/unit/tarsus_unisim/test_unisim_tensors.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.robots_of_the_field import legged_urdf_files

import tarsus

unisim: Any = pytest.importorskip("unisim", reason="unisim-core is not installed")
torch: Any = pytest.importorskip("torch", reason="the group `learners` is not installed")
from unisim.dr.types import IntervalRandomizationPlan, IntervalTermOp  # noqa: E402

from tarsus_unisim.backend import TarsusBackend  # noqa: E402

WORLDS = 6
pytestmark = pytest.mark.slow


def backend(**options: Any) -> Any:
    """Mini Cheetah on servos, standing."""
    return TarsusBackend("mini_cheetah", WORLDS, 0.002, servos=(40.0, 1.0), **options)


@pytest.mark.parametrize("options", [{}, {"servos": (40.0, 1.0), "randomized": True}])
def test_mini_cheetah_conforms(options: Any) -> None:
    unisim.conformance.assert_backend_conformance(TarsusBackend("mini_cheetah", 3, **options))


@pytest.mark.parametrize("name", ["go2.urdf", "g1_29dof_rev_1_0.urdf"])
def test_robots_of_the_field_conform(name: str) -> None:
    """URDF files as they come, motors and servos; they stand for a fifth of a second."""
    found = [file for file in legged_urdf_files() if file.name == name]
    if not found:
        pytest.skip("example-robot-data is not installed")
    unisim.conformance.assert_backend_conformance(TarsusBackend(found[0], 3))
    many = TarsusBackend(found[0], 3, 0.002, servos=(60.0, 2.0), randomized=True)
    unisim.conformance.assert_backend_conformance(many)
    many._host_reset()
    target = torch.tensor(np.tile(many.get_default_dof_pos(), (3, 1)), dtype=torch.float32)
    assert not many.step_tensor(target, 100)["diverged"].any()
    heights = many.get_tracked_body_views().pos_w[:, 0, 2]
    assert (heights > 0.8 * many.get_default_qpos()[2]).all()


def test_body_poses_match_kinematics() -> None:
    made = backend(sensors=["imu"])
    robot = made.model
    target = np.tile(made.get_default_dof_pos(), (WORLDS, 1))
    target += np.random.default_rng(1).normal(0, 0.2, target.shape)
    made.step_tensor(torch.tensor(target, dtype=torch.float32), 60)
    q, u = (made._host_get_state()[name] for name in ("qpos", "qvel"))
    views = made.get_tracked_body_views()
    for k, name in enumerate(views.body_names):
        assert views.pos_w[:, k].numpy() == pytest.approx(robot.position(q, name), abs=1e-6)
        speed = np.concatenate([views.lin_vel_w[:, k], views.ang_vel_w[:, k]], axis=1)
        assert speed == pytest.approx(robot.velocity(q, u, name), abs=1e-5)
    named = made.bind_sensor_data(("imu.gyro", "track_pos_w_FR_foot"))
    own = made._host_read_sensor("imu.gyro")
    assert named.width == 6 and (named.read()[:, :3] == own).all()
    made.step_tensor(torch.tensor(target, dtype=torch.float32))
    assert (named.read()[:, :3] != own).any()


def test_tensors_match_host_values() -> None:
    """Steps bit for bit those of a simulation; rows and masks reset the same worlds alone."""
    made = backend()
    plain = tarsus.Simulation(made.model, actuators="file", worlds=WORLDS, dt=0.002)
    signals = np.tile(made.get_default_dof_pos(), (WORLDS, 1)).astype(np.float32)
    signals[:, 1] += np.linspace(0, 0.3, WORLDS, dtype=np.float32)
    for _ in range(3):
        made.step_tensor(torch.from_numpy(signals), 10)
        plain.step(signals)
        plain.advance(9 * 0.002)
    views = made.get_state_views()
    assert (made._host_get_state()["qpos"] == plain.q).all()
    assert views["qvel"].dtype == torch.float32
    assert (views["qvel"].numpy() == plain.u.astype(np.float32)).all()
    # rows, then the same by mask
    rows = torch.tensor([4, 1])
    twice = [made, backend()]
    twice[1].simulation.restore(made.simulation.state())
    qpos, qvel = views["qpos"].clone(), views["qvel"].clone()
    qpos[:, 2] += 0.1
    mask = torch.zeros(WORLDS, dtype=torch.bool)
    mask[rows] = True
    kp = torch.full((WORLDS, 12), 30.0)
    drawn = unisim.dr.TensorResetRandomizationPayload
    before = made.simulation.state()
    made.set_state_tensor(rows, qpos[rows], qvel[rows], drawn(kp=kp[rows]))
    twice[1].set_state_tensor_mask(mask, qpos, qvel, drawn(kp=kp))
    assert (made.simulation.state() == twice[1].simulation.state()).all()
    assert (made.simulation.state()[~mask.numpy()] == before[~mask.numpy()]).all()
    assert (made.get_state_views("qpos")["qpos"][rows] == qpos[rows]).all()
    for one in twice:
        assert (one.get_reset_term_default("kp")[:, 0] == [40, 30, 40, 40, 30, 40]).all()


def test_pushes_and_kicks_of_a_plan() -> None:
    made = backend(pushes=["base", "FR_shank"])
    q = made._host_get_state()["qpos"]
    q[:, 2] += 1.0
    made._host_set_state(np.arange(WORLDS), q, np.zeros((WORLDS, 18)))
    change = torch.zeros((WORLDS, 1, 3))
    change[2, 0] = torch.tensor([0.0, 0.0, 1.5])
    base, ids = torch.tensor([0]), torch.tensor([made.get_body_id("FR_shank")])
    plan = IntervalRandomizationPlan(
        (
            IntervalTermOp("body_angular_velocity_delta", change, base),
            IntervalTermOp("body_linear_velocity_delta", 2 * change, base),
            IntervalTermOp("body_force", change, ids),
            IntervalTermOp("push", change[:, 0]),
        )
    )
    made.apply_interval_randomization(plan)
    u = made._host_get_state()["qvel"]
    assert u[2, :6].tolist() == pytest.approx([0, 0, 3, 0, 0, 1.5])
    assert (np.delete(u, 2, axis=0) == 0).all()
    assert (made.wrenches.staged[2, :, 2] == 1.5).all() and made.wrenches.staged[2, 0, 2] == 1.5
    with pytest.raises(NotImplementedError, match="wind"):
        made.apply_interval_randomization(
            IntervalRandomizationPlan((IntervalTermOp("wind", change),))
        )


def test_invalid_tensors_are_rejected() -> None:
    made = backend()
    good = torch.zeros((WORLDS, 12))
    for wrong in (good.double(), good.numpy(), good[:, :3]):
        with pytest.raises((TypeError, ValueError), match="ctrl"):
            made.step_tensor(wrong)
    with pytest.raises(ValueError, match="finite"):
        made.step_tensor(good * float("nan"))
    with pytest.raises(ValueError, match="cpu"):
        made.get_state_views(device="cuda")
    with pytest.raises(NotImplementedError, match="refresh"):
        state = made.get_state_views()
        mask = torch.ones(WORLDS, dtype=torch.bool)
        made.set_state_tensor_mask(mask, state["qpos"], state["qvel"], full_refresh=True)
