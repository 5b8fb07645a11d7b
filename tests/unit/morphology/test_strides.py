"""Alternating legs: which feet, when, and how they are lifted; commands of bipeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from helpers.capsule_biped import biped
from helpers.refused import refused

from tarsus.control import servo
from tarsus.errors import UnmetCondition
from tarsus.morphology.feet import find_feet
from tarsus.morphology.legs import diagonals, find_legs, foot_in_hip_frame
from tarsus.morphology.rotors import with_rotors
from tarsus.morphology.sole_leg import find_sole_legs, sole_pose
from tarsus.morphology.strides import find_strides, why_no_strides
from tarsus.robots import load
from tarsus.tasks.velocity import Velocity

HOAP1, CHEETAH = load("hoap1"), load("mini_cheetah")


def sole(robot, angles: np.ndarray, leg: int) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and place (3,), m."""
    R, p = sole_pose(find_sole_legs(robot)[leg], ca.SX(angles))
    return np.array(ca.evalf(R)), np.array(ca.evalf(p)).ravel()


def test_bipeds_alternate_legs_and_quadrupeds_diagonals() -> None:
    right, left = find_strides(HOAP1)
    assert (right.half, left.half) == (1, 0) and len(right.joints) == 6
    assert sorted(right.feet + left.feet) == sorted(foot.name for foot in find_feet(HOAP1))
    assert [leg.half for leg in find_strides(CHEETAH)] == list(diagonals(find_legs(CHEETAH)))
    assert all(leg.sole is None and len(leg.feet) == 1 for leg in find_strides(CHEETAH))


@pytest.mark.parametrize("leg", [0, 1])
def test_a_lifted_sole_stays_level_above_where_it_stood(leg: int) -> None:
    one = find_strides(HOAP1)[leg]
    R, p = sole(HOAP1, one.posture, leg)
    turned, lifted = sole(HOAP1, one.posture + one.lift_offsets(0.03), leg)
    assert lifted - p == pytest.approx([0, 0, 0.03], abs=1e-9)
    assert turned == pytest.approx(np.eye(3), abs=1e-9) and pytest.approx(np.eye(3), abs=1e-9) == R


def test_a_point_foot_is_lifted_along_its_jacobian() -> None:
    for one, leg in zip(find_strides(CHEETAH), find_legs(CHEETAH), strict=True):
        moved = foot_in_hip_frame(leg, leg.posture + one.lift_offsets(1e-5)) - leg.standing_foot
        assert moved == pytest.approx([0, 0, 1e-5], abs=1e-8)


def test_a_biped_is_bent_only_as_far_as_needed() -> None:
    one = find_strides(HOAP1)[0]
    _, p = sole(HOAP1, one.bent_angles(0.85), 0)
    hip = find_sole_legs(HOAP1)[0].positions[0]
    assert hip[2] - p[2] == pytest.approx(0.85 * one.length, abs=1e-9)
    assert (one.bent_angles(1.0) == one.posture).all()


def test_commands_of_bipeds_scale_with_leg_length() -> None:
    """Froude's law: a robot twice as long gets commands larger by the square root of two."""
    task = Velocity().fit(HOAP1)
    length = find_strides(HOAP1)[0].length
    assert task.speed == pytest.approx((0, 0.2 * np.sqrt(9.81 * length)))
    assert task.frequency == pytest.approx(0.4 * np.sqrt(9.81 / length))
    own = Velocity(speed=(0.1, 0.2), lift=0.01).fit(HOAP1)
    assert own.speed == (0.1, 0.2) and own.lift == 0.01 and own.frequency == task.frequency
    assert Velocity().fit(CHEETAH).speed == (0.3, 1.0)
    with refused(UnmetCondition, "fit"):
        Velocity().commands()


def test_actions_move_legs_but_not_arms() -> None:
    moved = Velocity().fit(HOAP1).moved_motors(HOAP1)
    names = [HOAP1.actuators[k].joint for k in moved]
    assert len(names) == 12 and all("LEG" in name for name in names)
    assert Velocity().moved_motors(CHEETAH) == tuple(range(12))


def test_joints_without_actions_are_damped() -> None:
    """Hanging arms get servos by their inertia, within the stability limit of the step; legs
    keep theirs.
    """
    q, dt = np.array(HOAP1.keyframes["stand"], float), 0.002
    arms = [k for k, motor in enumerate(HOAP1.actuators) if "ARM" in motor.joint]
    usual, held = (servo.size_gains(HOAP1, q, find_feet(HOAP1), dt, some) for some in ((), arms))
    inertia = np.diag(HOAP1.mass_matrix(q))[6:]
    for k in range(20):
        least = servo.STIFF_FREQUENCY**2 * inertia[k] if k in arms else usual.kp[k]
        assert held.kp[k] == pytest.approx(max(usual.kp[k], least), rel=0.01)
        assert held.kd[k] >= usual.kd[k] or k not in arms


def test_rotor_inertias_are_added_to_files_without_them() -> None:
    bare = replace(
        HOAP1,
        bodies=tuple(
            replace(body, joint=replace(body.joint, armature=0.0)) if k != 3 else body
            for k, body in enumerate(HOAP1.bodies)
        ),
    )
    found = [body.joint.armature for body in with_rotors(bare, 1e-4).bodies]
    torque = HOAP1.actuators[0].upper
    assert found[0] == 0 and found[3] == HOAP1.bodies[3].joint.armature
    assert found[1:3] == pytest.approx([1e-4 * torque] * 2)
    assert with_rotors(HOAP1, 1e-4) is HOAP1 and with_rotors(bare, 0.0) is bare


def test_others_are_refused_in_a_sentence(tmp_path: Path) -> None:
    assert why_no_strides(HOAP1) is None and why_no_strides(CHEETAH) is None
    file = tmp_path / "biped.xml"
    file.write_text(biped())
    assert "hinges from the base to a flat foot" in str(why_no_strides(load(file)))
