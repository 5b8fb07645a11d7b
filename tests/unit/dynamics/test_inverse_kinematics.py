"""Inverse kinematics of frames: reached poses, limits, batches, targets out of reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidValue, UnknownName, Unsupported
from tarsus.model.joint_coupling import JointCoupling, Leader

CHEETAH, HOAP = tarsus.load("mini_cheetah"), tarsus.load("hoap1")
STAND = CHEETAH.keyframes["stand"]
FEET = [c.name for c in CHEETAH.candidates if c.name.endswith("_foot")]


def test_a_foot_reaches_its_target_and_the_other_legs_rest() -> None:
    target = CHEETAH.position(STAND, "FR_foot") + np.array([0.05, -0.02, 0.08])
    result = CHEETAH.inverse_kinematics(STAND, {"FR_foot": target})
    assert result.reached and result.error < 1e-6 and result.q.shape == (19,)
    assert np.allclose(CHEETAH.position(result.q, "FR_foot"), target, rtol=0, atol=1e-6)
    moved = np.flatnonzero(result.q != STAND)
    assert set(moved) <= {7, 8, 9}


def test_the_base_moves_on_standing_feet() -> None:
    """Trunk lowered and turned, feet where they were: 18 equations for 18 velocities."""
    angle = 0.15
    turned = np.array(
        [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    )
    trunk = STAND[:3] + np.array([0.02, 0.01, -0.05])
    feet = {foot: CHEETAH.position(STAND, foot) for foot in FEET}
    targets = {"base": (trunk, turned), **feet}
    result = CHEETAH.inverse_kinematics(STAND, targets, move_base=True)
    assert result.reached
    assert np.allclose(result.q[:3], trunk, atol=1e-6)
    assert np.allclose(CHEETAH.rotation(result.q, "base"), turned, atol=1e-6)
    assert np.linalg.norm(result.q[3:7]) == pytest.approx(1, abs=1e-12)


def test_every_state_of_a_batch_has_its_own_target() -> None:
    """Each equals that of a single call, and targets of random postures are reached."""
    random = np.random.default_rng(0)
    postures = np.tile(STAND, (20, 1))
    postures[:, 7:] += random.uniform(-0.4, 0.4, (20, 12))
    targets = {foot: CHEETAH.position(postures, foot) for foot in FEET}
    result = CHEETAH.inverse_kinematics(STAND, targets)
    assert result.q.shape == (20, 19) and result.reached.all()
    for k in (0, 7, 19):
        alone = CHEETAH.inverse_kinematics(STAND, {foot: x[k] for foot, x in targets.items()})
        assert np.allclose(alone.q, result.q[k], rtol=0, atol=1e-9)


def test_poses_of_a_humanoid_are_reached() -> None:
    """Both soles and both hands, from random postures within the limits."""
    f, stand = HOAP.symbolic(), HOAP.keyframes["stand"]
    names = sorted({HOAP.bodies[candidate.body].name for candidate in HOAP.candidates})
    for seed in range(5):
        wanted = stand.copy()
        wanted[7:] += np.random.default_rng(seed).uniform(-0.25, 0.25, HOAP.nq - 7)
        wanted = np.clip(wanted, f.q_lower, f.q_upper)
        targets = {
            name: (HOAP.position(wanted, name), HOAP.rotation(wanted, name)) for name in names
        }
        assert HOAP.inverse_kinematics(stand, targets).reached, seed


def test_joint_limits_hold() -> None:
    """With the knees of one leg limited, the target is out of reach; without, it is reached."""
    knee = CHEETAH.joint_index("FR_knee_joint")
    bodies = list(CHEETAH.bodies)
    bodies[knee] = replace(bodies[knee], joint=replace(bodies[knee].joint, lower=1.0, upper=1.8))
    limited = replace(CHEETAH, bodies=tuple(bodies))
    target = {"FR_foot": CHEETAH.position(STAND, "FR_foot") + np.array([0, 0, 0.12])}
    assert CHEETAH.inverse_kinematics(STAND, target).reached
    result = limited.inverse_kinematics(STAND, target)
    column = limited.q_slices[knee].start
    assert not result.reached and result.q[column] == pytest.approx(1.8, abs=1e-12)
    f = limited.symbolic()
    assert (result.q >= f.q_lower).all() and (result.q <= f.q_upper).all()


def test_out_of_reach_is_as_near_as_possible() -> None:
    """A stretched leg points at a target that is too far away."""
    hip = CHEETAH.position(STAND, "FR_thigh")
    target = hip + np.array([0.3, 0.0, -1.0])
    result = CHEETAH.inverse_kinematics(STAND, {"FR_foot": target}, iterations=500)
    assert not result.reached and np.isfinite(result.q).all()
    near = np.linalg.norm(CHEETAH.position(result.q, "FR_foot") - target)
    assert near == pytest.approx(result.error, rel=1e-9)
    random = np.random.default_rng(1)
    postures = np.tile(result.q, (300, 1))
    postures[:, 7:10] += random.normal(0, 0.05, (300, 3))
    others = np.linalg.norm(CHEETAH.position(postures, "FR_foot") - target, axis=1)
    assert others.min() > near - 1e-6


def test_wrong_targets_are_refused() -> None:
    place = np.zeros(3)
    with refused(UnknownName, "FR_foo"):
        CHEETAH.inverse_kinematics(STAND, {"FR_foo": place})
    with refused(InvalidValue, "targets"):
        CHEETAH.inverse_kinematics(STAND, {})
    with refused(InvalidValue, "FR_foot"):
        CHEETAH.inverse_kinematics(STAND, {"FR_foot": np.zeros(4)})
    with refused(InvalidValue, "FR_foot"):
        CHEETAH.inverse_kinematics(STAND, {"FR_foot": (place, 2 * np.eye(3))})
    with refused(InvalidValue, "FR_foot"):
        CHEETAH.inverse_kinematics(STAND, {"FR_foot": [np.nan, 0, 0]})
    with refused(InvalidValue, "targets"):
        CHEETAH.inverse_kinematics(
            STAND, {"FR_foot": np.zeros((2, 3)), "FL_foot": np.zeros((3, 3))}
        )
    coupled = replace(
        CHEETAH,
        couplings=(
            JointCoupling("knees", "FR_knee_joint", 0.0, (Leader("FL_knee_joint", (1.0,)),)),
        ),
    )
    with refused(Unsupported, "mini_cheetah"):
        coupled.inverse_kinematics(STAND, {"FR_foot": place})
