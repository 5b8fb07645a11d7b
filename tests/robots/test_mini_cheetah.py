"""Mini Cheetah against published and derived figures, and its MJCF against plain rigid-body
algebra.
"""

from __future__ import annotations

import numpy as np
import pytest

from tarsus.model.mechanism import Actuator, Body, Candidate, Frame, Inertia, Joint, Mechanism
from tarsus.model.to_mjcf import to_mjcf
from tarsus.robots import mini_cheetah

mujoco = pytest.importorskip("mujoco")

ROBOT = mini_cheetah.describe()
# derived once from Cheetah-Software @c71c5a1: 13 bodies 8.252 kg + 12 rotors of 0.055 kg
MASS, STAND_HEIGHT, ZERO_HEIGHT = 8.912, 0.28601890993604734, 0.404
COM = [-0.00713235, 0.0, 0.27665]  # of the robot with its rotors, in the stand posture


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def mass_matrix(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Mass matrix as the sum of J^T I J over bodies, with Jacobians of the world frame."""
    nu = mechanism.nu
    M, poses = np.zeros((nu, nu)), []
    for i, body in enumerate(mechanism.bodies):
        at_q, at_u = mechanism.q_slices[i], mechanism.u_slices[i]
        if body.joint.kind == "free":
            w, v = q[3], q[4:7]
            R = np.eye(3) + 2 * w * skew(v) + 2 * skew(v) @ skew(v)
            r, Jv, Jw = q[:3], np.zeros((3, nu)), np.zeros((3, nu))
            Jv[:, at_u.start : at_u.start + 3], Jw[:, at_u.start + 3 : at_u.stop] = np.eye(3), R
        else:
            Rp, rp, Jvp, Jwp = poses[body.parent]
            axis, angle = body.joint.axis, q[at_q.start]
            turn = (
                np.eye(3)
                + np.sin(angle) * skew(axis)
                + (1 - np.cos(angle)) * skew(axis) @ skew(axis)
            )
            arm = Rp @ body.position
            R, r = Rp @ body.rotation @ turn, rp + arm
            Jv, Jw = Jvp - skew(arm) @ Jwp, Jwp.copy()
            Jw[:, at_u.start] += R @ axis
        poses.append((R, r, Jv, Jw))
        Jc = Jv - skew(R @ body.inertia.com) @ Jw
        M += body.inertia.mass * Jc.T @ Jc + Jw.T @ R @ body.inertia.about_com @ R.T @ Jw
        M[at_u, at_u] += body.joint.armature * np.eye(body.joint.nu)
    return M


def test_mass_and_dimensions():
    assert len(ROBOT.bodies) == 13 and ROBOT.nq == 19 and ROBOT.nu == 18
    assert ROBOT.mass == pytest.approx(MASS, abs=1e-12)
    assert ROBOT.keyframes["stand"][2] == pytest.approx(STAND_HEIGHT, abs=1e-12)
    limits = [(a.lower, a.upper) for a in ROBOT.actuators]
    assert limits == [(-17, 17), (-17, 17), (-26, 26)] * 4
    armatures = [b.joint.armature for b in ROBOT.bodies[1:]]
    assert armatures == pytest.approx([0.002268, 0.002268, 0.0054840807] * 4)


def test_feet_touch_the_ground_below_the_center_of_mass():
    model = mujoco.MjModel.from_xml_string(to_mjcf(ROBOT))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.site_xpos[:, 2] == pytest.approx(mini_cheetah.FOOT_RADIUS, abs=1e-12)
    assert data.subtree_com[0] == pytest.approx(COM, abs=1e-6)
    data.qpos[:] = ROBOT.neutral()
    mujoco.mj_forward(model, data)
    assert data.site_xpos[:, 2] - mini_cheetah.FOOT_RADIUS == pytest.approx(-ZERO_HEIGHT, abs=1e-12)


def test_left_and_right_are_mirror_images():
    flip = np.diag([1.0, -1.0, 1.0])
    for part in ("abad", "thigh", "shank"):
        right, left = (ROBOT.bodies[ROBOT.body_index(f"{leg}_{part}")] for leg in ("FR", "FL"))
        assert right.position == pytest.approx(flip @ left.position)
        assert right.inertia.com == pytest.approx(flip @ left.inertia.com)
        assert right.inertia.about_com == pytest.approx(flip @ left.inertia.about_com @ flip)


def test_every_inertia_is_physical():
    for body in ROBOT.bodies:
        a, b, c = np.linalg.eigvalsh(body.inertia.about_com)
        assert a > 0 and a + b > c


def test_mass_matrix_equals_mujoco():
    model = mujoco.MjModel.from_xml_string(to_mjcf(ROBOT))
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    assert (model.nq, model.nv, model.nu, model.nbody) == (19, 18, 12, 14)
    for _ in range(5):
        q = rng.normal(size=19)
        q[3:7] /= np.linalg.norm(q[3:7])
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        full = np.zeros((18, 18))
        mujoco.mj_fullM(model, data, full)
        assert full == pytest.approx(mass_matrix(ROBOT, q), abs=1e-9)


def test_mjcf_of_ball_slide_point_mass_and_fixed_base():
    solid = Inertia(1.0, np.array([0, 0, 0.1]), np.diag([0.02, 0.03, 0.04]))
    quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    bodies = (
        Body(
            "arm",
            -1,
            Joint("rail", "slide", axis=np.array([1.0, 0, 0]), lower=-1),
            solid,
            rotation=quarter,
        ),
        Body("wrist", 0, Joint("socket", "ball"), Inertia(0.5), np.array([0, 0, 0.3])),
        Body(
            "bob",
            1,
            Joint("swing", "hinge", axis=np.array([0, 1.0, 0])),
            solid,
            np.array([0, 0, 0.2]),
        ),
    )
    robot = Mechanism(
        "odd",
        bodies,
        candidates=(Candidate("tip", 2, np.array([0, 0, 0.4])),),
        frames=(Frame("eye", 2, np.array([0.1, 0, 0]), quarter),),
        actuators=(Actuator("push", "rail", upper=3.0), Actuator("turn", "swing")),
    )
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot, floor=False, integrator="implicitfast"))
    data = mujoco.MjData(model)
    assert (model.nq, model.nv, model.nu) == (robot.nq, robot.nu, 2)
    assert model.geom_size[0, 0] < 1e-6 and model.ngeom == 1
    data.ctrl[:] = 50.0
    mujoco.mj_forward(model, data)
    assert data.qfrc_actuator == pytest.approx([3, 0, 0, 0, 50])
    assert data.xmat[1].reshape(3, 3) == pytest.approx(quarter)
    assert data.site_xpos[0] == pytest.approx([0, 0.1, 0.5])
    assert data.site_xmat[0].reshape(3, 3) == pytest.approx(quarter @ quarter)
