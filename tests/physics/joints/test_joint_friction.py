"""Dry friction in joints: Coulomb's law of one row, against closed forms.

Equations as in `tarsus.stepping.joints`.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import tarsus
from tarsus.simulation.recording.joint_friction import friction_residual

FRICTION, INERTIA, DT = 3.0, 0.02, 2.5e-3
ROTOR = f"""<mujoco><option gravity="0 0 0"/><worldbody><body name="rotor" pos="0 0 1">
<joint name="j" type="hinge" axis="0 0 1" frictionloss="{FRICTION}"/>
<inertial pos="0 0 0" mass="1" diaginertia="0.02 0.02 {INERTIA}"/>
</body></worldbody><actuator><motor joint="j"/></actuator></mujoco>"""
SLED = """<mujoco><worldbody><body name="sled" pos="0 0 1">
<joint name="j" type="slide" axis="0.6 0 0.8" frictionloss="10"/>
<geom type="sphere" size=".1" mass="1" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>"""


BALL = """<mujoco><worldbody>
<body pos="0 0 2"><joint name="ball" type="ball" frictionloss="1"/>
<inertial pos="0 0 -.3" mass="1" diaginertia=".02 .02 .02"/></body>
<body pos="2 0 2"><joint name="hinge" type="hinge" axis="0 0 1" {}/>
<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/></body>
</worldbody></mujoco>"""


def rotor(tmp_path: Path, torque: float, **options: object) -> tarsus.Simulation:
    (tmp_path / "rotor.xml").write_text(ROTOR)
    return tarsus.Simulation(
        str(tmp_path / "rotor.xml"), controller=lambda t, q, u: [torque], **({"dt": DT} | options)
    )


@pytest.mark.parametrize("torque", [0.0, 1.0, -2.999, 3.0])
def test_a_joint_held_by_friction_does_not_creep(tmp_path: Path, torque: float) -> None:
    log = rotor(tmp_path, torque).run(2.5)
    assert np.abs(log.u.values).max() < 1e-9 and np.abs(log.q.values).max() < 1e-9
    assert np.allclose(log.force_joint_friction.values, -torque, atol=1e-9)


def test_joint_friction_breaks_away_at_its_limit(tmp_path: Path) -> None:
    slow, fast = (np.abs(rotor(tmp_path, t).run(0.25).q.values).max() for t in (2.9999, 3.0001))
    assert slow < 1e-9 < 1e-5 < fast


def test_friction_of_a_driven_joint_is_its_limit_in_every_step(tmp_path: Path) -> None:
    log = rotor(tmp_path, 5.0).run(12 * DT)
    assert np.allclose(log.force_joint_friction.values, -FRICTION, rtol=1e-12)
    steps = np.arange(1, 13)
    assert np.allclose(log.u.values[:, 0], steps * DT * (5 - FRICTION) / INERTIA, rtol=1e-12)
    work = float(log.energy_joint_friction.sum())
    assert work == pytest.approx(-FRICTION * log.q.values[-1, 0], rel=1e-12)


def test_the_residual_detects_wrong_joint_friction(tmp_path: Path) -> None:
    """It is zero for stuck, slipping and driven joints; the law of a robot with less friction
    detects a difference.
    """
    for torque in (2.0, 5.0):
        log = rotor(tmp_path, torque).run(12 * DT)
        assert float(log.joint_friction_residual.max()) < 1e-9
    held, driven = (rotor(tmp_path, torque).run(12 * DT) for torque in (2.0, 5.0))
    limits = np.array([[FRICTION - 1.5]])
    for log, off in ((held, 0.5), (driven, 1.5)):
        u, acted = log.u.values[:, None], log.force_joint_friction.values[:, None]
        found = friction_residual(limits, (0 * acted, acted), u, single=False)
        assert found == pytest.approx(off, abs=1e-9)
    # of each world its own
    made = rotor(tmp_path, 5.0, worlds=2, varied={"dry_friction": "all"})
    made.set(dry_friction=np.array([1.0, 6.0]))
    log = made.run(12 * DT)
    assert float(log.joint_friction_residual.max()) < 1e-9
    assert log.force_joint_friction.values[-1, :, 0] == pytest.approx([-1.0, -5.0], abs=1e-9)
    assert "joint_friction_residual" not in rotor(tmp_path, 5.0, stiction=False).run(12 * DT)


def test_a_coasting_joint_stops_and_stays(tmp_path: Path) -> None:
    made = rotor(tmp_path, 0.0)
    made.set(u=[10.0])
    log = made.run(0.25)
    stops = INERTIA * 10.0 / FRICTION  # s
    moving = np.abs(log.u.values[:, 0]) > 1e-9
    assert abs(log.time.values[~moving][0] - stops) <= DT
    assert not moving[np.argmin(moving) :].any()
    assert float(log.energy_joint_friction.sum()) == pytest.approx(-0.5 * INERTIA * 100, rel=1e-9)


def test_a_sled_on_a_slope_stays_or_slides(tmp_path: Path) -> None:
    (tmp_path / "sled.xml").write_text(SLED)
    held = tarsus.Simulation(str(tmp_path / "sled.xml"), dt=1e-3).run(1.0)
    assert np.abs(held.q.values).max() < 1e-9  # 7.85 N against 10 N
    (tmp_path / "sled.xml").write_text(SLED.replace('"10"', '"5"'))
    log = tarsus.Simulation(str(tmp_path / "sled.xml"), dt=1e-3).run(1.0)
    assert log.u.values[-1, 0] == pytest.approx(-(0.8 * 9.81 - 5), rel=1e-9)


@pytest.mark.parametrize("beside", ["", 'frictionloss="3"'], ids=["alone", "beside another"])
@pytest.mark.parametrize(("angle", "stays"), [(0.34, True), (0.35, False)])
def test_each_axis_of_a_ball_joint_has_friction(
    tmp_path: Path, beside: str, angle: float, stays: bool
) -> None:
    """A pendulum of 1 kg and 0.3 m about a ball, 1 N m: it stays where m g l sin(a) is less."""
    (tmp_path / "ball.xml").write_text(BALL.format(beside))
    made = tarsus.Simulation(tmp_path / "ball.xml", dt=0.001)
    q = made.q.copy()
    q[:4] = np.cos(angle / 2), 0, np.sin(angle / 2), 0
    made.set(q=q)
    log = made.run(0.5)
    weight = 9.81 * 0.3 * np.sin(angle)
    rate, friction = log.u.values[:, 1], log.force_joint_friction.values[:, 1]
    if stays:
        assert np.abs(log.u.values).max() < 1e-9
        assert np.allclose(friction, weight, atol=1e-9)
        return
    assert np.abs(friction) == pytest.approx(1.0, abs=1e-9)
    first = (weight - 1.0) / (0.02 + 0.3**2)  # rad/s^2
    assert rate[0] == pytest.approx(-first * made.dt, rel=1e-3)
    assert float(log.energy_joint_friction.sum()) < -1e-3


@pytest.mark.parametrize(("stepper", "told"), [("heun", True), ("rk4", True), ("midpoint", False)])
def test_force_level_steppers_report_that_joint_friction_does_not_hold(
    tmp_path: Path, stepper: str, told: bool
) -> None:
    text = ROTOR.replace("frictionloss", 'range="-1 1" limited="true" frictionloss')
    (tmp_path / "rotor.xml").write_text(text.replace("range", 'damping="0" range'))
    made = tarsus.Simulation(tmp_path / "rotor.xml", "compliant", stepper, bounce=0.5)
    found = {notice.code for notice in made.warnings if notice.subject == stepper}
    assert ({"joint-friction-creeps", "joint-bounce-ignored"} <= found) == told


def test_a_trot_is_solved_and_no_joint_is_braked_by_more_than_its_friction() -> None:
    made = tarsus.Simulation("mini_cheetah", controller="trot", worlds=4)
    made.set(command={"speed": np.linspace(0.2, 0.8, 4)})
    log = made.run(1.0)
    most = max(body.joint.dry_friction for body in made.robot.bodies)
    assert np.abs(log.force_joint_friction.values).max() <= 1.05 * most + 1e-9
    assert int((log.converged == 0).sum()) == 0
    assert (
        float(log.energy_joint_friction.max()) < 1e-3 and float(log.equation_residual.max()) < 0.01
    )


def test_joint_damping_adds_to_dry_friction() -> None:
    made = tarsus.Simulation("mini_cheetah", controller="stand", stiction=False)
    log = made.run(0.1)
    assert not log.force_joint_friction.values.any() and float(log.energy_joints.sum()) < 0


@pytest.mark.parametrize(
    ("precision", "creep"),
    [("float32", 6e-6), pytest.param("float64", 2e-10, marks=pytest.mark.slow)],
)
def test_joint_creep_of_a_standing_robot_is_reported(precision: str, creep: float) -> None:
    """If all feet and joints stick, there are more impulses than equations. Joints used to be
    dragged by a damper, at 3e-3 rad/s with a seventh of the friction, in eight passes per step.
    """
    made = tarsus.Simulation("mini_cheetah", controller="stand", precision=precision)
    log = made.run(1.0)
    most = np.array([body.joint.dry_friction for body in made.robot.bodies[1:]])
    rate, force = np.abs(log.u.values[:, 6:]), np.abs(log.force_joint_friction.values[:, 6:])
    assert rate[-100:].max() < creep and (force <= most * (1 + 1e-6)).all()
    assert np.allclose((force / most)[rate > creep], 1, rtol=0.05)
    assert log.converged.all()


def test_a_robot_that_is_stepped_by_events_can_be_pickled() -> None:
    """Pickling compiles all code, including that of steps without locked joints. Friction takes
    no part in an impact but has a register in the report.
    """
    made = tarsus.Simulation("mini_cheetah", stepper="event_driven", controller="trot")
    made.step()
    other = pickle.loads(pickle.dumps(made))
    for simulation in (made, other):
        simulation.step()
    assert made.state().tobytes() == other.state().tobytes()


def test_soft_contact_deflects_equally_with_locked_joints() -> None:
    """The deflection uses the mobility of the contact. With that of a robot with some locked
    joints, which change in every step, a standing Mini Cheetah kept moving at 0.1 rad/s. It
    comes to rest as slowly as such friction creeps.
    """
    simulation = tarsus.Simulation("mini_cheetah", "soft_convex", controller="stand")
    simulation.advance(2.5)
    log = simulation.run(0.5)
    assert np.abs(log.u.values).max() < 5e-3
    assert (log.converged == 1).all()
