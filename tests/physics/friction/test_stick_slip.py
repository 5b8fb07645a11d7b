"""Static and kinetic friction of the hard law, and the stick anchor of `compliant`."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.bench import Bench, sole

from tarsus.contact.base import symbols
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.contact.problem import Contact
from tarsus.engines.base import Start
from tarsus.engines.tarsus import TarsusEngine
from tarsus.errors import TarsusError
from tarsus.terrain.slope import Slope
from tarsus.validation import bodies
from tarsus.validation.bodies import G, box, pose, sphere

MU, KINETIC = 0.6, 0.5  # mu_S and mu_K / mu_S
ANGLE = 0.45  # rad: tan = 0.483, between mu_K = 0.3 and mu_S = 0.6
DOWN = np.array([-np.cos(ANGLE), 0.0, -np.sin(ANGLE)])
SOLVERS = ("newton", "exact", "sor", "sor_velocity")


def on_slope(depth: float = 1e-5) -> np.ndarray:
    """The box on the slope that climbs along x."""
    q = pose([0, 0, 0], -ANGLE)
    q[:3] = (0.04 - depth) * np.array([-np.sin(ANGLE), 0, np.cos(ANGLE)])
    return q


@pytest.mark.parametrize(
    "solver", ["newton", *(pytest.param(s, marks=pytest.mark.slow) for s in SOLVERS[1:])]
)
def test_between_mu_K_and_mu_S_a_resting_block_stays_and_a_pushed_one_slides_on(
    solver: str,
) -> None:
    bench = Bench(sole(), Moreau(mu=MU, kinetic=KINETIC, solver=solver), Slope(ANGLE))
    dt, steps = 0.001, 500
    u = np.zeros((2, 6))
    u[1, :3] = 0.2 * DOWN
    log = bench.run(steps, dt, q=on_slope(), u=u)
    assert log["converged"].all()
    speed = log["u"][..., :3] @ DOWN
    assert np.abs(speed[-1, 0]) < 1e-5
    a = G * (np.sin(ANGLE) - MU * KINETIC * np.cos(ANGLE))
    found = (speed[-1, 1] - speed[100, 1]) / ((steps - 101) * dt)
    assert found == pytest.approx(a, rel=1e-4)
    assert speed[-1, 1] == pytest.approx(0.2 + a * steps * dt, rel=1e-3)


def test_with_kinetic_ratio_1_a_pushed_block_stops() -> None:
    log = Bench(sole(), Moreau(mu=MU), Slope(ANGLE)).run(
        500, 0.001, q=on_slope(), u=[*(0.2 * DOWN), 0, 0, 0]
    )
    assert np.abs(log["u"][-1, 0]).max() < 1e-6


@pytest.mark.parametrize("solver", ["newton", pytest.param("sor", marks=pytest.mark.slow)])
def test_a_block_stops_after_v0_squared_over_2_mu_K_g(solver: str) -> None:
    law, dt, v = Moreau(mu=MU, kinetic=KINETIC, solver=solver), 0.001, 1.0
    log = Bench(sole(), law).run(600, dt, q=pose([0, 0, 0.04 - 1e-5]), u=[v, 0, 0, 0, 0, 0])
    assert abs(log["q"][-1, 0, 0] - v * v / (2 * MU * KINETIC * G)) < 3 * v * dt
    assert np.abs(log["u"][-1]).max() < 1e-9


def test_kinetic_is_a_ratio() -> None:
    for wrong in (-0.1, 1.5, np.array([0.5, 2.0])):
        with pytest.raises(TarsusError, match="kinetic"):
            Moreau(kinetic=wrong)


# ---------------------------------------------------------------- compliant: the anchor follows


def test_a_pushed_compliant_block_comes_to_rest_on_a_steep_slope() -> None:
    """Just inside the friction angle: an anchor that is renewed without stretch would let it
    creep downhill.
    """
    bench = Bench(box(), Compliant(mu=1.05 * np.tan(ANGLE)), Slope(ANGLE))
    log = bench.run(12000, 2.5e-4, q=on_slope(1e-4), u=[*(0.05 * DOWN), 0, 0, 0])
    assert np.abs(log["u"][-100:]).max() < 1e-9


def test_a_compliant_ball_rolls_without_drag() -> None:
    """Sliding turns into rolling at 5/7 of the speed, which then stays constant."""
    log = Bench(sphere(), Compliant(mu=0.5)).run(
        8000, 2.5e-4, q=pose([0, 0, 0.0997]), u=[1.0, 0.5, 0, 0, 0, 0]
    )
    np.testing.assert_allclose(
        log["u"][[4000, -1], 0, :2], 5 / 7 * np.array([[1.0, 0.5]] * 2), rtol=1e-6
    )


def test_compliant_friction_creates_no_energy() -> None:
    """Friction alone, without dampers, on a box that is thrown and tumbles: stored energy comes
    from the motion.
    """
    law = Compliant(mu=0.5, d_N=0.0, d_T=0.0)
    rng = np.random.default_rng(5)
    body, dt = box(), 2e-5
    u = rng.normal(size=(6, 6)) * [1, 1, 1, 4, 4, 4]
    log = Bench(body, law).run(60000, dt, q=pose([0, 0, 0.15], 0.4), u=u)
    inertia = body.bodies[0].inertia
    kinetic = 0.5 * inertia.mass * (log["u"][..., :3] ** 2).sum(-1)
    kinetic += 0.5 * (np.diag(inertia.about_com) * log["u"][..., 3:] ** 2).sum(-1)
    energy = kinetic + inertia.mass * G * log["q"][..., 2]
    in_air = (log["impulse"] == 0).all(-1)
    for world in range(6):
        flights = energy[in_air[:, world], world]
        assert (np.diff(flights) < 2e-3 * energy[0, world]).all() and flights[-1] < 0.7 * flights[0]


STEPPERS = ("symplectic_euler", "heun", "rk4")


@pytest.mark.parametrize(
    "stepper", ["midpoint", *(pytest.param(s, marks=pytest.mark.slow) for s in STEPPERS)]
)
def test_a_compliant_corner_that_creeps_at_its_cone_does_not_chatter(stepper: str) -> None:
    """A dragged cube, nudged by 1e-6 m/s: its rear corners, relieved, slip at 0.1 mm/s while the
    front ones hold.

    The pull grows slowly, so no corner's force changes by more than the pull in any step, and none
    of it is across.
    """
    rate, dt, mu = 10.0, 2.5e-4, 0.4
    q = bodies.pose([0, 0, bodies.CUBE[2] - bodies.TOUCH])
    dragged = Start(
        bodies.cube(), q, [0, 1e-6, 0, 0, 0, 1e-6], parameters={"mu": mu}, push_rate=[rate, 0, 0]
    )
    motion = TarsusEngine("compliant", stepper).run(dragged, dt, 0.37)
    force = motion.impulse[motion.time > 0.1, 0] / dt  # the landing has died away
    friction = np.linalg.norm(force[-1, :, 1:], axis=-1)
    on_cone = (force[-1, :, 0] > 0) & (friction > (1 - 1e-6) * mu * force[-1, :, 0])
    assert on_cone.sum() == 2 and friction.sum() == pytest.approx(rate * 0.37, rel=0.01)
    assert np.abs(np.diff(force, axis=0)).max() < rate * dt
    assert np.abs(force[..., 2]).max() < 1e-5


def test_compliant_gliding_force_opposes_a_fast_slip_and_the_spring_a_slow_one() -> None:
    """Along the slip where the damper alone would slip too, d_T |v| > mu F_N; else the sticking
    force on the cone.
    """
    law = Compliant(mu=0.5, c_T=2e4, d_T=40.0)
    p = symbols({name: SX(float(value)) for name, value in law.parameters().items()})
    depth, stretch = 1e-3, np.array([2e-3, 0.0])
    memory = SX(ca.DM([0, 0, 0, 1, 1, *np.eye(3).ravel()]))  # slipping, its anchor at the origin
    normal = float(law.c_N) * depth
    border = 0.5 * normal / 40.0
    for speed, along_slip in ((0.99 * border, False), (1.01 * border, True)):
        sliding = speed * np.array([0.6, 0.8])
        contact = Contact(SX(-depth), SX(ca.DM([0, *sliding])), SX(ca.DM([0, *stretch])), SX.eye(3))
        found = np.array(ca.DM(law.force(contact, p, memory)[0])).ravel()
        pull = sliding if along_slip else 2e4 * stretch + 40.0 * sliding
        np.testing.assert_allclose(
            found, [normal, *(-0.5 * normal * pull / np.linalg.norm(pull))], rtol=1e-12
        )
