"""Series elasticity and backlash against closed forms: resonance, deflection, free travel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.in_mujoco import placed
from helpers.refused import refused

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, UnknownName, UnmetCondition
from tarsus.model.elastic_gears import with_backlash, with_series_elasticity
from tarsus.model.mjcf import read_mjcf

ROTOR, LINK, STIFFNESS = 0.02, 0.1, 300.0


def rotor(armature: float = ROTOR, gravity: float = 0.0) -> Robot:
    """A link about a horizontal axis; its center of mass is 0.1 m beside the axis."""
    return Robot.of(
        read_mjcf(
            f"""<mujoco><option gravity="0 0 {-gravity}"/><worldbody><body name="link">
            <joint name="j" axis="0 1 0" armature="{armature}"/><inertial pos=".1 0 0" mass="1"
            diaginertia=".1 {LINK - 0.01} .1"/></body></worldbody>
            <actuator><position name="m" joint="j" kp="500" kv="20"/></actuator></mujoco>"""
        )
    )


def free(robot: Robot, dt: float) -> tarsus.Simulation:
    """Simulate torques of the motor."""
    return tarsus.Simulation(robot, dt=dt)


def test_two_masses_oscillate_at_their_resonance() -> None:
    """w^2 = K (1 / I_rotor + 1 / I_link); the midpoint rule oscillates at 2 / dt atan(w dt / 2)."""
    simulation, dt = free(with_series_elasticity(rotor(), STIFFNESS), 1e-3), 1e-3
    simulation.set(q=[0.0, 0.01])
    log = simulation.run(2.0)
    deflection = log.q.values[:, 1]
    omega = np.sqrt(STIFFNESS * (1 / ROTOR + 1 / LINK))
    measured = 2 / dt * np.arctan(omega * dt / 2)
    np.testing.assert_allclose(
        deflection, 0.01 * np.cos(measured * log.time.values), atol=0.01 * 1e-2
    )
    u = log.u.values
    assert np.abs(ROTOR * u[:, 0] + LINK * u.sum(1)).max() < 1e-12, "no external moment"


def test_the_spring_carries_the_load_of_the_link() -> None:
    """At rest K times the deflection is the moment of gravity about the joint."""
    elastic = with_series_elasticity(rotor(gravity=9.81), STIFFNESS, damping=2.0)
    simulation = tarsus.Simulation(elastic, actuators="file", dt=1e-3)
    simulation.step([0.2])
    simulation.advance(6.0)
    motor, deflection = simulation.q
    moment = 9.81 * 0.1 * np.cos(motor + deflection)  # turns the link towards larger angles
    assert STIFFNESS * deflection == pytest.approx(moment, rel=1e-6)
    assert 500 * (motor - 0.2) == pytest.approx(moment, rel=1e-6)


def test_damping_and_stiffness_differ_by_world() -> None:
    elastic = with_series_elasticity(rotor(), STIFFNESS)
    simulation = tarsus.Simulation(elastic, dt=1e-4, worlds=2, varied=["stiffness"])
    simulation.set(stiffness=[STIFFNESS, 4 * STIFFNESS], q=[0.0, 0.01])
    simulation.step([0.0])
    u = simulation.u[:, 1]
    assert u[1] / u[0] == pytest.approx(4.0, rel=1e-2)


def test_a_motor_travels_through_half_the_play_before_its_link_moves() -> None:
    """From the middle at constant torque: t = sqrt(play I / tau); then both turn together."""
    play, torque, dt = 0.04, 0.8, 1e-4
    simulation = free(with_backlash(rotor(), play), dt)
    log = []
    for _ in range(600):
        simulation.step([torque])
        log.append((*simulation.q, *simulation.u))
    motor, gap, u, rate = np.array(log).T
    touches = int(np.flatnonzero(np.abs(motor + gap) > 1e-9)[0])
    assert dt * touches == pytest.approx(np.sqrt(play * ROTOR / torque), abs=2 * dt)
    assert motor[touches - 1] == pytest.approx(play / 2, abs=2 * dt * u[touches - 1])
    assert np.abs(gap).max() <= play / 2 + 1e-6
    # an inelastic impact keeps the angular momentum, and the torque then moves both
    momentum = ROTOR * u + LINK * (u + rate)
    np.testing.assert_allclose(momentum, torque * dt * np.arange(1, 601), rtol=1e-6)
    assert rate[-1] == pytest.approx(0.0, abs=1e-9)
    assert u[-1] == pytest.approx(600 * dt * torque / (ROTOR + LINK), rel=1e-6)


def test_a_reversing_motor_travels_through_the_whole_play() -> None:
    play, dt = 0.04, 1e-4
    simulation = free(with_backlash(rotor(), play), dt)
    simulation.set(q=[0.0, -play / 2])  # pushing in the positive direction
    before = simulation.q.sum()
    while abs(simulation.q.sum() - before) < 1e-9:
        simulation.step([-0.8])
    assert simulation.q[0] == pytest.approx(-play, abs=2e-3 * play + dt * abs(simulation.u[0]))


def test_backlash_with_output_inertia_rings_behind_the_teeth() -> None:
    """While the teeth are apart, the output stage and the link oscillate without the rotor."""
    output, dt = 0.01, 2e-4
    robot = with_backlash(rotor(), 10.0)
    robot = with_series_elasticity(robot, STIFFNESS, output_inertia=output)
    assert robot.joint_names == ("j", "j_play", "j_spring")
    simulation = free(robot, dt)
    simulation.set(q=[0.0, 0.0, 0.01])
    log = simulation.run(0.2)
    omega = np.sqrt(STIFFNESS * (1 / output + 1 / LINK))
    measured = 2 / dt * np.arctan(omega * dt / 2)
    np.testing.assert_allclose(
        log.q.values[:, 2], 0.01 * np.cos(measured * log.time.values), atol=1e-4
    )
    assert np.abs(log.q.values[:, 0]).max() < 1e-9, "nothing moves the rotor"


def test_a_robot_with_elastic_gears_is_the_robot_with_more_joints() -> None:
    """Without deflection, positions and the old joints' mass matrix are those of the robot."""
    robot = tarsus.load("mini_cheetah")
    elastic = with_series_elasticity(robot, 200.0, 1.0)
    assert elastic.nq == robot.nq + 12
    q, q_elastic = np.array(robot.keyframes["stand"]), np.array(elastic.keyframes["stand"])
    old = [elastic.u_slices[elastic.joint_index(name)] for name in robot.joint_names]
    indices = np.concatenate([np.arange(s.start, s.stop) for s in old])
    whole = elastic.mass_matrix(q_elastic)
    np.testing.assert_allclose(whole[np.ix_(indices, indices)], robot.mass_matrix(q), atol=1e-12)
    for candidate in robot.candidates:
        np.testing.assert_allclose(
            elastic.position(q_elastic, candidate.name),
            robot.position(q, candidate.name),
            atol=1e-12,
        )
    assert all(np.linalg.eigvalsh(whole) > 0)


def test_mujoco_has_the_same_mass_matrix() -> None:
    mujoco = pytest.importorskip("mujoco")
    robot = with_series_elasticity(with_backlash(rotor(), 0.1), 50.0, output_inertia=0.01)
    model, data = placed(robot, np.array([0.3, 0.02, -0.1]))
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    np.testing.assert_allclose(robot.mass_matrix([0.3, 0.02, -0.1]), full, atol=1e-9)


def test_mistakes_are_rejected() -> None:
    with refused(InvalidValue, "stiffness"):
        with_series_elasticity(rotor(), 0.0)
    with refused(InvalidValue, "damping"):
        with_series_elasticity(rotor(), 1.0, damping=[1.0, 2.0])
    with refused(InvalidValue, "play"):
        with_backlash(rotor(), -0.1)
    with refused(UnknownName, "knee"):
        with_backlash(rotor(), 0.1, ["knee"])
    with refused(UnmetCondition, "j"):
        with_backlash(rotor(armature=0.0), 0.1)
    with refused(UnmetCondition, "output_inertia"):
        with_series_elasticity(with_backlash(rotor(), 0.1), 50.0)
    with refused(InvalidValue, "j"):
        with_backlash(with_backlash(rotor(), 0.1), 0.1)
    passive = replace(rotor(), actuators=())
    with refused(UnmetCondition, passive.name):
        with_backlash(passive, 0.1)


def test_a_run_of_a_changed_robot_from_a_file_is_repeated(tmp_path: Path) -> None:
    """Within this process, which knows the changed robot."""
    file = tmp_path / "arm.xml"
    file.write_text(
        """<mujoco><worldbody><body name="arm"><joint name="elbow" axis="0 1 0" armature=".02"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body></worldbody><actuator>
        <position name="servo" joint="elbow" kp="60" kv="3"/></actuator></mujoco>"""
    )
    elastic = with_series_elasticity(tarsus.load(file), 500.0)
    simulation = tarsus.Simulation(elastic, actuators="file", contacts=())
    simulation.step([0.3])
    assert tarsus.rerun(simulation.run(0.1)).reproduced
