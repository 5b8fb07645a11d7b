"""Legs, foot paths, pattern generator, servo; the trot walking in MuJoCo, and on slopes in
Tarsus.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from helpers.refused import refused

from tarsus import Simulation, Slope
from tarsus.control import bezier, cpg
from tarsus.control.base import ControlInputs, Controller
from tarsus.control.gaits.free import Free
from tarsus.control.gaits.stand import Stand
from tarsus.control.gaits.trot import Trot, diagonals, support_torques
from tarsus.control.pd import joint_state, pd_torque
from tarsus.control.trunk import keep_heading, trunk_motion
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Actuator, Body, Candidate, Inertia, Joint, Mechanism
from tarsus.model.to_mjcf import to_mjcf
from tarsus.morphology.leg_inverse_kinematics import (
    LegPoint,
    displace_foot,
    leg_inverse_kinematics,
)
from tarsus.morphology.legs import (
    find_legs,
    foot_in_hip_frame,
    foot_jacobian,
)
from tarsus.robots import mini_cheetah

CHEETAH = mini_cheetah.describe()


STRAIGHT = np.eye(3)


def quadruped(axes, knees, offsets, rotation=STRAIGHT) -> Mechanism:
    """Quadruped of 20 kg: signs of the three axes, knee angles of front and hind legs, abad-hip
    vector.

    `rotation` turns the thigh's frame in its parent, which changes only the numbers.
    """
    solid = Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))
    bodies, feet, motors, stand = (
        [Body("base", -1, Joint("free", "free"), Inertia(8.0))],
        [],
        [],
        [],
    )
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
                Body(
                    f"{name}3",
                    b + 1,
                    Joint(f"{name}_knee", "hinge", knee_y),
                    solid,
                    below,
                    rotation.T,
                ),
            ]
            feet.append(Candidate(f"{name}_foot", b + 2, np.array([0.02, 0, -0.27]), 0.02))
            motors += [Actuator(j.joint.name, j.joint.name, -99, 99) for j in bodies[-3:]]
            stand += [-0.1 * axes[0], -knee / 2 * axes[1], knee * axes[2]]
    q = np.array([0, 0, 0.5, 1, 0, 0, 0, *stand])
    return Mechanism(
        "quadruped", tuple(bodies), tuple(feet), actuators=tuple(motors), keyframes={"stand": q}
    )


def turned() -> np.ndarray:
    c, s = np.cos(0.7), np.sin(0.7)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array(
        [[1, 0, 0], [0, c, -s], [0, s, c]]
    )


ROBOTS = {
    "mini cheetah": CHEETAH,
    "starleth like": quadruped((1, 1, 1), (-1.4, 1.4), (0, 0, -0.0685)),
    "hyq like": quadruped((-1, 1, 1), (-1.5, 1.5), (0, 0, -0.08)),
    "offset, both signs": quadruped((1, -1, 1), (1.2, -1.2), (0.03, 0.06, -0.02)),
    "turned frames": quadruped((1, 1, -1), (1.2, 1.2), (0.0, 0.05, 0.0), turned()),
}


def functions(leg):
    """Angles, their rates, and what the rates should be, of a point of the leg and its rate."""
    point, rate = ca.SX.sym("point", 3), ca.SX.sym("rate", 3)
    angles, rates = leg_inverse_kinematics(
        leg, LegPoint(*ca.vertsplit(point)), LegPoint(*ca.vertsplit(rate))
    )
    return ca.Function(
        "leg", [point, rate], [angles, rates, ca.jtimes(angles, point, rate)], {"cse": True}
    )


def in_leg(leg, angles) -> np.ndarray:
    """The foot as the leg reaches it: angle of its plane, along and up in it."""
    along, _, up = foot_in_hip_frame(leg, np.array([0, *angles[1:]])) - leg.abad
    return np.array([leg.signs[0] * angles[0], along, up])


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
    return ca.Function(
        "controller",
        symbols,
        list(controller.torque(ControlInputs(robot, *symbols))),
        {"cse": True},
    )


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())
def test_inverse_kinematics_inverts_forward_kinematics(robot):
    rng = np.random.default_rng(0)
    for leg in find_legs(robot):
        solve = functions(leg)
        for _ in range(20):
            angles, rates = leg.posture + rng.uniform(-0.35, 0.35, 3), rng.normal(size=3)
            turning = foot_jacobian(leg, np.array([0, *angles[1:]])) @ [0, *rates[1:]]
            rate = [leg.signs[0] * rates[0], turning[0], turning[2]]
            found, found_rates, derivative = map(numbers, solve(in_leg(leg, angles), rate))
            assert found == pytest.approx(angles, abs=1e-9)
            assert found_rates == pytest.approx(rates, abs=1e-9)
            assert derivative == pytest.approx(rates, abs=1e-9)


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())
def test_displaced_foot_reaches_its_target(robot):
    moved, moving = ca.SX.sym("moved", 3), ca.SX.sym("moving", 3)
    for leg in find_legs(robot):
        standing = leg.standing_foot - [0, 0, 0.01]
        point, rate = displace_foot(leg, standing, moved, moving)
        derivative = ca.jtimes(ca.vertcat(*point), moved, moving)
        move = ca.Function(
            "move", [moved, moving], [ca.vertcat(*point), ca.vertcat(*rate), derivative]
        )
        solve = functions(leg)
        for where in (
            (0, 0, 0),
            (0.08, 0, 0.05),
            (-0.05, 0.05, 0),
            (0.05, -0.05, 0.0),
            (0, 0.02, 0.05),
        ):
            at, speed, wanted = map(numbers, move(where, [0.5, 0.3, -0.2]))
            error = foot_in_hip_frame(leg, numbers(solve(at, speed)[0])) - standing - where
            sideways = (
                0.0025 if where[2] == 0 else abs(where[1]) / 4 + where[2] / 8
            )  # lifted in the leg's plane
            assert (np.abs(error) <= [1e-9, sideways, 4e-4 if where[1] else 1e-9]).all()
            assert speed == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())
def test_foot_jacobian_is_the_derivative(robot):
    for leg in find_legs(robot):
        step = 1e-6 * np.eye(3)
        columns = [
            (foot_in_hip_frame(leg, leg.posture + d) - foot_in_hip_frame(leg, leg.posture - d))
            / 2e-6
            for d in step
        ]
        assert foot_jacobian(leg, leg.posture) == pytest.approx(np.array(columns).T, abs=1e-8)


@pytest.mark.parametrize("point", [(0, 0, -5.0), (3.0, 3.0, -0.1), (0.0, 0, -1e-4), (0, 0, 0)])
def test_out_of_reach_stays_finite(point):
    leg = find_legs(CHEETAH)[1]
    angles, rates, _ = functions(leg)(point, [0.1, 0.1, 0.1])
    assert np.isfinite(numbers(angles)).all() and np.isfinite(numbers(rates)).all()


def test_unreachable_targets_give_a_straight_leg():
    leg = find_legs(CHEETAH)[1]
    reached = foot_in_hip_frame(leg, numbers(functions(leg)([0, 0.3, -0.6], [0, 0, 0])[0]))
    assert reached[2] / reached[0] == pytest.approx(-2, rel=1e-6)
    assert np.hypot(*reached[::2]) == pytest.approx(sum(leg.lengths), rel=1e-3)


def test_unsupported_legs_are_reported_by_name():
    body = Body("b", -1, Joint("roll", "hinge", np.array([0, 0, 1])), Inertia(1.0))
    robot = Mechanism("odd", (body,), (Candidate("toe", 0, np.zeros(3), 0.01),))
    with refused(Unsupported, "odd") as caught:
        find_legs(robot)
    assert "'toe'" in str(caught.value)
    with refused(Unsupported, "ball"):
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
    assert swing[:, 0] == pytest.approx(
        bezier.bezier_polynomial(bezier.swing_points(duty))(s), abs=1e-9
    )
    assert swing[:, 1] == pytest.approx(bezier.bezier_polynomial(bezier.LIFT_POINTS)(s), abs=1e-9)
    for value in (0.1, 0.37, 0.62, 0.9):
        slope = (at(value + 1e-6) - at(value - 1e-6)) / 2e-6
        assert at(value)[2:4] == pytest.approx(slope[:2], abs=1e-5)


def test_pattern_generator_converges_from_every_start():
    offsets, phases, dt = (0.5, 0.0, 0.0, 0.5), ca.SX.sym("phases", 4), 0.0025
    after = cpg.advance_phases(phases, cpg.phase_rates(phases, offsets, 2.5, 10.0), ca.SX(dt))
    step, rng = ca.Function("step", [phases], [after]), np.random.default_rng(3)
    for value in (
        np.full(4, 0.25),
        *rng.uniform(size=(4, 4)),
    ):  # two of the first are exactly opposed
        for _ in range(400):
            value = numbers(step(value))
            assert ((value >= 0) & (value < 1)).all()
        error = value - value[0] - (np.array(offsets) - offsets[0])
        assert error - np.round(error) == pytest.approx(0, abs=1e-4)


def test_servo_pulls_towards_the_target():
    tau = pd_torque(ca.SX([1.0]), ca.SX([2.0]), ca.SX([0.5]), ca.SX([3.0]), (40.0, 1.0))
    assert float(tau[0]) == pytest.approx(40 * 0.5 - 1.0)


def test_trot_pairs_diagonal_legs():
    for robot in ROBOTS.values():
        legs = find_legs(robot)
        pairs = dict(zip([leg.name[:2].upper() for leg in legs], diagonals(legs), strict=True))
        assert pairs == {"FL": 0, "FR": 1, "HL": 1, "HR": 0}
        assert compiled(Trot(), robot).n_instructions() < 640
    assert compiled(Trot(), CHEETAH).n_instructions() < 560


def test_trot_needs_four_legs():
    robot = Mechanism(
        "tripod", CHEETAH.bodies[:10], CHEETAH.candidates[:3], keyframes=CHEETAH.keyframes
    )
    with refused(Unsupported, "trot"):
        Trot().initial_memory(robot)


def test_trot_starts_from_standing_at_rest():
    robot, trot = CHEETAH, Trot()
    q, u = trot.initial_coordinates(robot), np.zeros(robot.nu)
    memory = trot.initial_memory(robot)
    tau, after = compiled(trot, robot)(0.0, q, u, [0.4, 0.0], memory, 0.0025)
    carried = [
        trot.support * support_torques(leg, robot.mass * 9.81 / 2) for leg in find_legs(robot)
    ]
    late = (0.5 / trot.duty - 0.5) * 2  # the second diagonal is this far past mid-stance, -1 to 1
    bumps = np.array(diagonals(find_legs(robot))) * (1 - late**2) ** 2
    assert numbers(tau) == pytest.approx(np.ravel(carried) * np.repeat(bumps, 3), abs=1e-9)
    step = 0.0025 * trot.frequency
    assert numbers(after) == pytest.approx([step, 0.5 + step, 1, 0, 0])


def test_without_its_gains_the_trot_is_open_loop():
    control, rng = (
        compiled(Trot(heading=0, tracking=0, capture=0, lean=0), CHEETAH),
        np.random.default_rng(2),
    )
    q, memory = CHEETAH.keyframes["stand"], [0.2, 0.7, 1, 0, 0]
    still = control(2.0, q, np.zeros(18), [0.4, 0.3], memory, 0.0025)[0]
    thrown = np.concatenate([rng.normal(size=3), [0.5, 0.5, -0.5, 0.5], q[7:]])
    moving = control(2.0, thrown, [*rng.normal(size=6), *np.zeros(12)], [0.4, 0.3], memory, 0.0025)[
        0
    ]
    assert numbers(moving) == pytest.approx(numbers(still), abs=1e-12)


def test_trot_torques_stay_finite():
    control, rng = compiled(Trot(), CHEETAH), np.random.default_rng(4)
    for size in (1.0, 30.0, 1e6):
        q = np.concatenate([np.zeros(3), [0, 0.6, 0.8, 0], rng.normal(size=12)])
        tau, after = control(
            2.0, q, size * rng.normal(size=18), [0.4, 0.3], [0.2, 0.7, 0, 0, 0], 0.0025
        )
        assert np.isfinite(numbers(tau)).all() and np.isfinite(numbers(after)).all()


def test_heading_is_controlled_at_every_angle():
    kept, actual, turned = ca.SX.sym("kept", 2), ca.SX.sym("actual", 2), ca.SX.sym("turned")
    step = ca.Function("step", [kept, actual, turned], keep_heading(kept, actual, turned))

    def towards(angle):
        return np.array([np.cos(angle), np.sin(angle)])

    for start in (0.0, 1.0, 3.1, -2.0):
        error, memory = step([0, 0], towards(start), 0.0)
        assert float(error) == 0 and numbers(memory) == pytest.approx(towards(start))
    for n in range(4000):  # two turns
        error, memory = step(memory, towards(0.003 * n - 2.0 - 0.4), 0.003)
        assert float(error) == pytest.approx(np.sin(0.4), abs=1e-3)
    assert np.hypot(*numbers(memory)) == pytest.approx(1, abs=1e-4)


def test_trunk_velocity_is_in_trunk_axes():
    yaw, pitch = 2.0, 0.15
    turn = np.array([np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)])
    lean = np.array([np.cos(pitch / 2), 0, np.sin(pitch / 2), 0])
    p = [
        turn[0] * lean[0],
        -turn[3] * lean[2],
        turn[0] * lean[2],
        turn[3] * lean[0],
    ]  # pitched down, then turned
    forwards = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), -np.sin(pitch)])
    left = np.array([-np.sin(yaw), np.cos(yaw), 0])
    now = trunk_motion(ca.SX([0, 0, 0, *p]), ca.SX([*(0.7 * forwards), 0, 0, 0.3]))
    assert numbers(ca.DM(ca.vertcat(*now.velocity))) == pytest.approx([0.7, 0, 0.3], abs=1e-12)
    assert numbers(ca.DM(now.rise)) == pytest.approx([-np.sin(pitch), 0], abs=1e-12)
    now = trunk_motion(ca.SX([0, 0, 0, *p]), ca.SX([*(0.5 * left), 0, 0, 0]))
    assert float(now.velocity.y) == pytest.approx(0.5 * np.cos(pitch))


def test_support_torques_do_the_work_of_the_load():
    for leg in find_legs(CHEETAH):
        rates = np.array([0.3, -0.7, 1.1])
        lifted = (foot_jacobian(leg, leg.posture) @ rates)[2]
        assert support_torques(leg, 44.0) @ rates == pytest.approx(-44.0 * lifted)


def walk(controller: Controller, command: list[float], seconds: float, dt: float = 0.0025):
    """Positions (n, 3), headings (n,) rad of Mini Cheetah under a controller in MuJoCo, friction
    0.8.
    """
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


def test_trot_walks_straight_in_mujoco():
    places, upright, heading = walk(Trot(), [0.4, 0.0], 10.0)
    assert abs(places[-1, 1]) < 0.05
    assert np.abs(heading).max() < np.radians(3)
    assert upright.min() > np.cos(np.radians(4))
    assert places[:, 2].min() > 0.26 and places[:, 2].max() < 0.30
    late = places[800:]  # after 2 s
    assert (late[-1, 0] - late[0, 0]) / (0.0025 * (len(late) - 1)) == pytest.approx(0.4, rel=0.05)


def headings(q: np.ndarray) -> np.ndarray:
    """Headings for coordinates (times, worlds, nq), rad, continuous in time."""
    w, x, y, z = np.moveaxis(q[..., 3:7], -1, 0)
    return np.unwrap(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)), axis=0)


def upright(q: np.ndarray) -> np.ndarray:
    """Cosine of the tilt."""
    return 1 - 2 * (q[..., 4] ** 2 + q[..., 5] ** 2)


def watched(simulation: Simulation, seconds: float) -> np.ndarray:
    """Coordinates (times, worlds, nq) every 0.1 s, the start first."""
    seen = [simulation.q]
    for _ in range(round(seconds / 0.1)):
        simulation.advance(0.1)
        seen.append(simulation.q)
    return np.array(seen)


# heading error, degrees, and part of the speed; at the last the feet chatter: the step is coarse
CLIMBS = [
    ("moreau", 0.0025, 5, 0.05),
    ("compliant", 0.001, 5, 0.05),
    ("compliant", 0.0025, 15, 0.1),
]


@pytest.mark.parametrize(("law", "dt", "stray", "slack"), CLIMBS)
def test_trot_climbs_and_descends(law, dt, stray, slack):
    angles, mu = np.radians([0, 5, 8, -5, -8] * 2), np.repeat([0.8, 0.6], 5)
    simulation = Simulation(
        "mini_cheetah", law, terrain=Slope(angle=angles), controller="trot", dt=dt, worlds=10
    )
    simulation.set(mu=mu)
    q = watched(simulation, 20.0)
    speed = (q[-1, :, 0] - q[20, :, 0]) / 18 / np.cos(angles)
    assert np.abs(headings(q)).max() < np.radians(stray)
    assert speed == pytest.approx(0.4, rel=slack)
    assert upright(q).min() > np.cos(np.radians(8 + stray))
    assert np.abs(q[:, :, 1]).max() < 0.02 * stray


def test_trot_tracks_the_commanded_speed():
    speeds = np.array([-0.3, 0.0, 0.2, 0.6, 0.8])
    simulation = Simulation("mini_cheetah", controller="trot", worlds=len(speeds))
    simulation.set(command={"speed": speeds})
    q = watched(simulation, 12.0)
    assert (q[-1, :, 0] - q[20, :, 0]) / 10 == pytest.approx(speeds, rel=0.05, abs=0.005)
    assert np.abs(headings(q)).max() < np.radians(3) and upright(q).min() > np.cos(np.radians(5))


def test_trot_tracks_the_turning_rate_from_any_heading():
    starts, turns = np.radians([0, 100, 175, -90]), np.array([0.5, -0.5, 0.0, 1.0])
    simulation = Simulation("mini_cheetah", controller="trot", worlds=4)
    q = simulation.q
    q[:, 3], q[:, 6] = np.cos(starts / 2), np.sin(starts / 2)
    simulation.set(q=q, command={"speed": 0.2, "turn": turns})
    heading = headings(watched(simulation, 10.0))
    assert heading[0] == pytest.approx(starts)
    assert (heading[-1] - heading[20]) / 8 == pytest.approx(turns, rel=0.05, abs=0.005)
    assert heading[-1] - starts == pytest.approx(
        turns * 9.5, rel=0.05, abs=0.05
    )  # 1 s to the full rate


def test_trot_recovers_from_pushes():
    rng, worlds = np.random.default_rng(1), 192
    angle = np.radians(np.tile([0, 5, 8], worlds // 3))
    simulation = Simulation(
        "mini_cheetah", terrain=Slope(angle=angle), controller="trot", worlds=worlds
    )
    u = 0.2 * rng.normal(size=(worlds, 18))
    u[worlds // 2 :] = 0
    u[worlds // 2 :, 1] = np.repeat([0.5, -0.5], worlds // 4)
    simulation.set(u=u)
    q = watched(simulation, 10.0)
    assert upright(q).min() > np.cos(np.radians(30))
    assert np.degrees(np.abs(headings(q[-1:]))).max() < 5


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


def test_free_legs_get_no_torques() -> None:
    q, u, n = ca.SX.sym("q", CHEETAH.nq), ca.SX.sym("u", CHEETAH.nu), len(CHEETAH.actuators)
    now = ControlInputs(CHEETAH, ca.SX(0), q, u, ca.SX(0, 1), ca.SX(0, 1), ca.SX(0.001))
    torque, memory = Free().torque(now)
    assert torque.shape == (n, 1) and torque.is_zero() and memory.numel() == 0
