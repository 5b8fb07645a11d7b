"""StarlETH against published figures, its ground contact, and its mass matrix against MuJoCo's."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.in_mujoco import placed

import tarsus
from tarsus.errors import WarningRecord
from tarsus.robots import starleth
from tarsus.simulation.contact_selection import select_candidates

mujoco = pytest.importorskip("mujoco")

ROBOT = tarsus.load("starleth")
LEGS = ("LF", "RF", "LH", "RH")
STAND_HEIGHT, ZERO_HEIGHT = 0.40243687491379543, 0.4965  # m, derived from the published lengths
COM_HEIGHT = 0.35929792079962986  # m, in the stand posture


def test_mass_and_dimensions():
    assert len(ROBOT.bodies) == 13 and (ROBOT.nq, ROBOT.nu) == (19, 18)
    assert ROBOT.mass == pytest.approx(22.88, abs=1e-12)
    assert [actuator.joint for actuator in ROBOT.actuators] == [
        f"{leg}_{j}" for leg in LEGS for j in starleth.RANGES
    ]
    assert {(a.lower, a.upper) for a in ROBOT.actuators} == {(-30.0, 30.0)}
    for leg, knee in zip(LEGS, [(-2.5, 0.0)] * 2 + [(0.0, 2.5)] * 2, strict=True):
        joint = ROBOT.bodies[ROBOT.joint_index(f"{leg}_KFE")].joint
        assert (joint.lower, joint.upper) == knee
    for body in ROBOT.bodies:
        a, b, c = np.linalg.eigvalsh(body.inertia.about_com)
        assert a > 0 and a + b > c


def test_stands_with_its_feet_on_the_ground_below_its_hips():
    q = ROBOT.keyframes["stand"]
    assert q[2] == pytest.approx(STAND_HEIGHT, abs=1e-12)
    _, data = placed(ROBOT, q)
    assert data.site_xpos[:, 2] == pytest.approx(starleth.FOOT_RADIUS, abs=1e-12)
    hips = np.array(
        [np.array(starleth.HAA_IN_BASE)[:2] * signs for signs in starleth.LEGS.values()]
    )
    assert data.site_xpos[:, :2] == pytest.approx(hips, abs=1e-12)
    assert data.subtree_com[0] == pytest.approx([0.0, 0.0, COM_HEIGHT], abs=1e-12)
    joints = [(body.joint.lower, body.joint.upper) for body in ROBOT.bodies[1:]]
    assert all(lower <= angle <= upper for angle, (lower, upper) in zip(q[7:], joints, strict=True))
    _, data = placed(ROBOT, ROBOT.neutral())
    assert data.site_xpos[:, 2] - starleth.FOOT_RADIUS == pytest.approx(-ZERO_HEIGHT, abs=1e-12)


def test_mass_matrix_equals_mujoco():
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = rng.normal(size=19)
        q[3:7] /= np.linalg.norm(q[3:7])
        model, data = placed(ROBOT, q)
        full = np.zeros((18, 18))
        mujoco.mj_fullM(model, data, full)
        assert ROBOT.mass_matrix(q) == pytest.approx(full, abs=1e-9)


def test_candidates_at_feet_joints_and_trunk_corners():
    names = [c.name for c in ROBOT.candidates]
    feet, joints = (
        [f"{leg}_foot" for leg in LEGS],
        [f"{leg}_{j}" for leg in LEGS for j in ("HAA", "HFE", "KFE")],
    )
    assert names == [
        *feet,
        *joints,
        *(f"{leg}_{level}" for level in ("top", "bottom") for leg in LEGS),
    ]
    rng = np.random.default_rng(2)
    q = np.concatenate([np.zeros(3), [1.0, 0, 0, 0], rng.normal(size=12)])
    model, data = placed(ROBOT, q)
    for name in joints:
        sphere = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name)
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        assert data.geom_xpos[sphere] == pytest.approx(data.xanchor[joint], abs=1e-12)


def test_only_the_feet_are_candidates_by_default():
    notices: list[WarningRecord] = []
    assert [c.name for c in select_candidates(ROBOT, None, notices)] == [
        f"{leg}_foot" for leg in LEGS
    ]
    assert [notice.code for notice in notices] == ["contacts-ignored"]
    assert select_candidates(ROBOT, "all", notices) == ROBOT.candidates and len(notices) == 1
    assert len(select_candidates(ROBOT, ["*_foot", "*_KFE"], notices)) == 8


@pytest.mark.slow
def test_dropped_on_its_side_starleth_comes_to_rest_on_its_hips():
    simulation = tarsus.Simulation("starleth", contacts=["*_foot", "*_KFE", "*_HAA"])
    q = np.array(ROBOT.keyframes["stand"])
    q[2], q[3:7] = 0.3, [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]  # right side down
    simulation.set(q=q, u=np.zeros(18))
    log = simulation.run(4.0)  # by then its loose legs have stopped swinging
    assert np.isfinite(log["u"].values).all()
    # landing on legs at their limits leaves some steps unsolved, all in the first 0.3 s
    unsolved = log["time"].values[log["converged"].values == 0]
    assert len(unsolved) <= 6 and unsolved.max(initial=0.0) < 0.3
    assert log["gap"].values.min() > -0.01  # a step of the fastest impact, 3 m/s
    forces = dict(zip(log["contact"].values, simulation.contact_force[:, 0], strict=True))
    assert sum(forces.values()) == pytest.approx(22.88 * 9.81, rel=1e-6)
    assert sum(force for name, force in forces.items() if name.endswith("_HAA")) > 100
