"""Legs, foot paths, pattern generator, servo; and the trot walking in MuJoCo."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tarsus.control import bezier, cpg
from tarsus.control.base import Controller
from tarsus.control.gaits.stand import Stand
from tarsus.control.gaits.trot import Trot, carrying_torques, trot_offsets
from tarsus.control.legs import (
    find_legs,
    foot_in_hip_frame,
    foot_jacobian,
    leg_inverse_kinematics,
    leg_joint_rates,
)
from tarsus.control.pd import joint_state, pd_torque
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Actuator, Body, Candidate, Inertia, Joint, Mechanism
from tarsus.model.to_mjcf import to_mjcf
from tarsus.robots import mini_cheetah

CHEETAH = mini_cheetah.describe()


STRAIGHT = np.eye(3)


def quadruped(axes, knees, offsets, rotation=STRAIGHT) -> Mechanism:
    """A 20 kg quadruped: signs of the three axes, knee angle of front and hind, abad-hip vector.

    `rotation` turns the thigh's frame in its parent, which must change nothing but the numbers.
    """
    solid = Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))
    bodies, feet, motors, stand = [Body("base", -1, Joint("free", "free"), Inertia(8.0))], [], [], []
    for front in (1, -1):
        for left in (1, -1):
            name, knee = f"{'h f'[front + 1]}{'r l'[left + 1]}", knees[front < 0]
            b = len(bodies)
            mirrored = np.array(offsets) * [1, left, 1]
            axis_x, hip_y, knee_y = np.array([1, 0, 0]) * axes[0], [0, axes[1], 0], [0, axes[2], 0]
            base = np.array([0.3 * front, 0.15 * left, 0])
            below = rotation.T @ np.array([0, 0.01 * left, -0.3])
            bodies += [
                Body(f"{name}1", 0, Joint(f"{name}_abad", "hinge", axis_x), solid, base),
                Body(
                    f"{name}2",
                    b,
                    Joint(f"{name}_hip", "hinge", rotation.T @ hip_y),
                    solid,
                    mirrored,
                    rotation,
                ),
                Body(f"{name}3", b + 1, Joint(f"{name}_knee", "hinge", knee_y), solid, below, rotation.T),
            ]
            feet.append(Candidate(f"{name}_foot", b + 2, np.array([0.02, 0, -0.27]), 0.02))
            motors += [Actuator(j.joint.name, j.joint.name, -99, 99) for j in bodies[-3:]]
            stand += [-0.1 * axes[0], -knee / 2 * axes[1], knee * axes[2]]
    q = np.array([0, 0, 0.5, 1, 0, 0, 0, *stand])
    return Mechanism("quadruped", tuple(bodies), tuple(feet), actuators=tuple(motors), keyframes={"stand": q})


def turned() -> np.ndarray:
    c, s = np.cos(0.7), np.sin(0.7)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


ROBOTS = {
    "mini cheetah": CHEETAH,
    "starleth like": quadruped((1, 1, 1), (-1.4, 1.4), (0, 0, -0.0685)),
    "hyq like": quadruped((-1, 1, 1), (-1.5, 1.5), (0, 0, -0.08)),
    "offset, both signs": quadruped((1, -1, 1), (1.2, -1.2), (0.03, 0.06, -0.02)),
    "turned frames": quadruped((1, 1, -1), (1.2, 1.2), (0.0, 0.05, 0.0), turned()),
}


def functions(leg):
    foot, velocity = ca.SX.sym("foot", 3), ca.SX.sym("velocity", 3)
    angles = leg_inverse_kinematics(leg, foot)
    outputs = [angles, leg_joint_rates(leg, foot, velocity), ca.jtimes(angles, foot, velocity)]
    return ca.Function("leg", [foot, velocity], outputs, {"cse": True})


def numbers(value) -> np.ndarray:
    return np.array(value).ravel()


def compiled(controller: Controller, robot: Mechanism) -> ca.Function:
    memory = len(controller.initial_memory(robot))
    sizes = {
        "t": 1,
        "q": robot.nq,
        "u": robot.nu,
        "command": len(controller.commands),
        "memory": memory,
        "dt": 1,
    }
    symbols = [ca.SX.sym(name, size) for name, size in sizes.items()]
    return ca.Function("controller", symbols, list(controller.torque(robot, *symbols)), {"cse": True})


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())
def test_inverse_kinematics_inverts_forward_kinematics(robot):
    rng = np.random.default_rng(0)
    for leg in find_legs(robot):
        solve = functions(leg)
        for _ in range(20):
            angles = leg.posture + rng.uniform(-0.35, 0.35, 3)
            foot, rates = foot_in_hip_frame(leg, angles), rng.normal(size=3)
            found, found_rates, derivative = map(numbers, solve(foot, foot_jacobian(leg, angles) @ rates))
            assert found == pytest.approx(angles, abs=1e-9)
            assert found_rates == pytest.approx(rates, abs=1e-9)
            assert derivative == pytest.approx(rates, abs=1e-9)


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())
def test_foot_jacobian_is_the_derivative(robot):
    for leg in find_legs(robot):
        step = 1e-6 * np.eye(3)
        columns = [
            (foot_in_hip_frame(leg, leg.posture + d) - foot_in_hip_frame(leg, leg.posture - d)) / 2e-6
            for d in step
        ]
        assert foot_jacobian(leg, leg.posture) == pytest.approx(np.array(columns).T, abs=1e-8)


def test_constant_lateral_target_is_the_planar_case():
    leg = find_legs(CHEETAH)[0]
    x, z = ca.SX.sym("x"), ca.SX.sym("z")
    foot, velocity = ca.vertcat(x, leg.lateral, z), ca.SX([0.3, 0.0, -0.2])
    outputs = [leg_inverse_kinematics(leg, foot), leg_joint_rates(leg, foot, velocity)]
    planar = ca.Function("planar", [x, z], outputs, {"cse": True})
    assert planar.n_instructions() < functions(leg).n_instructions()
    full = functions(leg)([0.05, leg.lateral, -0.25], [0.3, 0, -0.2])
    for a, b in zip(planar(0.05, -0.25), full, strict=False):
        assert numbers(a) == pytest.approx(numbers(b), abs=1e-12)


@pytest.mark.parametrize("foot", [(0, 0.066, -5.0), (3.0, 0.0, -0.1), (0.0, 0.066, -1e-4), (0, 0, 0)])
def test_out_of_reach_stays_finite(foot):
    leg = find_legs(CHEETAH)[1]
    angles, rates, _ = functions(leg)(foot, [0.1, 0.1, 0.1])
    assert np.isfinite(numbers(angles)).all() and np.isfinite(numbers(rates)).all()


def test_far_target_is_met_with_a_straight_leg_in_its_direction():
    leg = find_legs(CHEETAH)[1]
    target = np.array([0.3, leg.lateral, -0.6])
    reached = foot_in_hip_frame(leg, numbers(functions(leg)(target, [0, 0, 0])[0]))
    assert reached[2] / reached[0] == pytest.approx(-2, rel=1e-6)
    assert np.hypot(*reached[::2]) == pytest.approx(sum(leg.lengths), rel=1e-3)


def test_a_leg_of_another_kind_is_named():
    body = Body("b", -1, Joint("roll", "hinge", np.array([0, 0, 1])), Inertia(1.0))
    robot = Mechanism("odd", (body,), (Candidate("toe", 0, np.zeros(3), 0.01),))
    with pytest.raises(TarsusError, match="leg to 'toe' of 'odd'"):
        find_legs(robot)
    with pytest.raises(TarsusError, match="no legs"):
        find_legs(Mechanism("ball", (Body("b", -1, Joint("f", "free"), Inertia(1.0)),)))


@pytest.mark.parametrize("duty", [0.4, 0.5, 0.55, 0.7])
def test_foot_path_is_smooth_and_is_the_bezier_curve(duty):
    phase = ca.SX.sym("phase")
    path = ca.Function("path", [phase], list(bezier.foot_path(phase, duty)))

    def at(value):
        return np.array([float(v) for v in path(value)])

    tiny = 1e-9
    for a, b in ((duty - tiny, duty + tiny), (1 - tiny, tiny)):  # lift-off, touch-down
        assert at(a) == pytest.approx(at(b), abs=1e-6)
    assert at(0.0)[:4] == pytest.approx([0.5, 0, -1 / duty, 0], abs=1e-9)
    assert at(duty)[:4] == pytest.approx([-0.5, 0, -1 / duty, 0], abs=1e-9)
    assert at(duty + (1 - duty) / 2)[:2] == pytest.approx([0, 1], abs=1e-9)
    s = np.linspace(0, 0.999, 23)
    swing = np.array([at(duty + (1 - duty) * value) for value in s])
    assert swing[:, 0] == pytest.approx(bezier.bezier(bezier.swing_points(duty))(s), abs=1e-9)
    assert swing[:, 1] == pytest.approx(bezier.bezier(bezier.LIFT_POINTS)(s), abs=1e-9)
    for value in (0.1, 0.37, 0.62, 0.9):
        slope = (at(value + 1e-6) - at(value - 1e-6)) / 2e-6
        assert at(value)[2:4] == pytest.approx(slope[:2], abs=1e-5)


def test_pattern_generator_converges_from_random_phases():
    offsets, phases, dt = (0.5, 0.0, 0.0, 0.5), ca.SX.sym("phases", 4), 0.0025
    after = cpg.advance(phases, cpg.phase_rates(phases, offsets, 2.5, 10.0), ca.SX(dt))
    step, rng = ca.Function("step", [phases], [after]), np.random.default_rng(3)
    for _ in range(5):
        value = rng.uniform(size=4)
        for _ in range(1200):
            value = numbers(step(value))
            assert ((value >= 0) & (value < 1)).all()
        error = value - value[0] - (np.array(offsets) - offsets[0])
        assert error - np.round(error) == pytest.approx(0, abs=1e-3)


def test_servo_pulls_towards_the_target():
    tau = pd_torque(ca.SX([1.0]), ca.SX([2.0]), ca.SX([0.5]), ca.SX([3.0]), (40.0, 1.0))
    assert float(tau[0]) == pytest.approx(40 * 0.5 - 1.0)


def test_trot_pairs_diagonal_legs():
    for robot in ROBOTS.values():
        legs = find_legs(robot)
        offsets = dict(zip([leg.name[:2].upper() for leg in legs], trot_offsets(legs), strict=True))
        assert offsets == {"FL": 0.0, "FR": 0.5, "HL": 0.5, "HR": 0.0}
        assert compiled(Trot(), robot).n_instructions() < 700


def test_trot_needs_four_legs():
    robot = Mechanism("tripod", CHEETAH.bodies[:10], CHEETAH.candidates[:3], keyframes=CHEETAH.keyframes)
    with pytest.raises(TarsusError, match="four legs"):
        Trot().initial_memory(robot)


def test_trot_starts_from_standing_at_rest():
    robot, trot = CHEETAH, Trot()
    q, u = trot.initial_coordinates(robot), np.zeros(robot.nu)
    memory = trot.initial_memory(robot)
    tau, after = compiled(trot, robot)(0.0, q, u, [0.4, 0.0], memory, 0.0025)
    carried = [trot.support * carrying_torques(leg, robot.mass * 9.81 / 2) for leg in find_legs(robot)]
    late = (0.5 / trot.duty - 0.5) * 2  # the second diagonal is this far past mid-stance, -1 to 1
    bumps = np.where(memory > 0, (1 - late**2) ** 2, 0.0)
    assert numbers(tau) == pytest.approx(np.ravel(carried) * np.repeat(bumps, 3), abs=1e-9)
    assert numbers(after) == pytest.approx(memory + 0.0025 * trot.frequency)


def test_carrying_torques_do_the_work_of_the_load():
    for leg in find_legs(CHEETAH):
        rates = np.array([0.3, -0.7, 1.1])
        lifted = (foot_jacobian(leg, leg.posture) @ rates)[2]
        assert carrying_torques(leg, 44.0) @ rates == pytest.approx(-44.0 * lifted)


def walk(controller: Controller, command: list[float], seconds: float, dt: float = 0.0025):
    """Positions (n, 3), headings (n,) rad of Mini Cheetah under a controller in MuJoCo, friction 0.8."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(to_mjcf(CHEETAH, dt=dt, friction=0.8))
    data, step = mujoco.MjData(model), compiled(controller, CHEETAH)
    data.qpos[:] = controller.initial_coordinates(CHEETAH)
    memory, places, tilts, headings = controller.initial_memory(CHEETAH), [], [], []
    for _ in range(round(seconds / dt)):
        tau, memory = step(data.time, data.qpos, data.qvel, command, memory, dt)
        data.ctrl[:] = numbers(tau)
        mujoco.mj_step(model, data)
        R = data.xmat[1].reshape(3, 3)
        places.append(data.qpos[:3].copy())
        tilts.append(R[2, 2])
        headings.append(np.arctan2(R[1, 0], R[0, 0]))
    return np.array(places), np.array(tilts), np.unwrap(headings)


def test_trot_walks_straight_for_ten_seconds():
    places, upright, heading = walk(Trot(), [0.4, 0.0], 10.0)
    assert places[-1, 0] > 3.0
    assert abs(places[-1, 1]) < 0.2
    assert abs(heading[-1]) < np.radians(5)
    assert upright.min() > np.cos(np.radians(5))
    assert places[:, 2].min() > 0.26 and places[:, 2].max() < 0.30
    late = places[800:]  # after 2 s
    assert (late[-1, 0] - late[0, 0]) / (0.0025 * (len(late) - 1)) == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize("turn", [0.5, -0.5])
def test_trot_turns_to_the_commanded_side(turn):
    places, upright, heading = walk(Trot(), [0.2, turn], 4.0)
    assert heading[-1] / (turn * 3.5) == pytest.approx(1, abs=0.25)
    assert upright.min() > np.cos(np.radians(5)) and places[:, 2].min() > 0.26


def test_stand_stands():
    places, upright, _ = walk(Stand(), [], 2.0)
    assert np.ptp(places[400:], axis=0) == pytest.approx(0, abs=1e-3)
    assert upright.min() > np.cos(np.radians(2)) and places[-1, 2] > 0.26


def test_other_joints_hold_their_posture():
    head = Body("head", 0, Joint("neck", "hinge", np.array([0, 0, 1])), Inertia(0.1))
    robot = Mechanism(
        "with head",
        (*CHEETAH.bodies, head),
        CHEETAH.candidates,
        actuators=(Actuator("neck", "neck"), *CHEETAH.actuators),
        keyframes={"stand": np.append(CHEETAH.keyframes["stand"], 0.3)},
    )
    q, u = robot.keyframes["stand"].copy(), np.zeros(robot.nu)
    q[-1], u[-1] = 0.1, 2.0
    tau, _ = compiled(Trot(), robot)(0, q, u, [0.4, 0], Trot().initial_memory(robot), 0.0025)
    assert float(tau[0]) == pytest.approx(40 * 0.2 - 2)
    angles, _ = joint_state(robot, ca.SX(q), ca.SX(u))
    assert float(angles[0]) == pytest.approx(0.1)
