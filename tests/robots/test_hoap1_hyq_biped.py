"""HOAP-1, HyQ and the biped: published figures, feet on the ground, and MuJoCo's mass matrix."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.in_mujoco import placed
from helpers.refused import refused

import tarsus
from tarsus.control.gaits.walk import Walk
from tarsus.errors import InvalidValue, WarningRecord
from tarsus.morphology.feet import find_feet
from tarsus.robots import hyq
from tarsus.simulation import default_controller

mujoco = pytest.importorskip("mujoco")

# name: bodies, actuators, mass kg, height of the base standing and at zero angles m, center of mass
# standing m
FIGURES = {
    "hoap1": (21, 20, 5.0, 0.28651331556824833, 0.2905, (0.00633443, 0.0, 0.26036446)),
    "hyq": (13, 12, 86.756, 0.5992595750374388, 0.79775, (0.03934898, 0.01510720, 0.55428054)),
    "biped": (15, 14, 45.0, 0.8235775984958826, 0.848, (0.01524843, 0.0, 0.91260339)),
}


def lowest(robot, data) -> np.ndarray:
    """Height (n,) of the lowest point of each foot's candidates."""
    found = []
    for c in find_feet(robot):
        body = data.body(robot.bodies[c.body].name)
        found.append(body.xpos[2] + (body.xmat.reshape(3, 3) @ c.position)[2] - c.radius)
    assert found
    return np.array(found)


@pytest.mark.parametrize("name", FIGURES)
def test_mass_and_dimensions(name: str):
    robot = tarsus.load(name)
    bodies, motors, mass, standing, straight, com = FIGURES[name]
    assert (len(robot.bodies), len(robot.actuators)) == (bodies, motors)
    assert (robot.nq, robot.nu) == (7 + motors, 6 + motors)
    assert robot.mass == pytest.approx(mass, rel=1e-12)
    q = np.array(robot.keyframes["stand"])
    assert q[2] == pytest.approx(standing, abs=1e-12)
    _, data = placed(robot, q)
    assert lowest(robot, data) == pytest.approx(0.0, abs=1e-12)
    assert data.subtree_com[0] == pytest.approx(com, abs=1e-8)
    _, data = placed(robot, robot.neutral())
    assert lowest(robot, data) == pytest.approx(-straight, abs=1e-12)
    joints = [(body.joint.lower, body.joint.upper) for body in robot.bodies[1:]]
    assert all(lower <= angle <= upper for angle, (lower, upper) in zip(q[7:], joints, strict=True))
    for body in robot.bodies:
        if body.inertia.mass:
            a, b, c = np.linalg.eigvalsh(body.inertia.about_com)
            assert a > 0 and a + b > c


@pytest.mark.parametrize("name", FIGURES)
def test_mass_matrix_equals_mujoco(name: str):
    robot, rng = tarsus.load(name), np.random.default_rng(1)
    for _ in range(3):
        q = rng.normal(size=robot.nq)
        q[3:7] /= np.linalg.norm(q[3:7])
        model, data = placed(robot, q)
        full = np.zeros((robot.nu, robot.nu))
        mujoco.mj_fullM(model, data, full)
        assert robot.mass_matrix(q) == pytest.approx(full, abs=1e-9 * robot.mass)


@pytest.mark.parametrize("name", ["hoap1", "biped"])
def test_left_and_right_are_mirror_images(name: str):
    """Joint angles mirrored at y = 0 (unchanged about y, negated about x and z) give mirrored
    feet.
    """
    robot, rng = tarsus.load(name), np.random.default_rng(2)
    right = [k for k, body in enumerate(robot.bodies) if body.name[0] == "R"]
    left = [robot.body_index("L" + robot.bodies[k].name[1:]) for k in right]
    q = robot.neutral()
    for r, s in zip(right, left, strict=True):
        joint, other = robot.bodies[r].joint, robot.bodies[s].joint
        sign = 1 if joint.axis[1] else -1
        assert sorted([sign * other.lower, sign * other.upper]) == [joint.lower, joint.upper]
        q[robot.q_slices[s]] = angle = rng.normal()
        q[robot.q_slices[r]] = sign * angle
    _, data = placed(robot, q)
    for r, s in zip(right, left, strict=True):
        here, there = (data.body(robot.bodies[k].name) for k in (r, s))
        assert here.xipos * (1, -1, 1) == pytest.approx(there.xipos, abs=1e-12)
        assert robot.bodies[r].inertia.mass == robot.bodies[s].inertia.mass


def test_feet_are_the_corners_of_the_soles():
    for name in ("hoap1", "biped"):
        names = [c.name for c in find_feet(tarsus.load(name))]
        assert names == [
            f"{s}_foot_{end}_{side}"
            for s in "RL"
            for end in ("heel", "toe")
            for side in ("right", "left")
        ]
    assert [c.name for c in find_feet(tarsus.load("hyq"))] == [f"{leg}_foot" for leg in hyq.LEGS]


def test_hoap1_is_scaled_to_its_mass():
    heavy, light = tarsus.load("hoap1", mass=6.0), tarsus.load("hoap1")
    q = light.neutral()
    assert heavy.mass_matrix(q) == pytest.approx(1.2 * light.mass_matrix(q), abs=1e-12)
    with refused(InvalidValue, "mass"):
        tarsus.load("hoap1", mass=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hoap1", "biped"])
def test_a_humanoid_stands_with_the_stand_gait(name: str):
    notices: list[WarningRecord] = []
    robot = tarsus.load(name)
    robot, gait = default_controller.prepare(robot, "stand", 0.0025, notices)
    assert "servos-sized" in {notice.code for notice in notices}
    simulation = tarsus.Simulation(name, controller="stand")
    assert simulation.dt == 0.0025
    assert simulation.controller == gait and simulation.warnings[: len(notices)] == notices
    log = simulation.run(5.0)
    q = log["q"].values
    assert np.abs(q[:, 2] - q[0, 2]).max() < 0.01
    heel = min(c.position[0] for c in find_feet(robot))
    assert (
        np.abs(q[:, 0]).max() < -heel and np.abs(q[:, 1]).max() < 1e-3
    )  # it sways, but within its soles
    assert (1 - 2 * (q[:, 4] ** 2 + q[:, 5] ** 2)).min() > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hoap1", "biped"])
def test_a_humanoid_walks_by_default(name: str):
    simulation = tarsus.Simulation(name, controller="auto")
    assert isinstance(simulation.controller, Walk)
    q = simulation.run(5.0)["q"].values
    assert q[-1, 0] > 0.3 and q[:, 2].min() > 0.9 * q[0, 2]


def test_hyq_walks_by_default():
    log = tarsus.Simulation("hyq", controller="auto").run(4.0)
    q = log["q"].values
    assert q[-1, 0] > 0.5 and q[:, 2].min() > 0.5 and np.abs(log["tau"].values).max() <= hyq.TORQUE


def test_hyq_has_knee_and_trunk_candidates_by_default():
    robot = tarsus.load("hyq")
    assert len(robot.candidates) == 20
    q = np.array(robot.keyframes["stand"])
    bottoms = {c.name: robot.position(q, c.name)[2] - c.radius for c in robot.candidates}
    assert all(height > 0.2 for name, height in bottoms.items() if "foot" not in name)
    for leg in hyq.LEGS:
        knee, joint = robot.position(q, f"{leg}_knee"), robot.position(q, f"{leg}_lower_leg")
        assert knee == pytest.approx(joint, abs=1e-12)
    scene = tarsus.Simulation("hyq", controller="stand").plan.scene
    assert len(scene.candidates) == 20 and len(scene.secondary) == 16
    scene = tarsus.Simulation("hyq", controller="stand", contacts="feet").plan.scene
    assert len(scene.candidates) == 4 and not scene.secondary


def test_hyq_survives_a_drop_of_half_a_meter():
    """It recovers and comes to rest; from 1 m the knees reach the ground in spite of 150 N m."""
    simulation = tarsus.Simulation("hyq", controller="stand")
    q, standing = simulation.q, simulation.q[2]
    q[2] += 0.5
    simulation.set(q=q)
    simulation.advance(5.0)
    assert simulation.q[2] == pytest.approx(standing, rel=0.05)
    assert np.abs(simulation.u).max() < 0.05
    assert 1 - 2 * (simulation.q[4:6] ** 2).sum() > np.cos(np.deg2rad(2.0))


@pytest.mark.slow
@pytest.mark.parametrize("limits", [True, False], ids=["stops", "no stops"])
def test_unpowered_hyq_rests_on_its_joint_limits_or_knees(limits: bool) -> None:
    """Folded legs carry it on their joint limits; without limits it lies on knees and feet. Dry
    friction may hold a joint before its limit, depending on the fall.
    """
    simulation = tarsus.Simulation("hyq", controller="free", contacts="all", limits=limits)
    simulation.advance(4.0)
    robot, q = simulation.robot, simulation.q
    heights = [robot.position(q, c.name)[2] - c.radius for c in robot.candidates]
    assert min(heights) > -1e-3
    pressing = simulation.contact_force[:, 0] > 0
    names = [c.name for c, on in zip(robot.candidates, pressing, strict=True) if on]
    assert any("foot" not in name for name in names) == (not limits)
    joints = [body.joint for body in robot.bodies[1:]]
    ends = np.array([[joint.lower, joint.upper] for joint in joints])
    at_stops = (np.abs(q[7:, None] - ends) < 1e-2).any(1).sum()
    assert not limits or (at_stops >= 8 and np.abs(simulation.u).max() < 1e-6)
    assert simulation.contact_force[:, 0].sum() == pytest.approx(robot.mass * 9.81, rel=0.01)
