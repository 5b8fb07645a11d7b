"""A limb wedged between two others: contact problems without a solution."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus import Moreau, Simulation
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf

# two balls of a heavy trunk 0.1 m apart, and a third on two slides between them: 5 mm too thick
WEDGE = """<mujoco><option gravity="0 0 0"/><compiler autolimits="true"/><worldbody>
<body name="trunk" pos="0 0 3"><freejoint/>
<geom name="left" type="sphere" size=".03" pos="-.05 0 0" mass="5"/>
<geom name="right" type="sphere" size=".03" pos=".05 0 0" mass="5"/>
<body name="sledge"><joint name="aside" type="slide" axis="1 0 0" range="-.001 .001"/>
<inertial mass=".1" pos="0 0 0" diaginertia="1e-4 1e-4 1e-4"/>
<body name="wedge"><joint name="along" type="slide" axis="0 0 1" range="-.2 .2"/>
<geom name="wedge" type="sphere" size=".025" mass=".1"/></body></body></body></worldbody>
<keyframe><key name="stand" qpos="0 0 3 1 0 0 0 0 .1"/></keyframe></mujoco>"""


def wedged(law: Moreau, rate: float) -> Simulation:
    """State with the third ball 3.6 mm deep in both others, moving at a rate, m/s."""
    simulation = Simulation(Robot.of(read_mjcf(WEDGE)), law, self_collision=True, contacts="all")
    q, u = simulation.q.copy(), np.zeros(8)
    q[8], u[7] = 0.012, rate
    simulation.set(q=q, u=u)
    return simulation


def test_a_wedged_limb_stays_where_friction_holds_it() -> None:
    """At mu 0.8 no solution pushes it out: both contacts would slide, and their friction,
    steeper than their normals, would pull it in. It rests at its depth; it used to be pressed
    with 4e8 N in steps that counted as solved.
    """
    log = wedged(Moreau(), -0.2).run(0.5)
    pairs = [name for name in log.contact.values if ":" in name]
    force = log.force_contact.sel(contact=pairs).values
    assert (force[0, :, 0] > 1.0).all(), "both stop it"
    assert np.abs(force).max() < 0.1 * 0.2 / 0.0025, "with what that takes, m u / dt"
    assert (log.converged == 1).all()
    assert float(log.kinetic_energy.max()) <= 0.5 * 0.1 * 0.2**2
    assert np.abs(log.u.values[-1]).max() < 1e-9
    assert log.q.values[-1, 8] == pytest.approx(0.012 - 0.2 * 0.0025 / 2, abs=1e-9)


def test_a_wedged_limb_is_pushed_out_without_friction() -> None:
    log = wedged(Moreau(mu=0.0), 0.0).run(1.0)
    assert (log.converged == 1).all()
    assert np.hypot(0.05, log.q.values[-1, 8]) > 0.055 - 5e-4, "all but the slop"


# a ball on two slides, 1 mm beyond the stop of one, with a ball of the trunk in its way back
BLOCKED = """<mujoco><option gravity="0 0 0"/><compiler autolimits="true"/><worldbody>
<body name="trunk" pos="0 0 3"><freejoint/>
<geom name="block" type="sphere" size=".03" pos="-.05 0 0" mass="5"/>
<body name="sledge"><joint name="up" type="slide" axis="0 0 1" range="-.2 .2" {friction}/>
<inertial mass=".1" pos="0 0 0" diaginertia="1e-4 1e-4 1e-4"/>
<body name="ball"><joint name="aside" type="slide" axis="1 0 0" range="-.002 0" {friction}/>
<geom name="ball" type="sphere" size=".0215" mass=".1"/></body></body></body></worldbody>
<keyframe><key name="stand" qpos="0 0 3 1 0 0 0 .1 0"/></keyframe></mujoco>"""
PRESS = 8.0  # m/s: how fast the ball comes


@pytest.mark.parametrize("friction", ["", 'frictionloss=".5"'])
@pytest.mark.parametrize("rate", [0.0, -PRESS, PRESS])
def test_a_blocked_joint_limit_requests_rest(friction: str, rate: float) -> None:
    """A joint beyond its limit must return at 0.2 m/s, but a contact blocks it: no step had a
    solution, and limit and contact pressed each other with 8 MN. The ball rests, whichever side
    it comes from.
    """
    robot = Robot.of(read_mjcf(BLOCKED.format(friction=friction)))
    simulation = Simulation(robot, self_collision=True, contacts="all")
    q, u = simulation.q.copy(), np.zeros(8)
    q[7:], u[7] = (0.0, 0.001 - rate * 0.0025 / 2), rate  # 1 mm beyond it where the step looks
    simulation.set(q=q, u=u)
    log = simulation.run(0.05)
    assert (log.converged == 1).all()
    # what comes is stopped by the impulse that it takes, by the stop or by the contact
    contact = log.force_contact.sel(contact=[n for n in log.contact.values if ":" in n]).values
    stop = log.force_limit.values[:, 7]
    assert stop.max() <= 1e-9 and contact[..., 0].min() >= 0, "neither pulls"
    most = 0.2 * PRESS / 0.0025
    assert np.abs(stop).max() <= most and np.abs(contact).max() <= most
    assert log.equation_residual.max() < 1e-6
    if friction:
        assert log.joint_friction_residual.max() < 1e-6
    assert float(log.kinetic_energy.max()) <= 0.5 * 0.1 * rate**2 + 1e-12
    assert np.abs(log.u.values[-1, 6:]).max() < 1e-6
    assert log.q.values[-1, 8] == pytest.approx(0.001, abs=1e-6)
