"""Legs with flat feet: inverse against forward kinematics, and unreachable poses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.refused import refused
from numpy.typing import NDArray

import tarsus
from tarsus.errors import UnmetCondition, Unsupported
from tarsus.morphology.sole_inverse_kinematics import (
    has_closed_form,
    sole_angles,
    sole_inverse_kinematics,
)
from tarsus.morphology.sole_leg import SoleLeg, find_sole_legs, sole_jacobian, sole_pose
from tarsus.robots import hoap1

Array = NDArray[np.float64]
ROBOTS = ("hoap1", "biped")


@dataclass(frozen=True)
class Compiled:
    """A leg's maps as functions of numbers."""

    leg: SoleLeg
    forward: ca.Function
    inverse: ca.Function


def compiled(leg: SoleLeg) -> Compiled:
    q, R, p = SX.sym("q", leg.size), SX.sym("R", 3, 3), SX.sym("p", 3)
    found = sole_inverse_kinematics(leg, R, p)
    return Compiled(
        leg,
        ca.Function("forward", [q], [*sole_pose(leg, q), sole_jacobian(leg, q)], {"cse": True}),
        ca.Function("inverse", [R, p], [found.angles, found.error], {"cse": True}),
    )


@pytest.fixture(scope="module")
def legs() -> dict[str, list[Compiled]]:
    return {name: [compiled(leg) for leg in find_sole_legs(tarsus.load(name))] for name in ROBOTS}


@pytest.fixture(scope="module")
def skew_leg() -> Compiled:
    """HOAP-1's leg with hip and ankle axes that miss each other, as in most robots of the field."""
    leg = find_sole_legs(hoap1.describe())[1]
    moved = leg.positions.copy()
    moved[1] += [0.01, 0.0, -0.02]
    moved[5] += [0.0, 0.0, -0.015]
    return compiled(replace(leg, positions=moved))


def reachable(leg: SoleLeg, count: int) -> Array:
    """Angles within the limits, the knee bent to the side of the posture, a seventh joint still."""
    rng = np.random.default_rng(0)
    angles = leg.posture + rng.uniform(-0.35, 0.35, (count, leg.size))
    angles[:, 3] = leg.posture[3] + rng.uniform(-0.2, 0.8, count)
    angles[:, 6:] = leg.posture[6:]
    return np.clip(angles, leg.limits[:, 0] + 0.02, leg.limits[:, 1] - 0.02)


def missed(made: Compiled, angles: Array) -> tuple[float, float]:
    """Difference between forward kinematics of the solution and the target, and the error that
    the solver reports.
    """
    R, p, _ = (np.array(v) for v in made.forward(angles))
    found, told = made.inverse(R, p)
    again = [np.array(v) for v in made.forward(found)[:2]]
    return max(np.abs(again[0] - R).max(), np.abs(again[1] - p).max()), float(told)


@pytest.mark.parametrize("name", ROBOTS)
def test_closed_form_is_the_inverse_of_the_forward_kinematics(name, legs):
    for made in legs[name]:
        assert has_closed_form(made.leg)
        for angles in reachable(made.leg, 50):
            R, p, _ = made.forward(angles)
            found, told = made.inverse(R, p)
            assert np.array(found).ravel() == pytest.approx(angles, abs=1e-9)
            assert float(told) < 1e-9


def test_iteration_solves_legs_with_offset_axes(skew_leg):
    assert not has_closed_form(skew_leg.leg)
    for angles in reachable(skew_leg.leg, 50):
        error, told = missed(skew_leg, angles)
        assert error < 1e-7 and told < 1e-7


@pytest.mark.parametrize("name", ROBOTS)
def test_the_jacobian_is_the_derivative_of_the_pose(name, legs):
    made, step = legs[name][0], 1e-6
    for angles in reachable(made.leg, 3):
        R, _, J = (np.array(v) for v in made.forward(angles))
        for k in range(made.leg.size):
            away = step * np.eye(made.leg.size)[k]
            ahead, behind = made.forward(angles + away), made.forward(angles - away)
            turn, way = (np.array(ahead[i] - behind[i]) / (2 * step) for i in range(2))
            spin = turn @ R.T
            column = [*way.ravel(), spin[2, 1], spin[0, 2], spin[1, 0]]
            assert column == pytest.approx(J[:, k], abs=1e-8)


@pytest.mark.parametrize("name", ROBOTS)
def test_unreachable_poses_report_their_error(name, legs):
    made = legs[name][0]
    R, p, _ = (np.array(v) for v in made.forward(made.leg.posture))
    far = p.ravel() - [0, 0, made.leg.length]
    _, told = made.inverse(R, far)
    assert float(told) > 0.5 * made.leg.length
    with refused(UnmetCondition, made.leg.name):
        sole_angles(made.leg, R, far)
    aside = made.leg.length * np.array([0, 0.5, 0.3])
    with pytest.raises(UnmetCondition) as caught:
        sole_angles(made.leg, R, p.ravel() + aside)
    assert caught.value.subject in made.leg.joints
    assert sole_angles(made.leg, R, p.ravel()) == pytest.approx(made.leg.posture, abs=1e-9)


def test_iteration_respects_limits_and_reports_the_error(skew_leg):
    leg = skew_leg.leg
    R, p, _ = (np.array(v) for v in skew_leg.forward(leg.posture))
    angles, told = skew_leg.inverse(R, p.ravel() - [0, 0, leg.length])
    assert (np.array(angles).ravel() >= leg.limits[:, 0] - 1e-12).all()
    assert (np.array(angles).ravel() <= leg.limits[:, 1] + 1e-12).all()
    assert float(told) > 0.5 * leg.length


def test_unsupported_legs_are_rejected_with_the_reason():
    with refused(Unsupported, "mini_cheetah"):
        find_sole_legs(tarsus.load("mini_cheetah"))
